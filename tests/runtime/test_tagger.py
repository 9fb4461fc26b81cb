"""A label for each word of a text: those of Keras, beside the words as the rules cut them."""

import keras
import numpy as np
import pytest

from export_models import answers, file_of, text_file
from hostile_texts import HOSTILE
from kerascompact import export
from kerascompact.models import tagger
from kerascompact.runtime import TextClassifier, TextTagger
from kerascompact.text import SlotVocabulary, Vocabulary
from kerascompact.text.rules import RULES

LABELS = ["verb", "noun", "mark"]
WORDS = ["turn", "it", "up", "down", "off", "now", "ok", "music"]
TEXTS = ["Turn it up, caf\u00e9!", "music", "now\u2014turn IT  off", *HOSTILE]
SMALL = dict(sequence_length=7, max_bytes=40)


@pytest.fixture(
    scope="module", params=["wordpunct", pytest.param("characters", marks=pytest.mark.slow)]
)
def case(request):
    vocabulary = Vocabulary(WORDS, request.param)
    keras.utils.set_random_seed(3)
    embedding = keras.layers.Embedding(len(vocabulary), 4, "normal", mask_zero=True)
    model = tagger(embedding, 3, units=4, hidden=4)
    options = dict(text=vocabulary, labels=LABELS, recipe="float32")
    return vocabulary, model, export.convert(model, **SMALL, **options)


def test_labels_are_those_of_keras_and_words_those_of_the_rules(case):
    vocabulary, model, file = case
    reader, rules, rows = TextTagger(file), RULES[vocabulary.rules], []
    for text in TEXTS:
        data = text.encode()
        kept = data[:40].removesuffix(b"\0") if data[39:40] == b"\0" else data[:40]
        expected = rules.tokens(kept.decode("utf-8", "surrogateescape"))[:7]
        found = reader.predict(text).words
        pieces = [kept[one.start : one.end] for one in found]
        exact = [piece.decode("utf-8", "surrogateescape") for piece in pieces]
        assert exact == list(_cased(expected, kept))
        assert [one.word for one in found] == [piece.decode("utf-8", "replace") for piece in pieces]
        if expected:
            ids = [vocabulary.id_of(word) for word in expected]
            rows.append((found, ids + [0] * (7 - len(ids))))
    computed = answers(model, np.array([ids for _, ids in rows], np.int32))
    for (found, _), probabilities in zip(rows, computed, strict=True):
        assert [one.label for one in found] == [
            LABELS[best] for best in probabilities[: len(found)].argmax(-1)
        ]
        # the same float32 products, added in another order
        np.testing.assert_allclose(
            [one.probability for one in found], probabilities.max(-1)[: len(found)], atol=1e-5
        )


def _cased(tokens, data):
    """The tokens with the capitals of the text, found in their order."""
    place, text = 0, data.decode("utf-8", "surrogateescape")
    lower = text.translate({ord(c): c.lower() for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"})
    for token in tokens:
        place = lower.index(token, place)
        yield text[place : place + len(token)]
        place += len(token)


def test_says_what_was_cut(case):
    reader = TextTagger(case[2])
    assert reader.predict("turn it up").notes == ()
    assert reader.predict("up " * 8).notes == ("text cut to its first 7 of 8 words",)
    long = reader.predict("turn " * 9 + "it")
    assert long.notes == (
        "text cut to its first 40 of 47 bytes", "text cut to its first 7 of 10 words",
    )  # fmt: skip
    cut = reader.predict("x" * 39 + "\u00e9")
    assert cut.notes == ("text cut to its first 40 of 41 bytes",)
    assert [(one.word[-2:], one.end) for one in cut.words][-1] in (
        ("x\ufffd", 40), ("\ufffd", 40),
    )  # fmt: skip
    assert reader.predict(" \t").words == ()


def test_bytes_and_a_path(case, tmp_path):
    path = tmp_path / "tagger.tflite"
    path.write_bytes(case[2])
    text = "turn up caf\u00e9"
    assert TextTagger(path).predict(text.encode()) == TextTagger(str(path)).predict(text)
    with pytest.raises(ValueError, match="`text` must be valid UTF-8. Received: a bad byte at 1"):
        TextTagger(path).predict(b"a\xff")
    with pytest.raises(ValueError, match="`file` must be the path or the bytes"):
        TextTagger(None)
    with pytest.raises(ValueError, match="is for TextTagger"):
        TextClassifier(path)


def labels_alone(vocabulary, count):
    """A model that labels each word by itself."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(len(vocabulary), 4, mask_zero=True)(ids)
    return keras.Model(ids, keras.layers.Dense(count, "softmax", name="labels")(vectors))


def test_a_file_of_any_length_has_numbers_for_labels():
    vocabulary = Vocabulary(WORDS)
    reader = TextTagger(export.convert(labels_alone(vocabulary, 2), text=vocabulary))
    found = reader.predict("turn it up " * 50)
    assert (len(found.words), found.notes, reader.labels) == (150, (), ("0", "1"))
    assert reader.predict("").words == ()


def test_nul_is_no_word_that_was_cut():
    slots = SlotVocabulary.from_ranked(WORDS, size=12)
    found = TextTagger(export.convert(labels_alone(slots, 2), text=slots)).predict("turn\0it up")
    assert ([one.word for one in found.words], found.notes) == (["turn", "it", "up"], ())


def windows_of_words():
    """A model of 8 words with an output for each window of three of them."""
    ids = keras.Input((8,), dtype="int32")
    vectors = keras.layers.Embedding(4, 2)(ids)
    return keras.Model(ids, keras.layers.Conv1D(2, 3, activation="softmax")(vectors))


def test_refuses_other_files():
    windows = export.convert(windows_of_words(), text=Vocabulary(["good", "bad"]))
    # of ids, of one output for a text, and of outputs that are not those of the words
    for file in (file_of("mean"), text_file(), windows):
        with pytest.raises(ValueError, match="The file must take text, and have one output for"):
            TextTagger(file)
