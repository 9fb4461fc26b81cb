"""The loss keeps the contract of Keras losses and gives Keras' numbers."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.training import Perplexity, SparseSoftmaxCrossEntropy

KERAS = keras.losses.SparseCategoricalCrossentropy


def example(shape=(4, 3), words=7):
    random = np.random.default_rng(0)
    return random.integers(0, words, shape), random.normal(size=(*shape, words)).astype("float32")


@pytest.mark.few(8)
@pytest.mark.parametrize("jit_compile", [True, False])
@pytest.mark.parametrize("reduction", ["sum_over_batch_size", "sum", "none"])
@pytest.mark.parametrize("weights", [None, (4, 1), (4, 3)])
def test_reductions_and_weights_are_those_of_keras(reduction, weights, jit_compile):
    labels, logits = example()
    if weights is not None:
        weights = np.random.default_rng(1).uniform(size=weights)
    ours = SparseSoftmaxCrossEntropy(jit_compile, reduction=reduction)
    theirs = KERAS(from_logits=True, reduction=reduction)
    arguments = (labels, logits, weights)
    np.testing.assert_allclose(ours(*arguments), theirs(*arguments), atol=1e-5)  # a sum of 12


def test_labels_may_have_an_axis_of_one():
    labels, logits = example()
    loss = SparseSoftmaxCrossEntropy()
    assert float(loss(labels[..., None], logits)) == float(loss(labels, logits))


def masked_model():
    ids = keras.Input((3,), dtype="int32")
    hidden = keras.layers.Embedding(7, 4, mask_zero=True)(ids)
    return keras.Model(ids, keras.layers.Dense(7)(hidden))


def test_a_mask_leaves_positions_out():
    model = masked_model()
    ids, labels = np.array([[1, 2, 0], [3, 0, 0]]), np.array([[2, 3, 5], [4, 5, 5]])
    model.compile(loss=SparseSoftmaxCrossEntropy(), metrics=[Perplexity()], run_eagerly=True)
    found = model.test_on_batch(ids, labels, return_dict=True)
    kept = SparseSoftmaxCrossEntropy()(labels[ids > 0], model(ids).numpy()[ids > 0])
    np.testing.assert_allclose(found["loss"], kept, rtol=1e-6)
    np.testing.assert_allclose(found["perplexity"], np.exp(kept), rtol=1e-6)


@pytest.mark.parametrize(
    ("policy", "jit_compile"),
    [
        pytest.param("float32", False, marks=pytest.mark.slow),
        pytest.param("mixed_float16", True, marks=pytest.mark.slow),
        ("mixed_bfloat16", False),
    ],
)
def test_a_fit_is_that_of_keras_own_loss(policy, jit_compile):
    ids, labels = np.arange(24).reshape(8, 3) % 7, np.arange(1, 25).reshape(8, 3) % 7
    curves = []
    for loss in (SparseSoftmaxCrossEntropy(), KERAS(from_logits=True)):
        keras.utils.set_random_seed(0)
        layers = [keras.layers.Embedding(7, 4), keras.layers.Dense(7, dtype=policy)]
        model = keras.Sequential([keras.Input((3,), dtype="int32"), *layers])
        model.compile(keras.optimizers.SGD(2.0), loss, jit_compile=jit_compile)
        model.optimizer.build(model.trainable_variables)  # or the step is traced twice
        curves.append([model.train_on_batch(ids, labels) for _ in range(4)])
    assert curves[0][-1] < curves[0][0]
    # 16-bit logits are rounded differently where XLA fuses operations: 2**-8 at bfloat16's worst.
    np.testing.assert_allclose(*curves, rtol=1e-5 if policy == "float32" else 2**-8)


def test_a_compiled_model_is_saved_and_loaded_with_it(tmp_path):
    model = masked_model()
    loss = SparseSoftmaxCrossEntropy(jit_compile=False)
    model.compile("sgd", loss, metrics=[Perplexity()], run_eagerly=True)
    ids, labels = np.array([[1, 2, 3]]), np.array([[2, 3, 4]])
    before = model.test_on_batch(ids, labels)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(loaded.loss, SparseSoftmaxCrossEntropy) and not loaded.loss.jit_compile
    np.testing.assert_allclose(loaded.test_on_batch(ids, labels), before, rtol=1e-6)


def test_labels_that_do_not_fit_are_refused():
    labels, logits = example()
    with pytest.raises(ValueError, match=r"`y_true` must be labels of the logits' shape, \(4, 3\)"):
        SparseSoftmaxCrossEntropy()(labels[:, :2], logits)
    with pytest.raises(ValueError, match=r"`y_pred` must be logits of at most 2\*\*24 words"):
        SparseSoftmaxCrossEntropy().call(tf.zeros(1), tf.zeros((1, 2**24 + 1)))
    with pytest.raises(ValueError, match="`jit_compile` must be True or False"):
        SparseSoftmaxCrossEntropy(jit_compile="auto")


TWO_REPLICAS = """
import keras, numpy as np, tensorflow as tf
from kerascompact.training import Perplexity, SparseSoftmaxCrossEntropy
cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
ids = np.arange(40).reshape(8, 5) % 9
def fit(strategy):
    keras.utils.set_random_seed(0)
    with strategy.scope():
        layers = [keras.layers.Embedding(9, 4), keras.layers.Dense(9)]
        model = keras.Sequential([keras.Input((5,), dtype="int32"), *layers])
        loss = SparseSoftmaxCrossEntropy()
        model.compile(keras.optimizers.SGD(0.5), loss, metrics=[Perplexity()], jit_compile=False)
    history = model.fit(ids, (ids + 1) % 9, batch_size=8, epochs=3, verbose=0).history
    return history["loss"] + history["perplexity"]
one = fit(tf.distribute.get_strategy())
two = fit(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
np.testing.assert_allclose(two, one, rtol=1e-5)  # sums in another order
"""


@pytest.mark.slow
def test_replicas_give_the_loss_and_the_perplexity_of_one_device():
    # Devices are set up before TensorFlow starts, so in a process of its own.
    run = subprocess.run([sys.executable, "-c", TWO_REPLICAS], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
