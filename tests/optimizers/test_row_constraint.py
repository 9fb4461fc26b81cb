"""Constraints under lazy optimizers: rows that are updated, all rows after `fit`."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.optimizers import lazy
from kerascompact.optimizers.row_constraint import row_constraint
from sparse_steps import ALL, CLOSE, IDS, LABELS, ROWS, WIDTH, classifier, start, steps, summed

MaxNorm, NonNeg, UnitNorm = (
    getattr(keras.constraints, n) for n in ("MaxNorm", "NonNeg", "UnitNorm")
)
BY_ROWS = [NonNeg(), MaxNorm(0.7, axis=1), UnitNorm(axis=-1), UnitNorm(axis=[1])]


class Halves(keras.constraints.Constraint):
    """One of a user's own, which may be of the whole table."""

    def __call__(self, w):
        return w / keras.ops.maximum(1.0, keras.ops.max(keras.ops.abs(w)))


WHOLE = [MaxNorm(0.7), UnitNorm(axis=[0, 1]), Halves()]


def run(optimizer, constraint, ids, dense=False):
    variable = keras.Variable(start())
    variable.constraint = constraint
    for values in steps(ids):
        gradient = tf.IndexedSlices(tf.constant(values), tf.constant(ids), (ROWS, WIDTH))
        if dense:
            gradient = tf.constant(summed(values, ids), tf.float32)
        optimizer.apply([gradient], [variable])
    optimizer.finalize_variable_values([variable])
    return variable.numpy()


@pytest.mark.few(9)
@pytest.mark.parametrize("constraint", BY_ROWS + WHOLE, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("name", ["sgd", "adam"])
@pytest.mark.parametrize("dense", [False, True])
def test_equals_keras_when_every_row_is_touched(constraint, name, dense):
    """Keras' optimizer with the dense gradient constrains the whole table after each step."""
    expected = run(keras.optimizers.get(name), constraint, ALL, dense=True)
    found = run(lazy(name), constraint, ALL, dense)
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize(
    "constraint", [UnitNorm(axis=1), keras.constraints.MinMaxNorm(0.5, 0.7, rate=0.5, axis=1)]
)
def test_weights_that_averages_overwrite_are_constrained_as_by_keras(constraint):
    def sgd():
        return keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=2)

    found = []
    for optimizer in (sgd(), lazy(sgd())):
        variable = keras.Variable(start())
        variable.constraint = constraint
        for values in steps(ALL):
            optimizer.apply([tf.constant(summed(values, ALL), tf.float32)], [variable])
        found.append(variable.numpy())
    np.testing.assert_allclose(*found, **CLOSE)


@pytest.mark.parametrize("constraint", BY_ROWS, ids=lambda c: type(c).__name__)
def test_only_updated_rows_are_constrained_until_fit_ends(constraint):
    variable, optimizer, ids = keras.Variable(start()), lazy(keras.optimizers.SGD(0.1)), [1, 4, 1]
    variable.constraint, expected = constraint, start()
    for values in steps(ids):
        gradient = tf.IndexedSlices(tf.constant(values), tf.constant(ids), (ROWS, WIDTH))
        optimizer.apply([gradient], [variable])
        expected[[1, 4]] -= 0.1 * summed(values, ids)[[1, 4]]
        expected[[1, 4]] = constraint(expected[[1, 4]])
    np.testing.assert_allclose(variable, expected, **CLOSE)
    optimizer.finalize_variable_values([variable])
    np.testing.assert_allclose(variable, constraint(expected), **CLOSE)


@pytest.mark.parametrize("jit_compile", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_holds_in_fit(jit_compile):
    embedding = keras.layers.Embedding(12, 4, embeddings_constraint=UnitNorm(axis=1))
    model = classifier(embedding)
    optimizer = keras.mixed_precision.LossScaleOptimizer(lazy("sgd"))
    model.compile(optimizer, "mse", jit_compile=jit_compile)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    model.fit(IDS, LABELS, batch_size=16, verbose=0)  # ids 0 to 3 of 12
    norms = np.linalg.norm(embedding.embeddings.numpy(), axis=1)
    np.testing.assert_allclose(norms, 1, rtol=1e-5)  # Keras adds 1e-7 to norms of 0.05


def test_one_of_a_vector_is_by_rows_only_if_it_is_by_entries():
    variable = keras.Variable(np.ones(3))
    variable.constraint = NonNeg()
    assert row_constraint(variable) is variable.constraint
    variable.constraint = UnitNorm(axis=0)
    assert row_constraint(variable) is None
    variable.constraint = UnitNorm(axis=None)
    assert row_constraint(variable) is None
