"""Bytes to ids against `SlotVocabulary.encode`, on any text and on what is none."""

import keras
import numpy as np
import pytest

from hostile_texts import HOSTILE, padded
from kerascompact.core.storage import total_bits
from kerascompact.layers import TextToSlots
from kerascompact.text import RULES, SlotVocabulary, Vocabulary
from kerascompact.text.rules import IN_FILES

WORDS = ["what", "is", "the", "a", "n't", "'s", "!", "?", "caf\u00e9", "\x00", "x", "I", "please"]
# so many unknown words that some pass for known ones
TEXTS = [*HOSTILE, *(" ".join(f"u{n}" for n in range(b, b + 25)) for b in range(0, 500, 25))]


@pytest.fixture(scope="module", params=IN_FILES)
def words(request):
    ranked = [*(["what is", "a a"] if RULES[request.param].pairs else []), *WORDS]
    return SlotVocabulary.from_ranked([*ranked, *(f"w{n}" for n in range(99))], 90, request.param)


@pytest.mark.few(4)
@pytest.mark.parametrize("length", [1, 8, 50])
def test_equals_the_vocabulary_on_hostile_texts(words, length):
    layer = TextToSlots.from_vocabulary(words, sequence_length=length)
    found = layer(padded(TEXTS))
    np.testing.assert_array_equal(found, words.encode_all(TEXTS, length))
    assert length < 50 or (found.numpy() > 1).any(axis=1)[len(HOSTILE) :].any()  # mistakes, too


@pytest.mark.few(2)
def test_as_many_ids_as_there_are_words(words):
    texts = [text for text in TEXTS if len(text) < 1000]
    most = max(len(words.encode(text)) for text in texts)
    found = TextToSlots.from_vocabulary(words)(padded(texts))
    np.testing.assert_array_equal(found, words.encode_all(texts, most))
    found = TextToSlots.from_vocabulary(words, max_words=5)(padded(texts))
    np.testing.assert_array_equal(found, words.encode_all(texts, 5))


@pytest.mark.few(1)
def test_model_file_and_configuration(words, tmp_path):
    layer = TextToSlots.from_vocabulary(words, sequence_length=6)
    data = padded(HOSTILE[:12])
    text = keras.Input((None,), dtype="int32", name="text")
    model = keras.Model(text, keras.layers.Embedding(len(words), 3)(layer(text)))
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(data), model(data))
    assert layer.trainable_weights == [] and total_bits(layer.storage()) == 8 * 88


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num_words": 0}, "`num_words` must be an integer in"),
        ({"rules": "nltk"}, "`rules` must be one of"),
        ({"seed": 0}, "`seed` must be an integer >= 1"),
        ({"max_words": 0}, "`max_words` must be an integer >= 1"),
    ],
)
def test_refuses(config, message):
    with pytest.raises(ValueError, match=message):
        TextToSlots(**{"num_words": 5, **config})


def test_refuses_a_vocabulary_without_slots():
    with pytest.raises(ValueError, match="`vocabulary` must be a kerascompact.text.SlotVocabulary"):
        TextToSlots.from_vocabulary(Vocabulary(["a"]))
