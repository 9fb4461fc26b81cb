"""Bytes to buckets against `Buckets.encode`, on any text and on what is none."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from hostile_texts import HOSTILE, padded
from kerascompact.layers import TextToBuckets
from kerascompact.ops import word_hashes
from kerascompact.text import Buckets, Vocabulary
from kerascompact.text.rules import IN_FILES


@pytest.fixture(scope="module", params=IN_FILES)
def buckets(request):
    return Buckets(501, request.param, seed=3)


@pytest.mark.few(4)
@pytest.mark.parametrize("length", [1, 8, 50])
def test_equals_the_buckets_on_hostile_texts(buckets, length):
    layer = TextToBuckets.from_buckets(buckets, sequence_length=length)
    np.testing.assert_array_equal(layer(padded(HOSTILE)), buckets.encode_all(HOSTILE, length))


@pytest.mark.few(2)
def test_as_many_ids_as_there_are_words(buckets):
    texts = [text for text in HOSTILE if len(text) < 1000]
    words = max(len(buckets.encode(text)) for text in texts)
    found = TextToBuckets.from_buckets(buckets)(padded(texts))
    np.testing.assert_array_equal(found, buckets.encode_all(texts, words))
    found = TextToBuckets.from_buckets(buckets, max_words=5)(padded(texts))
    np.testing.assert_array_equal(found, buckets.encode_all(texts, 5))
    for nothing in ([[0]], [[32, 32]], [[-1]]):
        assert TextToBuckets(501)(np.array(nothing)).numpy().tolist() == [[0]]


def test_equals_the_buckets_on_any_bytes(buckets):
    random = np.random.default_rng(0)
    data = [random.integers(0, 256, random.integers(0, 60)).astype(np.uint8) for _ in range(300)]
    texts = [row.tobytes().decode("utf-8", "surrogateescape") for row in data]
    layer = TextToBuckets.from_buckets(buckets, sequence_length=12)
    np.testing.assert_array_equal(layer(padded(texts)), buckets.encode_all(texts, 12))


def test_an_unknown_word_whose_hash_is_0(monkeypatch):
    """It is padding, and so is its pair with the word before it, in Python as in the graph."""
    monkeypatch.setattr(word_hashes, "word_hashes", lambda words, seed: tf.constant([7, 0, 9]))
    monkeypatch.setattr(
        "kerascompact.text.token_hashes.word_hashes",
        lambda words, rules, seed: np.array([7, 0, 9], "i4"),
    )
    buckets = Buckets(100, "wordpunct_pairs")
    layer = TextToBuckets.from_buckets(buckets)
    found = layer(padded(["a b c"])).numpy()[0]
    assert found.tolist() == buckets.encode("a b c").tolist() == [8, 0, 0, 10, 10]


@pytest.mark.few(1)
def test_model_file_and_configuration(buckets, tmp_path):
    layer = TextToBuckets.from_buckets(buckets, sequence_length=6)
    data = padded(HOSTILE[:12])
    text = keras.Input((None,), dtype="int32", name="text")
    model = keras.Model(text, keras.layers.Embedding(len(buckets), 3)(layer(text)))
    assert model.output_shape == (None, 6, 3)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(data), model(data))
    assert layer.weights == [] and layer.storage() == []


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num_buckets": 0}, "`num_buckets` must be an integer in"),
        ({"rules": "nltk"}, "`rules` must be one of"),
        (
            {"sequence_length": 2, "max_words": 2},
            "`max_words` must be None if there is a `sequence_length`",
        ),
    ],
)
def test_refuses(config, message):
    with pytest.raises(ValueError, match=message):
        TextToBuckets(**{"num_buckets": 5, **config})


def test_refuses_what_is_no_buckets():
    with pytest.raises(ValueError, match="`buckets` must be a kerascompact.text.Buckets"):
        TextToBuckets.from_buckets(Vocabulary(["a"]))
