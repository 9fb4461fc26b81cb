"""Steps under XLA, where ids have no `tf.unique`, reach the weights of steps without it."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import layers
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.optimizers import LazyAdam, LazySGD, Proximal, lazy

V, CLASSES = 20, 3
RANDOM = np.random.default_rng(0)
# Many repeated ids, fewer of them than words in the second half, and padding.
IDS = RANDOM.integers(0, 9, (8, 6)).astype(np.int32)
IDS[4:, 2:] = 0
LABELS = RANDOM.integers(0, CLASSES, 8)
EMBEDDINGS = [
    kind
    for kind in map(layers.__dict__.get, layers.__all__)
    if isinstance(kind, type) and issubclass(kind, CompactEmbedding)
]


def trained(make, optimizer, jit_compile, batch_size=4, epochs=3):
    """The weights of a model after some epochs."""
    keras.utils.set_random_seed(0)
    ids = keras.Input((6,), dtype="int32")
    outputs = keras.layers.GlobalAveragePooling1D()(make(ids))
    model = keras.Model(ids, keras.layers.Dense(CLASSES, activation="softmax")(outputs))
    loss = "sparse_categorical_crossentropy"
    model.compile(optimizer(), loss, jit_compile=jit_compile)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    model.fit(IDS, LABELS, epochs=epochs, batch_size=batch_size, shuffle=False, verbose=0)
    return model.get_weights()


def assert_same(make, optimizer, rtol=1e-5, atol=2e-6, **more):
    plain, compiled = (trained(make, optimizer, jit, **more) for jit in (False, True))
    for found, expected in zip(compiled, plain, strict=True):
        # float32 sums in another order; a step of Adam divides small numbers
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize("mask_zero", [False, True])
@pytest.mark.parametrize("kind", EMBEDDINGS, ids=lambda kind: kind.__name__)
def test_every_layer(kind, mask_zero):
    sizes = {**kind.EXAMPLE, "mask_zero": mask_zero}

    def make(ids):
        return kind(**sizes)(ids)

    assert_same(make, lambda: Proximal(LazyAdam(0.01)), rtol=1e-4, atol=1e-5)


OPTIMIZERS = {
    "Adam": lambda: lazy("adam"),
    "clipnorm": lambda: lazy(keras.optimizers.Adam(0.1, clipnorm=0.01)),
    "clipvalue": lambda: lazy(keras.optimizers.Adagrad(0.1, clipvalue=0.01)),
    "global_clipnorm": lambda: lazy(keras.optimizers.SGD(1.0, global_clipnorm=0.01)),
    "momentum": lambda: lazy(keras.optimizers.SGD(0.1, momentum=0.9)),
    "decay": lambda: lazy(keras.optimizers.AdamW(0.1, weight_decay=0.1)),
    "accumulation": lambda: lazy(keras.optimizers.Adam(0.1, gradient_accumulation_steps=2)),
    "average": lambda: lazy(keras.optimizers.Adam(0.1, use_ema=True)),
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(LazyAdam(0.1), initial_scale=64.0),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_way_of_an_optimizer(optimizer):
    def make(ids):
        return layers.Embedding(V, 4)(ids)

    assert_same(make, OPTIMIZERS[optimizer])


@pytest.mark.slow
def test_two_lookups_of_one_table_and_a_tied_softmax_and_a_last_batch_that_is_smaller():
    def twice(ids):
        embedding = layers.LowRankEmbedding(V, 4, rank=2)
        shifted = keras.layers.Lambda(lambda x: tf.minimum(x + 1, V - 1))(ids)
        return embedding(ids) * embedding(shifted)

    def tied(ids):
        embedding = layers.GroupLassoEmbedding(V, 4, group_lasso_weight=1e-3)
        return embedding(embedding(ids), reverse=True)

    def both(ids):
        return keras.layers.Concatenate()([twice(ids), tied(ids)])

    assert_same(both, lambda: Proximal(LazySGD(0.1)), batch_size=5, epochs=2)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(dtype):
    def make(ids):
        return layers.ClusterEmbedding(V, 4, num_clusters=3, dtype=dtype, seed=1)(ids)

    # the vectors are rounded to 8 or 11 bits, in sums of another order
    assert_same(make, lambda: LazySGD(0.1), rtol=1e-2, atol=1e-3)


@pytest.mark.slow
def test_a_last_batch_that_is_smaller_in_statistics():
    def make(ids):
        return layers.DPQEmbedding(V, 4, cardinality=3, code_length=2, mask_zero=True)(ids)

    assert_same(make, lambda: LazySGD(0.1), batch_size=3)


def test_more_ids_than_rows_and_rows_that_stay():
    """Rows of words that are in no batch are not written, whatever stands in their place."""

    def make(ids):
        return layers.Embedding(V, 4, name="words", embeddings_initializer="ones")(ids)

    weights = trained(make, lambda: LazySGD(0.1), True, batch_size=8)
    assert IDS.size > V
    met = np.isin(np.arange(V), IDS)
    np.testing.assert_array_equal(weights[0][~met], 1.0)
    assert np.all(weights[0][met] != 1.0)
