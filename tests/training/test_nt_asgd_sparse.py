"""Averages of weights with a proximal rule: against NumPy averages of dense proximal iterates."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import lazy_steps
from kerascompact.layers import AnchorTransformEmbedding, tied_softmax
from kerascompact.optimizers import Proximal, lazy
from kerascompact.optimizers.entry_rule import EntryRule
from kerascompact.optimizers.pending import caught_up, pending_of, proximal_rule
from kerascompact.training import NTASGD, SparseSoftmaxCrossEntropy
from kerascompact.training.weight_averages import WeightAverages
from proximal_steps import CLOSE, RATE, STRENGTH, TARGETS, Rows, batches, start

TABLE = ("table", True), ("columns", False)
IDS = np.stack(batches())  # a batch of one text for each step


class Distances(keras.losses.Loss):
    """Sum over a text of squared distances, the loss of `proximal_steps.train`."""

    def call(self, y_true, y_pred):
        return tf.reduce_sum(tf.square(y_pred - y_true), axis=[1, 2])


def table_of(model):
    return next(v for v in model.trainable_variables if pending_of(v) is not None)


class Seen(keras.callbacks.Callback):
    """The table as it is read after every batch, in every evaluation and after it."""

    def __init__(self):
        super().__init__()
        self.iterates, self.evaluated, self.raw, self.after = [], [], [], []

    def read(self):
        return caught_up(table_of(self.model)).numpy()

    def on_train_begin(self, logs=None):
        self.iterates.append(self.read())

    def on_train_batch_end(self, batch, logs=None):
        self.iterates.append(self.read())

    def on_test_begin(self, logs=None):
        self.evaluated.append(self.read())
        self.raw.append(table_of(self.model).numpy())

    def on_test_end(self, logs=None):
        self.after.append(self.read())


def fitted(callbacks, optimizer=None, rule="l1", epochs=3, jit_compile=False, model=None):
    if model is None:
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((4,), dtype="int32"), Rows(rule)])
        model.layers[0].table.assign(start())
        model.compile(optimizer or Proximal("sgd"), Distances(), jit_compile=jit_compile)
        if optimizer is None:
            model.optimizer.learning_rate = RATE
    data = (IDS, TARGETS[IDS])
    model.fit(
        *data,
        batch_size=1,
        epochs=epochs,
        shuffle=False,
        validation_data=data,
        validation_batch_size=len(IDS),
        callbacks=callbacks,
        verbose=0,
    )
    return model


def iterates(epochs, prox=lazy_steps.soft):
    """The table at the start and after each step, every row thresholded at every step."""
    table = lazy_steps.GradientDescent(start(), RATE, STRENGTH, prox)
    found = [table.x.copy()]
    for ids in batches() * epochs:
        gradient = np.zeros_like(table.x)
        np.add.at(gradient, ids, 2 * (table.x[ids] - TARGETS[ids]))
        table.step(gradient, np.unique(ids))
        found.append(table.x.copy())
    return np.array(found)


def test_evaluates_the_average_of_dense_iterates_with_the_zeros_of_the_latest():
    seen = Seen()
    callback = NTASGD(from_start=True, baseline=1e9)
    model = fitted([callback, seen])
    dense, steps = iterates(3), len(IDS)
    for epoch, (evaluated, raw, after) in enumerate(
        zip(seen.evaluated, seen.raw, seen.after, strict=True), 1
    ):
        last = dense[steps * epoch]
        average = np.where(last == 0, 0, dense[: steps * epoch + 1].mean(axis=0))
        np.testing.assert_allclose(evaluated, average, **CLOSE)
        np.testing.assert_array_equal(evaluated == 0, last == 0)
        np.testing.assert_array_equal(raw, evaluated)  # nothing is owed on an average
        np.testing.assert_allclose(after, last, **CLOSE)  # training goes on from the iterate
    assert 0 < (last == 0).mean() < 1
    best = int(np.argmin(callback.history))
    table = table_of(model)
    np.testing.assert_array_equal(caught_up(table), seen.evaluated[best])
    np.testing.assert_array_equal(table, seen.evaluated[best])


def loss_scaled():
    return keras.optimizers.LossScaleOptimizer(Proximal(keras.optimizers.Adam(RATE)))


def multiple():
    if not hasattr(keras.optimizers, "OptimizerMap"):
        pytest.skip("one optimizer for each layer: Keras 3.15")
    own = {".*table": Proximal(keras.optimizers.SGD(RATE, momentum=0.9))}
    return keras.optimizers.MultiOptimizer(keras.optimizers.OptimizerMap(lazy("sgd"), own))


def adaptive():
    return Proximal(keras.optimizers.Adam(RATE / 4), "adaptive")


@pytest.mark.parametrize(
    "optimizer, rule, jit_compile",
    [
        pytest.param(loss_scaled, "free", True, marks=pytest.mark.slow),
        pytest.param(multiple, "group", False, marks=pytest.mark.slow),
        (adaptive, "l1", False),
    ],
)
def test_any_optimizer_and_rule(optimizer, rule, jit_compile):
    """Averages of what was read after every batch; what was read is that of a run without them."""
    seen, plain = Seen(), Seen()
    model = fitted([], optimizer(), rule, epochs=0, jit_compile=jit_compile)
    model.optimizer.build(model.trainable_variables)  # lazy in the adaptive metric as well
    variables = [*model.variables, *model.optimizer.variables]
    state = [variable.numpy() for variable in variables]
    for callbacks in ([plain], [NTASGD(from_start=True, baseline=1e9), seen]):
        for variable, value in zip(variables, state, strict=True):  # what is traced serves both
            variable.assign(value)
        fitted(callbacks, epochs=2, model=model)
    np.testing.assert_allclose(seen.iterates, plain.iterates, **CLOSE)
    zeros = np.array(seen.iterates) == 0
    np.testing.assert_array_equal(zeros, np.array(plain.iterates) == 0)
    for epoch, evaluated in enumerate(seen.evaluated, 1):
        until = np.array(seen.iterates[: len(IDS) * epoch + 1])
        expected = np.where(until[-1] == 0, 0, until.mean(axis=0))
        np.testing.assert_allclose(evaluated, expected, **CLOSE)
        np.testing.assert_array_equal(evaluated, seen.raw[epoch - 1])
    assert 0 < zeros[-1].mean() < 1
    averaged, changed = until.mean(axis=0), (until[-1] == 0) & (until[0] != 0)
    assert (averaged[changed] != 0).all() and changed.any()  # it would have lost zeros


def test_averages_in_the_metric_of_the_optimizer_that_is_in_use():
    """Begun before the first step names a metric, and used again after another `compile`."""
    keras.utils.set_random_seed(0)
    embedding = AnchorTransformEmbedding(8, 3, 4, l1_weight=0.02, transform_initializer="ones")
    layers = [keras.Input((2,), dtype="int32"), embedding, keras.layers.Flatten()]
    model = keras.Sequential([*layers, keras.layers.Dense(1)])
    averages = WeightAverages(model)
    place = [v is embedding.transform for v in model.trainable_variables].index(True)
    averages.add()
    read = [caught_up(embedding.transform).numpy()]
    for optimizer in (adaptive(), Proximal(keras.optimizers.SGD(RATE))):
        model.compile(optimizer, "mse")
        for _ in range(3):  # words 4 to 7 are never met: they owe
            model.train_on_batch(np.array([[1, 2], [3, 1]]), np.ones((2, 1)))
            averages.add()
            read.append(caught_up(embedding.transform).numpy())
    # float32 means of numbers below 1
    np.testing.assert_allclose(averages.arrays()[place], np.mean(read, axis=0), atol=1e-6)
    assert np.ptp(read, axis=0)[7].max() > 0.01


def test_an_entry_in_a_new_column_was_zero_before():
    """Against the mean of the dense rows; the averages are stored and loaded halfway."""
    layer = keras.layers.Layer()
    table, columns = (layer.add_weight((1, 2), name=name, trainable=t) for name, t in TABLE)
    proposals = [keras.Variable(np.zeros(shape), dtype="int32") for shape in ((1,), (1, 2))]
    proximal_rule(layer, table, EntryRule(0.1, False, None, columns, proposals, sets=[(6, 2)]))
    model = keras.Sequential([layer])
    dense = np.zeros((4, 6))
    averages = WeightAverages(model)
    steps = [([4.0, 2.0], [0, 3]), ([0.0, 3.0], [0, 3]), ([5.0, 4.0], [5, 3]), ([7.0, 0.0], [5, 1])]
    for step, (values, places) in enumerate(steps):
        table.assign([values])
        columns.assign([places])
        dense[step, places] = values
        averages.add()
        stored, averages = averages.arrays(), WeightAverages(model)
        assert averages.fits(stored)
        averages.load(stored, step + 1)
    averages.replace_weights()
    mean = np.where(dense[-1] == 0, 0, dense.mean(axis=0))
    np.testing.assert_allclose(table.numpy()[0], mean[[5, 1]], rtol=1e-6)


@pytest.mark.slow
def test_a_tied_language_model_keeps_its_zeros():
    keras.utils.set_random_seed(0)
    embedding = AnchorTransformEmbedding(12, 4, 5, l1_weight=0.1)
    ids = keras.Input((6,), dtype="int32")
    hidden = keras.layers.LSTM(4, return_sequences=True)(embedding(ids))
    model = keras.Model(ids, tied_softmax(embedding, hidden))
    model.compile(
        Proximal(keras.optimizers.SGD(0.3)), SparseSoftmaxCrossEntropy(), jit_compile=False
    )
    text = np.random.default_rng(0).integers(0, 9, (16, 7))
    data, seen = (text[:, :-1], text[:, 1:]), Seen()
    callback = NTASGD(from_start=True)
    options = dict(batch_size=4, epochs=3, shuffle=False, validation_data=data, verbose=0)
    model.fit(*data, callbacks=[callback, seen], **options)
    for evaluated, after in zip(seen.evaluated, seen.after, strict=True):
        np.testing.assert_array_equal(evaluated == 0, after == 0)
    assert (after == 0).any() and (np.mean(seen.iterates, axis=0)[after == 0] != 0).any()
    assert model.evaluate(*data, verbose=0) == pytest.approx(callback.best, rel=1e-5)


@pytest.mark.slow
def test_a_killed_run_goes_on_while_rows_owe(tmp_path):
    def callbacks(name):
        backup = keras.callbacks.BackupAndRestore(
            tmp_path / f"{name}-back", delete_checkpoint=False
        )
        return [NTASGD(from_start=True, folder=tmp_path / name), backup]

    whole = fitted([*callbacks("whole"), one := Seen()], epochs=3)
    fitted(callbacks("cut"), epochs=1)
    cut = fitted([*callbacks("cut"), other := Seen()], epochs=3)
    np.testing.assert_allclose(other.evaluated, one.evaluated[1:], **CLOSE)
    np.testing.assert_allclose(table_of(cut), table_of(whole), **CLOSE)
    np.testing.assert_array_equal(table_of(cut).numpy() == 0, table_of(whole).numpy() == 0)
