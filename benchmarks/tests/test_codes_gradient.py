"""Choice and gradient of DPQ crossed: the corners are the layer's own, the rest is what it says."""

import argparse

import numpy as np
import pytest
import tensorflow as tf

from benchmarks.kd_codes import codes_gradient
from benchmarks.kd_codes.codes_gradient import ARMS, CrossedDPQ
from benchmarks.lib import results
from kerascompact import layers
from made_up_questions import DATA

IDS = np.array([[1, 5, 5, 0], [2, 9, 3, 7]])


def gradients(layer):
    """The vectors of a training step, and the gradients of a weighted sum of them and the loss."""
    weights = tf.constant(np.random.default_rng(1).normal(size=(2, 4, 6)), tf.float32)
    with tf.GradientTape() as tape:
        vectors = layer(IDS, training=True)
        loss = tf.reduce_sum(weights * vectors) + sum(layer.losses)
    found = tape.gradient(loss, [layer.queries.value, layer.codebooks.value])
    return vectors.numpy(), *(tf.convert_to_tensor(gradient).numpy() for gradient in found)


def built(layer, like=None):
    layer.build()
    if like is not None:
        layer.queries.assign(like.queries)
        layer.codebooks.assign(like.codebooks)
        if layer.keys is not layer.codebooks:
            layer.keys.assign(like.keys)
    return layer


@pytest.mark.parametrize(
    ("method", "gradient", "tied"), [("vq", "identity", True), ("sx", "softmax", False)]
)
def test_the_corners_are_the_layer_s_own_ways(method, gradient, tied):
    own = built(layers.DPQEmbedding(20, 6, 4, 3, method=method))
    crossed = CrossedDPQ(20, 6, 4, 3, method=method, gradient=gradient, tied=tied)
    for one, other in zip(gradients(own), gradients(built(crossed, own)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_distance_with_the_gradient_of_a_softmax():
    """Against the gradient of `softmax(-|q - w|^2) w`, with the rows read at the largest score."""
    layer = built(
        CrossedDPQ(20, 6, 4, 3, method="vq", gradient="softmax", tied=True, commitment_weight=0.0)
    )
    queries, books = layer.queries.numpy(), layer.codebooks.numpy()
    weights = np.random.default_rng(1).normal(size=(2, 4, 6))
    expected, tokens = np.zeros_like(queries), IDS.ravel()
    for token, weight in zip(tokens, weights.reshape(-1, 6), strict=True):
        for piece in range(3):
            part = slice(2 * piece, 2 * piece + 2)
            away = queries[token, part] - books[piece]
            scores = -np.sum(away**2, axis=1)
            soft = np.exp(scores - scores.max()) / np.sum(np.exp(scores - scores.max()))
            worth = books[piece] @ weight[part]
            expected[token, part] += (soft * (worth - soft @ worth)) @ (-2 * away)
    np.testing.assert_allclose(gradients(layer)[1], expected, atol=1e-5)


def test_every_arm_has_a_row_and_its_line(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(codes_gradient.datasets, "load", lambda *_: DATA)
    some = [arm._replace(epochs=1) for arm in ARMS[1::3]]
    monkeypatch.setattr(codes_gradient, "ARMS", some)
    arguments = argparse.Namespace(data=None, seeds=[0], epochs=None, verbose=0)
    rows = codes_gradient.benchmark("codes_gradient", arguments)
    assert len(codes_gradient.table(rows).splitlines()) == 2 + len(some)
    assert not any("test_accuracy" in row for row in rows)


def test_committed_rows_say_what_the_page_says():
    """The choice costs more than the gradient, and keys apart cost nothing."""
    dev = {}
    for group in results.by_seed(results.rows("codes_gradient")):
        arm = codes_gradient.Spec(**group[0]["spec"])
        dev[arm[:4]] = results.spread(group, "dev_accuracy")[0]
    assert len(dev) == len(ARMS)
    vq = dev["distance", False, "identity", True]
    dot = dev["dot product", True, "identity", True]
    softmax = dev["dot product", True, "softmax", True]
    assert vq - dot > 0.02 > vq - dev["distance", False, "softmax", True] > 0.01
    assert abs(dot - softmax) < 0.005
    assert abs(softmax - dev["dot product", True, "softmax", False]) < 0.005
