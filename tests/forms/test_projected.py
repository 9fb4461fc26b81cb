import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export
from kerascompact.core.projection import Projection
from kerascompact.core.storage import total_bits
from kerascompact.forms import ProjectedForm
from kerascompact.text.ngrams import projection_bits

SMALL = Projection(4, 8)
WORDS = ["king", "", "caf\u00e9", "a"]


def example(normalization=None, **config):
    random = np.random.default_rng(0)
    sizes = [32, 6, 5, 3]
    arrays = {}
    for layer, shape in enumerate(zip(sizes, sizes[1:], strict=False)):
        arrays[f"kernel_{layer}"] = random.normal(size=shape)
        arrays[f"bias_{layer}"] = random.normal(size=shape[1:])
    if normalization == "layer":
        arrays |= {"gamma": random.normal(size=3), "beta": random.normal(size=3)}
    config |= dict(projection=SMALL, output_dim=3, hidden_units=(6, 5))
    return ProjectedForm.from_arrays(arrays, normalization=normalization, **config), arrays


def by_hand(bits, arrays, normalization, epsilon=1e-3):
    vectors = bits.astype(np.float64)
    for layer in range(3):
        vectors = vectors @ arrays[f"kernel_{layer}"] + arrays[f"bias_{layer}"]
        vectors = np.maximum(vectors, 0) if layer < 2 else vectors
    if normalization == "l2":
        return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    if normalization == "layer":
        deviation = np.sqrt(vectors.var(axis=-1, keepdims=True) + epsilon)
        centred = vectors - vectors.mean(axis=-1, keepdims=True)
        return centred / deviation * arrays["gamma"] + arrays["beta"]
    return vectors


@pytest.mark.parametrize("normalization", [None, "layer", "l2"])
def test_is_the_network(normalization):
    form, arrays = example(normalization)
    expected = by_hand(projection_bits(WORDS, SMALL), arrays, normalization)
    for inputs in (WORDS, projection_bits(WORDS, SMALL)):
        # three products of at most 32 float32 numbers of size 1
        np.testing.assert_allclose(form(inputs), expected, rtol=0, atol=2e-5)
    np.testing.assert_allclose(form(tf.constant([WORDS, WORDS]))[1], expected, atol=2e-5)
    weights = 32 * (33 * 6 + 7 * 5 + 6 * 3)
    assert form.float32_bits == weights
    assert total_bits(form.storage()) == weights + (64 * 3 if normalization == "layer" else 0)
    again = ProjectedForm.from_config(json.loads(json.dumps(form.get_config())))
    assert again.get_config() == form.get_config() and again.projection == SMALL


def test_rounds_its_kernels():
    form, _ = example()
    small = form.stored_as("int8")
    assert small.stored_as("int4") is small and form.stored_as("int4").precision == "int8"
    numbers = 32 * 6 + 6 * 5 + 5 * 3
    assert total_bits(small.storage()) == 8 * numbers + 64 * (6 + 5 + 3)
    exact = np.asarray(form(WORDS))
    error = np.asarray(small(WORDS)) - exact
    # each kernel is off by a step / sqrt(12), a step being 1 / 127 of three deviations or less
    assert np.sqrt(np.mean(error**2)) < 0.03 * np.sqrt(np.mean(exact**2))


long = pytest.mark.slow


@pytest.mark.parametrize("recipe", ["float32", pytest.param("int8_tables", marks=long)])
@pytest.mark.parametrize(
    "normalization", [pytest.param(None, marks=long), pytest.param("layer", marks=long), "l2"]
)
def test_predicts_the_same_as_a_file(normalization, recipe):
    form, _ = example(normalization, mask_zero=True)
    bits = keras.Input((4, 32), dtype="uint8", name="bits")
    hidden = keras.layers.GlobalAveragePooling1D()(form(bits))
    model = keras.Model(bits, keras.layers.Softmax(name="p")(hidden))
    data = np.random.default_rng(1).integers(0, 2, (20, 4, 32), np.uint8)
    data[:, 3] = 0  # padding
    report = export.verify(model, export.convert(model, recipe), data, tolerance=1e-6)
    assert report.agreement == 1.0


def test_masks_words_without_bits():
    form, _ = example(mask_zero=True)
    bits = projection_bits(WORDS, SMALL)[None]
    assert np.asarray(form.compute_mask(tf.constant(bits))).tolist() == [[True, False, True, True]]
    assert np.asarray(form.compute_mask(tf.constant([WORDS]))).tolist() == [[1, 0, 1, 1]]
    assert example()[0].compute_mask(tf.constant(bits)) is None


@pytest.mark.parametrize(
    "name, bad, message",
    [
        ("projection", 3, "`projection` must be a kerascompact.core.projection.Projection"),
        ("output_dim", 0, "`output_dim` must be an integer >= 1"),
        ("hidden_units", 3, "`hidden_units` must be a list of widths"),
        ("hidden_units", [0], "`hidden_units` must be an integer >= 1"),
        ("normalization", "batch", "`normalization` must be one of None, 'layer', 'l2'"),
        ("epsilon", 0, "`epsilon` must be a finite number > 0"),
        ("precision", "int4", "`precision` must be one of"),
        ("together", 1, "`together` must be True or False"),
    ],
)
def test_rejects(name, bad, message):
    with pytest.raises(ValueError, match=message):
        ProjectedForm(**{"projection": SMALL, "output_dim": 3, name: bad})


def test_rejects_other_inputs():
    form, _ = example()
    with pytest.raises(ValueError, match=r"or bits \(\.\.\., 32\)\. Received"):
        form(np.zeros((2, 31), np.uint8))
    with pytest.raises(ValueError, match="`reverse` must be False"):
        form(np.zeros((2, 3), np.float32), reverse=True)
