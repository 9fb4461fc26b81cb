"""Integers that are no bytes, past the checks: the file itself fails on none."""

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from export_models import text_file
from kerascompact import export, layers, models

LARGE = [-(2**31), -1, 0, 10, 13, 32, 65, 127, 128, 255, 256, 2**31 - 1]


def of_words():
    return text_file()


def of_bits():
    embedding = layers.ProjectionEmbedding(6, (8,), mask_zero=True)
    model = models.projection_lstm(embedding, 3, 5)
    return export.convert(model, text="wordpunct", max_bytes=48, sequence_length=9)


def arrays(count, size):
    """A quarter each: any integers, such as are near bytes, borders, bytes and -1."""
    random = np.random.default_rng(0)
    for number in range(count):
        kind = number % 4
        if kind == 2:
            drawn = random.choice(LARGE, (1, size))
        else:
            bounds = ((-(2**31), 2**31), (-300, 600), None, (-1, 256))[kind]
            drawn = random.integers(*bounds, (1, size))
        yield drawn.astype(np.int32)


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (of_words, 500),
        pytest.param(of_bits, 200, marks=pytest.mark.slow),
        pytest.param(of_words, 20_000, marks=pytest.mark.slow),
        pytest.param(of_bits, 20_000, marks=pytest.mark.slow),
    ],
)
def test_any_integers_give_probabilities(make, count):
    file = Interpreter(model_content=make(), num_threads=1)
    file.allocate_tensors()
    (given,), (found,) = file.get_input_details(), file.get_output_details()
    for drawn in arrays(count, given["shape"][1]):
        file.set_tensor(given["index"], drawn)
        file.invoke()
        probabilities = file.get_tensor(found["index"])
        assert np.isfinite(probabilities).all()
        assert probabilities.sum() == pytest.approx(1, abs=1e-4)
