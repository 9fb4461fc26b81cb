"""A loss over a sample of the words has the head's own logits, or says that it has not."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.forms import DenseForm
from kerascompact.layers import ClusterEmbedding, Embedding, WordLogits, tied_softmax
from kerascompact.ops.sampled_softmax import log_uniform_candidates
from kerascompact.optimizers import LazySGD
from kerascompact.training import (
    NoiseContrastiveEstimation,
    SampledSoftmaxCrossEntropy,
    SparseSoftmaxCrossEntropy,
)

V, D, SAMPLED = 60, 4, 7
IDS = np.random.default_rng(0).integers(1, 20, (3, 5))
LABELS = (IDS + 1) % 20


def lm(*behind, head=None):
    """A language model, and what stands behind its head."""
    ids = keras.Input((None,), dtype="int32")
    outputs = (head or WordLogits(V))(keras.layers.Embedding(V, D, name="words")(ids))
    for layer in behind:
        outputs = layer(outputs)
    return keras.Model(ids, outputs)


def by_hand(model, head="word_logits"):
    """The mean loss over the first draw of seed 1, from the weights in NumPy."""
    kernel, bias = (weight.numpy() for weight in model.get_layer(head).weights)
    hidden = model.get_layer("words").embeddings.numpy()[IDS].astype(np.float64)
    logits = hidden @ kernel.T + bias
    draws = log_uniform_candidates(SAMPLED, V, keras.random.SeedGenerator(1))
    own = np.take_along_axis(logits, LABELS[..., None], axis=-1)[..., 0]
    drawn = np.exp(logits[..., draws.ids.numpy()] - draws.log_expected.numpy())
    drawn = np.where(draws.ids.numpy() == LABELS[..., None], 0, drawn)
    return np.mean(np.log(np.exp(own) + drawn.sum(axis=-1)) - own)


CHANGED = {
    "an activation": lambda: lm(keras.layers.Activation("tanh")),
    "a softmax": lambda: lm(keras.layers.Softmax()),
    "a scaling": lambda: lm(keras.layers.Lambda(lambda x: 0.5 * x)),
    "a rescaling": lambda: lm(keras.layers.Rescaling(2.0)),
    "a cast to half precision": lambda: lm(keras.layers.Activation("linear", dtype="float16")),
    "dropped logits": lambda: lm(keras.layers.Dropout(0.5)),
    "a reshape": lambda: lm(keras.layers.Reshape((5, V))),
    "one step at a time": lambda: lm(head=keras.layers.TimeDistributed(WordLogits(V))),
    "another head": lambda: lm(head=keras.layers.Dense(V)),
}


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", [SampledSoftmaxCrossEntropy, NoiseContrastiveEstimation])
@pytest.mark.parametrize("name", CHANGED)
def test_refuses_logits_that_something_has_changed(name, kind):
    model, loss = CHANGED[name](), kind(SAMPLED)
    with pytest.raises(ValueError, match="`y_pred` must be logits as `layers.WordLogits`, or an"):
        loss(LABELS, model(IDS, training=True))


@pytest.mark.parametrize("kind", [SampledSoftmaxCrossEntropy, NoiseContrastiveEstimation])
def test_a_label_that_is_no_word_is_no_loss_under_xla(kind):
    model, loss = lm(), kind(SAMPLED, reduction="none")

    @tf.function(jit_compile=True, autograph=False)
    def losses(labels):
        return loss(labels, model(tf.constant(IDS), training=True))

    labels = np.array(LABELS)
    labels[0, 1], labels[2, 0] = V, -1
    found = losses(tf.constant(labels)).numpy()
    np.testing.assert_array_equal(np.isnan(found), (labels < 0) | (labels >= V))


def test_names_the_layer_in_fit_and_refuses_to_evaluate_what_it_cannot_train():
    model = lm(keras.layers.Activation("tanh", name="squash"))
    model.compile("sgd", SampledSoftmaxCrossEntropy(SAMPLED), jit_compile=True)
    for method in (model.fit, model.evaluate):
        with pytest.raises(
            ValueError, match=r"`SparseSoftmaxCrossEntropy`.* by '.*squash.*/Tanh'\."
        ):
            method(IDS, LABELS, verbose=0)


def test_refuses_logits_that_come_out_of_a_graph_and_arrays():
    model, loss = lm(), SampledSoftmaxCrossEntropy(SAMPLED)
    inner = tf.function(lambda ids: model(ids, training=True), autograph=False)
    for logits in (inner(tf.constant(IDS)), model.predict(IDS, verbose=0)):
        with pytest.raises(ValueError, match=r"of the shape \(3, 5, 60\)\."):
            loss(LABELS, logits)


class Wrapped(keras.losses.Loss):
    """A loss of one's own around the sampled one."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, y_true, y_pred):
        return self.inner.call(y_true, y_pred)


def nested():
    ids = keras.Input((None,), dtype="int32")
    hidden = keras.layers.Embedding(V, D, name="words")(ids)
    inner = keras.Input((None, D))
    head = keras.Model(inner, WordLogits(V, name="inner")(inner), name="word_logits")
    return keras.Model(ids, head(hidden))


def sequential():
    layers = [keras.layers.Embedding(V, D, name="words"), WordLogits(V, name="word_logits")]
    return keras.Sequential(layers)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "make",
    [
        lambda: lm(head=WordLogits(V, name="word_logits")),
        lambda: lm(keras.layers.Activation("linear"), head=WordLogits(V, name="word_logits")),
        sequential,
        nested,
    ],
    ids=["functional", "an activation that changes nothing", "Sequential", "a model in a model"],
)
@pytest.mark.parametrize("wrap", [lambda loss: loss, Wrapped], ids=["alone", "wrapped"])
def test_is_the_loss_over_the_sample(make, wrap):
    model, loss = make(), wrap(SampledSoftmaxCrossEntropy(SAMPLED, seed=1))
    logits = model(IDS, training=True)
    # float32 sums of a few terms around 1, against float64
    np.testing.assert_allclose(loss(LABELS, logits), by_hand(model), rtol=1e-5)
    full = SparseSoftmaxCrossEntropy()(LABELS, logits)
    assert abs(float(full) - by_hand(model)) > 1e-3


class Stepping(keras.Model):
    """A training step of one's own."""

    def train_step(self, data):
        ids, labels, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            loss = self.compute_loss(ids, labels, self(ids, training=True), training=True)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}


def test_a_step_of_ones_own_and_one_of_several_losses_are_over_the_sample():
    plain = lm(head=WordLogits(V, name="word_logits"))
    expected, loss = by_hand(plain), SampledSoftmaxCrossEntropy(SAMPLED, seed=1)
    stepping = Stepping(plain.inputs, plain.outputs)
    stepping.compile("sgd", loss, jit_compile=False)
    stepping.optimizer.build(stepping.trainable_variables)  # or the step is traced twice
    found = stepping.train_on_batch(IDS, LABELS, return_dict=True)
    np.testing.assert_allclose(found["loss"], expected, rtol=1e-5)
    hidden = plain.get_layer("words").output
    both = keras.Model(plain.inputs, [plain.output, keras.layers.Dense(1)(hidden)])
    expected, loss = by_hand(plain), SampledSoftmaxCrossEntropy(SAMPLED, seed=1)
    both.compile("sgd", [loss, "mse"], loss_weights=[1.0, 0.0], run_eagerly=True)
    weights = np.ones((3, 5))
    found = both.train_on_batch(IDS, [LABELS, np.zeros((3, 5, 1))], [weights, weights])
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
    # and all of it in evaluation
    full = both.test_on_batch(IDS, [LABELS, np.zeros((3, 5, 1))])[0]
    np.testing.assert_allclose(full, SparseSoftmaxCrossEntropy()(LABELS, plain(IDS)), rtol=1e-5)


needs_reversible = pytest.mark.skipif(
    not hasattr(keras.layers, "ReversibleEmbedding"), reason="since Keras 3.13"
)


@pytest.mark.few(1)
@needs_reversible
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("bias", [False, True])
def test_a_plain_table_is_trained_by_the_words_of_the_sample(policy, bias):
    # Keras gives logits in half precision unless told not to, and casts them before a loss
    embedding = Embedding(V, D, dtype=policy, reverse_dtype=None if bias else "float32")
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, tied_softmax(embedding, embedding(ids), use_bias=bias))
    before = embedding.embeddings.numpy()
    logits = model(IDS, training=True)
    many = float(SampledSoftmaxCrossEntropy(200_000, seed=1)(LABELS, logits))
    np.testing.assert_allclose(many, float(SparseSoftmaxCrossEntropy()(LABELS, logits)), atol=0.01)
    model.compile(LazySGD(0.1), SampledSoftmaxCrossEntropy(SAMPLED, seed=1), jit_compile=False)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    model.train_on_batch(IDS, LABELS)
    drawn = log_uniform_candidates(SAMPLED, V, keras.random.SeedGenerator(1)).ids.numpy()
    known = np.isin(np.arange(V), np.concatenate([drawn, IDS.ravel(), LABELS.ravel()]))
    changed = np.any(embedding.embeddings.numpy() != before, axis=1)
    assert np.array_equal(changed, known) and not known.all()


@needs_reversible
@pytest.mark.parametrize("option", [{"tie_weights": False}, {"logit_soft_cap": 9.0}])
def test_refuses_a_plain_table_whose_logits_are_more_than_its_rows(option):
    embedding = Embedding(V, D, **option)
    embedding.build()
    logits = embedding(np.ones((3, 5, D), np.float32), reverse=True, training=True)
    with pytest.raises(ValueError, match="`y_pred` must be logits"):
        SampledSoftmaxCrossEntropy(SAMPLED)(LABELS, logits)


def test_a_bias_and_a_stored_form_hand_the_link_on():
    """A form under a trained network: the sample was all words, silently, as it had no scorer."""
    table = np.random.default_rng(1).normal(size=(V, D)).astype(np.float32)
    form = DenseForm.from_arrays({"table": table}, input_dim=V, output_dim=D, name="words")
    for embedding in (form, ClusterEmbedding(V, D, 5)):
        ids = keras.Input((None,), dtype="int32")
        hidden = keras.layers.Dense(D, use_bias=False, name="hidden")(embedding(ids))
        model = keras.Model(ids, tied_softmax(embedding, hidden, use_bias=True))
        logits = model(IDS, training=True)
        full = float(SparseSoftmaxCrossEntropy()(LABELS, logits))
        many = float(SampledSoftmaxCrossEntropy(200_000, seed=1)(LABELS, logits))
        few = float(SampledSoftmaxCrossEntropy(SAMPLED, seed=1)(LABELS, logits))
        # 200,000 draws: the estimate of each sum is within a percent
        np.testing.assert_allclose(many, full, atol=0.01)
        assert abs(few - full) > 0.01
        full = float(SparseSoftmaxCrossEntropy()(LABELS, model(IDS)))
        found = float(SampledSoftmaxCrossEntropy(SAMPLED)(LABELS, model(IDS)))
        np.testing.assert_allclose(found, full, rtol=1e-5)
