"""Layers that gather or assign inside a call, on two replicas: the losses of one device."""

import subprocess
import sys

import pytest

TWO_REPLICAS = """
import keras, numpy as np, tensorflow as tf
cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from kerascompact import layers, optimizers

random = np.random.default_rng(0)
ids, numbers = random.integers(0, 20, (8, 5)), random.normal(size=(8, 3)).astype("float32")
kinds = {
    "all": (layers.VariationalVocabularyEmbedding, dict(kl_weight=0.01, charge="all")),
    "batch": (layers.SparseVariationalEmbedding, dict(kl_weight=0.01)),
    "limit": (layers.QuantizedEmbedding, dict(bits=4, scale="table")),
    "normalized": (layers.DPQEmbedding, dict(cardinality=4, code_length=2)),
}

def fit(strategy, made, options):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        words, x = keras.Input((5,), dtype="int32"), keras.Input((3,))
        penalty = keras.regularizers.L2(1.0)
        hidden = keras.layers.Dense(4, activity_regularizer=penalty, name="before")(x)
        for _ in range(3):  # the graph calls the table after the layer with a penalty
            hidden = keras.layers.Activation("linear")(hidden)
        mean = keras.ops.mean(made(20, 4, **options)(words), axis=1)
        joined = keras.layers.Concatenate()([mean, hidden])
        head = keras.layers.Dense(1, kernel_initializer="zeros", trainable=False)
        model = keras.Model([words, x], head(joined))
        model.compile(optimizers.LazySGD(0.1), "mse", jit_compile=False)
    history = model.fit([ids, numbers], np.zeros(8), batch_size=8, epochs=2, verbose=0).history
    return history["loss"], model.get_layer("before").kernel.numpy()

mirrored = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
for name, kind in kinds.items():
    one = fit(tf.distribute.get_strategy(), *kind)
    two = fit(mirrored, *kind)
    for a, b in zip(one, two):  # sums in another order
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=name)
"""


@pytest.mark.slow
def test_losses_of_other_layers_stay_with_their_replica():
    # Devices are set up before TensorFlow starts, so in a process of its own.
    run = subprocess.run([sys.executable, "-c", TWO_REPLICAS], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
