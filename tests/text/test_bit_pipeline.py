import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.projection import Projection
from kerascompact.text.bit_pipeline import bits_step, words_step
from kerascompact.text.ngrams import projection_bits
from kerascompact.text.rules import tokenize

TEXTS = ["Don't panic, it's 3.50!", "", "caf\u00e9 \u4e2d\u6587", "x " * 90]
SMALL = Projection(4, 5, ngrams=(1, 3))


@pytest.mark.few(1)
@pytest.mark.parametrize("length", [None, 3])
@pytest.mark.parametrize("rules", ["wordpunct", "kim"])
def test_makes_the_bits_of_the_texts_words(rules, length):
    made, whole = (bits_step(SMALL, rules, length, together) for together in (False, True))
    data = tf.data.Dataset.from_tensors(tf.constant(TEXTS))
    if rules == "wordpunct":  # with "kim", AutoGraph converts the functions that are called
        made = tf.autograph.experimental.do_not_convert(made)
    (bits,), together = data.map(made), whole(tf.constant(TEXTS))
    for text, found, all_ in zip(TEXTS, bits.numpy(), together.numpy(), strict=True):
        words = tokenize(text, rules)[:length]
        assert found.dtype == np.uint8 and not found[len(words) :].any()
        np.testing.assert_array_equal(found[: len(words)], projection_bits(words, SMALL))
        np.testing.assert_array_equal(all_, projection_bits(words, SMALL, together=True))


def test_rejects():
    with pytest.raises(ValueError, match="`rules` must be one of"):
        words_step("none")
    with pytest.raises(ValueError, match="`sequence_length` must be an integer >= 1"):
        bits_step(sequence_length=0)
    with pytest.raises(ValueError, match="`projection` must be a kerascompact"):
        bits_step(80)
    with pytest.raises(ValueError, match="`together` must be True or False"):
        bits_step(together=2)
