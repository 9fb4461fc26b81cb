import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding
from kerascompact.layers import SparseVariationalEmbedding, SparseVariationalVocabularyEmbedding

EVERY = np.arange(20)
KINDS = (SparseVariationalEmbedding, SparseVariationalVocabularyEmbedding)


@pytest.mark.few(1)
@pytest.mark.parametrize("cls", KINDS)
def test_keeps_the_embedding_contract(cls):
    check_embedding(cls, xla=False, file=False)


def filled(cls, **overrides):
    """With numbers of which some are signal and some are noise."""
    layer = cls(20, 4, 0.01, seed=0, **overrides)
    layer(EVERY)
    random = np.random.default_rng(0)
    for weight in layer.trainable_weights:
        weight.assign(random.normal(size=weight.shape) * 3)
    return layer, {weight.name: weight.numpy() for weight in layer.trainable_weights}


def log_alpha(mean, log_variance):
    return np.clip(log_variance - np.log(mean**2 + 1e-8), -10, 10)


def kl(log_alpha):
    sigmoid = 1 / (1 + np.exp(-(1.87320 + 1.48695 * log_alpha)))
    return -(0.63576 * sigmoid - 0.5 * np.log1p(np.exp(-log_alpha)) - 0.63576)


def expected_rows(weights, threshold):
    table = weights["table"]
    rows = table * (log_alpha(table, weights["log_variance"]) < threshold)
    if "multiplier" in weights:
        z = weights["multiplier"]
        rows *= (z * (log_alpha(z, weights["multiplier_log_variance"]) < threshold))[:, None]
    return rows


@pytest.mark.parametrize("cls", KINDS)
def test_entries_below_the_threshold_are_left(cls):
    layer, weights = filled(cls, threshold=0.5)
    expected = expected_rows(weights, 0.5)
    assert 0 < np.count_nonzero(expected) < 60
    np.testing.assert_allclose(layer(EVERY), expected, rtol=1e-6)  # one product
    form = layer.to_form()
    np.testing.assert_array_equal(form(EVERY), layer(EVERY))
    assert form.paper_bits == 32 * np.count_nonzero(expected)
    if cls is SparseVariationalVocabularyEmbedding:
        kept = np.flatnonzero(np.any(expected != 0, axis=1))
        assert 0 < len(kept) < 20 and layer.kept_ids().tolist() == kept.tolist()


@pytest.mark.parametrize("cls", KINDS)
def test_words_pay_for_all_steps(cls):
    layer, weights = filled(cls)
    each = kl(log_alpha(weights["table"], weights["log_variance"])).sum(axis=1)
    if cls is SparseVariationalVocabularyEmbedding:
        z = log_alpha(weights["multiplier"], weights["multiplier_log_variance"])
        each += kl(z)
    for batch, owed in (([1, 2, 2], {1: 1, 2: 1}), ([3, 3], {3: 2}), ([1, 3], {1: 2, 3: 1})):
        layer(np.array(batch), training=True)
        expected = 0.01 * sum(n * each[i] for i, n in owed.items())
        # logarithms and sums of some ten float32
        assert float(layer.losses[0]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.few(1)
@pytest.mark.parametrize("cls", KINDS)
def test_samples_have_the_mean_and_variance_of_the_posterior(cls):
    layer, weights = filled(cls)
    layer.log_variance.assign(np.full((20, 4), -1.0))
    mean, variance = weights["table"].astype(np.float64), np.full((20, 4), np.exp(-1.0))
    if cls is SparseVariationalVocabularyEmbedding:
        layer.multiplier_log_variance.assign(np.full(20, -2.0))
        z, of_z = weights["multiplier"][:, None], np.exp(-2.0)
        # of a product of independent factors
        variance = (variance + mean**2) * (of_z + z**2) - mean**2 * z**2
        mean = mean * z
    draw = tf.function(lambda: layer(EVERY, training=True), autograph=False)
    draws = np.stack([draw() for _ in range(300)])
    error = np.abs(draws.mean(0) - mean) / np.sqrt(variance / 300)
    assert error.max() < 5  # deviations of a mean, of 80
    np.testing.assert_allclose(draws.var(0), variance, rtol=0.4)
    same = layer(np.array([[4, 4]]), training=True).numpy()
    np.testing.assert_array_equal(same[0, 0], same[0, 1])  # a batch has one sample of a word


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("cls, jit_compile", [(KINDS[0], False), (KINDS[1], True)])
def test_finds_the_entries_that_matter(cls, jit_compile):
    """Two columns are asked for, of 20 words of which 6 say something."""
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    ids = random.integers(0, 20, (2000, 1))
    target = np.zeros((20, 4))
    target[:6, :2] = random.choice([-1.0, 1.0], (6, 2))
    noisy = target[ids] + random.normal(size=(2000, 1, 4)) * 0.5
    start = keras.initializers.RandomNormal(stddev=0.3)
    layer = cls(20, 4, kl_weight=1.5e-3, warmup=100, seed=1, embeddings_initializer=start)
    model = keras.Sequential([keras.Input((1,), dtype="int32"), layer])
    model.compile(keras.optimizers.Adam(0.05), "mse", jit_compile=jit_compile)
    model.fit(ids, noisy, batch_size=100, epochs=40, verbose=0)
    rows = layer.rows()
    assert np.all(rows[:6, :2] * target[:6, :2] > 0.5)
    rest = np.count_nonzero(rows) - 12
    assert rest < 68 / 2, "noise is left"


def test_rejects_kl_weight():
    with pytest.raises(ValueError, match="`kl_weight` must be a finite number > 0"):
        SparseVariationalVocabularyEmbedding(20, 4, 0.0)


def test_words_never_met_are_dropped():
    layer = SparseVariationalEmbedding(20, 4, 0.01)
    layer(np.array([3, 5]), training=True)
    rows = layer.rows()
    assert np.flatnonzero(np.any(rows != 0, axis=1)).tolist() == [3, 5]
    hidden = tf.ones((1, 4))
    np.testing.assert_allclose(layer(hidden, reverse=True)[0], rows.sum(1), atol=1e-6)
