"""Hashes of words: equal in a list and in texts, and distinct for nearly all words."""

import numpy as np
import pytest
import tensorflow as tf

from hostile_texts import HOSTILE, padded
from kerascompact.ops import word_hashes as in_graphs
from kerascompact.text import RULES, byte_words, word_hashes
from kerascompact.text.byte_rules import byte_rules


@pytest.mark.parametrize("rules", ["wordpunct", "characters", "kim", "whitespace"])
def test_of_texts_and_of_a_list(rules):
    tables = byte_rules(rules).without_nul
    encoded = [byte_words.utf8("text", text) for text in HOSTILE]
    words = byte_words.split(encoded, tables)
    tokens = [token for text in HOSTILE for token in RULES[rules].tokens(text.replace("\0", " "))]
    listed = [token.encode("utf-8", "surrogateescape") for token in tokens]
    for seed in (1, 77):
        found = word_hashes.word_hashes(words, tables, seed)
        np.testing.assert_array_equal(found, word_hashes.of_list(listed, tables, seed))
    assert found.all() and len({*tokens}) == len({*found.tolist()})


@pytest.mark.few(1)
@pytest.mark.parametrize("rules", ["wordpunct", "characters", "kim", "whitespace"])
def test_of_one_text_in_a_graph(rules):
    """A single text has fewer operators than several, and the same words."""
    tables = byte_rules(rules).without_nul
    for text in HOSTILE:
        data = tf.constant(padded([text]))
        words = in_graphs.split(data, tables)
        several = in_graphs.split(tf.concat([data, data], 0), tables)
        found = in_graphs.word_hashes(words, 5)
        cut = byte_words.split([byte_words.utf8("text", text)], tables)
        wanted = word_hashes.word_hashes(cut, tables, 5)
        np.testing.assert_array_equal(found, wanted if len(wanted) else [0])
        np.testing.assert_array_equal(in_graphs.word_hashes(several, 5), [found, found])
        tokens = RULES[rules].tokens(text.replace("\0", " "))
        spans = in_graphs.spans(words).numpy()[0]
        folded = tables.folding[padded([text])[0] & 255].tobytes()
        cuts = [folded[first:last] for first, last in spans.tolist()]
        assert cuts == ([token.encode("utf-8", "surrogateescape") for token in tokens] or [b""])


@pytest.mark.few(1)
@pytest.mark.parametrize("stem", ["w", "", "year 19"])
def test_few_words_meet(stem):
    """Two of 50,000 meet for 1 seed in 3, if hashes are random: not for one in a thousand pairs."""
    tables = byte_rules("wordpunct").without_nul
    words = [f"{stem}{number}".encode() for number in range(50_000)]
    for seed in (1, 2, 3):
        found = word_hashes.of_list(words, tables, seed)
        assert len(np.unique(found)) >= 50_000 - 12
        counts = np.bincount((found >> 24) + 128, minlength=256)
        assert counts.max() < 3 * counts.mean()


def test_no_words():
    tables = byte_rules("wordpunct")
    assert word_hashes.of_list([], tables, 1).shape == (0,)
    assert word_hashes.word_hashes(byte_words.split([b" "], tables), tables, 1).shape == (0,)
