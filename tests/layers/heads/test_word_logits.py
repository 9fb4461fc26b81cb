"""The output layer, and how a loss over a sample of words trains it in an ordinary `fit`."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export
from kerascompact.layers import ClusterEmbedding, WordLogits, tied_softmax
from kerascompact.optimizers import LazySGD
from kerascompact.training import (
    Perplexity,
    SampledSoftmaxCrossEntropy,
    SparseSoftmaxCrossEntropy,
)

V, D = 200, 4
IDS = np.random.default_rng(0).integers(1, 20, (6, 5))
LABELS = (IDS + 1) % 20


def model(head=None, **options):
    ids = keras.Input((None,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(V, D, name="words", **options)(ids)
    return keras.Model(ids, (head or WordLogits(V, name="logits"))(vectors))


def tied(**options):
    ids = keras.Input((None,), dtype="int32", name="ids")
    embedding = ClusterEmbedding(V, D, 5, name="words")
    hidden = keras.layers.Dense(D, **options)(embedding(ids))
    return keras.Model(ids, tied_softmax(embedding, hidden, use_bias=True))


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("shape", [(D,), (3, D), (2, 3, D), (0, D)])
def test_equals_the_formula(shape, use_bias):
    head = WordLogits(7, use_bias=use_bias, bias_initializer="uniform")
    vectors = np.random.default_rng(1).normal(size=shape).astype("float32")
    found = head(vectors)
    bias = head.bias.numpy() if use_bias else 0
    np.testing.assert_allclose(found, vectors @ head.kernel.numpy().T + bias, atol=1e-6)
    assert found.shape == (*shape[:-1], 7)


@pytest.mark.parametrize(
    ("make", "jit_compile"),
    [
        (model, False),
        pytest.param(model, True, marks=pytest.mark.slow),
        pytest.param(tied, False, marks=pytest.mark.slow),
    ],
)
def test_trains_in_a_graph_and_evaluates_by_the_full_softmax(make, jit_compile):
    lm = make()
    lm.compile(LazySGD(1.0), SampledSoftmaxCrossEntropy(20, seed=1), jit_compile=jit_compile)
    lm.optimizer.build(lm.trainable_variables)  # or the step is traced twice
    before = lm.test_on_batch(IDS, LABELS)
    assert abs(before - np.log(V)) < 0.1
    for _ in range(12):
        lm.train_on_batch(IDS, LABELS)
    after = lm.test_on_batch(IDS, LABELS)
    assert after < before - 0.5
    full = SparseSoftmaxCrossEntropy()(LABELS, lm(IDS))
    np.testing.assert_allclose(after, full, rtol=1e-5)


def test_a_step_changes_only_the_rows_of_labels_and_draws():
    lm = model()
    kernel = lm.get_layer("logits").kernel
    lm.compile(LazySGD(1.0), SampledSoftmaxCrossEntropy(10, seed=1), jit_compile=False)
    before = kernel.numpy()
    lm.train_on_batch(IDS, LABELS)
    changed = np.flatnonzero(np.any(kernel.numpy() != before, axis=1))
    assert set(np.unique(LABELS)) <= set(changed)
    assert len(changed) <= len(np.unique(LABELS)) + 10


@pytest.mark.parametrize("make", [model, tied])
def test_logits_of_all_words_are_no_part_of_the_loss_and_its_gradient(make):
    lm, loss = make(), SampledSoftmaxCrossEntropy(10)

    @tf.function(autograph=False)
    def step(ids, labels):
        with tf.GradientTape() as tape:
            value = loss(labels, lm(ids, training=True))
        variables = [weight.value for weight in lm.trainable_weights]
        return value, tape.gradient(value, variables)

    outputs = step.get_concrete_function(tf.constant(IDS), tf.constant(LABELS)).outputs
    waiting, seen = [output.op for output in outputs], set()
    while waiting:  # everything that the outputs need; TensorFlow drops the rest of the graph
        operation = waiting.pop()
        if operation.name not in seen:
            seen.add(operation.name)
            waiting.extend(source.op for source in operation.inputs)
            for tensor in operation.outputs:
                size = tensor.shape.num_elements() or 0
                assert size < IDS.size * V or tensor.dtype == tf.resource, operation
    assert len(seen) > 20


def test_a_metric_of_training_sees_all_logits():
    lm = model()
    loss = SampledSoftmaxCrossEntropy(5, seed=1)
    lm.compile(LazySGD(0.0), loss, metrics=[Perplexity()], jit_compile=False)
    found = lm.fit(IDS, LABELS, batch_size=6, verbose=0).history
    full = float(SparseSoftmaxCrossEntropy()(LABELS, lm(IDS)))
    np.testing.assert_allclose(found["perplexity"], np.exp(full), rtol=1e-5)
    assert found["loss"][0] != pytest.approx(full, rel=1e-4)


def test_masks_and_sample_weights_count_in_the_sampled_loss():
    lm = model(mask_zero=True)
    ids, labels = np.array([[1, 2, 0], [3, 0, 0]]), np.array([[2, 3, 9], [4, 9, 9]])
    losses = []
    for numbers, wanted in ((ids, labels), (np.array([[1, 2, 3]]), np.array([[2, 3, 4]]))):
        loss = SampledSoftmaxCrossEntropy(30, seed=5)
        losses.append(float(loss(wanted, lm(numbers, training=True))))
    np.testing.assert_allclose(*losses, rtol=1e-5)
    loss = SampledSoftmaxCrossEntropy(30, seed=5)
    weighted = loss(labels, lm(ids, training=True), np.array([[1, 0, 1], [0, 1, 1]]))
    alone = SampledSoftmaxCrossEntropy(30, seed=5)(labels[:1, :1], lm(ids[:1, :1], training=True))
    np.testing.assert_allclose(3 * weighted, alone, rtol=1e-5)  # a mean over the 3 not masked


def test_any_other_loss_and_a_call_without_training_give_the_full_softmax():
    lm = model()
    full = float(SparseSoftmaxCrossEntropy()(LABELS, lm(IDS, training=True)))
    keras_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    np.testing.assert_allclose(keras_loss(LABELS, lm(IDS, training=True)), full, rtol=1e-5)
    sampled = SampledSoftmaxCrossEntropy(5)
    for training in (None, False):
        found = sampled(LABELS, lm(IDS, training=training))
        np.testing.assert_allclose(found, full, rtol=1e-5)


def test_is_saved_and_loaded_with_the_loss_and_goes_on(tmp_path):
    lm = model()
    lm.compile("sgd", SampledSoftmaxCrossEntropy(20, seed=3), run_eagerly=True)
    lm.train_on_batch(IDS, LABELS)
    lm.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert (loaded.loss.num_sampled, loaded.loss.seed) == (20, 3)
    np.testing.assert_array_equal(loaded(IDS), lm(IDS))
    loaded.train_on_batch(IDS, LABELS)
    clone = keras.models.clone_model(lm)
    clone.set_weights(lm.get_weights())
    np.testing.assert_array_equal(clone(IDS), lm(IDS))


@pytest.mark.parametrize("make", [pytest.param(model, marks=pytest.mark.slow), tied])
def test_computes_in_mixed_precision_and_eagerly(make):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        lm = make()
    finally:
        keras.config.set_dtype_policy("float32")
    assert lm.output.dtype == "float32"
    optimizer = keras.mixed_precision.LossScaleOptimizer(LazySGD(0.1))
    lm.compile(optimizer, SampledSoftmaxCrossEntropy(20), run_eagerly=True)
    assert np.isfinite(lm.fit(IDS, LABELS, verbose=0).history["loss"]).all()


def test_converts_and_predicts_the_same():
    frozen = export.freeze(model(), "int8_tables")
    frozen.convert()
    assert frozen.verify(IDS, tolerance=1e-5).agreement == 1.0


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, None])
def test_rejects(bad):
    with pytest.raises(ValueError, match="`num_words` must be an integer >= 1"):
        WordLogits(bad)
    with pytest.raises(ValueError, match="`num_sampled` must be an integer >= 1"):
        SampledSoftmaxCrossEntropy(bad)
