"""The temperature, and the scale of the noise, that each batch really had."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.layers import (
    ClusterAdjustmentEmbedding,
    ClusterEmbedding,
    CompositionalCodeEmbedding,
    KDCodeEmbedding,
    MixtureEmbedding,
)
from kerascompact.training import (
    GeometricDecay,
    MagnitudePruning,
    NoiseAnnealing,
    TemperatureAnnealing,
)

IDS, LABELS = np.ones((8, 3), "int32"), np.zeros((8, 1))


def model(*embeddings):
    ids = keras.Input((3,), dtype="int32")
    vectors = [keras.layers.Flatten()(embedding(ids)) for embedding in embeddings]
    both = keras.layers.Concatenate()(vectors) if len(vectors) > 1 else vectors[0]
    return keras.Model(ids, keras.layers.Dense(1)(both))


class Recorder(keras.callbacks.Callback):
    """Reads a number of layers after each batch."""

    def __init__(self, number, *layers):
        super().__init__()
        self.number, self.layers, self.seen = f"current_{number}", layers, []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append([float(getattr(layer, self.number).numpy()) for layer in self.layers])


def every_layer(**options):
    """The layers that draw codes at random, and where each holds its weights."""
    cluster = ClusterEmbedding(9, 2, 3, **options)
    adjustment = ClusterAdjustmentEmbedding(9, 3, 3, **options)
    mixture = MixtureEmbedding(9, 2, 3, num_unique=2, **options)
    code = CompositionalCodeEmbedding(9, 2, 2, 2, **options)
    holders = cluster, adjustment.clusters, mixture.clusters, code
    return (cluster, adjustment, mixture, code), holders


@pytest.mark.parametrize(
    ("kind", "number", "options", "jit_compile"),
    [
        pytest.param(
            *(TemperatureAnnealing, "temperature", {"straight_through": False}, True),
            marks=pytest.mark.slow,
        ),
        (NoiseAnnealing, "noise_scale", {}, False),
    ],
)
def test_sets_every_layer_before_each_batch_of_every_epoch(kind, number, options, jit_compile):
    layers, holders = every_layer(**options)
    trained = model(*layers)
    trained.compile("sgd", "mse", jit_compile=jit_compile, run_eagerly=not jit_compile)
    trained.optimizer.build(trained.trainable_variables)  # or the step is traced twice
    record = Recorder(number, *holders)
    callbacks = [kind(GeometricDecay(0.8, 0.2, steps=2)), record]
    history = trained.fit(IDS, LABELS, batch_size=4, epochs=2, verbose=0, callbacks=callbacks)
    expected = [0.8, 0.4, 0.2, 0.2]
    np.testing.assert_allclose(record.seen, np.repeat(expected, 4).reshape(4, 4), rtol=1e-6)
    np.testing.assert_allclose(history.history[number], [0.4, 0.2], rtol=1e-6)


@pytest.mark.few(2)
@pytest.mark.parametrize("place", range(4))
def test_temperature_has_no_effect_on_one_hot_samples_and_is_refused_there(place):
    """`argmax((a + g) / tau)` is `argmax(a + g)`: with equal noise the vectors are equal."""
    layers, holders = every_layer(seed=3)
    layer, holder, ids = layers[place], holders[place], np.arange(9)
    drawn = []
    for tau in (5.0, 0.05):
        layer(ids)
        holder.current_temperature.assign(tau)
        holder.noise.state.assign([3, 0])
        drawn.append(layer(ids, training=True).numpy())
    np.testing.assert_array_equal(*drawn)
    trained = model(layer)
    trained.compile("sgd", "mse", jit_compile=False)
    callback = TemperatureAnnealing(GeometricDecay(0.9, 0.1, 5))
    with pytest.raises(ValueError, match=r"Use `NoiseAnnealing`, .*with straight_through=True\."):
        trained.fit(IDS, LABELS, verbose=0, callbacks=[callback])


@pytest.mark.parametrize("place", range(4))
def test_without_noise_training_sees_what_ships(place):
    """And with a lot of noise hardly any word keeps the code that its logits say."""
    layers, _ = every_layer(noise_scale=0.0)
    layer, ids = layers[place], np.arange(9)
    # float32 sums of one-hot rows times code vectors of about 0.1
    np.testing.assert_allclose(layer(ids, training=True), layer(ids), atol=1e-7)
    noisy = type(layer).from_config({**layer.get_config(), "noise_scale": 1e3, "seed": 1})
    noisy(ids)
    for old, new in zip(layer.trainable_weights, noisy.trainable_weights, strict=True):
        new.assign(old)
    assert np.abs(noisy(ids, training=True) - layer(ids)).max() > 1e-3


def test_codes_without_noise_take_a_temperature_and_no_noise_scale():
    codes = KDCodeEmbedding(9, 2, 2, 2)
    trained, record = model(codes), Recorder("temperature", codes)
    trained.compile("sgd", "mse", run_eagerly=True)
    callbacks = [TemperatureAnnealing(lambda step: 0.5), record]
    trained.fit(IDS, LABELS, verbose=0, callbacks=callbacks)
    assert record.seen == [[0.5]]
    with pytest.raises(ValueError, match="`NoiseAnnealing` must be used with a model that has clu"):
        trained.fit(IDS, LABELS, verbose=0, callbacks=[NoiseAnnealing(lambda step: 0.5)])


@pytest.mark.parametrize("jit_compile", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_compiled_step_uses_the_new_temperature(jit_compile):
    """With temperature 1e-4 samples are one-hot, with 1e4 they are uniform: the losses differ."""
    layer = ClusterEmbedding(9, 1, 3, straight_through=False, seed=2)
    trained = model(layer)
    trained.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=jit_compile)
    trained.optimizer.build(trained.trainable_variables)  # or the step is traced twice
    layer.codebook.assign([[-3.0], [0.0], [6.0]])
    trained.layers[-1].set_weights([np.ones((3, 1)), np.zeros(1)])
    # three batches: the first traces the step, the others use new values
    temperatures, batches = [1.0, 1e4, 1e-4], Losses()
    trained.fit(
        np.ones((24, 3), "int32"),
        np.full((24, 1), 3.0),
        batch_size=8,
        verbose=0,
        shuffle=False,
        callbacks=[TemperatureAnnealing(temperatures.__getitem__), batches],
    )
    # uniform: each vector is the mean 1.0, the output 3.0 is the label
    _, uniform, one_hot = np.diff(batches.sums, prepend=0.0)
    assert uniform < 1e-2 < one_hot


class Losses(keras.callbacks.Callback):
    """Sums of the losses of batches of equal size, from the running means."""

    def __init__(self):
        super().__init__()
        self.sums = []

    def on_train_batch_end(self, batch, logs=None):
        self.sums.append((batch + 1) * logs["loss"])


def test_goes_on_counting_in_a_second_fit():
    layer = ClusterEmbedding(9, 2, 3)
    trained, record = model(layer), Recorder("noise_scale", layer)
    trained.compile("sgd", "mse", run_eagerly=True)
    callback = NoiseAnnealing(lambda step: 1.0 + step)
    for _ in range(2):
        trained.fit(IDS, LABELS, batch_size=4, verbose=0, callbacks=[callback, record])
    assert record.seen == [[1.0], [2.0], [3.0], [4.0]]


@pytest.mark.parametrize(
    ("kind", "value", "bound"),
    [
        (TemperatureAnnealing, 0, "> 0"),
        (TemperatureAnnealing, float("nan"), "> 0"),
        (NoiseAnnealing, -0.5, ">= 0"),
        (NoiseAnnealing, float("inf"), ">= 0"),
    ],
)
def test_refuses_numbers_out_of_range(kind, value, bound):
    trained, callback = (
        model(ClusterEmbedding(9, 2, 3, straight_through=False)),
        kind(lambda s: value),
    )
    trained.compile("sgd", "mse", jit_compile=False)
    callback.set_model(trained)
    callback.on_train_begin()
    with pytest.raises(ValueError, match=rf"`schedule\(step\)` must be a finite number {bound}\."):
        callback.on_train_batch_begin(0)


@pytest.mark.parametrize("kind", [TemperatureAnnealing, NoiseAnnealing])
def test_refuses_a_model_without_clusters(kind):
    trained = model(keras.layers.Embedding(9, 2))
    trained.compile("sgd", "mse", jit_compile=False)
    callback = kind(GeometricDecay(0.9, 0.1, 5))
    with pytest.raises(ValueError, match=f"`{kind.__name__}` must be used with a model that"):
        trained.fit(IDS, LABELS, verbose=0, callbacks=[callback])


@pytest.mark.parametrize("schedule", [0.9, None, "decay"])
def test_refuses_a_schedule_that_cannot_be_called(schedule):
    with pytest.raises(ValueError, match="`schedule` must be a callable: step -> temperature"):
        TemperatureAnnealing(schedule)
    with pytest.raises(ValueError, match="`schedule` must be a callable: step -> noise scale"):
        NoiseAnnealing(schedule)


def test_counts_every_step_of_a_call_of_several():
    cluster = ClusterEmbedding(9, 2, 3, straight_through=False)
    trained = model(cluster)
    trained.compile("sgd", "mse", steps_per_execution=3, jit_compile=False)
    trained.optimizer.build(trained.trainable_variables)  # or the step is traced twice
    asked = []
    callback = TemperatureAnnealing(lambda step: asked.append(step) or 1.0)
    trained.fit(IDS, LABELS, batch_size=1, epochs=2, verbose=0, callbacks=[callback])
    # calls of 3, 3 and 2 steps in an epoch of 8, each with the number of its first
    assert asked == [0, 3, 6, 8, 11, 14] and callback.step == 16


def test_counts_the_steps_of_a_call_that_goes_on_behind_an_epoch():
    trained, asked = model(ClusterEmbedding(9, 2, 3, straight_through=False)), []
    trained.compile("sgd", "mse", steps_per_execution=3, run_eagerly=True)
    data = tf.data.Dataset.from_tensor_slices((IDS, LABELS)).batch(1).repeat()
    annealing = TemperatureAnnealing(lambda step: asked.append(step) or 1.0)
    trained.fit(data, epochs=2, steps_per_epoch=4, verbose=0, callbacks=[annealing])
    assert asked == [0, 3, 6, 9] and annealing.step == int(trained.optimizer.iterations) == 12


@pytest.mark.parametrize("known", [pytest.param(True, marks=pytest.mark.slow), False])
def test_counts_the_steps_of_a_call_that_the_end_of_the_data_cuts(known):
    cluster = ClusterEmbedding(9, 2, 3, straight_through=False)
    trained, asked, chosen = model(cluster), [], []
    optimizer = keras.optimizers.SGD(gradient_accumulation_steps=2)
    trained.compile(optimizer, "mse", steps_per_execution=3, jit_compile=False)
    trained.optimizer.build(trained.trainable_variables)  # or the step is traced twice
    data = tf.data.Dataset.from_tensor_slices((IDS, LABELS)).batch(1)
    if not known:
        data = data.filter(lambda ids, labels: True)
    annealing = TemperatureAnnealing(lambda step: asked.append(step) or 1.0)
    pruning = MagnitudePruning(lambda step: (chosen.append(step), 0.0), [keras.layers.Dense])
    trained.fit(data, epochs=2, shuffle=False, verbose=0, callbacks=[annealing, pruning])
    # Keras may also begin a call that finds no data, at the end.
    assert sorted({*asked, 16}) == [0, 3, 6, 8, 11, 14, 16] and annealing.step == 16
    assert chosen == list(range(16)) and pruning.step == 16
