"""KD codes whose logits are held in bfloat16, beside a layer that holds the same numbers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.keras_graph import copy_with
from kerascompact.layers import KDCodeEmbedding, OnlineGuidance, PretrainedGuidance
from kerascompact.optimizers import LazyAdam, LazySGD
from kerascompact.training.weight_averages import WeightAverages

V, K, D, WIDTH = 20, 4, 3, 4
IDS = np.array([[4, 9, 4], [0, 19, 7]])


def pair(**options):
    """A layer with bfloat16 logits, and one with the same numbers in float32."""
    keras.utils.set_random_seed(0)
    layers = []
    guidance = options.pop("guidance", lambda: None)  # of each layer its own
    for dtype in ("bfloat16", "float32"):
        options["guidance"] = guidance()
        layers.append(KDCodeEmbedding(V, WIDTH, K, D, logits_dtype=dtype, **options))
        layers[-1](np.array([0]))
    half, full = layers
    half.logits.assign(np.random.default_rng(0).normal(size=(V, D * K)))
    for one, other in zip(half.weights, full.weights, strict=True):
        other.assign(tf.cast(one.value, other.dtype))
    return half, full


def pretrained():
    table = np.random.default_rng(0).normal(size=(V, WIDTH))
    return PretrainedGuidance(np.float32(table), logits_weight=10.0)


def model_of(layer, optimizer=None, **options):
    model = keras.Sequential([keras.Input((3,), dtype="int32"), layer])
    model.compile(optimizer or LazyAdam(0.1), "mse", **{"jit_compile": False} | options)
    if optimizer is None:
        model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    return model


def logits(layer):
    return tf.cast(layer.logits.value, tf.float32).numpy()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "options",
    [
        {"mask_zero": True, "batch_norm": True, "logits_batch_norm": True, "entropy_weight": 2.0},
        {"inference": "soft", "straight_through": False, "temperature": 0.5, "hidden_dim": 5},
        {"guidance": lambda: OnlineGuidance(0.1, 0.01), "dtype": "mixed_bfloat16"},
        {"guidance": pretrained, "dtype": "mixed_float16", "composition": "lstm"},
    ],
    ids=["norms", "soft", "online", "pretrained"],
)
def test_equals_the_layer_with_the_same_numbers_in_float32(options):
    half, full = pair(**options)
    assert half.logits.dtype == "bfloat16"
    found = []
    for layer in (half, full):
        with tf.GradientTape() as tape:
            vectors = tf.cast(layer(IDS, training=True), tf.float32)
            loss = tf.reduce_sum(vectors * np.arange(WIDTH, dtype="float32")) + sum(layer.losses)
        found.append((vectors, loss, tape.gradient(loss, layer.logits.value)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    rows, expected = found[0][2], found[1][2]
    np.testing.assert_array_equal(rows.indices, expected.indices)
    np.testing.assert_array_equal(rows.values, tf.cast(expected.values, tf.bfloat16))
    np.testing.assert_array_equal(half(IDS), full(IDS))
    np.testing.assert_array_equal(half.codes(), full.codes())
    np.testing.assert_array_equal(half.codes()[0].shape, (D,))
    np.testing.assert_array_equal(half.to_form()(IDS), full.to_form()(IDS))


def test_starts_where_float32_starts():
    table = np.random.default_rng(0).normal(size=(V, WIDTH))
    start = keras.initializers.RandomUniform(-1, 1, seed=3)
    for options in ({"logits_initializer": start}, {"weights": table}):
        half, full = (
            KDCodeEmbedding(V, WIDTH, K, D, logits_dtype=dtype, **options)
            for dtype in ("bfloat16", "float32")
        )
        for layer in (half, full):
            layer(np.array([0]))
        # rounded when drawn and when divided by the scale
        np.testing.assert_allclose(logits(half), logits(full), rtol=2.0**-7)
    np.testing.assert_array_equal(half.codes(), full.codes())
    np.testing.assert_array_equal(half(np.arange(V)), full(np.arange(V)))


def test_training_goes_on_from_a_file_as_if_it_had_not_stopped(tmp_path):
    """The file holds logits and moments as they are; noise comes from the number of the step."""
    model = model_of(pair()[0], run_eagerly=True)
    batch = IDS, np.ones((2, 3, WIDTH))
    before = logits(model.layers[0])
    model.train_on_batch(*batch)
    model.train_on_batch(*batch)
    moved = (logits(model.layers[0]) != before).any(axis=1)
    assert np.flatnonzero(moved).tolist() == [0, 4, 7, 9, 19]
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert again.layers[0].get_config()["logits_dtype"] == "bfloat16"
    slots = [v for v in again.optimizer.variables if tuple(v.shape) == (V, D * K)]
    assert [v.dtype for v in (again.layers[0].logits, *slots)] == 3 * ["bfloat16"]
    full = keras.Sequential([keras.Input((3,), dtype="int32"), pair()[1]])  # fits both dtypes
    full.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(logits(full.layers[0]), logits(model.layers[0]))
    for one in (model, again):
        one.train_on_batch(*batch)
    np.testing.assert_array_equal(logits(again.layers[0]), logits(model.layers[0]))


def test_keras_compiles_no_model_of_it():
    with pytest.warns(UserWarning, match="doesn't support `jit_compile=True`"):
        model = model_of(pair()[0], jit_compile=True)
    assert not model.jit_compile


@pytest.mark.slow  # the optimizer's step and the rounding have short tests of XLA
def test_xla_is_for_steps_of_ones_own():
    found = []
    for jit_compile in (False, True):
        layer, optimizer = pair()[0], LazySGD(0.1)
        optimizer.build(layer.trainable_variables)

        @tf.function(jit_compile=jit_compile, autograph=False)
        def step(ids, layer=layer, optimizer=optimizer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(layer(ids, training=True) ** 2)
            optimizer.apply(tape.gradient(loss, layer.trainable_variables))

        step(tf.constant(IDS))
        found.append(logits(layer))
    # places of rows differ, and so does their noise
    np.testing.assert_allclose(found[1], found[0], rtol=2.0**-6, atol=1e-3)
    assert np.any(found[0] != logits(pair()[0]))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["adam", "sgd", "adafactor"])
def test_a_stock_optimizer_is_refused_before_the_first_step(name):
    layer, _ = pair()
    model, before = model_of(layer, name), logits(layer)
    with pytest.raises(ValueError, match=r"logits' is held in bfloat16.*optimizers.lazy"):
        model.train_on_batch(IDS, np.ones((2, 3, WIDTH)))
    np.testing.assert_array_equal(logits(layer), before)
    twin = copy_with(model, lambda layer: None, float32=True)  # its logits are float32
    twin.compile(name, "mse", run_eagerly=True)
    twin.train_on_batch(IDS, np.ones((2, 3, WIDTH)))
    assert twin.layers[-1].logits.dtype == "float32"


def test_averages_of_such_weights_are_float32():
    """In bfloat16 an average of 300 numbers would stand still, and so would their count."""
    layer, _ = pair()
    model = model_of(layer)
    averages = WeightAverages(model)
    for value in [1.0] * 150 + [2.0] * 150:
        layer.logits.assign(tf.fill((V, D * K), value))
        averages.add()
    np.testing.assert_allclose(averages.arrays()[0], 1.5, rtol=1e-5)  # float32 sums
    averages.replace_weights()
    np.testing.assert_array_equal(logits(layer), 1.5)
    averages.restore_weights()
    np.testing.assert_array_equal(logits(layer), 2)
