"""Files that take text and have no vocabulary: the bits of words, found inside."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from export_models import answers
from kerascompact import export, models, tools
from kerascompact.layers import BitCache, MaskedMean, ProjectionEmbedding
from kerascompact.models import with_bit_input
from kerascompact.runtime import TextClassifier, encoding
from kerascompact.runtime.interpreter import Interpreter, bare
from kerascompact.text import Vocabulary
from kerascompact.text.rules import tokenize

SMALL = dict(num_projections=8, projection_dim=8, max_word_bytes=12)
TEXTS = [
    "Turn it up, please!",
    "don't TURN it's \U0001f600 off?!!",
    "caf\u00e9 \u65e5\u672c\u8a9e \u65e5 w1 w2 w3 w4 w5",
    "",
    " \t",
    "\x00",
    "up\x00\x00",
    "x" * 300,
    b"\xff\xfe\x00 up \xc3",
    "!" * 50 + "up",
    "a b c d e f g h i j k l m n",
]


def embedding(**config):
    return ProjectionEmbedding(6, (8,), name="embedding", mask_zero=True, **{**SMALL, **config})


def built(model, seed=1):
    """Random weights, and batch statistics as training leaves them."""
    random = np.random.default_rng(seed)
    for weight in model.weights:
        if weight.dtype == "float32":
            low = 0.5 if "variance" in weight.path else -1
            weight.assign(random.uniform(low, 1, weight.shape))
    return model


def mean_of_bits():
    """A classifier without a loop."""
    bits = keras.Input((None, 64), dtype="uint8", name="bits")
    softmax = keras.layers.Dense(3, activation="softmax", name="probabilities")
    return built(keras.Model(bits, softmax(MaskedMean()(embedding()(bits)))))


def test_file_predicts_what_keras_does_on_the_bits(mean_and_file):
    """`models/test_bit_input.py` turns models of strings into those of bits."""
    model, data = mean_and_file
    found = tools.inspect(data)
    assert found.inputs == ["text int32[1, 64]"]
    assert found.custom == [] and not any("FLEX" in op.upper() for op in found.operators)
    assert found.metadata["text"]["bytes"] == 0 and "no vocabulary" in str(found)
    report = export.verify(model, data, [TEXTS[1], TEXTS[-2]])  # of two lengths: no graph is traced
    assert report.agreement == 1 and report.largest_difference < 1e-5


@pytest.mark.slow
def test_file_predicts_what_keras_does_on_more_texts(mean_and_file):
    report = export.verify(*mean_and_file, TEXTS)
    assert report.agreement == 1 and report.largest_difference < 1e-5


@pytest.mark.parametrize(
    ("inputs", "length", "recipe"),
    [
        pytest.param("words", 5, "float32", marks=pytest.mark.slow),
        pytest.param("bits", None, "int8_tables", marks=pytest.mark.slow),
        pytest.param("bits", 5, "float32", marks=pytest.mark.slow),
        pytest.param("words", None, "float32", marks=pytest.mark.slow),
    ],
)
def test_files_of_lstms(inputs, length, recipe):
    model = built(models.projection_lstm(embedding(), 3, 5, inputs=inputs, sequence_length=length))
    limit = {} if length else {"max_words": 9}
    data = export.convert(model, recipe, text="wordpunct", **limit)
    found = tools.inspect(data)
    assert found.inputs == ["text int32[1, ?]"]
    assert found.custom == [] and not any("FLEX" in op.upper() for op in found.operators)
    assert found.metadata["text"]["bytes"] == 0 and "no vocabulary" in str(found)
    report = export.verify(model, data, TEXTS)
    assert report.agreement == 1 and report.largest_difference < 1e-5
    if inputs == "words":  # strings through the model itself
        words = tf.constant([["turn", "it", "up", "!", ""]])
        wanted = export.freeze(model, recipe).model(words)
        got = Interpreter(data).run_text("turn it up!")["probabilities"]
        np.testing.assert_allclose(got, wanted, atol=1e-5)  # float32 in another order


@pytest.fixture(scope="module")
def mean_and_file():
    """A classifier without a loop, and its file."""
    model = mean_of_bits()
    options = dict(text="wordpunct", labels=["a", "b", "c"], max_words=8, max_bytes=64)
    return model, export.convert(model, **options)


@pytest.mark.slow  # the mean of words has the same input
@pytest.mark.parametrize("rules", ["wordpunct", "kim"])
def test_whole_texts(rules):
    together = embedding(together=True, normalization=None)
    model = built(models.sgnn(together, 3))
    data = export.convert(model, text=rules, max_words=10, max_bytes=80)
    report = export.verify(model, data, TEXTS)
    assert report.agreement == 1 and report.largest_difference < 1e-5


@pytest.mark.slow  # the file of integers below has a cache, too
def test_a_cache_of_ids():
    """A model trained on ids from a cache ships without them."""
    vocabulary = Vocabulary(["turn", "it", "up"])
    shared = embedding()
    cache = BitCache.from_vocabulary(vocabulary, shared.projection)
    ids = built(models.mean_classifier(lambda ids: shared(cache(ids)), 3))
    data = export.convert(ids, "float32", text="wordpunct", max_words=9)
    assert export.verify(ids, data, TEXTS).agreement == 1
    wanted = answers(ids, np.array([vocabulary.encode("turn it up")]))
    got = Interpreter(data).run_text("turn it up")["probabilities"]
    np.testing.assert_allclose(got, wanted, atol=1e-5)  # float32 in another order


def test_a_frozen_model_takes_text_as_often_as_it_is_asked():
    """Its layers are called on bits once more each time; the graph of the model stays one."""
    model = mean_of_bits()
    frozen = export.freeze(model, "float32")
    inputs = [with_bit_input(frozen.model).input_shape for _ in range(3)]
    assert inputs == [(None, None, 64)] * 3


def test_words_are_where_the_model_says_something_of_them():
    bits = keras.Input((None, 64), dtype="uint8", name="bits")
    states = keras.layers.Dense(4, activation="tanh")(embedding()(bits))
    tags = keras.layers.Dense(3, activation="softmax", name="tags")(states)
    model = built(keras.Model(bits, tags))
    data = export.convert(model, text="wordpunct", max_bytes=80)
    assert export.verify(model, data, [TEXTS[1], TEXTS[8]]).agreement == 1
    found = Interpreter(data).run_text("Up, up")
    assert found["spans"].tolist() == [[[0, 2], [2, 3], [4, 6]]]
    assert found["tags"].shape == (1, 3, 3)


def test_classifier(mean_and_file, tmp_path):
    path = export.save(mean_and_file[1], tmp_path / "m.tflite")
    assert [p.name for p in tmp_path.iterdir()] == ["m.tflite"]
    prediction = TextClassifier(path).predict("Turn it up, nwo!")
    assert (
        prediction.label in ["a", "b", "c"] and prediction.known is None and prediction.tokens == 6
    )
    with pytest.raises(ValueError, match="`vocabulary` must be None: the file has no list"):
        TextClassifier(path, Vocabulary(["a"]))


def test_bits_are_exact_in_a_file_of_integers():
    """`full_int8` rounds every float32 tensor, and no bit."""
    layer = embedding()
    cache = BitCache.from_words(["", "up"], layer.projection)
    model = built(models.mean_classifier(lambda ids: layer(cache(ids)), 3))
    texts = [text for text in TEXTS if isinstance(text, str)]
    data = export.convert(
        model, "full_int8", text="wordpunct", sequence_length=9, max_bytes=80, representative=texts
    )
    file = bare(data, keep_all=True)
    file.allocate_tensors()
    shape = [1, 9, layer.projection.num_bits]
    (bits,) = (one["index"] for one in file.get_tensor_details()
               if one["dtype"] == np.uint8 and one["shape"].tolist() == shape)  # fmt: skip
    for text in texts:
        words = tokenize(text, "wordpunct")[:9]
        file.set_tensor(file.get_input_details()[0]["index"], encoding.encode(text, 80).numbers)
        file.invoke()
        wanted = layer.bits([*words, *[""] * (9 - len(words))])
        np.testing.assert_array_equal(file.get_tensor(bits)[0], wanted)


@pytest.mark.slow
def test_random_bytes():
    model = built(models.projection_lstm(embedding(), 3, 5))
    data = export.convert(model, text="kim", max_words=8, max_bytes=64)
    random = np.random.default_rng(0)
    texts = [random.bytes(int(size)) for size in random.integers(0, 80, 150)]
    report = export.verify(model, data, texts)
    assert report.agreement == 1 and report.largest_difference < 1e-5


def test_refuses():
    model = mean_of_bits()
    with pytest.raises(ValueError, match="`rules` must be one of 'wordpunct'"):
        export.convert(model, text="nltk", max_words=8)
    with pytest.raises(ValueError, match="`max_words` must be given, or `max_bytes`"):
        export.convert(model, text="wordpunct")
    plain = models.mean_classifier(keras.layers.Embedding(9, 3), 3)
    with pytest.raises(ValueError, match="`text` must be the kerascompact.text.Vocabulary of"):
        export.convert(plain, text="wordpunct", max_words=8)
