"""Lazy Adam against its formula in NumPy and Keras' on dense gradients."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from graphs import tensors_with_rows
from kerascompact.layers import LowRankEmbedding
from kerascompact.optimizers import LazyAdam
from sparse_steps import (
    ALL,
    BIG,
    CLOSE,
    IDS,
    LABELS,
    ROWS,
    WIDTH,
    classifier,
    fitted,
    run,
    start,
    step_on_a_big_table,
    steps,
    summed,
)


def adam(gradients, rate=0.1, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False):
    """Algorithm 1 of Kingma & Ba in float64, with the epsilon of its section 2 ("epsilon hat")."""
    x, m, v = start().astype(np.float64), 0.0, 0.0
    largest = 0.0
    for t, g in enumerate(gradients, 1):
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g**2
        largest = np.maximum(largest, v)
        alpha = rate * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        x = x - alpha * m / (np.sqrt(largest if amsgrad else v) + epsilon)
    return x


@pytest.mark.parametrize("amsgrad", [False, True])
def test_equals_the_algorithm_when_every_row_is_touched(amsgrad):
    found, _ = run(LazyAdam(0.1, amsgrad=amsgrad), ALL)
    expected = adam([summed(values, ALL) for values in steps(ALL)], amsgrad=amsgrad)
    np.testing.assert_allclose(found, expected, **CLOSE)


CONFIGS = [
    {},
    {"amsgrad": True},
    {"beta_1": 0.5, "beta_2": 0.7, "epsilon": 1e-2},
    {"clipnorm": 0.5},
    {"global_clipnorm": 0.5},
    {"clipvalue": 0.1},
    {"weight_decay": 0.1},
    {"use_ema": True},
    {"loss_scale_factor": 8.0},
]


@pytest.mark.few(2)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_equals_keras_adam_on_the_dense_gradient(config):
    """Variable and every moment; clipping sees the gradient with repeated rows summed."""
    found, slots = run(LazyAdam(0.1, **config), ALL)
    expected, dense_slots = run(keras.optimizers.Adam(0.1, **config), ALL, dense=True)
    np.testing.assert_allclose(found, expected, **CLOSE)
    for slot, dense_slot in zip(slots, dense_slots, strict=True):
        np.testing.assert_allclose(slot, dense_slot, **CLOSE)


@pytest.mark.parametrize(
    "config", [{"clipnorm": 0.5}, {"global_clipnorm": 0.5}, {"clipvalue": 0.1}]
)
def test_the_clipping_above_does_clip(config):
    """The first step of Adam hides the gradient's size, so look at the moments."""
    (_, clipped), (_, free) = (run(LazyAdam(0.1, **c), ALL, count=1) for c in (config, {}))
    assert np.abs(clipped[0] - free[0]).max() > 0.05


def test_stock_keras_differs_on_repeated_ids():
    """The bug that LazyAdam is for: the second moment sums squares, it does not square the sum."""
    ids = [0, 0, 0, 0, 1, 2, 3, 4, 5]
    values = [np.ones((9, WIDTH), np.float32)] * 1
    expected = adam([summed(values[0], ids)])[0]  # a first step of Adam is +-rate
    np.testing.assert_allclose(start()[0] - expected, 0.1, rtol=1e-5)
    moved = {}
    for kind in (LazyAdam, keras.optimizers.Adam):
        variable = keras.Variable(start())
        gradient = tf.IndexedSlices(tf.constant(values[0]), tf.constant(ids), (ROWS, WIDTH))
        kind(0.1).apply([gradient], [variable])
        moved[kind] = start()[0] - variable.numpy()[0]
    np.testing.assert_allclose(moved[LazyAdam], 0.1, rtol=1e-5)
    # four equal gradients: m is 4 (1 - beta_1), v is 4 (1 - beta_2) instead of 16 of it: twice
    np.testing.assert_allclose(moved[keras.optimizers.Adam], 0.2, rtol=1e-4)


@pytest.mark.parametrize(
    "config", [{}, {"amsgrad": True}, {"global_clipnorm": 0.5}, {"clipnorm": 0.5}], ids=str
)
def test_rows_that_are_not_in_the_batch_keep_every_bit(config):
    optimizer = LazyAdam(0.1, **config)
    variable = keras.Variable(start())
    optimizer.build([variable])
    first = tf.IndexedSlices(tf.ones((ROWS, WIDTH)), tf.range(ROWS), (ROWS, WIDTH))
    optimizer.apply([first], [variable])  # every row has moments now
    before = [variable.numpy(), *(v.numpy() for v in optimizer.variables[2:])]
    second = tf.IndexedSlices(tf.ones((3, WIDTH)), tf.constant([4, 1, 4]), (ROWS, WIDTH))
    optimizer.apply([second], [variable])
    after = [variable.numpy(), *(v.numpy() for v in optimizer.variables[2:])]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old[[0, 2, 3, 5]], new[[0, 2, 3, 5]])
    for old, new in zip(before[:3], after[:3], strict=True):  # variable, momentum, velocity
        assert (old[[1, 4]] != new[[1, 4]]).all()


def test_other_gradients_are_updated_as_keras_does():
    found, slots = run(LazyAdam(0.1), ALL, dense=True)
    expected, dense_slots = run(keras.optimizers.Adam(0.1), ALL, dense=True)
    np.testing.assert_array_equal(found, expected)
    for slot, dense_slot in zip(slots, dense_slots, strict=True):
        np.testing.assert_array_equal(slot, dense_slot)


def test_no_ids_at_all():
    optimizer, variable = LazyAdam(0.1), keras.Variable(start())
    none = tf.IndexedSlices(tf.zeros((0, WIDTH)), tf.zeros((0,), tf.int32), (ROWS, WIDTH))
    optimizer.apply([none], [variable])
    np.testing.assert_array_equal(variable, start())


@keras.saving.register_keras_serializable(package="tests")
class DenseGradient(keras.layers.Embedding):
    """A plain embedding whose gradient comes dense, every row of it."""

    def call(self, ids):
        return tf.one_hot(ids, self.input_dim) @ self.embeddings


def test_training_a_plain_embedding_equals_adam_on_its_dense_gradient():
    ids = np.concatenate([IDS, np.tile(np.arange(12), (64, 1))], axis=1)[:, :17]

    def weights(optimizer, layer):
        keras.utils.set_random_seed(3)
        model = keras.Sequential(
            [
                keras.Input((17,), dtype="int32"),
                layer(12, 4, embeddings_initializer="glorot_uniform"),
                keras.layers.Flatten(),
                keras.layers.Dense(1),
            ]
        )
        model.compile(optimizer, "mse", run_eagerly=True)
        for first in range(0, 64, 16):
            rows = slice(first, first + 16)
            model.train_on_batch(ids[rows], LABELS[rows])
        return model.get_weights()

    lazy = weights(LazyAdam(0.01), keras.layers.Embedding)
    dense = weights(keras.optimizers.Adam(0.01), DenseGradient)
    for one, other in zip(lazy, dense, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)  # 4 steps of sums reordered


@pytest.mark.slow  # `test_compiled_steps` compiles it
def test_jit_compile_changes_nothing():
    (plain, losses), (compiled, jit_losses) = (
        fitted(LazyAdam(0.05, global_clipnorm=1.0), jit_compile) for jit_compile in (False, True)
    )
    np.testing.assert_allclose(losses, jit_losses, rtol=1e-4)
    for one, other in zip(plain.get_weights(), compiled.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)  # 8 steps of sums reordered


class Twice(keras.layers.Layer):
    """An embedding of unique ids that a model looks up twice."""

    def __init__(self):
        super().__init__()
        self.embedding = LowRankEmbedding(12, 3, 2)

    def call(self, ids):
        return self.embedding(ids) + self.embedding((ids + 1) % 12)


@pytest.mark.slow
def test_jit_compile_changes_nothing_for_layers_of_unique_ids():
    runs = []
    for jit_compile in (False, True):
        keras.utils.set_random_seed(0)
        runs.append(fitted(LazyAdam(0.05), jit_compile, Twice()))
    (plain, losses), (compiled, jit_losses) = runs
    np.testing.assert_allclose(losses, jit_losses, rtol=1e-4)
    for one, other in zip(plain.get_weights(), compiled.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_learning_rate_schedule():
    """A rate that falls to zero after two steps leaves what two steps left."""
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([1], [0.1, 0.0])
    found, _ = run(LazyAdam(schedule), ALL, count=3)
    np.testing.assert_array_equal(found, run(LazyAdam(0.1), ALL, count=2)[0])


def test_mixed_float16_scales_the_loss_and_learns():
    embedding = keras.layers.Embedding(12, 4, dtype="mixed_float16")
    optimizer = keras.optimizers.LossScaleOptimizer(LazyAdam(0.05))
    model, losses = fitted(optimizer, embedding=embedding, eager=True)
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    # the same as without scaling, up to the gradient's rounding to half precision
    _, plain = fitted(LazyAdam(0.05), eager=True)
    np.testing.assert_allclose(losses, plain, rtol=0.05)


def test_the_policy_for_half_precision_wraps_it():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = classifier()
        model.compile(LazyAdam(0.01), "mse", run_eagerly=True)
        assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
        losses = [model.train_on_batch(IDS, LABELS) for _ in range(3)]  # the mean so far
    finally:
        keras.config.set_dtype_policy("float32")
    assert losses[-1] < losses[0]


def test_a_saved_model_goes_on_where_it_was(tmp_path):
    model, _ = fitted(LazyAdam(0.05, amsgrad=True), epochs=1, eager=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.optimizer) is LazyAdam
    for one in (model, loaded):
        one.train_on_batch(IDS[:16], LABELS[:16])
    for old, new in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    state = zip(model.optimizer.variables, loaded.optimizer.variables, strict=True)
    for old, new in state:
        np.testing.assert_array_equal(old, new)
    assert int(loaded.optimizer.iterations) == 5


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "config",
    [{"amsgrad": True, "clipnorm": 1.0}, {"global_clipnorm": 1.0}, {"clipvalue": 1.0}],
    ids=str,
)
def test_no_tensor_of_a_step_has_as_many_rows_as_the_table(config):
    assert tensors_with_rows(step_on_a_big_table(LazyAdam(**config)), BIG) == []


def test_only_flags_are_that_large_under_loss_scaling():
    """Keras' check for overflow makes one boolean per entry of the table."""
    optimizer = keras.optimizers.LossScaleOptimizer(LazyAdam())
    found = tensors_with_rows(step_on_a_big_table(optimizer), BIG)
    assert [tensor for tensor in found if not tensor.startswith("bool ")] == []


def test_keras_adam_makes_such_tensors():
    """So the tests above can fail."""
    found = tensors_with_rows(step_on_a_big_table(keras.optimizers.Adam()), BIG)
    assert any(tensor.startswith("float32 Sqrt") for tensor in found)


def test_looks_inside_branches():
    """The helper of the tests above, on a branch of `tf.cond` and on a function in a function."""
    inner = tf.function(lambda x: tf.reduce_sum(tf.ones((77, 1)) * x))
    outer = tf.function(lambda x: tf.cond(x > 0, lambda: inner(x), lambda: x))
    assert tensors_with_rows(outer.get_concrete_function(tf.constant(1.0)), 77)
    assert tensors_with_rows(outer.get_concrete_function(tf.constant(1.0)), 78) == []
