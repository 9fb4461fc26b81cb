"""Bytes to BERT's ids against the package `tokenizers`, on any text and on what is none."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tokenizer import tokenizer
from hostile_texts import HOSTILE, padded
from kerascompact import export
from kerascompact.core.storage import total_bits
from kerascompact.layers import TextToPieces
from kerascompact.ops.wordpiece_text import code_points
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import WordPiece

OPTIONS = [
    {},
    {"ends": False, "longest": 4},
    {"longest": 10**9},
    {"lowercase": False, "strip_accents": False},
    {"strip_accents": False, "clean_text": False, "handle_chinese_chars": False},
]
TEXTS = [
    "unaffable turns! TELECOMMUNICATIONS telecommunicationse xturn",
    "Na\u00efve Stra\u00dfe \u0391\u03a3\u03c3 \u0411 \ud55c\uae00 \u09cb a\u09cb",
    "[CLS] [MASK] turn [unused1] ##s",
    "aaaa eeeee " + "a" * 99 + " " + "a" * 100 + " " + "a" * 101,
    "\u4e2d\u6587turn\u4e2d. it\u3002",
    *(text for text in HOSTILE if len(text) < 2500),
]


@functools.cache
def word_pieces():
    """Those of the usual options: the table of all characters takes a second."""
    return WordPiece(tokenizer())


def random_texts(pieces, count=20):
    rng = np.random.default_rng(0)
    tokens = np.array([token.removeprefix("##") for token in pieces.tokens])
    points = [*range(1, 0x600), 0x130, 0x9CB, 0x9C7, *range(0xAC00, 0xAC80), 0x1F600, 0xE0020]
    for _ in range(count):
        letters = [chr(one) for one in rng.choice(points, 8)]
        parts = [*rng.choice(tokens, 12), *letters, *" " * 6]
        yield "".join(rng.permutation(np.array(parts)))


def equals_the_tokenizer(run, pieces, in_order):
    new = np.argsort(pieces.order) if in_order else np.arange(len(pieces))
    for one in [*TEXTS, *random_texts(pieces)]:
        data = np.maximum(padded([one], len(one.encode()) + 3), 0)
        assert run(data)[0].tolist() == new[pieces.encode(one, 40)].tolist(), one[:80]


def test_equals_the_tokenizer():
    """A short test of `test_text_in_pieces` holds it of a file."""
    layer = TextToPieces.from_tokenizer(word_pieces(), in_order=True, sequence_length=40)
    run = tf.function(layer, input_signature=[tf.TensorSpec((1, None), tf.int32)], autograph=False)
    equals_the_tokenizer(lambda data: run(data).numpy(), word_pieces(), in_order=True)


@pytest.mark.slow  # the tables of each normalizer take seconds
@pytest.mark.parametrize(
    ("options", "in_order"),
    [
        (OPTIONS[3] | OPTIONS[1], False),
        (OPTIONS[4] | OPTIONS[2], True),
        *((options, in_order) for options in OPTIONS for in_order in (False, True)),
    ],
    ids=str,
)
def test_equals_the_tokenizer_in_keras_and_in_a_file(options, in_order):
    pieces = WordPiece(tokenizer(**options)) if options else word_pieces()
    layer = TextToPieces.from_tokenizer(pieces, in_order, sequence_length=40)
    text = keras.Input((None,), batch_size=1, dtype="int32", name="text")
    file = Interpreter(export.convert(keras.Model(text, layer(text)), "float32"))
    equals_the_tokenizer(lambda data: [*file.run({"text": data}).values()][0], pieces, in_order)
    data = padded([TEXTS[0]])
    np.testing.assert_array_equal([*file.run({"text": data}).values()][0], layer(data))


def test_bytes_that_are_no_text():
    """Code points as Python decodes them; what is broken is dropped."""
    rng = np.random.default_rng(1)
    points = np.r_[1:0x100, 0x7FF, 0x800, 0xFFFD, 0x10000, 0x10FFFF]
    for _ in range(60):
        data = bytearray("".join(chr(one) for one in rng.choice(points, 9)).encode())
        for place in rng.integers(0, len(data), 2):
            data[place] = rng.integers(0, 0x100)
        data = bytes(data[: rng.integers(1, len(data) + 1)])
        wanted = [ord(one) for one in data.decode("utf-8", "ignore")]
        found = code_points(tf.constant([*data], tf.int32)).numpy()
        found = [one for one in found if one and not 0xD800 <= one < 0xE000]  # dropped later
        assert found == [one for one in wanted if one]
    overlong = b"\xe0\x80\xa1a\xe0\x9f\xbfb\xf0\x8f\xbf\xbfc\xf4\x90\x80\x80\xf5\x80\x80\x80"
    found = code_points(tf.constant([*overlong], tf.int32)).numpy()
    assert bytes(one for one in found.tolist() if one) == b"abc"
    assert code_points(tf.constant([-7, 300, 97, -1])).numpy().tolist() == [0, 0, 97, 0]


def test_as_many_ids_as_a_text_has():
    pieces = word_pieces()
    open_length = TextToPieces.from_tokenizer(pieces)
    limited = TextToPieces.from_tokenizer(pieces, max_words=5)
    eight = "unaffable turns it"
    np.testing.assert_array_equal(open_length(padded([eight]))[0], pieces.encode(eight))
    for one in ("", eight):
        wanted = pieces.encode(one, 5)[: len(pieces.encode(one))]
        np.testing.assert_array_equal(limited(padded([one]))[0], wanted)


@pytest.mark.slow  # another table of all characters
def test_no_row_is_empty():
    bare = TextToPieces.from_tokenizer(WordPiece(tokenizer(ends=False)))
    assert bare(padded([""])).numpy().tolist() == [[0]]  # one padding


def test_model_file_and_storage(tmp_path):
    pieces = word_pieces()
    layer = TextToPieces.from_tokenizer(pieces, sequence_length=9)
    text = keras.Input((None,), batch_size=1, dtype="int32")
    model = keras.Model(text, layer(text))
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    data = padded(["unaffable \ud55c it!"])
    np.testing.assert_array_equal(again(data)[0], pieces.encode("unaffable \ud55c it!", 9))
    count, characters = len(pieces.pieces.ids), pieces.characters[:5]
    bytes_of_characters = sum(array.nbytes for array in characters)
    wanted = 8 * bytes_of_characters + count * (32 + 16) + 16 * -(-count // 5)
    assert total_bits(layer.storage()) == wanted and layer.trainable_weights == []
    ordered = TextToPieces.from_tokenizer(pieces, in_order=True)
    assert total_bits(ordered.storage()) == wanted - 16 * count


def test_refuses():
    pieces = word_pieces()
    layer = TextToPieces.from_tokenizer(pieces, sequence_length=9)
    with pytest.raises(ValueError, match="`inputs` must be one text"):
        layer(padded(["turn", "it"]))
    with pytest.raises(ValueError, match="`sequence_length` must be an integer >= 3"):
        TextToPieces.from_tokenizer(pieces, sequence_length=2)
    with pytest.raises(ValueError, match="`max_words` must be None if there is"):
        TextToPieces.from_tokenizer(pieces, sequence_length=9, max_words=9)
