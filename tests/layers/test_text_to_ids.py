"""Bytes to ids against `Vocabulary.encode`, on any text and on what is none."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from hostile_texts import HOSTILE, padded
from kerascompact.core.storage import total_bits
from kerascompact.datasets import clinc150
from kerascompact.layers import TextToBits, TextToBuckets, TextToIds, TextToPieces
from kerascompact.ops import byte_text
from kerascompact.text import RULES, Vocabulary
from kerascompact.text.byte_rules import byte_rules
from kerascompact.text.fingerprints import fingerprints
from kerascompact.text.rules import IN_FILES

WORDS = ["what", "is", "the", "a", "to", "n't", "'s", "ca", "can", "'", "!", "?", "!?", "caf\u00e9"]
PAIRS = ["what is", "the ?", "x !?", "caf\u00e9 ,", "a a", "\U0001f600 ok", "please ?"]
WORDS += ["\u65e5\u672c\u8a9e", "\U0001f600", "x", "ok", "\x00", "I", "WHAT", "s", "t", "please"]


def expected(vocabulary, texts, length):
    return vocabulary.encode_all(texts, length)


@pytest.fixture(scope="module", params=IN_FILES)
def vocabulary(request):
    return Vocabulary(WORDS + PAIRS * RULES[request.param].pairs, request.param)


@pytest.mark.few(3)
@pytest.mark.parametrize("fingerprint_bits", [32, 40, 64])
def test_equals_the_vocabulary_on_hostile_texts(vocabulary, fingerprint_bits):
    layer = TextToIds.from_vocabulary(
        vocabulary, sequence_length=50, fingerprint_bits=fingerprint_bits, name="ids"
    )
    np.testing.assert_array_equal(layer(padded(HOSTILE)), expected(vocabulary, HOSTILE, 50))


@pytest.mark.few(1)
@pytest.mark.parametrize("fingerprint_bits", [32, 40, 64])
@pytest.mark.parametrize("rules", IN_FILES)
def test_no_odd_character_is_taken_for_no_word(rules, fingerprint_bits):
    """Of none of which the vocabulary knows: a NUL alone, letters of one byte, broken UTF-8."""
    few = Vocabulary(["up"], rules)
    layer = TextToIds.from_vocabulary(few, sequence_length=50, fingerprint_bits=fingerprint_bits)
    texts = [*HOSTILE, "a \x00 b", "\x00\x00", *(f"{chr(byte)} up" for byte in range(256))]
    np.testing.assert_array_equal(layer(padded(texts)), expected(few, texts, 50))


@pytest.mark.few(2)
def test_as_many_ids_as_there_are_words(vocabulary):
    texts = [text for text in HOSTILE if len(text) < 1000]
    words = max(len(vocabulary.encode(text)) for text in texts)
    found = TextToIds.from_vocabulary(vocabulary)(padded(texts))
    np.testing.assert_array_equal(found, expected(vocabulary, texts, words))
    found = TextToIds.from_vocabulary(vocabulary, max_words=5)(padded(texts))
    np.testing.assert_array_equal(found, expected(vocabulary, texts, 5))
    for nothing in ([[0]], [[32, 32]], [[-1]]):
        assert TextToIds.from_vocabulary(vocabulary)(np.array(nothing)).numpy().tolist() == [[0]]


@pytest.mark.few(1)
@pytest.mark.parametrize("rules", IN_FILES)
def test_equals_the_vocabulary_on_clinc(rules):
    data = clinc150.load(out_of_scope=True)
    vocabulary = Vocabulary.build(data.train.texts, size=3000, rules=rules)
    texts = (data.test.texts + data.dev.texts)[::4]
    layer = TextToIds.from_vocabulary(vocabulary, sequence_length=32)
    np.testing.assert_array_equal(layer(padded(texts)), expected(vocabulary, texts, 32))
    known = " ".join(vocabulary.words)
    whole = TextToIds.from_vocabulary(vocabulary)(padded([known]))[0].numpy()
    np.testing.assert_array_equal(whole, vocabulary.encode(known))
    assert set(range(2, len(vocabulary))) <= set(whole)


def test_equals_the_vocabulary_on_any_bytes(vocabulary):
    """What is no UTF-8 is read as Python reads it with `surrogateescape`: as letters."""
    random = np.random.default_rng(0)
    pieces = [*(bytes([b]) for b in range(256)), *(word.encode() for word in WORDS), b" ", b" "]
    texts = [
        b"".join(random.choice(np.array(pieces, object), random.integers(0, 40))).decode(
            "utf-8", "surrogateescape"
        )
        for _ in range(500)
    ]
    layer = TextToIds.from_vocabulary(vocabulary, sequence_length=12)
    np.testing.assert_array_equal(layer(padded(texts)), expected(vocabulary, texts, 12))


@pytest.mark.few(2)
def test_numbers_that_are_no_bytes_are_padding(vocabulary):
    layer = TextToIds.from_vocabulary(vocabulary, sequence_length=4)
    apart = [-1, 256, 1000, -(2**31), 2**31 - 1]
    data = np.array([[ord("x"), number, ord("x"), 0, 0] for number in apart], np.int32)
    np.testing.assert_array_equal(layer(data), [vocabulary.encode("x x", 4)] * len(apart))
    np.testing.assert_array_equal(layer(np.full((2, 7), -5)), np.zeros((2, 4)))


@pytest.mark.few(1)
def test_the_same_under_xla_and_in_a_function(vocabulary):
    layer = TextToIds.from_vocabulary(vocabulary, sequence_length=9)
    data = padded([text[:60] for text in HOSTILE], 64)
    for jit in (False, True):
        compiled = tf.function(layer.call, jit_compile=jit, autograph=False)
        np.testing.assert_array_equal(compiled(tf.constant(data)), layer(data))


def test_places_of_words(vocabulary):
    text = "What is\u00e9 the 'll, caf\u00e9?"
    tables = byte_rules(vocabulary.rules)
    words = byte_text.split(tf.constant([[*text.encode(), 0, 0]]), tables, sequence_length=20)
    spans, data = byte_text.spans(words).numpy()[0], text.encode()
    there = byte_text.fingerprints(words, 0).numpy()[0] != 0
    tokens = [data[first:last].decode() for first, last in spans[there]]
    rules = RULES[vocabulary.rules]
    wanted = [token for token in rules.tokens(text) if " " not in token]  # words, not pairs
    assert (" ".join(tokens).lower() if rules.lower else " ".join(tokens)) == " ".join(wanted)
    assert not spans[~there].any() and there.sum() == len(wanted)


@pytest.mark.few(2)
def test_model_file_and_configuration(vocabulary, tmp_path):
    layer = TextToIds.from_vocabulary(vocabulary, sequence_length=6, fingerprint_bits=64)
    data = padded(HOSTILE[:12])
    text = keras.Input((None,), dtype="int32", name="text")
    model = keras.Model(text, keras.layers.Embedding(len(vocabulary), 3)(layer(text)))
    assert model.output_shape == (None, 6, 3)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(data), model(data))
    assert layer.trainable_weights == []


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [1, 2, 3, 300, 70_000])
def test_bits_and_sizes_of_vocabulary(size):
    vocabulary = Vocabulary([f"w{number}" for number in range(size)], "whitespace")
    layer = TextToIds.from_vocabulary(vocabulary)
    found = fingerprints([word.encode() for word in vocabulary.words], layer.seed)
    assert layer.in_order == bool((np.diff(found.astype(np.int64)) > 0).all())
    width = 0 if layer.in_order else (size - 1).bit_length()
    assert total_bits(layer.storage()) == size * (32 + (width if width <= 16 else 24))
    held = sum(weight.numpy().nbytes for weight in layer.weights)
    assert 0 <= held - total_bits(layer.storage()) / 8 <= 3  # what is read past the end
    some = np.unique(np.linspace(0, size - 1, 40).astype(int))
    text = " ".join(f"w{number}" for number in some) + f" w{size}"
    np.testing.assert_array_equal(layer(padded([text]))[0], vocabulary.encode(text))


def test_fingerprints_that_meet_are_told_apart_by_more_bits():
    """An unknown word that has the fingerprint of a known one."""
    for fingerprint_bits, found in ((32, 2), (40, 1), (64, 1)):
        layer = TextToIds.from_vocabulary(
            Vocabulary(["up"], "whitespace"), fingerprint_bits=fingerprint_bits
        )
        off = padded(["off"])
        layer.fingerprints.assign(byte_text.fingerprints(layer.words(off), layer.seed)[0])
        assert layer(off).numpy().tolist() == [[found]]
        assert total_bits(layer.storage()) == fingerprint_bits


def test_an_unknown_word_whose_fingerprint_is_0(monkeypatch):
    """It is padding, unless the other half of 64 bits tells it from no word."""
    real = byte_text.fingerprints

    def zero_at_first(words, seed):
        return real(words, seed) if seed > 64 else tf.zeros_like(real(words, seed))

    monkeypatch.setattr(byte_text, "fingerprints", zero_at_first)
    for fingerprint_bits, found in ((32, [0, 0, 0]), (40, [1, 1, 0]), (64, [1, 1, 0])):
        layer = TextToIds.from_vocabulary(
            Vocabulary(["up"], "whitespace"), sequence_length=3, fingerprint_bits=fingerprint_bits
        )
        assert layer(padded(["off it"])).numpy().tolist() == [found]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num_words": 0}, "`num_words` must be an integer in"),
        ({"sequence_length": 0}, "`sequence_length` must be an integer >= 1"),
        (
            {"sequence_length": 2, "max_words": 2},
            "`max_words` must be None if there is a `sequence_length`",
        ),
        ({"max_words": 1.5}, "`max_words` must be an integer >= 1"),
        ({"rules": "nltk"}, "`rules` must be one of"),
        ({"fingerprint_bits": 16}, "`fingerprint_bits` must be one of 32, 40, 64"),
        ({"window": 6}, r"`window` must be an integer in \[1, 5\]"),
    ],
)
def test_refuses(config, message):
    with pytest.raises(ValueError, match=message):
        TextToIds(**{"num_words": 5, **config})


def test_refuses_what_is_no_vocabulary():
    with pytest.raises(ValueError, match="`vocabulary` must be a kerascompact.text.Vocabulary"):
        TextToIds.from_vocabulary(["a"])


@pytest.mark.parametrize("texts", [tf.constant([["turn"]]), np.zeros(4, np.int32)])
@pytest.mark.parametrize("kind", [TextToBits, TextToBuckets, TextToIds, TextToPieces])
def test_texts_are_bytes(kind, texts):
    with pytest.raises(ValueError, match=r"`inputs` must be UTF-8 bytes as integers \(batch, byt"):
        kind(**kind.EXAMPLE)(texts)
