import json

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.projection import Projection
from kerascompact.layers import BitCache
from kerascompact.text import Vocabulary
from kerascompact.text.ngrams import projection_bits

ODD = Projection(3, 5)  # 15 bits: the last byte is not full


@pytest.mark.parametrize("projection", [ODD, Projection()])
def test_holds_the_bits(projection):
    vocabulary = Vocabulary(["up", "down", "caf\u00e9"])
    cache = BitCache.from_vocabulary(vocabulary, projection)
    expected = projection_bits(["", "<unk>", *vocabulary.words], projection)
    ids = np.array([[0, 4], [1, 2]])
    np.testing.assert_array_equal(cache(ids), expected[ids])
    looked = tf.function(cache.lookup, jit_compile=True, autograph=False)(tf.constant(ids))
    assert looked.dtype == tf.uint8
    np.testing.assert_array_equal(looked, expected[ids])
    (batch,) = tf.data.Dataset.from_tensors(ids).map(cache.lookup)
    np.testing.assert_array_equal(batch, expected[ids])
    ragged = cache(tf.ragged.constant([[0, 1], [], [4]], dtype=tf.int32))
    np.testing.assert_array_equal(ragged.flat_values, expected[[0, 1, 4]])
    assert not cache.trainable_weights
    assert cache.packed.shape == (5, -(-projection.num_bits // 8))


def test_keeps_its_config_and_weights():
    cache = BitCache.from_words(["a", "b"], ODD, name="cache")
    again = BitCache.from_config(json.loads(json.dumps(cache.get_config())))
    again.build()
    again.set_weights(cache.get_weights())
    np.testing.assert_array_equal(again(np.arange(2)), cache(np.arange(2)))
    assert again.projection == ODD and again.name == "cache"


def test_rejects():
    with pytest.raises(ValueError, match="`words` must be a list of at least one word"):
        BitCache.from_words([])
    with pytest.raises(ValueError, match="`vocabulary` must be a kerascompact.text.Vocabulary"):
        BitCache.from_vocabulary(["a"])
    with pytest.raises(ValueError, match="`input_dim` must be an integer >= 1"):
        BitCache(0)
    with pytest.raises(ValueError, match=r"`ids` must lie in \[0, 2\)"):
        BitCache.from_words(["a", "b"])(np.array([2]))
