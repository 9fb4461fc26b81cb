import gzip
import importlib.util
import subprocess
import sys

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.layers import AnchorTransformEmbedding
from kerascompact.optimizers import Proximal
from kerascompact.training import NTASGD, MagnitudePruning

IDS = np.random.default_rng(0).integers(0, 30, (64, 4))


def model():
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Embedding(30, 6, name="words"), keras.layers.Flatten()]
    built = keras.Sequential([keras.Input((4,), dtype="int32"), *layers, keras.layers.Dense(3)])
    built.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", run_eagerly=True)
    return built


def fit(built, callback):
    built.fit(IDS, np.ones((64, 3)), callbacks=[callback], verbose=0)


def test_chooses_when_the_schedule_says_and_keeps_the_zeros():
    class Watch(keras.callbacks.Callback):
        shares: list = []
        tables: list = []

        def on_train_batch_end(self, batch, logs=None):
            table = self.model.layers[0].get_weights()[0]
            self.tables.append(table)
            self.shares.append(np.mean(table == 0))

    steps = []

    def schedule(step):
        steps.append(step)
        return step in (2, 5), 0.5 if step < 5 else 0.9

    built, watch = model(), Watch()
    pruning = MagnitudePruning(schedule)
    history = built.fit(
        IDS, np.ones((64, 3)), batch_size=8, epochs=1, callbacks=[pruning, watch], verbose=0
    )
    assert steps == list(range(8))
    np.testing.assert_allclose(watch.shares, [0, 0, 0.5, 0.5, 0.5, 0.9, 0.9, 0.9])
    left = watch.tables[2][watch.tables[2] != 0]  # the larger half, at the third step
    assert np.abs(left).min() > 0 and len(left) == 90
    zeros = watch.tables[5] == 0
    assert np.all(watch.tables[7][zeros] == 0) and np.any(watch.tables[7] != watch.tables[5])
    assert (
        history.history["sparsity"] == [pytest.approx(0.9)] == [pytest.approx(pruning.sparsity())]
    )
    assert np.all(built.layers[-1].get_weights()[0] != 0), "only embeddings, unless it is asked for"


def test_prunes_the_layers_that_are_named():
    built = model()
    pruning = MagnitudePruning(lambda step: (True, 0.25), layers=[built.layers[-1].name])
    fit(built, pruning)
    kernel, bias = built.layers[-1].get_weights()
    assert np.mean(kernel == 0) == 0.25 and np.all(bias != 0)
    assert np.all(built.layers[0].get_weights()[0] != 0)


def test_averages_keep_the_zeros():
    """With `NTASGD`: what is evaluated and returned, against the mean of the tables."""
    built, tables, evaluated = model(), [], []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            tables.append(self.model.get_weights()[0])

        def on_test_begin(self, logs=None):
            evaluated.append(self.model.get_weights()[0])

    callbacks = [MagnitudePruning(lambda step: (step in (1, 4), 0.5))]
    callbacks += [NTASGD(from_start=True, baseline=1e9), Watch()]
    start, data = built.get_weights()[0], (IDS, np.ones((64, 3)))
    options = dict(batch_size=16, epochs=2, validation_data=data, verbose=0)
    built.fit(*data, callbacks=callbacks, **options)
    for found, until in zip(evaluated, (4, 8), strict=True):
        zeros = tables[until - 1] == 0
        assert zeros.mean() == 0.5
        mean = np.mean([start, *tables[:until]], axis=0)
        np.testing.assert_allclose(found, np.where(zeros, 0, mean), rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(built.get_weights()[0], found)  # the loss has fallen


def test_rows_that_owe_proximal_steps_are_compared_without_them():
    """Rows 0 and 1 end at 0.5; rows 2 and 3 are in no batch, and fall from 0.7 to 0.3."""
    keras.utils.set_random_seed(0)
    layer = AnchorTransformEmbedding(4, 2, 1, l1_weight=1.0, anchors=np.zeros((1, 2)))
    built = keras.Sequential([keras.Input((2,), dtype="int32"), layer])
    built.compile(Proximal(keras.optimizers.SGD(0.1)), "mse", run_eagerly=True)
    layer.transform.assign([[0.9], [0.9], [0.7], [0.7]])
    pruning = MagnitudePruning(lambda step: (step == 3, 0.5), layers=[layer.name])
    data = np.array([[0, 1]] * 4), np.zeros((4, 2, 2))
    built.fit(*data, batch_size=1, shuffle=False, callbacks=[pruning], verbose=0)
    np.testing.assert_allclose(
        layer.sparse_transform().toarray()[:, 0], [0.5, 0.5, 0, 0], atol=1e-6
    )
    assert pruning.sparsity() == pytest.approx(4 / 6)  # with the numbers of the anchor


@pytest.mark.parametrize("by_weight", [False, True])
def test_averages_of_the_optimizer_have_the_zeros(by_weight):
    """What `SwapEMAWeights` evaluates is as sparse as what `fit` returns."""
    built, shares = model(), []

    class Watch(keras.callbacks.Callback):
        def on_test_begin(self, logs=None):
            shares.append(np.mean(self.model.get_weights()[0] == 0))

    optimizer = keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5)
    if by_weight:
        of_table = keras.optimizers.SGD(0.2, use_ema=True, ema_momentum=0.5)
        parts = keras.optimizers.OptimizerMap(optimizer, {"words/.*": of_table})
        optimizer = keras.optimizers.MultiOptimizer(parts)
    built.compile(optimizer, "mse", run_eagerly=True)
    data, pruning = (IDS, np.ones((64, 3))), MagnitudePruning(lambda step: (step < 2, 0.5))
    callbacks = [pruning, keras.callbacks.SwapEMAWeights(), Watch()]
    if by_weight:  # which swaps nothing: the averages are looked at
        callbacks.pop(1)
    built.fit(*data, 16, 2, 0, callbacks=callbacks, validation_data=data)
    (average,) = pruning._averages_of(built.layers[0].embeddings)
    table = built.get_weights()[0]
    assert shares == [0.5, 0.5] and np.mean(table == 0) == 0.5
    np.testing.assert_array_equal(average.numpy() == 0, table == 0)


def recurrent():
    keras.utils.set_random_seed(0)
    layers = [
        keras.layers.Embedding(30, 6, name="words"),
        keras.layers.Conv1D(6, 2, name="conv", bias_initializer="ones"),
        keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True), name="both"),
        keras.layers.GRU(5, name="gru", bias_initializer="ones"),  # its bias has two rows
    ]
    inner = keras.Sequential([keras.layers.Dense(8, name="dense")], name="inner")
    layers += [inner, keras.layers.Dense(3, name="dense")]
    built = keras.Sequential([keras.Input((4,), dtype="int32"), *layers])
    built.compile(keras.optimizers.Adam(0.01), "mse", jit_compile=False)
    return built


KERNELS = [keras.layers.Dense, keras.layers.LSTM, "both", keras.layers.GRU, keras.layers.Conv1D]


@pytest.mark.slow
def test_prunes_the_kernels_of_other_layers():
    """In calls of four steps; the tests above are in calls of one."""
    built = recurrent()
    average = keras.optimizers.Adam(0.01, use_ema=True, ema_momentum=0.5)
    built.compile(average, "mse", steps_per_execution=4, jit_compile=False)
    pruning = MagnitudePruning(lambda step: (step == 9, 0.6), layers=KERNELS)
    built.fit(IDS, np.ones((64, 3)), batch_size=8, epochs=2, callbacks=[pruning], verbose=0)
    assert pruning.step == 16
    assert len(pruning.matrices) == 2 + 2 + 2 + 2 + 1, "each once, and no bias"
    for layer in built._flatten_layers(recursive=True, include_self=False):
        for weight in layer.trainable_weights:
            values = keras.ops.convert_to_numpy(weight)
            kernel = "kernel" in weight.name
            share = 1 - round(0.4 * values.size) / values.size if kernel else 0
            assert np.mean(values == 0) == pytest.approx(share), weight.path
    assert pruning.sparsity() == pytest.approx(0.6, abs=0.01)


@pytest.mark.slow
def test_zeros_make_no_smaller_file_but_a_smaller_archive():
    def sizes(sparsity):
        built = model()
        large = keras.layers.Dense(64, name="large")
        built = keras.Sequential([*built.layers[:-1], large, keras.layers.Dense(3)])
        built.build((None, 4))
        built.compile("adam", "mse")
        pruning = MagnitudePruning(lambda step: (True, sparsity), layers=["large"])
        fit(built, pruning)
        data = export.convert(built, "float32")
        export.verify(built, data, IDS)
        return len(data), len(gzip.compress(data))

    (whole, packed), (pruned, pruned_packed) = sizes(0.0), sizes(0.8)
    kernel = 4 * 24 * 64
    assert abs(pruned - whole) < 64, "zeros are stored"
    # A fifth of the numbers is left, and where they are: 0.72 bits of entropy for each of 32.
    assert packed - pruned_packed > 0.65 * kernel


def begin(built, callback):
    """What `fit` asks a callback first."""
    callback.set_model(built)
    callback.on_train_begin()
    callback.on_train_batch_begin(0)
    callback.on_train_batch_end(0)


def test_rejects_what_is_no_schedule():
    with pytest.raises(ValueError, match="`schedule` must be a callable"):
        MagnitudePruning(0.5)
    built = model()
    for found, message in ((0.5, "a pair"), ((True, 1.0), r"a sparsity in \[0, 1\)")):
        with pytest.raises(ValueError, match=message):
            begin(built, MagnitudePruning(lambda step, found=found: found))
    for unknown in ("no", keras.layers.LSTM):
        with pytest.raises(ValueError, match="`layers` must be names of layers.*or their classes"):
            begin(built, MagnitudePruning(print, [unknown]))
    plain = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    plain.compile("sgd", "mse", jit_compile=False)
    with pytest.raises(ValueError, match="must be used with a model that has trainable matrices"):
        fit(plain, MagnitudePruning(print))


_SCHEDULES = """
import keras, numpy as np
from kerascompact.training import MagnitudePruning
from tensorflow_model_optimization.sparsity.keras import ConstantSparsity, PolynomialDecay
ids, target = np.ones((8, 4), int), np.ones((8, 4, 6))
for schedule in (PolynomialDecay(0.2, 0.8, 1, 5, frequency=2), ConstantSparsity(0.8, 2, -1, 1)):
    layers = [keras.layers.Embedding(30, 6), keras.layers.Dense(6)]
    model = keras.Sequential([keras.Input((4,), dtype="int32"), *layers])
    model.compile("sgd", "mse", jit_compile=False)
    callback = MagnitudePruning(schedule, layers=[keras.layers.Embedding, keras.layers.Dense])
    model.fit(ids, target, batch_size=1, verbose=0, callbacks=[callback])
    assert abs(callback.sparsity() - 0.8) < 0.01, callback.sparsity()
    for layer in layers:
        assert abs(np.mean(layer.get_weights()[0] == 0) - 0.8) < 0.03
"""


@pytest.mark.slow  # a process that imports TensorFlow twice
@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow_model_optimization") is None, reason="is not installed"
)
def test_takes_the_schedules_of_model_optimization():
    # In a process of its own: importing it makes `tf.keras` Keras 2.
    subprocess.run([sys.executable, "-c", _SCHEDULES], check=True)
