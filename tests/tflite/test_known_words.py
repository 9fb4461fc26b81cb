"""Means without operators that tell unknown words from padding, and what keeps them."""

import keras
import numpy as np
import pytest

from hostile_texts import HOSTILE
from kerascompact import export, models
from kerascompact.layers import MaskedMean, UnknownAsPadding
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import SlotVocabulary
from kerascompact.tflite import flatbuffer

WORDS = SlotVocabulary.from_ranked([f"w{number}" for number in range(300)], 92)
TEXTS = [*HOSTILE, *(" ".join(f"w{n}" for n in range(b, b + 9)) for b in range(0, 300, 9))]


def operators(data):
    return flatbuffer.operator_names(flatbuffer.parse(data))


def table(width, rows=9, **options):
    layer = keras.layers.Embedding(rows, width, mask_zero=True, **options)
    layer.build()
    layer.embeddings.assign(np.random.default_rng(0).normal(size=(rows, width)))
    return layer


@pytest.mark.parametrize(
    ("width", "recipe"),
    [
        pytest.param(4, "float32", marks=pytest.mark.slow),
        (3, "int4_tables"),
        pytest.param(3, "float32", marks=pytest.mark.slow),
        pytest.param(3, "int8_tables", marks=pytest.mark.slow),
        pytest.param(4, "int8_tables", marks=pytest.mark.slow),
        pytest.param(4, "int4_tables", marks=pytest.mark.slow),
    ],
)
def test_vectors_of_padding_are_zeros_and_not_multiplied(recipe, width):
    ids = keras.Input((6,), dtype="int32", name="ids")
    model = keras.Model(ids, MaskedMean()(table(width)(ids)))
    data = export.convert(model, recipe)
    scaled, cut = recipe != "float32", recipe == "int4_tables" and width == 3
    assert operators(data).count("MUL") == scaled + cut  # by columns' scales; a column is cut off
    frozen = export.freeze(model, recipe).model
    for row in ([0] * 6, [1, 2, 0, 0, 0, 0], [8, 0, 7, 1, 1, 0], [3] * 6):
        (found,) = Interpreter(data).run({"ids": np.array([row])}).values()
        wanted = frozen(np.array([row], np.int32))
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def test_vectors_that_others_read_keep_their_padding():
    ids = keras.Input((3,), dtype="int32", name="ids")
    vectors = table(4)(ids)
    model = keras.Model(ids, {"mean": MaskedMean()(vectors), "vectors": vectors})
    given = np.array([[0, 5, 0]], np.int32)
    found, wanted = Interpreter(export.convert(model, "float32")).run({"ids": given}), model(given)
    assert np.abs(found["vectors"][0, 0]).min() > 0
    for name in ("mean", "vectors"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-6)


@pytest.mark.parametrize(
    ("tag_bits", "both"),
    [(16, False), *(pytest.param(bits, True, marks=pytest.mark.slow) for bits in (8, 16, 24))],
)
def test_unknown_words_are_left_out_by_the_lookup(tag_bits, both):
    """In `both` ways: two operators fewer than in a file that reads them."""
    words = SlotVocabulary.from_ranked([f"w{n}" for n in range(300)], 92, tag_bits=tag_bits)
    files = {}
    for skip in (True, False) if both else (True,):
        embedding = table(4, len(words))
        model = models.mean_classifier(embedding, 3, skip_unknown=skip)
        files[skip] = export.convert(model, "float32", text=words, sequence_length=9)
        texts = TEXTS if skip and both else [*TEXTS[:3], *TEXTS[-9:]]
        assert export.verify(model, files[skip], texts, vocabulary=words).agreement == 1
    assert "LESS" not in operators(files[True])
    assert operators(files[True]).count("SELECT_V2") == 1
    if both:
        assert len(operators(files[True])) == len(operators(files[False])) - 2


@pytest.mark.slow  # the lookup above is short
def test_ids_that_others_read_keep_unknown_words():
    ids = keras.Input((9,), dtype="int32", name="ids")
    known = MaskedMean()(table(4, len(WORDS))(UnknownAsPadding()(ids)))
    every = MaskedMean()(table(4, len(WORDS))(ids))
    model = keras.Model(ids, keras.layers.Dense(3, "softmax")(known - every))
    data = export.convert(model, "float32", text=WORDS)
    assert operators(data).count("LESS") == 1
    assert export.verify(model, data, TEXTS, vocabulary=WORDS).agreement == 1


def test_an_activation_of_the_product_stays():
    ids = keras.Input((3,), dtype="int32", name="ids")
    known = keras.ops.cast(keras.ops.not_equal(ids, 0), "float32")[..., None]
    positive = keras.ops.relu(table(4)(ids) * known)
    model = keras.Model(ids, keras.layers.Dense(2)(keras.layers.Flatten()(positive)))
    given = np.array([[2, 5, 0]], np.int32)
    (found,) = Interpreter(export.convert(model, "float32")).run({"ids": given}).values()
    np.testing.assert_allclose(found, model(given), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape, width", [((1, 4), 4), ((1, 4), 1), ((4, 1, 1), 2)])
def test_masks_of_other_shapes_stay(shape, width):
    """`(b, 1, L)` masks columns, or makes an outer product."""
    ids = keras.Input((4,), dtype="int32", name="ids")
    known = keras.ops.not_equal(ids, 0)
    keep = keras.ops.cast(keras.ops.reshape(known, (-1, *shape)), "float32")
    model = keras.Model(ids, keras.ops.tanh(table(width)(ids) * keep))
    rows = np.array([[1, 2, 0, 0]], "int32")
    (found,) = Interpreter(export.convert(model, "float32")).run({"ids": rows}).values()
    np.testing.assert_allclose(found, model(rows), atol=1e-6)
