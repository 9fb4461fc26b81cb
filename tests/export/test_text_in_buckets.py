"""Files that hash the words of a text: what they predict, hold and refuse."""

import keras
import numpy as np
import pytest

from hostile_texts import HOSTILE
from kerascompact import export, layers, models, tflite, tools
from kerascompact.runtime import TextClassifier
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import Buckets, Vocabulary

BUCKETS = Buckets(300, "wordpunct_pairs", seed=2)
TEXTS = [*HOSTILE, b"\xff\xfe\x00 up \xc3", "up\x00\x00"]
LABELS = ["louder", "softer", "dr\u00e9i"]
# The same float32 products added in another order, then a softmax.
CLOSE = dict(rtol=1e-4, atol=1e-5)


def classifier(buckets, **options):
    keras.utils.set_random_seed(0)
    embedding = keras.layers.Embedding(len(buckets), 4, "normal", mask_zero=True)
    return models.mean_classifier(embedding, 3, **options)


@pytest.fixture(scope="module")
def model():
    return classifier(BUCKETS)


@pytest.fixture(scope="module")
def data(model):
    return export.convert(model, "float32", text=BUCKETS, labels=LABELS, sequence_length=20)


def test_file_predicts_what_keras_does_on_the_ids(model, data):
    assert export.verify(model, data, TEXTS).agreement == 1  # the file knows its buckets
    assert export.verify(model, data, TEXTS, np.zeros(len(TEXTS)), vocabulary=BUCKETS).agreement
    file = Interpreter(data)
    for text in HOSTILE:  # without `verify`
        wanted = model(BUCKETS.encode_all([text], 20))
        np.testing.assert_allclose(file.run_text(text)["probabilities"], wanted, **CLOSE)
    found = tools.inspect(data)
    assert found.custom == [] and not any("FLEX" in op.upper() for op in found.operators)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "options"),
    [
        ("wordpunct_pairs", dict(max_words=6, max_bytes=40)),
        ("kim", dict()),
        ("whitespace", dict(sequence_length=4)),
    ],
)
def test_rules_and_limits(rules, options):
    buckets = Buckets(40, rules)
    model = classifier(buckets)
    data = export.convert(model, "int4_tables", text=buckets, **options)
    assert export.verify(model, data, TEXTS, vocabulary=buckets).agreement == 1


def test_no_vocabulary_is_inside(data):
    facts = tflite.read_metadata(data)
    assert facts["text"]["bytes"] == 0 and Buckets(**facts["text"]["buckets"]) == BUCKETS
    assert "vocabulary" not in facts and "; no vocabulary" in str(tools.inspect(data))


@pytest.mark.slow
def test_smaller_than_the_file_of_a_vocabulary(model, data):
    words = [f"w{number}" for number in range(len(BUCKETS) - 2)]
    vocabulary = Vocabulary(words, BUCKETS.rules)
    options = dict(labels=LABELS, sequence_length=20)
    other = export.convert(model, "float32", text=vocabulary, **options)
    inside = tflite.read_metadata(other)["text"]["bytes"]
    assert len(data) < len(other) - inside - 2048  # and the operators of the search


def test_classifier_needs_no_vocabulary(model, data, tmp_path):
    path = export.save(data, tmp_path / "m.tflite")
    assert [found.name for found in tmp_path.iterdir()] == ["m.tflite"]
    prediction = TextClassifier(path).predict("Turn it up!")
    wanted = model(BUCKETS.encode_all(["Turn it up!"], 20))[0].numpy()
    np.testing.assert_allclose(prediction.probabilities, wanted, **CLOSE)
    assert prediction.label == LABELS[int(wanted.argmax())]
    assert (prediction.tokens, prediction.known, prediction.notes) == (7, None, ())
    assert TextClassifier(path).predict("up " * 15).notes == (
        "text cut to its first 20 of 29 tokens",
    )


def test_refuses(model, data, tmp_path):
    with pytest.raises(ValueError, match="`vocabulary` must have as many ids as the embedding"):
        export.convert(model, text=Buckets(301))
    for vocabulary in (Buckets(300, "wordpunct_pairs"), Vocabulary(["a"])):
        with pytest.raises(ValueError, match="`vocabulary` must be None, or that of the file"):
            export.verify(model, data, TEXTS, vocabulary=vocabulary)
    message = "`vocabulary` must be a kerascompact.text.Vocabulary; buckets, slots and tokenizers"
    with pytest.raises(ValueError, match=message):
        export.convert(model, vocabulary=BUCKETS)
    with pytest.raises(ValueError, match=message):
        export.save(data, tmp_path / "m.tflite", vocabulary=BUCKETS)
    with pytest.raises(ValueError, match="`model` must not skip unknown words"):
        export.convert(classifier(BUCKETS, skip_unknown=True), text=BUCKETS)
    ids = keras.Input((None,), dtype="int32", name="ids")
    tags = keras.layers.Dense(3)(layers.LowRankEmbedding(len(BUCKETS), 4, 2)(ids))
    with pytest.raises(ValueError, match="`text` must not have rules that form word pairs"):
        export.convert(keras.Model(ids, tags), text=BUCKETS)


@pytest.mark.slow
def test_tagger_says_where_the_words_are():
    buckets = Buckets(30)
    embedding = keras.layers.Embedding(len(buckets), 4, mask_zero=True)
    data = export.convert(models.tagger(embedding, 3, units=4, hidden=4), text=buckets)
    spans = Interpreter(data).run_text("Turn it up!")["spans"][0]
    assert spans.tolist() == [[0, 4], [5, 7], [8, 10], [10, 11]]
