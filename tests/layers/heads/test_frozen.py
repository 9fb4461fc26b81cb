"""Embeddings that are not trained any more, in a softmax over all words."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact import layers

NAMES = ("ClusterEmbedding", "KDCodeEmbedding", "SparseAnchorEmbedding", "QuantizedEmbedding")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_embedding_gives_hidden_vectors_their_gradient(name):
    made = getattr(layers, name)
    layer = made(**made.EXAMPLE)
    vectors = layer(np.arange(layer.input_dim), training=False).numpy()
    layer.trainable = False
    hidden, upstream = (np.random.default_rng(n).normal(size=(3, len(of))) for n, of in
                        enumerate((vectors[0], vectors)))  # fmt: skip

    @tf.function(autograph=False)
    def run(hidden, upstream):
        with tf.GradientTape() as tape:
            tape.watch(hidden)
            logits = layer(hidden, reverse=True, training=True)
        return logits, tape.gradient(logits, hidden, upstream)

    logits, gradient = run(tf.constant(hidden, tf.float32), tf.constant(upstream, tf.float32))
    np.testing.assert_allclose(logits, hidden @ vectors.T, atol=1e-5)
    np.testing.assert_allclose(gradient, upstream @ vectors, atol=1e-5)
