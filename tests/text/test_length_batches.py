"""Every row once per epoch, in few shapes, cut by nothing but padding."""

import keras
import numpy as np
import pytest

from kerascompact.text.length_batches import LengthBatches, length_batches

BOUNDS = [2, 5, 9]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 200])
@pytest.mark.parametrize("batch_size", [1, 8])
def test_every_row_once_and_one_batch_at_most_is_small(count, batch_size):
    random = np.random.default_rng(count)
    tokens = random.integers(0, 10, count)
    found = length_batches(tokens, BOUNDS, batch_size, random.permutation)
    assert sorted(np.concatenate([rows for rows, _ in found])) == list(range(count))
    sizes = sorted(len(rows) for rows, _ in found)
    assert len(sizes) == -(-count // batch_size) and sizes[1:] == [batch_size] * (len(sizes) - 1)
    assert all(tokens[rows].max() <= bound for rows, bound in found)
    # fewer rows than a batch move on from a bucket to the next
    for bound in BOUNDS:
        moved = sum(np.sum(tokens[rows] <= bound) for rows, under in found if under > bound)
        assert moved < batch_size


def test_without_an_order_rows_stay_in_theirs():
    tokens = np.array([9, 1, 4, 2, 0, 3, 5, 1])
    found = [(rows.tolist(), bound) for rows, bound in length_batches(tokens, BOUNDS, 3)]
    assert found == [([1, 3, 4], 2), ([7, 2, 5], 5), ([6, 0], 9)]


def test_a_bucket_may_be_empty():
    found = length_batches(np.array([1, 2, 9]), BOUNDS, 2)
    assert [(rows.tolist(), bound) for rows, bound in found] == [([0, 1], 2), ([2], 9)]


def rows(count, longest=40, seed=0):
    """Padded ids of very different lengths, some rows empty; the label is the row's number."""
    random = np.random.default_rng(seed)
    used = np.minimum(random.geometric(0.1, count) - 1, longest)
    ids = random.integers(1, 100, (count, longest))
    ids[np.arange(longest) >= used[:, None]] = 0
    return ids, np.arange(count)


def epoch(batches):
    return [batches[index] for index in range(len(batches))]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 203])
@pytest.mark.parametrize("num_buckets", [1, 6])
def test_every_row_once_in_each_epoch(count, num_buckets):
    ids, labels = rows(count)
    batches = LengthBatches(ids, labels, 8, num_buckets)
    for _ in range(2):
        found = epoch(batches)
        assert sorted(np.concatenate([label for _, label in found])) == list(range(count))
        sizes = sorted(len(label) for _, label in found)
        assert sizes[1:] == [8] * (len(sizes) - 1) and len(sizes) == -(-count // 8)
        for cut, label in found:
            np.testing.assert_array_equal(cut, ids[label, : cut.shape[1]])
            assert not ids[label, cut.shape[1] :].any()  # only padding was cut
        batches.on_epoch_end()


def test_shapes_are_few_and_short_rows_are_not_padded_far():
    ids, labels = rows(400)
    found = epoch(LengthBatches(ids, labels, 16, num_buckets=6))
    lengths = {cut.shape[1] for cut, _ in found}
    assert 2 <= len(lengths) <= 6
    padded = sum(cut.size for cut, _ in found)
    assert padded < 0.7 * ids.size  # a geometric length of mean 9 in rows of 40
    assert padded < 1.6 * np.count_nonzero(ids)


def test_a_seed_repeats_and_epochs_differ():
    def order(seed, epochs):
        batches, found = LengthBatches(*rows(200), 16, seed=seed), []
        for _ in range(epochs):
            found.append(np.concatenate([label for _, label in epoch(batches)]).tolist())
            batches.on_epoch_end()
        return found

    assert order(0, 2) == order(0, 2)
    first, second = order(0, 2)
    assert first != second
    assert order(1, 1)[0] != first


def test_rows_without_padding_keep_their_length():
    ids = np.ones((10, 5), int)
    assert {cut.shape for cut, _ in epoch(LengthBatches(ids, np.arange(10), 5))} == {(5, 5)}


def test_empty_rows_keep_one_id():
    ids = np.zeros((4, 5), int)
    assert {cut.shape for cut, _ in epoch(LengthBatches(ids, np.arange(4), 2))} == {(2, 1)}


def test_model_fit_sees_every_row():
    seen = []

    class Look(keras.layers.Layer):
        def call(self, ids):
            return keras.ops.cast(keras.ops.sum(ids > 0, axis=1, keepdims=True), "float32")

    model = keras.Sequential([Look(), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    ids, labels = rows(20)
    batches = LengthBatches(ids, labels / 20, 8)
    get = batches.__class__.__getitem__
    batches.__class__ = type(
        "Spy",
        (LengthBatches,),
        {"__getitem__": lambda s, i: seen.append(get(s, i)[1]) or get(s, i)},
    )
    model.fit(batches, epochs=1, verbose=0)
    assert set(np.round(np.concatenate(seen) * 20).astype(int)) == set(range(20))


@pytest.mark.parametrize("batch_size", [0, 2.5, True])
def test_refuses_batch_size(batch_size):
    with pytest.raises(ValueError, match="`batch_size` must be an integer >= 1"):
        LengthBatches(*rows(4), batch_size)


def test_labels_of_tokens_are_cut_with_them():
    ids = np.array([[1, 0, 0], [2, 3, 4]])
    batches = LengthBatches(ids, 10 * ids, 1, per_token=True)
    for place in range(len(batches)):
        found, labels = batches[place]
        np.testing.assert_array_equal(labels, 10 * found)
    with pytest.raises(ValueError, match="`labels` must be of shape"):
        LengthBatches(ids, np.arange(2), 1, per_token=True)
