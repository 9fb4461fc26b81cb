"""Weighted means and maxima by NumPy, of what the mask keeps."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.layers import MaskedMax, MaskedMean, WeightedMean

VECTORS = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
MASK = np.array([[True] * 5, [True, False, True, False, False], [False] * 4 + [True], [False] * 5])


def weighted(vectors):
    weights = 1 / (1 + np.exp(-vectors[:, -1:]))
    return (weights * vectors[:, :-1]).sum(0) / weights.sum() if len(vectors) else np.zeros(2)


def largest(vectors):
    return vectors.max(0) if len(vectors) else np.zeros(3)


@pytest.mark.parametrize(("layer", "expected"), [(WeightedMean, weighted), (MaskedMax, largest)])
def test_equals_numpy(layer, expected):
    for training in (False, True):
        found = layer()(VECTORS, mask=MASK, training=training).numpy()
        for row, (vectors, mask) in enumerate(zip(VECTORS, MASK, strict=True)):
            np.testing.assert_allclose(found[row], expected(vectors[mask]), rtol=1e-5, atol=1e-6)
    unmasked = layer()(VECTORS).numpy()
    np.testing.assert_allclose(unmasked[0], expected(VECTORS[0]), rtol=1e-5, atol=1e-6)
    shape = layer().compute_output_shape((None, 7, 5, 3))
    assert shape[:2] == (None, 7) and shape[2] == len(expected(VECTORS[0]))


@pytest.mark.parametrize("layer", [WeightedMean, MaskedMax, MaskedMean])
@pytest.mark.parametrize("training", [False, True])
def test_texts_without_a_step_give_zeros(layer, training):
    ids = keras.Input((None,), dtype="int32")
    vectors = keras.layers.Embedding(9, 3, mask_zero=True)(ids)
    model = keras.Model(ids, layer()(vectors))
    found = keras.ops.convert_to_numpy(model(np.zeros((2, 0), np.int32), training=training))
    assert found.shape[0] == 2 and not found.any()
    assert not model.predict(np.zeros((2, 0), np.int32), verbose=0).any()


def test_a_weight_needs_a_column_of_its_own():
    with pytest.raises(ValueError, match="`vectors` must have at least 2 entries"):
        WeightedMean()(np.ones((1, 3, 1), np.float32))


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("layer", [WeightedMean, MaskedMax])
def test_half_precision_stays_finite_without_words(layer, dtype):
    found = layer(dtype=dtype)(VECTORS, mask=np.zeros_like(MASK))
    assert not np.asarray(keras.ops.cast(found, "float32")).any()


@pytest.mark.parametrize("layer", [WeightedMean, MaskedMean])
def test_half_precision_adds_up_long_texts_in_float32(layer):
    """The sum is beyond float16, whose rounding would also take percents off smaller ones."""
    vectors = np.full((1, 4000, 2), 50.0)
    found = layer(dtype="mixed_float16")(vectors, mask=np.ones((1, 4000), bool))
    assert found.dtype == "float16" and np.asarray(found).tolist() == [[50.0] * found.shape[-1]]
    vectors = np.full((1, 4, 2), 0.1)
    found = layer(dtype="float64")(vectors, mask=np.ones((1, 4), bool))
    np.testing.assert_allclose(found, vectors[:, 0, : found.shape[-1]], rtol=1e-12)


def test_maximum_in_integers():
    """Padding is filled with a number within the range of the entries, which has 256 steps."""
    ids = keras.Input((4,), dtype="int32")
    normal = keras.initializers.RandomNormal(stddev=1.0, seed=0)
    vectors = keras.layers.Embedding(9, 4, embeddings_initializer=normal, mask_zero=True)(ids)
    model = keras.Model(ids, MaskedMax()(vectors))
    rows = np.array([[3, 5, 0, 0], [0, 0, 0, 0], [8, 1, 2, 4], [7, 0, 0, 0], [6, 6, 1, 0]])
    frozen = export.freeze(model, "full_int8")
    frozen.convert(representative=[rows])
    assert frozen.verify(rows).largest_difference < 0.03  # steps of 0.02


@pytest.mark.few(1)
@pytest.mark.parametrize("layer", [WeightedMean, MaskedMax])
def test_trains_saves_and_exports(layer, tmp_path):
    ids = keras.Input((None,), dtype="int32")
    pooled = layer()(keras.layers.Embedding(9, 4, mask_zero=True)(ids))
    model = keras.Model(ids, keras.layers.Dense(2, activation="softmax")(pooled))
    rows, labels = np.array([[3, 5, 0], [0, 0, 0], [8, 1, 2]]), np.array([0, 1, 1])
    model.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
    model.train_on_batch(rows, labels)
    assert all(np.isfinite(weight).all() for weight in model.get_weights())
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(rows), model(rows))
    assert export.freeze(model, "int8").verify(rows, labels).agreement == 1
