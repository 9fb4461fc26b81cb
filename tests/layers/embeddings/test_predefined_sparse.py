import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding, classifier
from graphs import tensors_with_rows
from kerascompact.core.storage import total_bits
from kerascompact.layers import PredefinedSparseEmbedding
from kerascompact.optimizers import LazyAdam

EVERY = np.arange(50)


def make(order="up", density=0.4, bins=None, **config):
    layer = PredefinedSparseEmbedding(50, 6, density, bins=bins, order=order, seed=1, **config)
    layer.build()
    return layer


def by_hand(layer):
    """The table, from what equation 1 says of each dimension and blocks in a queue."""
    table, numbers = np.zeros((50, 6), np.float32), list(layer.blocks.numpy().reshape(-1))
    rank = {"up": EVERY, "down": EVERY[::-1]}.get(layer.order)
    rank = layer.ranks.numpy() if rank is None else rank
    widths = {None: [1] * 6, 3: [2, 2, 2]}[layer.bins]
    words = np.repeat([round(50 * layer.alpha**m) for m in range(len(widths))], widths)
    walk = EVERY if layer.order == "down" else np.argsort(rank)
    for id in walk:
        for column in np.flatnonzero(rank[id] < words):
            table[id, column] = numbers.pop(0)
    assert not numbers
    return table


@pytest.mark.few(2)
@pytest.mark.parametrize("bins", [None, 3])
@pytest.mark.parametrize("order", ["up", "down", None])
def test_equals_the_table_with_zeros(order, bins):
    layer = make(order, bins=bins)
    table = by_hand(layer)
    widest = max(1, 6 // (bins or 6))
    assert abs(np.count_nonzero(table) - 0.4 * 50 * 6) <= widest / 2
    ids = np.array([[0, 7, 49], [49, 49, 3]])
    np.testing.assert_array_equal(layer(ids), table[ids])
    np.testing.assert_array_equal(layer(ids, training=True), table[ids])
    hidden = np.random.default_rng(0).normal(size=(2, 3, 6)).astype(np.float32)
    # sums of six products of size 0.1
    np.testing.assert_allclose(layer(hidden, reverse=True), hidden @ table.T, atol=1e-6)
    np.testing.assert_array_equal(layer.output_rows(tf.constant([3, 1])), table[[3, 1]])
    form = layer.to_form()
    np.testing.assert_array_equal(form(EVERY), table)
    ranks = 16 * 50 if order is None else 0
    bits = 32 * np.count_nonzero(table)
    assert layer.paper_bits() == bits
    assert total_bits(form.storage()) == bits + ranks + 96 * len(layer.ragged.sizes)


def test_frequent_words_have_more_or_fewer_entries():
    lengths = {order: np.count_nonzero(by_hand(make(order)), axis=1) for order in ("up", "down")}
    assert np.all(np.diff(lengths["up"]) <= 0) and lengths["up"][0] == 6
    np.testing.assert_array_equal(lengths["down"], lengths["up"][::-1])
    mixed = np.count_nonzero(by_hand(make(None)), axis=1)
    np.testing.assert_array_equal(np.sort(mixed), np.sort(lengths["up"]))
    assert np.any(np.diff(mixed) > 0) and np.any(np.diff(mixed) < 0)
    np.testing.assert_array_equal(make(None).ranks, make(None).ranks)  # the seed's order
    rarest = np.count_nonzero(by_hand(make(density=0.6, bins=3)), axis=1).min()
    assert rarest == 2  # the width of the first bin
    short = PredefinedSparseEmbedding(50, 6, 0.5, min_width=3)
    assert short.ragged.sizes == (50,) and short.num_entries == 150


def test_a_density_of_one_is_a_table():
    layer = PredefinedSparseEmbedding(50, 6, 1.0, embeddings_initializer="random_normal")
    table = layer(EVERY).numpy()
    assert layer.blocks.shape == (50, 6)
    np.testing.assert_array_equal(table, layer.blocks)


@pytest.mark.few(1)
@pytest.mark.parametrize(("order", "jit_compile"), [("up", False), (None, True)])
def test_a_step_touches_the_batchs_rows_only(order, jit_compile):
    layer = make(order)
    before, ids = layer.blocks.numpy(), np.array([[3, 49, 3, 20]])
    table = by_hand(layer)
    model = keras.Sequential([keras.Input((4,), dtype="int32"), layer])
    how = {"jit_compile": jit_compile, "run_eagerly": not jit_compile}
    model.compile(LazyAdam(0.1), "mse", **how)
    model.train_on_batch(ids, np.ones((1, 4, 6)))
    changed = by_hand(layer) != table
    np.testing.assert_array_equal(changed, (table != 0) & np.isin(EVERY, ids)[:, None])
    assert np.count_nonzero(before != layer.blocks.numpy()) == np.count_nonzero(changed)


def test_the_gradient_is_that_of_the_table():
    layer, ids = make(None), np.array([[3, 49, 3, 20]])
    table, target = by_hand(layer), np.random.default_rng(0).normal(size=(1, 4, 6))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.cast(target, tf.float32) * layer(ids, training=True))
    gradient = tape.gradient(loss, layer.blocks.value)
    assert isinstance(gradient, tf.IndexedSlices)
    assert len(set(gradient.indices.numpy())) == len(gradient.indices)  # each block once
    expected = np.zeros_like(table)
    np.add.at(expected, ids[0], target[0])
    layer.blocks.assign(tf.zeros_like(layer.blocks) + tf.convert_to_tensor(gradient))
    # sums of two numbers
    np.testing.assert_allclose(by_hand(layer)[table != 0], expected[table != 0], atol=1e-6)


def test_drops_words():
    layer = make(density=1.0, word_dropout=0.4)
    layer.blocks.assign(np.ones((50, 6)))
    ids = np.tile(EVERY, (40, 2))
    found = layer(ids, training=True).numpy()
    # all of a word, the same at each of its places, and the others scaled
    assert np.all(found == found[:1, :50].repeat(2, axis=0).reshape(1, 100, 6)[:, [*EVERY, *EVERY]])
    np.testing.assert_allclose(np.unique(found), [0, 1 / 0.6], rtol=1e-6)
    many = [np.mean(layer(EVERY, training=True) == 0) for _ in range(30)]
    assert 0.3 < np.mean(many) < 0.5  # 1,500 draws: a deviation is 0.013
    np.testing.assert_array_equal(layer(ids), 1.0)
    np.testing.assert_array_equal(layer.output_rows(tf.constant([1, 2])), 1.0)


def test_drops_dimensions_of_a_text():
    layer = make(density=1.0, variational_dropout=0.25)
    layer.blocks.assign(np.ones((50, 6)))
    found = layer(np.zeros((200, 3, 7), int), training=True).numpy()
    np.testing.assert_array_equal(found, found[:, :, :1].repeat(7, axis=2))  # locked
    np.testing.assert_allclose(np.unique(found), [0, 4 / 3], rtol=1e-6)
    assert abs(np.mean(found[:, :, 0] == 0) - 0.25) < 0.04  # 3,600 draws: 0.007
    assert len(np.unique(found[:, :, 0].reshape(-1, 6), axis=0)) > 20
    assert layer(np.array(3), training=True).shape == (6,)
    assert layer(np.array([3, 4]), training=True).shape == (2, 6)
    lengths = [10, 20] * 100
    texts = tf.RaggedTensor.from_row_lengths(np.zeros(3000, int), lengths)
    for ragged in (texts, tf.RaggedTensor.from_row_lengths(texts, [150, 0, 50])):
        flat = layer(ragged, training=True).flat_values.numpy()
        first = flat[np.cumsum([0, *lengths])[:-1]]
        np.testing.assert_array_equal(flat, first.repeat(lengths, axis=0))
        assert len(np.unique(first, axis=0)) > 20
    np.testing.assert_array_equal(layer(EVERY), 1.0)


@pytest.mark.slow
def test_trains_with_both_dropouts(tmp_path):
    layer = make(None, bins=3, word_dropout=0.2, variational_dropout=0.2, mask_zero=True)
    model = classifier(layer, length=4)
    model.compile("adam", "mse", jit_compile=False)
    ids = np.random.default_rng(0).integers(0, 50, (3, 4))
    model.fit(ids, np.zeros((3, 3)), verbose=0)
    compiled = tf.function(lambda ids: layer(ids, training=True), jit_compile=True, autograph=False)
    assert np.isfinite(compiled(tf.constant(ids, tf.int32))).all()
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.layers[1].ranks, layer.ranks)
    np.testing.assert_array_equal(again(ids), model(ids))


def test_a_step_makes_nothing_of_the_vocabularys_size():
    layer = PredefinedSparseEmbedding(50_000, 6, 0.3)
    layer.build()
    step = tf.function(
        lambda ids: layer(ids, training=True), autograph=False
    ).get_concrete_function(tf.TensorSpec((2, 3), tf.int32))
    assert not tensors_with_rows(step, 50_000)
    assert not tensors_with_rows(step, layer.ragged.num_blocks)
    assert layer.blocks.shape == (90_000, 1)  # and no zeros beside the entries


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"density": 0.1}, "`density` must be at least 0.25, the share of the first bin"),
        ({"density": 0}, r"`density` must be a number in \(0, 1\]"),
        ({"bins": 9}, r"`bins` must be an integer in \[1, 8\]"),
        ({"bins": [3, 3]}, "`bins` must be widths whose sum is 8"),
        ({"min_width": 9}, r"`min_width` must be an integer in \[1, 8\]"),
        ({"order": "sideways"}, "`order` must be one of 'up', 'down', None"),
        ({"word_dropout": 1}, r"`word_dropout` must be a number in \[0, 0.99\]\."),
        ({"variational_dropout": -0.1}, r"`variational_dropout` must be a number in \[0, 0.99\]\."),
        ({"seed": -1}, "`seed` must be an integer >= 0"),
    ],
)
def test_rejects(change, message):
    with pytest.raises(ValueError, match=message):
        PredefinedSparseEmbedding(**{**PredefinedSparseEmbedding.EXAMPLE, **change})


def test_keeps_the_embedding_contract():
    # Tables as of selected words, compiled there; test_reverse converts.
    check_embedding(PredefinedSparseEmbedding, xla=False, file=False)
