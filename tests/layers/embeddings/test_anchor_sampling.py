"""Losses over a sample of the words, under anchors: only rows of `T` are read and changed."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.layers import AnchorTransformEmbedding, tied_softmax
from kerascompact.ops.sampled_softmax import log_uniform_candidates
from kerascompact.optimizers import LazySGD, Proximal, catch_up
from kerascompact.training import NoiseContrastiveEstimation, SampledSoftmaxCrossEntropy

V, D, SAMPLED = 300, 4, 8
IDS = np.random.default_rng(0).integers(1, 20, (4, 3))
LABELS = (IDS + 1) % 20
each = pytest.mark.parametrize("kind", [SampledSoftmaxCrossEntropy, NoiseContrastiveEstimation])


def made(**options):
    ids = keras.Input((None,), dtype="int32")
    words = AnchorTransformEmbedding(V, D, 6, name="words", **options)
    hidden = keras.layers.Dense(D, "tanh")(words(ids))
    return keras.Model(ids, tied_softmax(words, hidden, use_bias=True)), words


def step_of(model, loss):
    @tf.function(autograph=False)
    def step(ids, labels):
        with tf.GradientTape() as tape:
            value = loss(labels, model(ids, training=True))
        return value, tape.gradient(value, [weight.value for weight in model.trainable_weights])

    return step


@pytest.mark.few(1)
@each
def test_the_transform_is_only_gathered_from_and_its_gradient_is_rows(kind):
    model, words = made(l1_weight=1e-3)
    loss = kind(SAMPLED, seed=1)
    step = step_of(model, loss)
    compiled = step.get_concrete_function(tf.constant(IDS), tf.constant(LABELS))
    handles = {inner.op.name for outer, inner in compiled.graph.captures
               if outer is words.transform.value.handle}  # fmt: skip
    waiting, seen, readers = [output.op for output in compiled.outputs], set(), []
    while waiting:  # everything that loss and gradients need
        operation = waiting.pop()
        if operation.name not in seen:
            seen.add(operation.name)
            sources = [source.op for source in operation.inputs]
            waiting.extend(sources)
            if handles & {source.name for source in sources}:
                readers.append(operation)
    # Once for the ids, once for candidates and labels; `VariableShape` reads no values.
    reads = [reader for reader in readers if reader.type != "VariableShape"]
    assert sorted(reader.type for reader in reads) == ["ResourceGather"] * 2
    value, gradients = step(IDS, LABELS)
    by_name = dict(zip([weight.name for weight in model.trainable_weights], gradients, strict=True))
    gradient = by_name["transform"]
    assert isinstance(gradient, tf.IndexedSlices) and np.isfinite(value)
    # The layer looks up the different ids of a batch, padded to the batch by XLA at most.
    assert gradient.values.shape[0] <= 2 * IDS.size + SAMPLED


@pytest.mark.few(1)
@each
def test_a_step_changes_only_rows_of_ids_labels_and_draws(kind):
    draws = log_uniform_candidates(SAMPLED, V, keras.random.SeedGenerator(1)).ids.numpy()
    touched = np.unique(np.concatenate([IDS.ravel(), LABELS.ravel(), draws]))
    model, words = made(l1_weight=0.0, nonnegative=False)
    model(IDS)
    before, loss = words.transform.numpy(), kind(SAMPLED, seed=1)
    with tf.GradientTape() as tape:
        value = loss(LABELS, model(IDS, training=True))
    LazySGD(0.5).apply(tape.gradient(value, model.trainable_weights), model.trainable_weights)
    changed = np.flatnonzero(np.any(words.transform.numpy() != before, axis=1))
    np.testing.assert_array_equal(changed, touched)


@pytest.mark.few(1)
@each
def test_rows_that_are_away_get_the_proximal_steps_of_the_whole_table(kind):
    """The same steps with the gradient as rows, and as a table: `catch_up` makes them equal."""
    tables = []
    for lazily in (True, False):
        keras.utils.set_random_seed(0)
        model, words = made(l1_weight=0.02)
        optimizer, loss = Proximal(keras.optimizers.SGD(0.5)), kind(SAMPLED, seed=1)
        for _ in range(4):
            with tf.GradientTape() as tape:
                value = loss(LABELS, model(IDS, training=True))
            gradients = tape.gradient(value, model.trainable_weights)
            if not lazily:
                gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
            optimizer.apply(gradients, model.trainable_weights)
        if lazily:
            behind = words.transform.numpy()
        catch_up(model)
        tables.append(words.transform.numpy())
    assert np.mean(np.any(behind != tables[0], axis=1)) > 0.8  # until then they only owed it
    np.testing.assert_allclose(*tables, atol=1e-6)  # thresholds are added in another order
    assert np.mean(tables[0] == 0) > 0.05
