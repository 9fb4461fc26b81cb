"""The temperature that each batch really had."""

import keras
import numpy as np
import pytest

from kerascompact.layers import ClusterAdjustmentEmbedding, ClusterEmbedding, MixtureEmbedding
from kerascompact.training import GeometricDecay, ResetStates, TemperatureAnnealing

IDS, LABELS = np.ones((8, 3), "int32"), np.zeros((8, 1))


def model(*embeddings):
    ids = keras.Input((3,), dtype="int32")
    vectors = [keras.layers.Flatten()(embedding(ids)) for embedding in embeddings]
    both = keras.layers.Concatenate()(vectors) if len(vectors) > 1 else vectors[0]
    return keras.Model(ids, keras.layers.Dense(1)(both))


class Recorder(keras.callbacks.Callback):
    """Reads temperatures after each batch."""

    def __init__(self, *layers):
        super().__init__()
        self.layers, self.seen = layers, []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append([float(layer.current_temperature.numpy()) for layer in self.layers])


@pytest.mark.parametrize("jit_compile", [False, True])
def test_sets_every_layer_before_each_batch_of_every_epoch(jit_compile):
    cluster = ClusterEmbedding(9, 2, 3)
    adjustment = ClusterAdjustmentEmbedding(9, 3, 3)
    mixture = MixtureEmbedding(9, 2, 3, num_unique=2)
    trained = model(cluster, adjustment, mixture)
    trained.compile("adam", "mse", jit_compile=jit_compile)
    schedule = GeometricDecay(0.8, 0.2, steps=2)
    record = Recorder(cluster, adjustment.clusters, mixture.clusters)
    callbacks = [TemperatureAnnealing(schedule), record]
    history = trained.fit(IDS, LABELS, batch_size=4, epochs=2, verbose=0, callbacks=callbacks)
    expected = [0.8, 0.4, 0.2, 0.2]
    np.testing.assert_allclose(record.seen, np.repeat(expected, 3).reshape(4, 3), rtol=1e-6)
    np.testing.assert_allclose(history.history["temperature"], [0.4, 0.2], rtol=1e-6)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_the_compiled_step_uses_the_new_temperature(jit_compile):
    """With temperature 1e-4 samples are one-hot, with 1e4 they are uniform: the losses differ."""

    def loss(temperature):
        keras.utils.set_random_seed(1)
        layer = ClusterEmbedding(9, 1, 3, straight_through=False, seed=2)
        trained = model(layer)
        trained.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=jit_compile)
        layer.codebook.assign([[-3.0], [0.0], [6.0]])
        sequence = iter([1.0, temperature])
        callback = TemperatureAnnealing(lambda step: next(sequence))
        trained.layers[-1].set_weights([np.ones((3, 1)), np.zeros(1)])
        # 16 rows in two batches: the first traces the step, the second uses the new value
        history = trained.fit(
            np.ones((16, 3), "int32"),
            np.full((16, 1), 3.0),
            batch_size=8,
            verbose=0,
            shuffle=False,
            callbacks=[callback, batches := Losses()],
        )
        assert len(history.history["loss"]) == 1
        return batches.last

    # uniform: each vector is the mean 1.0, the output 3.0 is the label
    assert loss(1e4) < 1e-2 < loss(1e-4)


class Losses(keras.callbacks.Callback):
    """Loss of the last batch alone, from the running mean over two of equal size."""

    def on_train_batch_end(self, batch, logs=None):
        mean = logs["loss"]
        self.last = 2 * mean - self.first if batch else mean
        self.first = mean


def test_goes_on_counting_in_a_second_fit():
    layer = ClusterEmbedding(9, 2, 3)
    trained, record = model(layer), Recorder(layer)
    trained.compile("adam", "mse")
    callback = TemperatureAnnealing(lambda step: 1.0 + step)
    for _ in range(2):
        trained.fit(IDS, LABELS, batch_size=4, verbose=0, callbacks=[callback, record])
    assert record.seen == [[1.0], [2.0], [3.0], [4.0]]


@pytest.mark.parametrize("value", [0, -0.5, float("nan"), float("inf")])
def test_refuses_a_temperature_not_above_zero(value):
    trained = model(ClusterEmbedding(9, 2, 3))
    trained.compile("adam", "mse")
    callback = TemperatureAnnealing(lambda step: value)
    with pytest.raises(ValueError, match=r"`schedule\(step\)` must be a finite number > 0"):
        trained.fit(IDS, LABELS, verbose=0, callbacks=[callback])


def test_refuses_a_model_without_clusters():
    trained = model(keras.layers.Embedding(9, 2))
    trained.compile("adam", "mse")
    callback = TemperatureAnnealing(GeometricDecay(0.9, 0.1, 5))
    with pytest.raises(ValueError, match="`TemperatureAnnealing` must be used with a model that"):
        trained.fit(IDS, LABELS, verbose=0, callbacks=[callback])


@pytest.mark.parametrize("schedule", [0.9, None, "decay"])
def test_refuses_a_schedule_that_cannot_be_called(schedule):
    with pytest.raises(ValueError, match="`schedule` must be a callable: step -> temperature"):
        TemperatureAnnealing(schedule)


def test_reset_states_starts_every_text_anew():
    model = keras.Sequential([keras.Input(batch_shape=(2, 3, 1))])
    model.add(keras.layers.LSTM(2, stateful=True))
    model.compile("sgd", "mse")
    x, y = np.ones((2, 3, 1), np.float32), np.zeros((2, 2), np.float32)
    once = model.evaluate(x, y, batch_size=2, verbose=0)
    assert model.evaluate(x, y, batch_size=2, verbose=0) != once  # it goes on where it was
    for _ in range(2):
        again = model.evaluate(x, y, batch_size=2, verbose=0, callbacks=[ResetStates()])
        np.testing.assert_allclose(again, once, rtol=1e-6)
    states = []
    look = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: states.append(model.layers[0].states[0].numpy())
    )
    model.fit(x, y, batch_size=2, epochs=2, verbose=0, callbacks=[ResetStates(), look])
    assert all(not state.any() for state in states) and len(states) == 2
