"""Averages by hand, the trigger of algorithm 1, and going on after a kill."""

import functools
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.training import NTASGD, ResetStates
from kerascompact.training.weight_averages import WeightAverages

X = np.random.default_rng(0).normal(size=(12, 2)).astype(np.float32)
Y = X @ np.array([[1.0], [-2.0]], np.float32)


class Recorded(keras.callbacks.Callback):
    """Weights after each batch and in each evaluation; dev losses that a person made up."""

    def __init__(self, dev):
        super().__init__()
        self.dev, self.weights, self.seen = dev, [], []

    def kernel(self):
        return self.model.trainable_variables[0].numpy().copy()

    def on_train_batch_end(self, batch, logs=None):
        self.weights.append(self.kernel())

    def on_test_begin(self, logs=None):
        self.seen.append(self.kernel())

    def on_epoch_end(self, epoch, logs=None):
        logs["val_loss"] = self.dev[epoch]


def model(**options):
    keras.utils.set_random_seed(0)
    made = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, use_bias=False)])
    made.compile(keras.optimizers.SGD(0.3), "mse", jit_compile=False, **options)
    made.optimizer.build(made.trainable_variables)  # or the step is traced twice
    return made


@functools.cache
def batches(size):
    """Keras would make them anew in every `fit`, which costs more than the steps."""
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(size)


def fit(made, dev, *callbacks, epochs=None, **options):
    recorded = Recorded(dev)
    # the recorder looks at an evaluation after the swap, and makes up its loss before it is read
    first = keras.callbacks.LambdaCallback(on_epoch_end=recorded.on_epoch_end)
    made.fit(
        batches(4),
        shuffle=False,
        epochs=epochs or len(dev),
        validation_data=batches(len(X)),
        verbose=0,
        callbacks=[first, *callbacks, recorded],
        **options,
    )
    return recorded


def plain_weights():
    """Weights after each step of six epochs of SGD by hand."""
    weights, found = model().get_weights()[0], []
    for step in range(18):
        rows = slice(step % 3 * 4, step % 3 * 4 + 4)
        weights = weights - 0.3 * X[rows].T @ (X[rows] @ weights - Y[rows]) / 2
        found.append(weights)
    return found


def test_averages_from_the_step_at_which_dev_is_worse_than_it_was():
    # patience 2: the epoch of index 3 is compared with the one of index 0, and is worse
    dev = [5.0, 6.0, 7.0, 5.5, 4.0, 4.5]
    callback, made = NTASGD(patience=2), model()
    seen = fit(made, dev, callback)
    weights = seen.weights  # three steps in an epoch
    np.testing.assert_array_equal(seen.seen[3], weights[11])  # not yet
    for epoch in (4, 5):
        mean = np.mean(weights[11 : 3 * epoch + 3], axis=0)  # w_T and all after it
        np.testing.assert_allclose(seen.seen[epoch], mean, rtol=1e-5)
    # training itself is that of SGD
    np.testing.assert_allclose(weights, plain_weights(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(made.get_weights()[0], seen.seen[4], rtol=1e-6)  # dev 4.0, the best


def test_with_several_steps_in_a_call_averages_the_weights_that_each_ends_with():
    seen = fit(model(steps_per_execution=2), [5.0, 4.0], NTASGD(from_start=True, baseline=6.0))
    steps = plain_weights()
    start = model().get_weights()[0]
    np.testing.assert_allclose(seen.weights, [steps[k] for k in (1, 2, 4, 5)], rtol=1e-5)
    for epoch, kept in ((0, (1, 2)), (1, (1, 2, 4, 5))):
        mean = np.mean([start, *(steps[k] for k in kept)], axis=0)
        np.testing.assert_allclose(seen.seen[epoch], mean, rtol=1e-5)


def test_never_starts_while_dev_improves():
    callback = NTASGD(patience=1)
    fit(model(run_eagerly=True), [4.0, 3.0, 2.0], callback)
    assert not callback.averaging


def test_finetune_averages_at_once_and_stops():
    callback = NTASGD(patience=1, from_start=True, stop=True, baseline=9.0)
    seen = fit(model(run_eagerly=True), [4.0, 3.0, 5.0, 6.0, 1.0], callback)
    start = model().get_weights()[0]
    np.testing.assert_allclose(seen.seen[0], np.mean([start, *seen.weights[:3]], axis=0), rtol=1e-5)
    assert len(callback.history) == 3  # 5.0 is worse than 4.0, two epochs before


def test_a_killed_run_goes_on(tmp_path):
    dev = [4.0, 5.0, 6.0, 3.5]

    def callbacks():
        backup = keras.callbacks.BackupAndRestore(tmp_path / "back", delete_checkpoint=False)
        return NTASGD(patience=1, folder=tmp_path / "cut"), backup

    fit(model(run_eagerly=True), dev, *callbacks(), epochs=3)
    cut = model(run_eagerly=True)
    fit(cut, dev, *callbacks(), epochs=4)
    expected = np.mean(plain_weights()[8:12], axis=0)  # from the end of the third epoch
    np.testing.assert_allclose(cut.get_weights()[0], expected, rtol=1e-5)


def test_a_run_killed_in_its_first_epoch_keeps_the_weights_that_it_began_with(tmp_path):
    """`BackupAndRestore(save_freq=2)` goes on in the middle of the epoch, with other weights."""

    class Kill(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                raise KeyboardInterrupt

    def run(*more):
        made = model(run_eagerly=True)
        made.optimizer.learning_rate = -0.1  # every epoch is worse
        best = NTASGD(from_start=True, folder=tmp_path / "best", baseline=0.0)
        backup = keras.callbacks.BackupAndRestore(tmp_path / "backup", save_freq=2)
        given = made.get_weights()
        data = dict(validation_data=(X, Y), callbacks=[best, backup, *more], verbose=0)
        made.fit(X, Y, batch_size=4, epochs=2, **data)
        return given, made.get_weights(), best

    with pytest.raises(KeyboardInterrupt):
        run(Kill())
    given, found, best = run()
    np.testing.assert_array_equal(found[0], given[0])
    assert best.best == 0.0 and len(best.history) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("known", ["baseline", "evaluated", "folder"])
def test_finetuning_never_returns_worse_weights_than_it_was_given(known, tmp_path):
    """Steps of 3 on targets that are noise: every epoch is worse than the solution."""
    made, noise = model(run_eagerly=True), np.random.default_rng(1).normal(size=Y.shape) * 5
    made.optimizer.learning_rate = 3.0
    made.set_weights([np.array([[1.0], [-2.0]])])
    given = made.evaluate(X, Y, verbose=0)
    callback = NTASGD(
        from_start=True,
        stop=True,
        folder=tmp_path / "best" if known == "folder" else None,
        baseline=given if known == "baseline" else None,
    )
    for _ in range(2):  # the second `fit` forgets the first one
        data = dict(
            validation_data=(X, Y), validation_batch_size=12, callbacks=[callback], verbose=0
        )
        fit = made.fit(X, Y + noise, batch_size=4, epochs=2, **data)
        assert min(fit.history["val_loss"]) > 1 > given == callback.best
        np.testing.assert_array_equal(made.get_weights()[0], [[1.0], [-2.0]])
        assert callback.history == fit.history["val_loss"]
        np.testing.assert_array_equal(callback.averaging, True)


@pytest.mark.parametrize("folder", [pytest.param(False, marks=pytest.mark.slow), True])
def test_reading_the_best_weights_changes_no_later_step(folder, tmp_path):
    """Momentum, decay of the rate and the draws of noise go on, from a `fit` before this one."""
    keras.utils.set_random_seed(0)
    noise, dense = keras.layers.GaussianNoise(1e-9), keras.layers.Dense(1, use_bias=False)
    made = keras.Sequential([keras.Input((2,)), noise, dense])
    rate = keras.optimizers.schedules.InverseTimeDecay(0.1, 1, 1.0)
    made.compile(keras.optimizers.SGD(rate, momentum=0.9), "mse", jit_compile=False)
    made.optimizer.build(made.trainable_variables)  # or the step is traced twice
    weights, velocity = made.get_weights()[0], 0.0
    drawn, expected = noise.seed_generator.state.numpy(), []
    fit(made, [9.0])
    callback = NTASGD(from_start=True, folder=tmp_path / "best" if folder else None)
    seen = fit(made, [4.0, 3.0], callback)
    for step in range(9):
        rows = slice(step % 3 * 4, step % 3 * 4 + 4)
        gradient = X[rows].T @ (X[rows] @ weights - Y[rows]) / 2
        velocity = 0.9 * velocity - 0.1 / (1 + step) * gradient
        weights = weights + velocity
        expected.append(weights)
    np.testing.assert_allclose(seen.weights, expected[3:], rtol=1e-4)
    assert (noise.seed_generator.state.numpy() - drawn).sum() == 9


def test_the_weights_that_fit_begins_with_are_read_without_a_warning(tmp_path):
    made = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    made.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    callback = NTASGD(from_start=True, folder=tmp_path, baseline=9.0)
    callback.set_model(made)
    callback.on_train_begin()
    callback.on_epoch_begin(0)
    made.optimizer.build(made.trainable_variables)  # by the first step, if not before
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Skipping variable loading for optimizer")
        callback.on_train_end()


@pytest.mark.parametrize("folder", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_other_trainable_weights_in_a_second_fit_have_averages_of_their_own(folder, tmp_path):
    first, last = (keras.layers.Dense(n, use_bias=False) for n in (2, 1))
    made = keras.Sequential([keras.Input((2,)), first, last])
    callback = NTASGD(from_start=True, baseline=9.0, folder=tmp_path if folder else None)
    for first.trainable, last.trainable in ((True, False), (False, True)):
        made.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=True)
        start = made.trainable_variables[0].numpy()
        seen = fit(made, [4.0], callback)
        mean = np.mean([start, *seen.weights], axis=0)
        np.testing.assert_allclose(seen.seen[0], mean, rtol=1e-5)


def test_a_better_epoch_replaces_what_was_given():
    callback, made = NTASGD(from_start=True, baseline=2.0), model(run_eagerly=True)
    seen = fit(made, [3.0, 1.0, 1.5], callback)
    np.testing.assert_allclose(made.get_weights()[0], seen.seen[1], rtol=1e-6)
    assert callback.best == 1.0


def test_epochs_without_a_number_are_not_the_best():
    callback, made = NTASGD(patience=9), model(run_eagerly=True)
    seen = fit(made, [np.nan, 2.0, 3.0], callback)
    np.testing.assert_array_equal(made.get_weights()[0], seen.seen[1])
    assert callback.best == 2.0


@pytest.mark.parametrize(
    ("values", "begins"),
    [
        ([np.nan, 2.0, 2.5, 2.6, 2.7], 3),
        ([3.0, np.nan, 2.0, 2.5, 2.6, 2.7], 4),
        ([3.0, 2.0, 1.0, np.nan, np.nan], 3),
        ([np.nan, np.nan, np.nan, 5.0], None),
    ],
)
def test_epochs_without_a_number_do_not_decide_when_averaging_begins(values, begins):
    callback, averaged = NTASGD(patience=1), []

    class Watch(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            averaged.append(callback.averaging)

    fit(model(run_eagerly=True), values, callback, Watch())
    expected = [begins is not None and epoch >= begins for epoch in range(len(values))]
    assert averaged == expected


def test_states_of_a_stateful_model_do_not_reach_the_evaluation_of_what_was_given():
    keras.utils.set_random_seed(0)
    made = keras.Sequential(
        [keras.Input((3, 2), batch_size=4), keras.layers.SimpleRNN(1, stateful=True)]
    )
    made.compile(keras.optimizers.SGD(1e-9), "mse", run_eagerly=True)  # nothing changes
    x = np.random.default_rng(0).normal(size=(4, 3, 2)).astype(np.float32)
    given = made.evaluate(x, x[:, 0, :1], verbose=0)
    data = dict(batch_size=4, validation_data=(x, x[:, 0, :1]), verbose=0)
    callback = NTASGD(from_start=True)
    made.fit(x, x[:, 0, :1], callbacks=[callback, ResetStates()], **data)
    assert callback.history == [pytest.approx(given, rel=1e-5)]
    assert callback._before == pytest.approx(given, rel=1e-5)


def test_rejects_arguments():
    with pytest.raises(ValueError, match="`patience` must be an integer >= 1"):
        NTASGD(patience=0)
    with pytest.raises(ValueError, match="`monitor` must be one of"):
        model(run_eagerly=True).fit(X, Y, verbose=0, callbacks=[NTASGD("val_other")])
    with pytest.raises(ValueError, match="`baseline` must be a finite number"):
        NTASGD(baseline=np.nan)
    with pytest.raises(ValueError, match="`baseline` must be the `monitor` of the weights that"):
        callbacks = [NTASGD("loss", from_start=True)]
        model(run_eagerly=True).fit(X, Y, verbose=0, callbacks=callbacks)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_averages_of_half_precision_are_float32(dtype):
    """A share of a thousandth would be rounded away."""
    made = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, dtype=dtype)])
    averages, random = WeightAverages(made), np.random.default_rng(0)
    numbers = random.normal(1.0, 0.1, 1000).astype(np.float16)
    for number in numbers:
        made.layers[0].kernel.assign([[number]])
        averages.add()
    found = float(averages.arrays()[0][0, 0])
    wanted = tf.cast(numbers, dtype).numpy().astype(np.float64).mean()
    assert found == pytest.approx(wanted, abs=1e-5)
