import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.projection import Projection
from kerascompact.ops.ngram_hashes import ngram_hashes
from kerascompact.text import ngrams

WORDS = ["king", "", "Kings", "caf\u00e9", "a"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "projection", [Projection(), Projection(ngrams=(2, 4), max_gap=2, boundaries=False)]
)
def test_are_those_of_numpy_word_by_word(projection):
    data, lengths = ngrams.word_bytes(WORDS)
    units = np.append(data, 32).astype(np.int32)  # the last byte is of no word
    words = np.append(np.repeat(np.arange(5), lengths), 5).astype(np.int32)
    hashes, owners = ngram_hashes(tf.constant(units), tf.constant(words), 5, projection)
    expected, counts = ngrams.ngram_hashes(WORDS, projection)
    by_word = np.split(expected.view(np.int32), np.cumsum(counts)[:-1])
    for word, some in enumerate(by_word):
        mine = hashes[owners == word].numpy()
        assert sorted(mine[mine != 0].tolist()) == sorted(some.tolist())
    assert np.all(hashes[owners == 5] == 0)
