"""`embeddings_constraint`: Keras' where it holds for the vectors, refused elsewhere."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import example, optimizer
from kerascompact import layers
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.optimizers import lazy

KINDS = [getattr(layers, name) for name in sorted(layers.__all__) if name.endswith("Embedding")]
EMBEDDINGS = [kind for kind in KINDS if issubclass(kind, CompactEmbedding)]
HELD = [  # with the arguments under which it holds
    (layers.ClusterEmbedding, {}),
    (layers.HashEmbedding, {"num_hashes": 1, "importance": False}),
    (layers.MixtureEmbedding, {}),
    (layers.SelectedEmbedding, {}),
    (layers.VariationalVocabularyEmbedding, {}),
]
MAX = keras.constraints.MaxNorm(0.1, axis=1)


def step(layer, by, ids, target=1.0):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(layer(ids, training=True) - target))
    by.apply(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables)


@pytest.mark.few(3)
@pytest.mark.parametrize("by", ["sgd", "lazy"])
@pytest.mark.parametrize(("cls", "arguments"), HELD, ids=lambda v: getattr(v, "__name__", ""))
def test_holds_for_the_vectors_after_each_step(cls, arguments, by):
    layer = example(cls, embeddings_constraint=MAX, **arguments)
    every = np.arange(layer.input_dim)
    layer(every)
    plain = keras.optimizers.SGD(1.0)
    by = lazy(plain) if by == "lazy" else plain
    for _ in range(2):
        step(layer, by, every)
    by.finalize_variable_values(layer.trainable_variables)  # buckets that no id hashes to
    norms = np.linalg.norm(layer(every), axis=-1)
    assert norms.max() > 0.09  # steps of 1 towards 1 would have gone far beyond
    assert norms.max() < 0.1 * (1 + 1e-6)
    again = cls.from_config(layer.get_config())
    assert again.embeddings_constraint.get_config() == MAX.get_config()


@pytest.mark.parametrize("constraint", ["non_neg", keras.constraints.MaxNorm(0.05)])
def test_equals_keras_on_a_whole_table(constraint):
    """All words selected: `SelectedEmbedding` is `keras.layers.Embedding`."""
    table, ids = np.random.default_rng(0).normal(size=(20, 4)), np.array([[3, 7], [3, 19]])
    keras_own = keras.layers.Embedding(20, 4, embeddings_constraint=constraint)
    ours = layers.SelectedEmbedding(20, 4, 20, others="zeros", embeddings_constraint=constraint)
    for layer in (keras_own, ours):
        layer.build()
        layer.trainable_weights[0].assign(table)
        by = keras.optimizers.SGD(0.1)
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(layer(ids) - 1.0))
            weights = layer.trainable_variables
            by.apply(tape.gradient(loss, weights), weights)
    np.testing.assert_array_equal(ours.table, keras_own.embeddings)


@pytest.mark.parametrize("cls", EMBEDDINGS)
def test_is_refused_where_it_would_not_hold(cls):
    held = {kind for kind, _ in HELD} | {layers.SparseVariationalEmbedding}
    assert (cls in held) == (not cls.UNCONSTRAINED)
    if cls.UNCONSTRAINED or cls is layers.HashEmbedding:
        with pytest.raises(ValueError, match="`embeddings_constraint` must be None: .{20,}NonNeg"):
            example(cls, embeddings_constraint=keras.constraints.NonNeg())
    else:
        assert optimizer(cls, None) is None  # nothing has a proximal rule, which takes none


def test_projections_have_no_table():
    for name, value in (("embeddings_constraint", "non_neg"), ("weights", np.ones((3, 4)))):
        with pytest.raises(ValueError, match=f"`{name}` must be None for a projection: it has no"):
            layers.ProjectionEmbedding(4, **{name: value})
    assert layers.ProjectionEmbedding(4, weights=None).output_dim == 4
