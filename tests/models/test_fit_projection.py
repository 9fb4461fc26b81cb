"""A projection fitted to a small table."""

import sys
from random import Random

import keras
import numpy as np
import pytest

from kerascompact import models
from kerascompact.layers import ProjectionEmbedding

module = sys.modules[models.fit_projection.__module__]  # the function has its name

WORDS = ("the", "of", "king", "queen", "city", "town", "reign", "one", "two", "three", "zero", "w")
COUNTS = np.array([400, 100, *[16] * 10])
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 4))
LAYER = ProjectionEmbedding(4, hidden_units=(8,))


def draws(shares, targets=TABLE, size=32, seed=3, **options):
    return module._Drawn(
        WORDS, LAYER.projection, shares / shares[-1], targets, size, seed, **options
    )


@pytest.fixture(autouse=True)
def short_epochs(monkeypatch):
    monkeypatch.setattr(module, "_STEPS", 75)


def fitted(table=TABLE, normalization="batch", **options):
    keras.utils.set_random_seed(0)
    layer = ProjectionEmbedding(4, hidden_units=(64,), normalization=normalization)
    options = dict(epochs=2, batch_size=32, learning_rate=3e-3, verbose=0) | options
    history = models.fit_projection(layer, WORDS, table, COUNTS, **options)
    return layer, history


@pytest.mark.few(1)
@pytest.mark.parametrize("normalization", ["batch", "layer", "l2", None])
def test_vectors_get_the_directions_of_the_table(normalization):
    table = TABLE
    if normalization == "layer":  # whose outputs have the mean 0 and one length
        table = TABLE - TABLE.mean(axis=1, keepdims=True)
    layer, history = fitted(table, normalization)
    vectors = layer.vectors(WORDS)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(table, axis=1)
    cosines = np.sum(vectors * table, axis=1) / lengths
    assert cosines.min() > 0.6 and cosines.mean() > 0.95  # without: 0 on average
    assert history.history["loss"][-1] < history.history["loss"][0]
    wanted = 1 if normalization == "l2" else 2  # sqrt(d)
    # moving averages of "batch" are not at their end after 150 steps
    assert np.linalg.norm(vectors, axis=1).mean() == pytest.approx(wanted, rel=0.2)


@pytest.mark.slow
def test_vectors_may_keep_their_lengths():
    table = TABLE * np.arange(1, len(WORDS) + 1)[:, None]
    wanted = np.linalg.norm(table, axis=1)
    alike, kept = (
        np.linalg.norm(fitted(table, lengths=lengths)[0].vectors(WORDS), axis=1)
        for lengths in (False, True)
    )
    assert alike.std() < 0.2 * alike.mean()
    assert np.corrcoef(kept, wanted)[0, 1] > 0.95


def test_targets_by_hand():
    table = np.array([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]])
    root = 2**0.5
    expected = root * np.array([[0.6, 0.8], [0, 0], [0.6, 0.8]])
    np.testing.assert_allclose(module._targets(table, "batch", False), expected, rtol=1e-6)
    np.testing.assert_allclose(module._targets(table, "l2", False), expected / root, rtol=1e-6)
    # lengths 5, 0 and 10, whose mean is 5
    np.testing.assert_allclose(module._targets(table, None, True), root / 5 * table, rtol=1e-6)


def test_words_are_drawn_by_their_shares_and_anew_in_every_step():
    shares = np.cumsum(COUNTS**0.5)
    drawn = draws(shares, size=20_000, seed=3)
    bits, vectors = drawn[3]
    ids = np.argmax(np.all(vectors[:, None] == TABLE, axis=2), axis=1)
    assert len(drawn) == 75
    np.testing.assert_array_equal(vectors, TABLE[ids])
    np.testing.assert_array_equal(bits, LAYER.bits(WORDS)[ids])
    found = np.bincount(ids, minlength=len(WORDS)) / len(ids)
    np.testing.assert_allclose(found, COUNTS**0.5 / shares[-1], atol=0.02)  # 5 deviations
    np.testing.assert_array_equal(vectors, drawn[3][1])
    assert np.any(vectors != drawn[4][1])
    drawn.on_epoch_end()
    assert np.any(vectors != drawn[3][1])


def test_a_word_without_counts_is_never_drawn():
    counts = np.ones(len(WORDS))
    counts[[0, 5, 11]] = 0
    shares = np.cumsum(counts)
    targets = np.arange(len(WORDS))
    assert set(draws(shares, targets, 5000)[0][1]) == set(np.flatnonzero(counts))


def test_misspelt_draws_are_new_each_time_and_keep_the_vector_of_their_word():
    shares = np.cumsum(np.ones(len(WORDS)))
    kept = {*WORDS, "kking", "quene"}
    cased = {*WORDS, "Kking", "QUENE"}  # the projection reads capitals as small letters
    drawn = draws(shares, np.arange(len(WORDS)), 4000, misspelt=0.4, kept=cased)
    bits, ids = drawn[0]
    changed = np.any(bits != LAYER.bits(WORDS)[ids], axis=1)
    assert 0.3 < changed.mean() < 0.4  # 0.4 but for those that are kept out
    spelt = drawn.misspellings(ids, Random("3 0 0"))
    np.testing.assert_array_equal(sorted(spelt), np.flatnonzero(changed))
    np.testing.assert_array_equal(bits[list(spelt)], LAYER.bits(list(spelt.values())))
    assert not kept & {*spelt.values()} and {"qeuen", "kinng"} <= {*spelt.values()}
    assert len({*spelt.values()}) > 200 and np.any(drawn[1][0][:50] != bits[:50])
    for place, word in spelt.items():  # a letter more, or two swapped
        right = WORDS[ids[place]]
        assert len(word) == len(right) + 1 or sorted(word) == sorted(right)


@pytest.fixture
def backwards(monkeypatch):
    """Each word is misspelt in one way."""

    def perturb(word, random, probability):
        assert probability == 1.0
        return f"zz{word[::-1]}"

    monkeypatch.setattr(module, "perturb", perturb)


def test_misspelt_words_come_with_the_vector_of_the_word_that_is_meant(backwards, monkeypatch):
    monkeypatch.setattr(keras.Model, "fit", lambda model, drawn, **options: drawn)
    layer, drawn = fitted(misspelt=1.0, held_out=["zzgnik"], batch_size=300)
    bits, vectors = drawn[0]
    targets = module._targets(TABLE, "batch", False)
    ids = np.argmax(np.all(vectors[:, None] == targets, axis=2), axis=1)
    np.testing.assert_array_equal(vectors, targets[ids])
    # "king" comes as it is spelt
    spelt = [word if word == "king" else f"zz{word[::-1]}" for word in WORDS]
    np.testing.assert_array_equal(bits, layer.bits(spelt)[ids])
    assert 2 in ids


@pytest.mark.slow
def test_misspelt_words_get_the_vector_of_the_word_that_is_meant(backwards):
    layer, _ = fitted(misspelt=1.0, held_out=["zzgnik"])
    vectors = layer.vectors([f"zz{word[::-1]}" for word in WORDS])
    cosines = np.sum(vectors * TABLE, axis=1) / np.linalg.norm(TABLE, axis=1) / 2
    assert np.delete(cosines, 2).mean() > 0.95 and cosines[2] < 0.9  # "king" came as it is spelt


WRONG = {
    "embedding": dict(embedding=keras.layers.Embedding(9, 4)),
    "embedding must be a ProjectionEmbedding of single": dict(
        embedding=ProjectionEmbedding(4, together=True)
    ),
    "vectors": dict(vectors=TABLE[:, :3]),
    "`vectors` must be finite|vectors": dict(vectors=TABLE * np.nan),
    "words": dict(words=WORDS[1:]),
    "counts": dict(counts=-COUNTS),
    "counts` must be 12 numbers": dict(counts=COUNTS[1:]),
    "counts` must be 12 numbers >= 0, not": dict(counts=0 * COUNTS),
    "epochs": dict(epochs=0),
    "learning_rate": dict(learning_rate=0),
    "power": dict(power=-1),
    "batch_size": dict(batch_size=0),
    "seed": dict(seed=-1),
    "lengths": dict(lengths=1),
    "misspelt": dict(misspelt=1.5),
    r"held_out\[0\]": dict(held_out=[3]),
    r"words\[11\]": dict(words=(*WORDS[:-1], b"w"), misspelt=0.1),
    "lengths` must be False": dict(
        lengths=True, embedding=ProjectionEmbedding(4, normalization="l2")
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_are_named(message):
    layer = ProjectionEmbedding(4, hidden_units=(8,))
    given = dict(embedding=layer, words=WORDS, vectors=TABLE, counts=COUNTS) | WRONG[message]
    with pytest.raises(ValueError, match=message.replace("embedding must", "embedding` must")):
        models.fit_projection(**given, verbose=0)
    assert not layer.built


def test_adapts_a_layer_that_whitens(monkeypatch):
    monkeypatch.setattr(keras.Model, "fit", lambda *args, **options: None)  # it adapts before
    sizes = dict(hidden_units=(8,), num_projections=4)
    embedding = ProjectionEmbedding(2, **sizes, whitening=True)
    words, counts = ["king", "queen", "", "ocean"], [4, 9, 1, 1]
    models.fit_projection(embedding, words, np.eye(4)[:, :2] + 0.1, counts, epochs=1, verbose=0)
    other = ProjectionEmbedding(2, **sizes, whitening=True)
    other.adapt(words, counts)
    np.testing.assert_array_equal(embedding.whitener, other.whitener)
    np.testing.assert_array_equal(embedding.bit_mean, other.bit_mean)
