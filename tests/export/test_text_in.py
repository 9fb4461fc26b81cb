"""Files that take text: the bytes that go in, the words inside, and what comes out."""

import keras
import numpy as np
import pytest

from export_models import CLASSES, EMBEDDINGS, V, answers, cluster, lstm, mean, standard
from kerascompact import export, models, tflite, tools
from kerascompact.runtime import TextClassifier, encoding
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import RULES, Vocabulary
from kerascompact.text.rules import IN_FILES

WORDS = ["turn", "it", "up", "down", "off", "n't", "'s", "do", "'", ",", "!", "?", "caf\u00e9"]
WORDS += ["\u65e5\u672c\u8a9e", "\U0001f600", "\x00", "don", "t", "TURN", "please", "I", "!!"]
VOCABULARY = Vocabulary([*WORDS, *(f"w{i}" for i in range(V - 2 - len(WORDS)))])
LABELS = ["louder", "softer", "dr\u00e9i"]
TEXTS = [
    "Turn it up, please!",
    "don't TURN it's \U0001f600 off?!!",
    "caf\u00e9 \u65e5\u672c\u8a9e \u65e5 w1 w2 w3 w4 w5",
    "nothing known",
    "",
    " \t",
    "\x00",
    "up\x00\x00",
    "x" * 300,
    b"\xff\xfe\x00 up \xc3",
    "!" * 50 + "up",
]
# The same float32 products added in another order, then a softmax.
CLOSE = dict(rtol=1e-4, atol=1e-5)


def shuffled(model):
    random = np.random.default_rng(5)
    model.set_weights(
        [w if w.ndim == 0 else random.normal(size=w.shape) for w in model.get_weights()]
    )
    return model


def as_str(text):
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    return shuffled(mean(cluster()))


@pytest.fixture(scope="module")
def data(model):
    return export.convert(
        model, text=VOCABULARY, labels=LABELS, sequence_length=8, max_bytes=64, recipe="float32"
    )


def test_file_predicts_what_keras_does_on_the_ids(model, data):
    found = tools.inspect(data)
    assert found.custom == [] and not any("FLEX" in op.upper() for op in found.operators)
    assert found.inputs == ["text int32[1, 64]"]
    assert found.outputs == [f"probabilities float32[1, {CLASSES}]"]
    report = export.verify(model, data, TEXTS, vocabulary=VOCABULARY)
    assert report.examples == len(TEXTS) and report.agreement == 1
    file = Interpreter(data)
    for text in TEXTS[:4]:  # the same, without `verify` and its cutting
        wanted = answers(model, VOCABULARY.encode(text, 8)[None])
        np.testing.assert_allclose(file.run_text(text)["probabilities"], wanted, **CLOSE)


@pytest.mark.parametrize(
    ("make", "length", "max_bytes"),
    [
        pytest.param(mean, None, None, marks=pytest.mark.slow),
        pytest.param(lstm, 6, 40, marks=pytest.mark.slow),
        pytest.param(models.text_cnn, None, 40, marks=pytest.mark.slow),
    ],
)
def test_files_of_other_models_and_lengths(make, length, max_bytes):
    options = dict(num_classes=CLASSES) if make is models.text_cnn else {}
    model = shuffled(make(cluster(), **options))
    data = export.convert(model, text=VOCABULARY, sequence_length=length, max_bytes=max_bytes)
    found = tools.inspect(data)
    assert found.custom == [] and not any("FLEX" in op.upper() for op in found.operators)
    assert found.inputs == [f"text int32[1, {max_bytes or '?'}]"]
    assert found.outputs == [f"probabilities float32[1, {CLASSES}]"]
    report = export.verify(model, data, TEXTS, vocabulary=VOCABULARY)
    assert report.examples == len(TEXTS) and report.agreement == 1
    # the same, without `verify` and its cutting
    file, frozen = Interpreter(data), export.freeze(model, "int8_tables").model
    for text in TEXTS[:4]:
        ids = VOCABULARY.encode(text, length)[None]
        wanted = answers(frozen, ids)
        if max_bytes is None or len(text.encode()) <= max_bytes:
            np.testing.assert_allclose(file.run_text(text)["probabilities"], wanted, **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rules"),
    [*zip([*EMBEDDINGS, "cluster", "cluster"], IN_FILES, strict=True), ("cluster", "kim")],
)
def test_every_embedding_and_rule(name, rules):
    words = list(VOCABULARY.words)
    if RULES[rules].pairs:
        words[-2:] = ["turn it", "up ,"]
    vocabulary = Vocabulary(words, rules)
    model = shuffled(mean(EMBEDDINGS[name]()))
    bits = 40 if RULES[rules].pairs else 64
    data = export.convert(model, text=vocabulary, max_words=7, fingerprint_bits=bits)
    assert export.verify(model, data, TEXTS, vocabulary=vocabulary).agreement == 1
    assert tflite.read_metadata(data)["text"]["rules"] == rules


def labels_alone():
    """A tagger without a loop."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    softmax = keras.layers.Dense(CLASSES, activation="softmax", name="probabilities")
    return keras.Model(ids, softmax(standard()(ids)))


def lstm_tagger():
    return models.tagger(standard(), CLASSES, units=4, hidden=4)


@pytest.mark.slow  # `runtime/test_tagger.py` has one
@pytest.mark.parametrize(
    ("make", "length"),
    [
        (labels_alone, 9),
        (lstm_tagger, 9),
        (lstm_tagger, None),
    ],
)
def test_tagger_says_where_the_words_are(make, length):
    model = shuffled(make())
    data = export.convert(model, text=VOCABULARY, sequence_length=length)
    file = Interpreter(data)
    assert set(file.outputs) == {"probabilities", "spans"}
    assert export.verify(model, data, TEXTS, vocabulary=VOCABULARY).agreement == 1
    text = "Turn caf\u00e9, it's up!"
    found = file.run_text(text)
    words = RULES["wordpunct"].tokens(text)
    spans = found["spans"][0]
    cut = [text.encode()[first:last].decode().lower() for first, last in spans]
    assert cut[: len(words)] == words and not any(cut[len(words) :])
    assert found["probabilities"].shape == (1, length or len(words), CLASSES)


def test_refuses_a_tagger_of_word_pairs():
    pairs = Vocabulary(VOCABULARY.words, "wordpunct_pairs")
    with pytest.raises(ValueError, match="`text` must not have rules that form word pairs"):
        export.convert(labels_alone(), text=pairs, sequence_length=9)


def test_metadata(data):
    facts = tflite.read_metadata(data)
    n = len(VOCABULARY.words)
    assert facts["text"] == {
        "input": "text",
        "max_bytes": 64,
        "length": 8,
        "max_words": None,
        "rules": "wordpunct",
        "fingerprint_bits": 32,
        "bytes": -(-n * (32 + 5) // 8),
    }
    assert facts["vocabulary"]["sha256"] == VOCABULARY.sha256
    assert "text in: UTF-8 bytes, 64 bytes and 8 tokens, cut by the rules 'wordpunct'" in str(
        tools.inspect(data)
    )


@pytest.mark.slow
def test_size(model, data):
    facts = tflite.read_metadata(data)
    ids = export.convert(model, sequence_length=8, vocabulary=VOCABULARY, recipe="float32")
    # the graph that cuts and searches: 9 KB, see its operators in `inspect`; numbers for names
    assert len(data) - len(ids) < facts["text"]["bytes"] + 12 * 1024


@pytest.mark.slow  # `layers/test_text_to_ids` has these sizes of fingerprints
@pytest.mark.parametrize(("size", "bits"), [(1, 32), (2, 40), (300, 64)])
def test_vocabularies_of_any_size(size, bits):
    vocabulary = Vocabulary([f"w{number}" for number in range(size)], "whitespace")
    model = shuffled(mean(keras.layers.Embedding(size + 2, 4, mask_zero=True)))
    data = export.convert(model, "float32", text=vocabulary, fingerprint_bits=bits)
    texts = [f"w{number} w{size} w{size - 1 - number}" for number in range(min(size, 60))]
    assert export.verify(model, data, texts, vocabulary=vocabulary).agreement == 1


def test_no_numbers_make_it_fail(data):
    """What is no byte is padding, wherever it is; the runtime itself is asked, not our checks."""
    from ai_edge_litert.interpreter import Interpreter as Bare

    runner = Bare(model_content=data).get_signature_runner()
    random = np.random.default_rng(0)
    empty = runner(text=np.zeros((1, 64), np.int32))["probabilities"]
    for low, high in ((-(2**31), 0), (256, 2**31 - 1)):
        numbers = random.integers(low, high, (1, 64)).astype(np.int32)
        np.testing.assert_array_equal(runner(text=numbers)["probabilities"], empty)
    for _ in range(300):
        numbers = random.integers(-5, 300, (1, 64)).astype(np.int32)
        numbers[0, int(random.integers(0, 65)) :] = 0
        bare = runner(text=numbers)["probabilities"]
        assert np.isfinite(bare).all() and abs(bare.sum() - 1) < 1e-5


def fuzz(model, data, vocabulary, count, seed):
    random = np.random.default_rng(seed)
    pieces = [bytes([byte]) for byte in range(256)]
    pieces += [word.encode() for word in vocabulary.words[:300]] + [b" "] * 200
    pieces += ["\U0001f600", "\u0130", "\u65e5\u672c", "\u0627\u0644", "\ufeff"] * 10
    pieces = [p.encode() if isinstance(p, str) else p for p in pieces]
    texts = []
    for _ in range(count):
        text = b"".join(pieces[i] for i in random.integers(0, len(pieces), random.integers(0, 40)))
        texts.append(text)
    return export.verify(model, data, texts, vocabulary=vocabulary)


def test_hundreds_of_random_bytes(model, data):
    report = fuzz(model, data, VOCABULARY, 400, seed=0)
    assert report.agreement == 1 and report.largest_difference < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("rules", IN_FILES)
def test_twenty_thousand_random_bytes(rules):
    vocabulary = Vocabulary(VOCABULARY.words, rules)
    model = shuffled(mean(cluster()))
    data = export.convert(model, "float32", text=vocabulary, sequence_length=24, max_bytes=200)
    assert fuzz(model, data, vocabulary, 20_000, seed=1).agreement == 1


def test_classifier_needs_no_vocabulary(model, data, tmp_path):
    path = export.save(data, tmp_path / "m.tflite")
    assert [p.name for p in tmp_path.iterdir()] == ["m.tflite"]
    classifier = TextClassifier(path)
    prediction = classifier.predict("Turn it up, now!")
    wanted = answers(model, VOCABULARY.encode("Turn it up, now!", 8)[None])[0]
    np.testing.assert_allclose(prediction.probabilities, wanted, **CLOSE)
    assert prediction.label == LABELS[int(wanted.argmax())]
    assert (prediction.tokens, prediction.known, prediction.notes) == (6, None, ())
    known = TextClassifier(path, VOCABULARY).predict("Turn it up, now!")
    assert (known.tokens, known.known) == (6, 5)
    assert TextClassifier(data, VOCABULARY).predict("xyzzy").notes == (
        "no word of the text is in the vocabulary",
    )
    notes = classifier.predict("up " * 9).notes
    assert notes == ("text cut to its first 8 of 9 tokens",)
    notes = classifier.predict("up " * 30).notes
    assert notes == (
        "text cut to its first 64 of 90 bytes",
        "text cut to its first 8 of 30 tokens",
    )
    for text in ("", " \n"):
        with pytest.raises(ValueError, match="`text` has no token"):
            classifier.predict(text)
    with pytest.raises(ValueError, match="`text` must be valid UTF-8"):
        classifier.predict(b"\xff")
    with pytest.raises(ValueError, match="was trained with another vocabulary"):
        TextClassifier(path, Vocabulary(["a"]))


def test_the_newer_runtime_runs_it(data):
    from ai_edge_litert.compiled_model import CompiledModel

    file, compiled = Interpreter(data), CompiledModel.from_buffer(data)
    given, found = compiled.create_input_buffers(0), compiled.create_output_buffers(0)
    for text in TEXTS:
        given[0].write(encoding.encode(text, 64).numbers)
        compiled.run_by_index(0, given, found)
        outputs = found[0].read(CLASSES, np.float32)
        wanted = file.run_text(text)["probabilities"][0]
        np.testing.assert_allclose(outputs, wanted, **CLOSE)


def test_verify_finds_other_words(model, data):
    """A file whose fingerprints are those of other words is no longer the model's."""
    words = [*VOCABULARY.words]
    words[0], words[1] = words[1], words[0]
    with pytest.raises(ValueError, match="`vocabulary` must be that of the model"):
        export.verify(model, data, TEXTS, vocabulary=Vocabulary(words))
    with pytest.raises(ValueError, match="`vocabulary` must be that of the model"):
        export.verify(model, data, TEXTS)
    with pytest.raises(ValueError, match="`data` must be a list of at least one text"):
        export.verify(model, data, np.zeros((2, 8), int), vocabulary=VOCABULARY)


def two_inputs():
    one, two = (keras.Input((9,), dtype="int32", name=name) for name in ("one", "two"))
    shared = standard()
    both = keras.layers.Concatenate()([shared(one), shared(two)])
    return keras.Model([one, two], keras.layers.Dense(1)(both))


def test_refuses_models_that_take_no_text():
    with pytest.raises(ValueError, match="`model` must have one input, of ids"):
        export.convert(two_inputs(), text=VOCABULARY)
    vectors = keras.Sequential([keras.Input((3, 4)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="`model` must have one input, of ids"):
        export.convert(vectors, text=VOCABULARY)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": 3}, "`text` must be the kerascompact.text.Vocabulary"),
        ({"text": VOCABULARY, "vocabulary": Vocabulary(["a"])}, "`vocabulary` must be the same as"),
        ({"text": Vocabulary(["a"])}, "as many ids as the embedding, 30.*vocabulary of 3"),
        ({"text": VOCABULARY, "max_bytes": 1}, r"`max_bytes` must be an integer in \[2, 1"),
        ({"text": VOCABULARY, "max_words": 0}, "`max_words` must be an integer >= 1"),
        (
            {"text": VOCABULARY, "max_words": 3, "sequence_length": 3},
            "`max_words` must be None for a model of 3 words",
        ),
        (
            {"text": VOCABULARY, "fingerprint_bits": 8},
            "`fingerprint_bits` must be one of 32, 40, 64",
        ),
        ({"max_bytes": 8}, "`text` must be a vocabulary, with `max_bytes`"),
    ],
)
def test_refuses_wrong_arguments(model, options, message):
    with pytest.raises(ValueError, match=message):
        export.convert(model, **options)
