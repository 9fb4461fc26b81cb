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
    places = np.append(np.concatenate([np.arange(n) for n in lengths]), 0).astype(np.int32)
    expected, counts = ngrams.ngram_hashes(WORDS, projection)
    by_word = [*np.split(expected.view(np.int32), np.cumsum(counts)[:-1]), np.zeros(0, np.int32)]
    for count in (5, tf.constant(5)):
        hashes = ngram_hashes(*map(tf.constant, (units, words, places)), count, projection)
        assert len(hashes) == 5 + isinstance(count, int)  # one row of no word
        for mine, some in zip(hashes.numpy(), by_word, strict=False):
            assert sorted(mine[mine != 0].tolist()) == sorted(some.tolist())
