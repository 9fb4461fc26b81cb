"""Files whose words are in slots: what they predict, hold and refuse."""

import keras
import numpy as np
import pytest

from hostile_texts import HOSTILE
from kerascompact import export, models, tflite
from kerascompact.runtime import TextClassifier
from kerascompact.text import SlotVocabulary, Vocabulary

RANKED = ["turn", "it", "up", "down", "!", "caf\u00e9", *(f"w{n}" for n in range(300))]
WORDS = SlotVocabulary.from_ranked(RANKED, 302, "wordpunct_pairs")
UNKNOWN = [" ".join(f"u{n}" for n in range(begin, begin + 20)) for begin in range(0, 400, 20)]
TEXTS = [*HOSTILE, *UNKNOWN, b"\xff\xfe\x00 up \xc3", "Turn it up\x00\x00"]


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    embedding = keras.layers.Embedding(len(WORDS), 4, "normal", mask_zero=True)
    return models.mean_classifier(embedding, 3, skip_unknown=True)


@pytest.fixture(scope="module")
def data(model):
    return export.convert(model, "int8", text=WORDS, sequence_length=20, labels=["a", "b", "c"])


def test_file_predicts_what_keras_does_on_the_ids(model, data):
    assert (WORDS.encode_all(UNKNOWN, 20) > 1).any()  # some pass for known words
    assert export.verify(model, data, TEXTS, vocabulary=WORDS).agreement == 1
    frozen = export.freeze(model, "int8").model
    for text in HOSTILE[-2:]:
        wanted = np.asarray(frozen(WORDS.encode_all([text], 20)))[0]
        found = TextClassifier(data).predict(text).probabilities
        # the same float32 products added in another order, then a softmax
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert TextClassifier(data, WORDS).predict("turn it 7").known == 2


def test_one_byte_a_word(data):
    facts = tflite.read_metadata(data)
    assert facts["text"]["bytes"] == 300 and facts["text"]["fingerprint_bits"] == 8
    assert facts["vocabulary"]["sha256"] == WORDS.sha256


@pytest.mark.slow
def test_smaller_than_the_file_of_a_vocabulary(model, data):
    plain = Vocabulary(WORDS.words, WORDS.rules)
    other = export.convert(model, "int8", text=plain, sequence_length=20, labels=["a", "b", "c"])
    assert len(data) < len(other) - 3 * 300 - 1024  # and the operators of the search


def test_refuses(model, data, tmp_path):
    message = "`vocabulary` must be a kerascompact.text.Vocabulary; buckets, slots and tokenizers"
    with pytest.raises(ValueError, match=message):
        export.convert(model, vocabulary=WORDS)
    with pytest.raises(ValueError, match=message):
        export.save(data, tmp_path / "m.tflite", vocabulary=WORDS)
    plain = Vocabulary(WORDS.words, WORDS.rules)
    with pytest.raises(ValueError, match="`vocabulary` must be that of the model"):
        export.verify(model, data, TEXTS, vocabulary=plain)
