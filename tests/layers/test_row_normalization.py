import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.layers.row_normalization import RowBatchNormalization


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(2.0, 3.0, size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(4, 3), (4, 2, 3)])
def test_equals_keras_on_the_batch_with_its_repeated_rows(shape):
    rows, counts = numbers(*shape), np.array([3, 1, 5, 2])
    ours, keras_layer = RowBatchNormalization(), keras.layers.BatchNormalization()
    repeated = np.repeat(rows, counts, axis=0)
    for _ in range(3):  # the moving averages, too
        found, expected = ours(rows, counts, training=True), keras_layer(repeated, training=True)
    # two orders of float32 sums
    np.testing.assert_allclose(np.repeat(found, counts, axis=0), expected, atol=1e-5)
    np.testing.assert_allclose(ours.moving_mean, keras_layer.moving_mean, rtol=1e-5)
    np.testing.assert_allclose(ours.moving_variance, keras_layer.moving_variance, rtol=1e-5)
    np.testing.assert_allclose(ours(rows), keras_layer(rows), atol=1e-5)


def test_by_piece_is_a_normalization_for_each_piece():
    rows, counts = numbers(2, 4, 3), np.array([3, 1, 0, 2])
    ours, alone = RowBatchNormalization(by_piece=True), [RowBatchNormalization() for _ in rows]
    found = ours(rows, counts, training=True, axis=1)
    expected = [one(piece, counts, training=True) for one, piece in zip(alone, rows, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-5)  # another order of float32 sums
    for name in ("moving_mean", "moving_variance"):
        means = [getattr(one, name).numpy() for one in alone]
        np.testing.assert_allclose(getattr(ours, name), means, rtol=1e-5)
    shown = [one(piece) for one, piece in zip(alone, rows, strict=True)]
    np.testing.assert_allclose(ours(rows, axis=1), shown, atol=1e-5)
    upstream = numbers(2, 4, 3, seed=1)
    np.testing.assert_allclose(
        slope(ours, rows, counts, upstream, axis=1),
        [
            slope(one, *three)
            for one, *three in zip(alone, rows, [counts] * 2, upstream, strict=True)
        ],
        atol=1e-5,
    )


def slope(layer, rows, counts, upstream, axis=0):
    with tf.GradientTape() as tape:
        variable = tf.constant(rows)
        tape.watch(variable)
        found = layer(variable, counts, training=True, axis=axis)
    return tape.gradient(found, variable, upstream)


def test_affine_is_what_inference_does():
    layer, rows = RowBatchNormalization(), numbers(6, 3)
    layer(rows, training=True)
    layer.gamma.assign([1.0, 2.0, -1.0])
    layer.beta.assign([0.5, 0.0, 3.0])
    scale, shift = layer.affine()
    np.testing.assert_allclose(layer(rows), scale * rows + shift, atol=1e-5)


def test_can_leave_its_averages_alone():
    layer, rows = RowBatchNormalization(center=False, scale=False), numbers(6, 3)
    layer(rows)
    layer(rows, training=True, track=False)
    assert layer.moving_mean.numpy().tolist() == [0, 0, 0]
    assert not layer.trainable_weights


def test_works_under_xla_and_keeps_its_config():
    layer, rows = RowBatchNormalization(momentum=0.5), numbers(5, 3)
    layer.build((None, 3))
    compiled = tf.function(
        lambda r, c: layer(r, c, training=True), jit_compile=True, autograph=False
    )
    np.testing.assert_allclose(compiled(rows, np.ones(5)).numpy().mean(axis=0), 0, atol=1e-6)
    again = RowBatchNormalization.from_config(json.loads(json.dumps(layer.get_config())))
    assert again.get_config() == layer.get_config() and again.momentum == 0.5


def test_frozen_it_is_that_of_inference():
    layer, rows = RowBatchNormalization(), numbers(4, 3)
    layer(rows, training=True)
    layer.trainable, mean = False, layer.moving_mean.numpy()
    np.testing.assert_array_equal(layer(rows, training=True), layer(rows, training=False))
    np.testing.assert_array_equal(layer.moving_mean, mean)
