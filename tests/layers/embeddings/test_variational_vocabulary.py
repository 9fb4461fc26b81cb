import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding
from kerascompact import layers
from kerascompact.core.storage import total_bits
from kerascompact.layers import VariationalVocabularyEmbedding
from kerascompact.optimizers import LazyAdam

EVERY = np.arange(20)
KINDS = (
    layers.VariationalVocabularyEmbedding,
    layers.SparseVariationalEmbedding,
    layers.SparseVariationalVocabularyEmbedding,
)


def test_keeps_the_embedding_contract():
    check_embedding(VariationalVocabularyEmbedding, xla=False, file=False)


def built(**overrides):
    layer = VariationalVocabularyEmbedding(20, 4, 0.01, seed=0, **overrides)
    layer(EVERY)
    return layer


def kl(log_alpha):
    sigmoid = 1 / (1 + np.exp(-(1.87320 + 1.48695 * log_alpha)))
    return -(0.63576 * sigmoid - 0.5 * np.log1p(np.exp(-log_alpha)) - 0.63576)


def test_words_below_the_threshold_are_left():
    layer = built(threshold=1.0)
    log_alpha = np.linspace(-2, 3, 20).astype(np.float32)
    layer.log_alpha.assign(log_alpha)
    expected = layer.table.numpy() * (log_alpha < 1)[:, None]
    np.testing.assert_array_equal(layer(EVERY), expected)
    form = layer.to_form()
    np.testing.assert_array_equal(form(EVERY), expected)
    assert layer.kept_ids().tolist() == list(range(12))
    assert form.paper_bits == 32 * 12 * 4 == total_bits(form.storage())
    layer.log_alpha.assign(np.full(20, 4.0))
    assert layer.to_form().paper_bits == 0
    np.testing.assert_array_equal(layer.to_form()(EVERY), np.zeros((20, 4)))


def test_noise_grows_with_alpha():
    layer = built()
    log_alpha = np.linspace(-4, 2, 20).astype(np.float32)
    layer.log_alpha.assign(log_alpha)
    many = layer(np.tile(EVERY, (4000, 1)), training=True) / layer.table.numpy()
    # five standard errors of 16,000 draws of a mean, and of a deviation
    deviation = np.exp(log_alpha / 2)
    np.testing.assert_array_less(np.abs(many.numpy().mean((0, 2)) - 1), 5 * deviation / 126)
    found = np.mean((many.numpy() - 1) ** 2, axis=(0, 2)) ** 0.5
    np.testing.assert_allclose(found, deviation, rtol=5 / 178)


def test_each_word_pays_for_all_steps():
    layer = built()
    each = kl(layer.log_alpha.numpy())
    batches = [[1, 2, 2], [1, 3, 3], [3, 1, 1], [2, 2, 1]]
    owed = [{1: 1, 2: 1}, {1: 1, 3: 2}, {3: 1, 1: 1}, {2: 3, 1: 1}]
    paid = np.zeros(20)
    for batch, expected in zip(batches, owed, strict=True):
        layer(np.array(batch), training=True)
        (loss,) = layer.losses
        # a sum of a few float32
        assert float(loss) == pytest.approx(
            0.01 * sum(n * each[i] for i, n in expected.items()), rel=1e-5
        )
        for i, n in expected.items():
            paid[i] += n
    assert paid[1] == paid[2] == 4 and paid[3] == 3  # it was not in the last batch
    layer(np.array([1]))
    assert not layer.losses, "evaluation pays nothing"


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["eager", "graph", "xla"])
def test_inputs_that_share_it_pay_once_for_a_step(how):
    """Each word for the steps it was away, whichever input has it; with a regularizer as well."""
    layer = built(embeddings_regularizer=keras.regularizers.L2(0.5))
    each = kl(layer.log_alpha.numpy())
    inputs = [keras.Input((None,), dtype="int32") for _ in range(2)]
    model = keras.Model(inputs, [layer(one) for one in inputs])

    def charged(ids, others):
        model([ids, others], training=True)
        return tf.add_n(model.losses[:2])  # the regularizer's is behind them

    if how != "eager":
        charged = tf.function(charged, jit_compile=how == "xla", autograph=False)
    batches = [([1, 2], [2, 3]), ([4, 4], [1, 4]), ([3, 1], [5, 2])]
    owed = [{1: 1, 2: 1, 3: 1}, {4: 2, 1: 1}, {3: 2, 1: 1, 5: 3, 2: 2}]
    for (ids, others), expected in zip(batches, owed, strict=True):
        found = charged(tf.constant([ids]), tf.constant([others]))
        total = 0.01 * sum(n * each[i] for i, n in expected.items())
        assert float(found) == pytest.approx(total, rel=1e-5)  # float32 sums of some terms
    assert layer.steps.numpy() == 3
    np.testing.assert_array_equal(layer.paid.numpy()[:7], [0, 3, 3, 3, 2, 3, 0])


def test_the_weight_rises():
    layer = built(warmup=4)
    ids, found = np.array([7]), []
    for _ in range(6):
        layer(ids, training=True)
        found.append(float(layer.losses[0]))
    expected = 0.01 * kl(layer.log_alpha.numpy()[7]) * np.array([0.25, 0.5, 0.75, 1, 1, 1])
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    layer(np.array([8]), training=True)  # owes seven steps, the first three at less than 1
    owed = 0.01 * kl(layer.log_alpha.numpy()[8]) * (0.25 + 0.5 + 0.75 + 4)
    assert float(layer.losses[0]) == pytest.approx(owed, rel=1e-5)


def test_words_that_training_never_meets_are_dropped():
    layer = built()
    assert len(layer.kept_ids()) == 20  # before it begins, none has been met
    layer(np.array([3, 5]), training=True)
    assert layer.kept_ids().tolist() == [3, 5]


@pytest.mark.parametrize("cls", KINDS)
def test_a_frozen_layer_meets_no_words_and_goes_on_when_it_trains_again(cls):
    layer = cls(20, 4, 0.01, threshold=10)
    layer(np.array([3, 5]), training=True)
    layer.trainable = False
    expected = layer.to_form()(EVERY)
    np.testing.assert_array_equal(layer(EVERY, training=True), expected)
    assert not layer.losses
    np.testing.assert_array_equal(layer(EVERY), expected)
    layer.trainable = True
    layer(np.array([7]), training=True)
    assert np.flatnonzero(layer.paid.numpy()).tolist() == [3, 5, 7]


@pytest.mark.slow
def test_keeps_the_words_that_matter():
    """Of 40 words five tell the class, and the others are noise."""
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    labels = random.integers(0, 5, 1000)
    ids = np.concatenate([labels[:, None], random.integers(5, 40, (1000, 3))], axis=1)
    embedding = VariationalVocabularyEmbedding(40, 8, kl_weight=0.03, threshold=2.0, seed=1)
    pool = keras.layers.GlobalAveragePooling1D()
    model = keras.Sequential([keras.Input((4,), dtype="int32"), embedding, pool])
    model.add(keras.layers.Dense(5, activation="softmax"))
    model.compile(
        keras.optimizers.Adam(0.03),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,
    )
    model.fit(ids, labels, batch_size=50, epochs=40, verbose=0)
    assert model.evaluate(ids, labels, verbose=0)[1] > 0.99
    assert embedding.kept_ids().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kl_weight", [0, -1, np.inf, "1", None, True])
def test_rejects_kl_weight(kl_weight):
    with pytest.raises(ValueError, match="`kl_weight` must be a finite number > 0"):
        VariationalVocabularyEmbedding(20, 4, kl_weight)


def test_rejects_warmup_and_threshold():
    with pytest.raises(ValueError, match="`warmup` must be an integer >= 0"):
        built(warmup=-1)
    with pytest.raises(ValueError, match=r"`threshold` must be a number in \(-10, 10\]"):
        built(threshold=11)


def test_gradients_are_rows():
    layer = built()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(np.array([3, 3, 5]), training=True)) + layer.losses[0]
    for gradient in tape.gradient(loss, [layer.table.value, layer.log_alpha.value]):
        assert isinstance(gradient, tf.IndexedSlices)
        assert set(gradient.indices.numpy()) == {3, 5}


@pytest.mark.parametrize("cls", KINDS)
def test_a_step_may_charge_all_words_but_padding(cls):
    layer = cls(9, 3, kl_weight=0.5, charge="all", mask_zero=True, seed=0)
    ids = keras.Input((None,), dtype="int32")
    other = keras.Input((None,), dtype="int32")
    model = keras.Model([ids, other], [layer(ids), layer(other)])  # one step, charged once
    for weight in layer.trainable_weights:
        weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    model([np.array([[0, 3]]), np.array([[3, 4]])], training=True)

    def kl(log_alpha):
        fitted = 0.63576 / (1 + np.exp(1.87320 + 1.48695 * log_alpha))
        return fitted + 0.5 * np.log1p(np.exp(-log_alpha))

    values = {weight.name: weight.numpy().astype(np.float64) for weight in layer.trainable_weights}
    if "log_alpha" in values:
        expected = kl(values["log_alpha"])
    else:
        expected = kl(values["log_variance"] - np.log(values["table"] ** 2)).sum(axis=1)
    if "multiplier" in values:
        noise = values["multiplier_log_variance"] - np.log(values["multiplier"] ** 2)
        expected = expected + kl(noise)
    np.testing.assert_allclose(sum(model.losses), 0.5 * expected[1:].sum(), rtol=1e-4)
    again = cls.from_config(layer.get_config())
    assert again.charge == "all"


def step_of(layer, optimizer):
    """Traced once, as a model's is."""
    weights = layer.trainable_weights
    optimizer.build(weights)

    @tf.function(autograph=False)
    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(layer(ids, training=True))) + sum(layer.losses)
        optimizer.apply(tape.gradient(loss, [weight.value for weight in weights]), weights)

    return step


@pytest.mark.slow
def test_under_adam_a_rare_word_gains_noise_if_each_step_charges_all():
    noise = {}
    for charge in ("batch", "all"):
        layer = layers.VariationalVocabularyEmbedding(
            6, 2, kl_weight=1.0, charge=charge, log_alpha_initializer="zeros"
        )
        layer.build()
        step = step_of(layer, LazyAdam(0.1))
        for number in range(20):
            step(tf.constant([[5 if number == 0 else 3]]))
        noise[charge] = layer.log_alpha.numpy()
    assert noise["batch"][5] < 0.2 and abs(noise["all"][5] - 2) < 0.3
    assert noise["batch"][3] > 1.3  # a word of every batch pays as often in both
    with pytest.raises(ValueError, match="`charge` must be"):
        layers.VariationalVocabularyEmbedding(6, 2, kl_weight=1.0, charge="none")
