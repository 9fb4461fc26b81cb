"""The mean by NumPy, of what the mask keeps."""

import keras
import numpy as np
import pytest

from kerascompact.layers import MaskedMean

VECTORS = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
MASK = np.array([[True] * 5, [True, False, True, False, False], [False] * 4 + [True], [False] * 5])


def test_equals_numpy():
    found = MaskedMean()(VECTORS, mask=MASK).numpy()
    for row, (vectors, mask) in enumerate(zip(VECTORS, MASK, strict=True)):
        expected = vectors[mask].mean(axis=0) if mask.any() else np.zeros(3)
        np.testing.assert_allclose(found[row], expected, rtol=1e-5, atol=1e-7)


def test_without_a_mask_it_is_the_mean():
    np.testing.assert_allclose(MaskedMean()(VECTORS), VECTORS.mean(axis=1), rtol=1e-5, atol=1e-7)


def test_any_rank():
    vectors, mask = np.stack([VECTORS, -VECTORS]), np.stack([MASK, MASK])
    found = MaskedMean()(vectors, mask=mask).numpy()
    single = MaskedMean()(VECTORS, mask=MASK).numpy()
    np.testing.assert_array_equal(found, np.stack([single, -single]))
    assert MaskedMean().compute_output_shape((None, 2, 5, 3)) == (None, 2, 3)


def test_takes_the_embeddings_mask_and_passes_none_on():
    ids = keras.Input((None,), dtype="int32")
    mean = MaskedMean()(keras.layers.Embedding(9, 3, mask_zero=True)(ids))
    assert getattr(mean, "_keras_mask", None) is None
    model = keras.Model(ids, mean)
    table = model.layers[1].get_weights()[0]
    found = model.predict(np.array([[3, 5, 0], [0, 0, 0]]), verbose=0)
    np.testing.assert_allclose(found[0], (table[3] + table[5]) / 2, rtol=1e-6)
    assert found[1].tolist() == [0, 0, 0]


@pytest.mark.few(1)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_an_empty_text_does_not_turn_training_into_nan(jit_compile):
    layers = [
        keras.Input((4,), dtype="int32"),
        keras.layers.Embedding(9, 3, mask_zero=True),
        MaskedMean(),
        keras.layers.Dense(1),
    ]
    model = keras.Sequential(layers)
    model.compile("sgd", "mse", jit_compile=jit_compile)
    model.fit(np.array([[0, 0, 0, 0], [1, 2, 0, 0]]), np.ones((2, 1)), verbose=0)
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_saves_and_loads(tmp_path):
    model = keras.Sequential([keras.Input((5, 3)), MaskedMean(name="mean")])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.layers[0]) is MaskedMean
    np.testing.assert_array_equal(
        loaded.predict(VECTORS, verbose=0), model.predict(VECTORS, verbose=0)
    )
