"""Bytes to bits against the NumPy bits of the tokens, on any text."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.projection import Projection
from kerascompact.export.silence import quiet
from kerascompact.layers import ProjectionEmbedding, TextToBits
from kerascompact.runtime import encoding
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import RULES
from kerascompact.text.ngrams import projection_bits
from kerascompact.text.rules import IN_FILES, tokenize

SMALL = Projection(num_projections=4, projection_dim=8)
TEXTS = [
    "Turn it UP, please!",
    "",
    " \t",
    "\x00 a\x00",
    "don't can't've it's 'll n't!?(,)",
    "caf\u00e9 \u65e5\u672c\u8a9e \U0001f600\U0001f468\u200d\U0001f469 \u0130\u0131",
    "x" * 90 + " " + "yz" * 40,
    b"\xff\xfe\xc3 a\x80b".decode("utf-8", "surrogateescape"),
    "one two three four five six seven eight nine ten eleven",
]


def padded(texts):
    encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
    rows = [[*data, -1] if data.endswith(b"\0") else [*data] for data in encoded]
    width = max(1, *map(len, rows))
    return np.array([row + [0] * (width - len(row)) for row in rows], np.int32)


def expected(text, rules, projection, length, together=False):
    words = [word.encode("utf-8", "surrogateescape") for word in RULES[rules].tokens(text)]
    if together:
        return projection_bits(words[:length], projection, together=True)
    bits = np.zeros((length, projection.num_bits), np.uint8)
    if words:
        bits[: len(words)] = projection_bits(words[:length], projection)
    return bits


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "projection",
    [
        SMALL,
        Projection(4, 8, ngrams=(2, 4), max_gap=2, max_word_bytes=5),
        Projection(4, 8, boundaries=False, lower=False, seed=3),
    ],
)
@pytest.mark.parametrize("rules", [name for name in IN_FILES if not RULES[name].pairs])
@pytest.mark.parametrize("together", [False, True])
def test_equals_numpy_on_the_tokens(rules, projection, together):
    found = TextToBits(projection, rules, sequence_length=8, together=together)(
        padded(TEXTS)
    ).numpy()
    wanted = [expected(text, rules, projection, 8, together) for text in TEXTS]
    np.testing.assert_array_equal(found, wanted)
    for text, bits in zip(TEXTS, wanted, strict=True):  # a text alone, as in a file
        alone = TextToBits(projection, rules, max_words=8, together=together)(padded([text]))
        np.testing.assert_array_equal(alone[0], bits if together else bits[: len(alone[0])])
        assert together or not bits[len(alone[0]) :].any()


@pytest.mark.slow  # `export/test_text_in_bits` runs a file on longer and shorter texts
@pytest.mark.parametrize("options", [{"sequence_length": 32}, {"max_words": 40}])
def test_a_file_gives_the_same_bits_whatever_it_ran_before(options):
    """LiteRT takes more memory when a text is longer than those before, and must keep all."""
    layer, holder = TextToBits(Projection(), **options), tf.Module()
    spec = tf.TensorSpec([1, 192], tf.int32, "text")
    holder.serve = tf.function(
        lambda text: tf.cast(layer.read(layer.words(text)), tf.float32), [spec], autograph=False
    )
    with quiet():
        converter = tf.lite.TFLiteConverter.from_concrete_functions(
            [holder.serve.get_concrete_function()], holder
        )
        file = Interpreter(converter.convert())
    random = np.random.default_rng(0)
    for _ in range(150):
        lengths = random.integers(1, 13, random.integers(1, 18))
        words = ["".join(random.choice(list("abcdefgh"), size)) for size in lengths]
        text = " ".join(words)[:192].strip()
        words = tokenize(text)[: options.get("sequence_length", 40)]
        (bits,) = file.run({"text": encoding.encode(text, 192).numbers}).values()
        np.testing.assert_array_equal(bits[0, : len(words)], projection_bits(words))
        assert not bits[0, len(words) :].any()


def test_as_a_layer_of_a_model(tmp_path):
    text = keras.Input((None,), dtype="int32", name="text")
    layer = TextToBits(SMALL, sequence_length=5)
    model = keras.Model(
        text, ProjectionEmbedding(3, (4,), num_projections=4, projection_dim=8)(layer(text))
    )
    assert model.output_shape == (None, 5, 3)
    data = padded(TEXTS)
    wanted = model(data)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(data), wanted)
    assert layer.storage() == [] and layer.weights == []


# Short: words under XLA in `test_text_to_ids`, and their bits in `test_projection`.
@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_same_under_xla_and_in_a_function(jit):
    layer, data = TextToBits(SMALL, sequence_length=5), padded(TEXTS)
    compiled = tf.function(layer.call, autograph=False, jit_compile=jit)
    np.testing.assert_array_equal(compiled(tf.constant(data)), layer(data))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"sequence_length": 0}, "`sequence_length` must be an integer >= 1"),
        (
            {"sequence_length": 2, "max_words": 2},
            "`max_words` must be None if there is a `sequence_length`",
        ),
        ({"rules": "nltk"}, "`rules` must be one of"),
        ({"rules": "wordpunct_pairs"}, "`rules` must be rules that form no word pairs"),
        ({"projection": 3}, "`projection` must be a kerascompact.core.projection.Projection"),
        ({"together": 1}, "`together` must be True or False"),
    ],
)
def test_refuses(config, message):
    with pytest.raises(ValueError, match=message):
        TextToBits(**{"projection": SMALL, **config})
