"""Tagged sentences as numbers: what is unknown, what is padding, what a batch hides."""

import numpy as np
import pytest

from benchmarks.data.tagged import make_corpus
from benchmarks.sparseness.sentences import UNKNOWN, SentenceBatches, TagIds, encode

TRAIN = [[("a", "X"), ("b", "Y"), ("a", "X")], [("c", "Y")], [("a", "Y"), ("d", "X")]]
DEV = [[("A", "X"), ("d", "Z")]]


@pytest.fixture
def data():
    return encode(make_corpus("letters", {"train": TRAIN, "dev": DEV, "test": TRAIN[:1]}, ""))


def test_words_are_numbered_by_frequency_and_tags_by_the_alphabet(data):
    assert data.name == "letters" and data.tag_names == ("X", "Y", "Z")
    assert data.vocabulary.words == ("a", "b", "c", "d")
    np.testing.assert_array_equal(data.train.ids, [[2, 3, 2], [4, 0, 0], [2, 5, 0]])
    np.testing.assert_array_equal(data.train.tags, [[0, 1, 0], [1, 0, 0], [1, 0, 0]])
    assert data.train.words.sum() == 6
    # the case of a letter is kept, and dev is no longer than its longest sentence
    np.testing.assert_array_equal(data.dev.ids, [[UNKNOWN, 5]])
    np.testing.assert_array_equal(data.dev.tags, [[0, 2]])
    assert data.once.tolist() == [False, False, False, True, True, True]


def test_a_batch_has_its_sentences_tags_and_weights(data):
    batches = SentenceBatches(data.train, 2, data.once, unknown=0.0)
    rows = sorted(
        (ids[w > 0].tolist(), tags[w > 0].tolist(), tags[w == 0].any())
        for index in range(len(batches))
        for ids, tags, w in zip(*batches[index], strict=True)
    )
    assert rows == [([2, 3, 2], [0, 1, 0], False), ([2, 5], [1, 0], False), ([4], [1], False)]
    assert batches[0][2].dtype == np.float32


def test_only_words_that_are_there_once_are_hidden_and_differently_each_time():
    ids = np.arange(2, 502).reshape(50, 10)
    once = np.arange(502) % 2 == 1
    batches = SentenceBatches(TagIds(ids, ids), 50, once, unknown=0.3, seed=1)
    first, second = (batches[0] for _ in range(2))
    for seen, tags, _ in (first, second):
        assert not once[tags][seen == tags].all() and (seen[~once[tags]] == tags[~once[tags]]).all()
        assert set(seen[seen != tags].tolist()) == {UNKNOWN}
        assert np.sum(seen == UNKNOWN) == pytest.approx(0.3 * 250, abs=40)  # 5 deviations
    assert (first[0] != second[0]).any()
    again = SentenceBatches(TagIds(ids, ids), 50, once, unknown=0.3, seed=1)
    np.testing.assert_array_equal(again[0][0], first[0])


@pytest.mark.parametrize("unknown", [-0.1, 1.5])
def test_rejects_unknown(data, unknown):
    with pytest.raises(ValueError, match=r"`unknown` must be a number in \[0, 1\]\."):
        SentenceBatches(data.train, 2, data.once, unknown=unknown)
