import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.projection import Projection
from kerascompact.export.silence import quiet
from kerascompact.ops.projection import (
    bits_of,
    ragged_bits,
    stream_bits,
    text_bits,
    word_bits,
)
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text.ngrams import projection_bits, word_bytes

WORDS = ["king", "KINGG", "", "a", "z" * 300, "caf\u00e9", "\U0001f600\u4e2d", "\x02\x03", "king"]
SETTINGS = [
    Projection(),
    Projection(7, 5, ngrams=(2, 3), max_gap=2, seed=7),
    Projection(7, 5, ngrams=(3, 3), boundaries=False, lower=False, max_word_bytes=6),
    Projection(7, 5, ngrams=(9, 16), max_gap=3, boundaries=False),
]
GROUPS = np.array(
    [0, 0, 0, 2, 2, 3, 0, 3, 2], np.int32
)  # texts need not come in order; one has no words


def stream(words, separator, size):
    """Bytes with others between the words, the word of each, and its place there.

    `len(words)` is no word.
    """
    units, owners, places = [], [], []
    for number, word in enumerate(words):
        data = list(word.encode())
        units += [*separator, *data]
        owners += [len(words)] * len(separator) + [number] * len(data)
        places += [*range(len(separator)), *range(len(data))]
    rest = size - len(units)
    units, owners = units + [65] * rest, owners + [len(words)] * rest
    return tuple(np.array(part, np.int32) for part in (units, owners, places + [0] * rest))


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["eager", "graph", "xla"])
@pytest.mark.parametrize("count", ["known", "open"])
@pytest.mark.parametrize("projection", SETTINGS)
def test_equals_numpy(projection, count, how):
    def both(units, owners, places):
        size = len(WORDS) if count == "known" else tf.constant(len(WORDS))
        given = units, owners, places, size, projection
        groups = dict(groups=tf.constant(GROUPS), num_groups=4)
        alone = stream_bits(*given, fixed=how == "xla")
        small = alone if how == "xla" else stream_bits(*given, integers=True)  # as in files
        return alone, stream_bits(*given, fixed=how == "xla", **groups), small

    if how != "eager":
        both = tf.function(both, jit_compile=how == "xla", autograph=False)
    alone, grouped, small = both(*map(tf.constant, stream(WORDS, b" .", 500)))
    np.testing.assert_array_equal(alone, small)
    np.testing.assert_array_equal(alone, projection_bits(WORDS, projection))
    for number, bits in enumerate(grouped):
        some = [word for word, group in zip(WORDS, GROUPS, strict=True) if group == number]
        np.testing.assert_array_equal(bits, projection_bits(some, projection, together=True))


@pytest.mark.few(1)
@pytest.mark.parametrize("count", ["known", "open"])
@pytest.mark.parametrize("projection", SETTINGS[:3])
def test_equals_numpy_in_a_file(projection, count):
    holder = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([1, 500], tf.int32, "stream")] * 3, autograph=False)
    def serve(units, owners, places):
        stream = units[0], owners[0], places[0]
        size = len(WORDS) if count == "known" else tf.reduce_max(owners)
        groups = dict(groups=tf.constant(GROUPS), num_groups=4)
        one = stream_bits(*stream, size, projection, integers=count == "open")
        all_ = stream_bits(*stream, size, projection, **groups)
        return {"one": tf.cast(one, tf.float32), "all": tf.cast(all_, tf.float32)}

    holder.serve = serve
    with quiet():
        converter = tf.lite.TFLiteConverter.from_concrete_functions(
            [serve.get_concrete_function()], holder
        )
        file = Interpreter(converter.convert())
    for words in (WORDS, [""] * 9, ["\x00"] * 9):
        given = dict(zip(file.inputs, stream(words, b" .", 500), strict=True))
        found = file.run({name: row[None] for name, row in given.items()})
        np.testing.assert_array_equal(found["one"], projection_bits(words, projection))
        for number, bits in enumerate(found["all"]):
            some = [word for word, group in zip(words, GROUPS, strict=True) if group == number]
            np.testing.assert_array_equal(bits, projection_bits(some, projection, together=True))


@pytest.mark.few(2)
@pytest.mark.parametrize("projection", SETTINGS)
def test_strings_and_ragged_bytes_equal_numpy(projection):
    expected = projection_bits(WORDS, projection)
    np.testing.assert_array_equal(word_bits(WORDS, projection), expected)
    data, lengths = word_bytes(WORDS)
    for dtype in (np.uint8, np.int64):
        rows = tf.RaggedTensor.from_row_lengths(data.astype(dtype), lengths)
        np.testing.assert_array_equal(ragged_bits(rows, projection), expected)
    texts = np.array(WORDS).reshape(3, 3)
    whole = [projection_bits(text, projection, together=True) for text in texts.tolist()]
    np.testing.assert_array_equal(text_bits(texts, projection), whole)


def test_takes_any_number_of_words_in_a_graph():
    projection = Projection(3, 5)
    words = [f"word{number}" * (number % 3) for number in range(400)]
    counts, none = (400, 64, 65, 1, 0), tf.zeros([0, 1], tf.string)

    def both(some):
        return word_bits(some, projection), text_bits(some, projection)

    anything = [tf.TensorSpec([None, 1], tf.string)]
    traced_once = tf.function(both, input_signature=anything, autograph=False)
    found = [traced_once(tf.constant(words)[:count, None]) for count in counts]
    found.append(tf.function(both, autograph=False)(none))  # a number that is known
    for count, (bits, whole) in zip((*counts, 0), found, strict=True):
        assert bits.shape == (count, 1, 15)
        np.testing.assert_array_equal(bits[:, 0], projection_bits(words[:count], projection))
        np.testing.assert_array_equal(whole, projection_bits(words[:count], projection))
    eager = both(none)
    assert [bits.shape for bits in eager] == [(0, 1, 15), (0, 15)]
    empty = tf.RaggedTensor.from_row_lengths(tf.zeros([0], tf.int32), tf.zeros([0], tf.int32))
    assert ragged_bits(empty, projection).shape == (0, 15)
    assert word_bits(tf.constant("king"), projection).shape == (15,)


def test_any_bytes_are_words():
    random = np.random.default_rng(0)
    lengths = random.integers(0, 80, 200)
    words = [random.integers(0, 256, length, np.uint8).tobytes() for length in lengths]
    projection = Projection(max_gap=1)
    found = word_bits(tf.constant(words), projection)
    np.testing.assert_array_equal(found, projection_bits(words, projection))


@pytest.mark.parametrize(
    "inputs",
    [
        np.zeros((2, 31), np.uint8),
        tf.constant(3.0),
        tf.RaggedTensor.from_row_lengths(np.zeros((3, 32), np.uint8), [1, 2]),
    ],
)
def test_refuses_what_stands_for_no_words(inputs):
    with pytest.raises(ValueError, match="`inputs` must be"):
        bits_of(inputs, Projection(4, 8))
