"""Text in, prediction out, and everything that can be wrong with a text, a file or a vocabulary."""

from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest

from export_models import answers, file_of
from kerascompact import export
from kerascompact.layers import ClusterEmbedding
from kerascompact.models import mean_classifier
from kerascompact.runtime import TextClassifier
from kerascompact.text import Vocabulary

LABELS = ["louder", "softer", "stop"]
VOCABULARY = Vocabulary(["turn", "it", "up", "down", "off", "now", "please", "music"])


def build():
    keras.utils.set_random_seed(1)
    embedding = ClusterEmbedding(len(VOCABULARY), 4, num_clusters=6, mask_zero=True)
    return mean_classifier(embedding, 3)


@pytest.fixture(scope="module")
def model():
    return build()


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    options = dict(vocabulary=VOCABULARY, labels=LABELS, recipe="float32")
    export.save(model, folder / "fixed.tflite", sequence_length=5, **options)
    export.save(model, folder / "open.tflite", **options)
    return folder


@pytest.fixture(scope="module")
def classifier(folder):
    return TextClassifier(folder / "fixed.tflite")


@pytest.mark.parametrize("name", ["fixed", "open"])
def test_equals_keras_on_the_words_of_the_text(model, folder, name):
    prediction = TextClassifier(str(folder / f"{name}.tflite")).predict("Turn it DOWN now")
    expected = answers(model, np.array([[2, 3, 5, 7]]))[0]
    # the same float32 products, added in another order
    np.testing.assert_allclose(prediction.probabilities, expected, atol=1e-6)
    assert prediction.label == LABELS[int(np.argmax(expected))]
    assert prediction.probability == pytest.approx(expected.max(), abs=1e-6)
    assert (prediction.labels, prediction.notes) == (tuple(LABELS), ())
    assert (prediction.tokens, prediction.known) == (4, 4)


def test_bytes_and_str_are_one_text(classifier):
    first, second = classifier.predict_many(["turn it off, café", "turn it off, café".encode()])
    np.testing.assert_array_equal(first.probabilities, second.probabilities)
    assert (first.tokens, first.known) == (5, 3)


def test_a_text_past_the_fixed_length_is_cut_with_a_note(classifier):
    prediction = classifier.predict("turn it up now please " + "music " * 2000)
    assert prediction.notes == ("text cut to its first 5 of 2005 tokens",)
    np.testing.assert_array_equal(
        prediction.probabilities, classifier.predict("turn it up now please").probabilities
    )


def test_an_open_length_reads_ten_thousand_characters(model, folder):
    text = "turn it up please " * 556
    assert len(text) > 10_000
    prediction = TextClassifier(folder / "open.tflite").predict(text)
    assert (prediction.tokens, prediction.notes) == (4 * 556, ())
    expected = answers(model, VOCABULARY.encode(text)[None])[0]
    np.testing.assert_allclose(prediction.probabilities, expected, atol=1e-5)  # sums of 2,224 terms


def test_only_unknown_words_are_predicted_with_a_note(classifier):
    prediction = classifier.predict("xyzzy plugh")
    assert prediction.notes == ("no word of the text is in the vocabulary",)
    assert (prediction.tokens, prediction.known) == (2, 0)
    assert np.isfinite(prediction.probabilities).all()


@pytest.mark.parametrize("text", ["", "  \t\n", b""])
def test_refuses_a_text_without_tokens(classifier, text):
    with pytest.raises(ValueError, match="`text` has no token"):
        classifier.predict(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [(b"ab\xffcd", "byte at 2"), ("ab\udcffcd", "byte at 2"), ("a\ud800", "character at 1")],
)
def test_refuses_what_is_no_utf8_and_says_where(classifier, text, place):
    with pytest.raises(ValueError, match=f"`text` must be valid UTF-8. Received: a bad {place}"):
        classifier.predict(text)


def test_refuses_what_is_no_text(classifier):
    with pytest.raises(ValueError, match="`text` must be a str or UTF-8 bytes. Received: text=3"):
        classifier.predict(3)
    with pytest.raises(ValueError, match="`texts` must be a list of str"):
        classifier.predict_many("turn it up")
    with pytest.raises(ValueError, match=r"texts\[1\]: `text` has no token"):
        classifier.predict_many(["up", ""])


def test_takes_bytes_with_a_vocabulary_and_not_without(folder, tmp_path):
    data = (folder / "open.tflite").read_bytes()
    label = TextClassifier(data, VOCABULARY).predict("up").label
    assert TextClassifier(data, folder / "vocabulary.txt").predict("up").label == label
    with pytest.raises(
        ValueError, match="`vocabulary` is required when the file is given as bytes"
    ):
        TextClassifier(data)
    with pytest.raises(ValueError, match="`vocabulary` must be a Vocabulary or the path"):
        TextClassifier(data, 3)
    with pytest.raises(ValueError, match="`file` must be the path or the bytes"):
        TextClassifier(3)


def test_refuses_a_foreign_vocabulary_and_names_both(folder, tmp_path):
    path = Vocabulary([*VOCABULARY.words[:-1], "radio"]).save(tmp_path / "other.txt")
    with pytest.raises(ValueError, match=r"fixed\.tflite was trained with another .*other\.txt"):
        TextClassifier(folder / "fixed.tflite", path)


def test_refuses_a_missing_vocabulary(folder, tmp_path):
    (tmp_path / "m.tflite").write_bytes((folder / "open.tflite").read_bytes())
    with pytest.raises(ValueError, match="There is no .*vocabulary.txt"):
        TextClassifier(tmp_path / "m.tflite")


def test_refuses_a_truncated_file_and_names_it(folder, tmp_path):
    data = (folder / "open.tflite").read_bytes()
    for size in (0, 6, len(data) // 2, len(data) - 1):
        path = tmp_path / "short.tflite"
        path.write_bytes(data[:size])
        with pytest.raises(ValueError, match=r"short\.tflite: `flatbuffer` must be a"):
            TextClassifier(path, VOCABULARY)


def test_refuses_a_file_without_a_vocabulary_and_one_that_is_no_classifier():
    with pytest.raises(ValueError, match="must be one that kerascompact exported with its vocab"):
        TextClassifier(file_of("mean"), VOCABULARY)
    ids = keras.Input((4,), dtype="int32", name="ids")
    vectors = keras.Model(ids, ClusterEmbedding(len(VOCABULARY), 4, 6)(ids))
    with pytest.raises(ValueError, match="must have one input of ids, .* and one output"):
        TextClassifier(export.convert(vectors, vocabulary=VOCABULARY), VOCABULARY)


@pytest.mark.few(1)
@pytest.mark.parametrize(("length", "batch_size"), [(5, 3), (None, None)])
def test_a_file_of_several_rows_answers_each_text_as_alone(model, folder, batch_size, length):
    """Texts of many lengths, and more than a batch has."""
    options = dict(vocabulary=VOCABULARY, labels=LABELS, recipe="float32")
    data = export.convert(model, sequence_length=length, batch_size=batch_size, **options)
    several = TextClassifier(data, VOCABULARY)
    texts = [
        "turn it",
        "off now",
        "music",
        "up",
        "turn it down now please",
        "down it",
        "off, please",
    ]
    alone = [TextClassifier(folder / "open.tflite").predict(text) for text in texts]
    for found in (several.predict_many(texts), [several.predict(text) for text in texts]):
        for one, expected in zip(found, alone, strict=True):
            assert (one.label, one.tokens, one.known) == expected[:1] + expected[4:6]
            # the same float32 products, added in another order
            np.testing.assert_allclose(one.probabilities, expected.probabilities, atol=1e-6)
    assert several.predict_many([]) == []


def test_ids_of_any_type_one_label_and_outputs_that_are_no_probabilities():
    words = Vocabulary(["good", "bad"])
    ids = keras.Input((3,))  # float32, the default of Keras
    hidden = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(4, 2)(ids))
    for last, labels in (("sigmoid", ["yes"]), (None, None)):
        dense = keras.layers.Dense(
            1 if last else 2, last, bias_initializer=keras.initializers.Constant(3)
        )
        model = keras.Model(ids, dense(hidden))
        file = TextClassifier(export.convert(model, vocabulary=words, labels=labels), words)
        found = file.predict("good bad")
        wanted = model(np.array([[2.0, 3.0, 0.0]]))[0]
        np.testing.assert_allclose(found.probabilities, wanted, atol=1e-2)
        if last:
            assert found.answers == ("yes",) and not found.notes
        else:
            assert "no probabilities" in found.notes[0]
            assert file.labels == ("0", "1")


@pytest.mark.parametrize("text_in", [False, True])
def test_threads_share_a_reader(folder, model, text_in):
    """One thread's input was run for another, or the runtime blamed the file."""
    file = export.convert(model, text=VOCABULARY) if text_in else folder / "open.tflite"
    reader = TextClassifier(file)
    said = ["turn it up", "music off now please", "turn down", "stop it", "up up up off"]
    expected = [reader.predict(text).probabilities for text in said]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: reader.predict(text).probabilities, said * 300))
    np.testing.assert_array_equal(found, expected * 300)
