"""Appendix D of the paper: other methods are anchors and transformations of a certain shape."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.forms import CodebookForm
from kerascompact.initializers import HalfNormal
from kerascompact.layers import AnchorTransformEmbedding, LowRankEmbedding
from kerascompact.optimizers import Proximal

V, D = 30, 5
EVERY = np.arange(V)[None]
TARGET = np.random.default_rng(0).normal(size=(1, V, D)).astype(np.float32)


def trained(layer, optimizer=None, steps=4):
    """Towards a random table, each step with every word."""
    optimizer = optimizer or keras.optimizers.SGD(8.0)
    layer(EVERY)
    weights = layer.trainable_weights
    optimizer.build(weights)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(layer(EVERY, training=True) - TARGET))
            loss += sum(layer.losses)
        optimizer.apply(tape.gradient(loss, [weight.value for weight in weights]), weights)
    optimizer.finalize_variable_values(weights)
    return layer(EVERY)[0].numpy()


@pytest.mark.few(1)
@pytest.mark.parametrize("kept", [[0, 1, 2, 3], [17, 3, 29]])
def test_frequency_selection(kept):
    """The words that are selected have vectors of their own, all others that of zeros.

    Ids of frequent words, or what TF-IDF, a group lasso or variational dropout selects.
    """
    start = np.random.default_rng(1).normal(size=(len(kept), D)).astype(np.float32)
    found = trained(
        AnchorTransformEmbedding(
            V,
            D,
            len(kept),
            anchor_ids=kept,
            anchors=start,
            transform_initializer="zeros",
            trainable_transform=False,
        )
    )
    table = np.zeros((V, D), np.float32)
    table[kept] = start
    selection = keras.layers.Embedding(V, D, embeddings_initializer=lambda *_, **__: table)
    expected = trained(selection)
    np.testing.assert_allclose(found[kept], expected[kept], atol=1e-6)
    np.testing.assert_array_equal(np.delete(found, kept, axis=0), 0)
    assert np.abs(found[kept] - start).max() > 0.1  # they were trained


@pytest.mark.few(1)
@pytest.mark.parametrize("rank", [1, 3])
def test_low_rank(rank):
    """Sets of one random anchor each, added up, without a penalty: `E = sum_m t_m a_m`."""
    layer = AnchorTransformEmbedding(V, D, [1] * rank, l1_weight=0, nonnegative=False)
    layer.build()
    u, w = layer.transform.numpy(), layer.all_anchors().numpy()
    found = trained(layer)
    factors = LowRankEmbedding(V, D, rank)
    factors.build()
    factors.u.assign(u)
    factors.w.assign(w)
    np.testing.assert_allclose(found, trained(factors), atol=1e-5)
    assert np.linalg.matrix_rank(found, tol=1e-4) == rank
    assert np.abs(found - u @ w).max() > 0.1


def test_compositional_codes():
    """One entry of each row and set without penalty, all others with a large one: a codebook."""
    sets, size = 3, 4
    codes = np.random.default_rng(2).integers(0, size, (V, sets))
    columns = codes + size * np.arange(sets)
    pairs = np.stack([np.repeat(np.arange(V), sets), columns.reshape(-1)], axis=1)
    layer = AnchorTransformEmbedding(
        V,
        D,
        [size] * sets,
        l1_weight=1e3,
        nonnegative=False,
        positive_pairs=pairs,
        embeddings_initializer=HalfNormal(0.5),
        transform_initializer="ones",
    )
    found = trained(layer, Proximal(keras.optimizers.SGD(1.0)))
    transform = layer.sparse_transform()
    np.testing.assert_array_equal(transform.indices.reshape(V, sets), columns)
    # each word is a sum of one vector of each codebook, up to the entry that it is scaled by
    entries = transform.data.reshape(V, sets, 1)
    books = np.stack([anchors.numpy() for anchors in layer.anchors])
    np.testing.assert_allclose(
        found, sum(entries[:, m] * books[m][codes[:, m]] for m in range(sets)), atol=1e-5
    )
    ones = np.zeros((V, sets * size), np.float32)
    np.put_along_axis(ones, columns, 1, axis=1)
    layer.transform.assign(ones)
    expected = CodebookForm.from_codes(codes, books)(EVERY)
    np.testing.assert_allclose(layer(EVERY), expected, atol=1e-5)


@pytest.mark.slow
def test_one_entry_of_a_huge_penalty_is_all_that_is_left():
    """What the appendix says of the other entries: exact zeros after the first step."""
    layer = AnchorTransformEmbedding(V, D, 4, l1_weight=1e3, positive_pairs=[[2, 3]])
    trained(layer, Proximal("adam"), steps=1)
    assert layer.sparse_transform().nonzero() == (np.array([2]), np.array([3]))
