"""Dropout of steps and words, and the penalties on activations."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.layers import (
    ActivationRegularization,
    ClusterEmbedding,
    EmbeddingDropout,
    LockedDropout,
)

H = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
MASK = np.array([[True] * 4, [True, True, False, False]])


def test_a_text_has_one_mask_of_dropout():
    ones = np.ones((50, 6, 20), np.float32)
    y = LockedDropout(0.3, seed=1)(ones, training=True).numpy()
    assert (y == y[:, :1]).all()
    np.testing.assert_allclose(np.unique(y), [0, 1 / 0.7], rtol=1e-6)
    assert 0.2 < np.mean(y == 0) < 0.4  # 1000 draws, 7 standard deviations
    assert np.any(y[0, 0] != y[1, 0])
    np.testing.assert_array_equal(LockedDropout(0.3)(ones), ones)


def test_a_word_is_dropped_at_all_its_places():
    ids = np.random.default_rng(0).integers(0, 40, (20, 30))
    layer = EmbeddingDropout(0.25, 40, seed=2)
    y = layer(np.ones((20, 30, 5), np.float32), ids, training=True).numpy()
    assert (y == y[..., :1]).all()
    for word in range(40):
        assert len(np.unique(y[ids == word])) == 1
    assert set(np.unique(y)) == {0.0, np.float32(1 / 0.75)}
    np.testing.assert_array_equal(layer(H, ids[:2, :4]), H)


def test_float_ids_are_words_of_their_own_in_mixed_precision():
    """`keras.Input` is float32 unless told otherwise; float16 has no 2049 and no 65520."""
    words, vectors = np.arange(2048, 70_000)[None], np.ones((1, 67_952, 1), np.float32)
    y, expected = (
        EmbeddingDropout(0.5, 70_000, seed=2, dtype="mixed_float16")(vectors, ids, training=True)
        for ids in (words.astype(np.float32), words)
    )
    assert y.dtype == tf.float16
    np.testing.assert_array_equal(y, expected)


@pytest.mark.slow
def test_works_with_any_embedding_in_a_model_with_masks(tmp_path):
    keras.utils.set_random_seed(0)
    ids = keras.Input((4,), dtype="int32")
    vectors = ClusterEmbedding(9, 6, 3, mask_zero=True)(ids)
    vectors = LockedDropout(0.2)(EmbeddingDropout(0.2, 9)(vectors, ids))
    hidden = keras.layers.LSTM(5, return_sequences=True)(vectors)
    hidden = ActivationRegularization(0.1, 0.1)(hidden)
    model = keras.Model(ids, keras.layers.Dense(9)(hidden))
    padded = np.array([[3, 4, 0, 0]])
    assert model(padded)._keras_mask.numpy().tolist() == [[True, True, False, False]]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.05), loss, jit_compile=True)
    text = np.tile([[1, 2, 3, 4]], (8, 1))
    losses = model.fit(text, text, epochs=10, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(padded), model(padded))


@pytest.mark.parametrize("mask", [None, MASK])
def test_penalties_by_hand(mask):
    used = np.ones((2, 4), bool) if mask is None else mask
    squares, changes = [], []
    for text in range(2):
        for step in range(4):
            if used[text, step]:
                squares.extend(H[text, step] ** 2)
                if step:
                    changes.extend((H[text, step] - H[text, step - 1]) ** 2)
    layer = ActivationRegularization(2.0, 0.5)
    expected = 2 * np.mean(squares) + 0.5 * np.mean(changes)
    mask = None if mask is None else tf.constant(mask)
    np.testing.assert_allclose(layer.penalty(tf.constant(H), mask), expected, rtol=1e-5)
    layer(H)
    assert layer.losses == []  # nothing outside of training


@pytest.mark.parametrize(
    "layer",
    [
        LockedDropout(0.1, seed=3),
        EmbeddingDropout(0.1, 7, seed=3),
        ActivationRegularization(2.0, 1.0),
    ],
)
def test_config(layer):
    again = type(layer).from_config(json.loads(json.dumps(layer.get_config())))
    assert again.get_config() == layer.get_config()


def test_rejects_rates():
    for make in (LockedDropout, lambda rate: EmbeddingDropout(rate, 5)):
        with pytest.raises(ValueError, match=r"`rate` must be a number in \[0, 1\)"):
            make(1.0)
    with pytest.raises(ValueError, match=r"`activation_weight` must be a finite number >= 0\."):
        ActivationRegularization(-1.0)
    with pytest.raises(ValueError, match="`input_dim` must be an integer"):
        EmbeddingDropout(0.1, 0)
