import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding
from form_examples import by_hand
from kerascompact.core.storage import total_bits
from kerascompact.forms import HashedForm, SplitForm
from kerascompact.layers import HashEmbedding
from kerascompact.optimizers import LazySGD

EVERY = np.arange(20)


def test_keeps_the_embedding_contract():
    check_embedding(HashEmbedding, xla=False)


def expected_rows(layer, first=0):
    """Each word's sum of buckets, word by word."""
    buckets = layer.buckets.numpy()
    weights = np.ones((layer.num_hashed, layer.num_hashes))
    if layer.importance:
        weights = layer.weights_of_ids.numpy()
    rows = []
    for word in range(layer.num_hashed):
        own = [by_hand(word, layer.seed + j, len(buckets)) for j in range(layer.num_hashes)]
        rows.append(sum(weights[word, j] * buckets[b] for j, b in enumerate(own)))
    rows = np.stack(rows)
    if not layer.num_frequent:
        return rows
    r = layer.num_reserved
    return np.vstack([rows[:r], layer.frequent.numpy(), rows[r:]])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "arguments",
    [
        dict(num_buckets=7),
        dict(num_buckets=7, num_hashes=3, seed=11),
        dict(num_buckets=3, num_hashes=1, importance=False),
        dict(num_buckets=6, num_frequent=8, num_reserved=2),
        dict(num_buckets=6, num_hashes=1, importance=False, num_frequent=8),
    ],
)
def test_words_are_sums_of_their_buckets(arguments):
    layer = HashEmbedding(20, 4, **arguments)
    found = layer(EVERY)
    expected = expected_rows(layer)
    np.testing.assert_allclose(found, expected, atol=1e-6)  # sums of three numbers below 1
    form = layer.to_form()
    np.testing.assert_allclose(form(EVERY), expected, atol=1e-6)
    assert isinstance(form, SplitForm if layer.num_frequent else HashedForm)
    assert form.paper_bits == total_bits(form.storage()) == layer.paper_bits()
    hidden = np.random.default_rng(0).normal(size=(1, 3, 4)).astype(np.float32)
    for each in (layer, form):
        np.testing.assert_allclose(each(hidden, reverse=True), hidden @ expected.T, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"importance": False}, {"num_frequent": 5}])
def test_reports_ids_out_of_range_in_a_graph(options):
    layer = HashEmbedding(20, 4, 7, 1, **{"importance": False, **options})
    lookup = tf.function(layer)
    assert lookup(tf.constant([0, 19])).shape == (2, 4)
    for id in (-1, 20):
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
            lookup(tf.constant([3, id]))


def test_an_optimizer_with_momentum_moves_the_rows_of_the_batch_only():
    layer = HashEmbedding(20, 4, num_buckets=50, num_frequent=5, num_reserved=2)
    model = keras.Sequential([keras.Input((4,), dtype="int32"), layer, keras.layers.Flatten()])
    model.compile(LazySGD(0.1, momentum=0.9), "mse", run_eagerly=True)
    model.train_on_batch(np.arange(20).reshape(5, 4), np.ones((5, 16)))
    weights = (layer.frequent, layer.weights_of_ids)
    before = [weight.numpy() for weight in weights]
    model.train_on_batch(np.array([[4, 9, 9, 5]] * 5), np.ones((5, 16)))
    moved = [
        np.flatnonzero((w.numpy() != old).any(1)) for w, old in zip(weights, before, strict=True)
    ]
    assert [rows.tolist() for rows in moved] == [[2, 3], [9 - 5]]


def test_the_sizes_of_the_paper():
    """WikiText-103, 400 columns: 4.4 M numbers for 10,000 words and 1,000 buckets."""
    layer = HashEmbedding(267_735, 400, 1000, 1, importance=False, num_frequent=10_000)
    assert layer.paper_bits() / 32 / 1e6 == pytest.approx(4.4)
    layer = HashEmbedding(267_735, 400, 1000, 1, importance=False, num_frequent=100_000)
    assert layer.paper_bits() / 32 / 1e6 == pytest.approx(40.4)


def test_starts_with_the_variance_of_its_buckets():
    layer = HashEmbedding(5000, 16, 2000, embeddings_initializer="random_normal")
    rows = layer(np.arange(5000)).numpy()
    assert rows.std() == pytest.approx(layer.buckets.numpy().std(), rel=0.05)


@pytest.mark.parametrize("name", ["num_buckets", "num_hashes"])
def test_rejects_sizes(name):
    for bad in (0, -1, 2.5, True, None):
        with pytest.raises(ValueError, match=f"`{name}` must be an integer"):
            HashEmbedding(20, 4, **{"num_buckets": 7, name: bad})


def test_rejects_splits():
    with pytest.raises(ValueError, match=r"`num_frequent` must be an integer in \[0, 19\]"):
        HashEmbedding(20, 4, 7, num_frequent=20)
    with pytest.raises(ValueError, match=r"`num_reserved` must be an integer in \[0, 15\]"):
        HashEmbedding(20, 4, 7, num_frequent=5, num_reserved=16)
