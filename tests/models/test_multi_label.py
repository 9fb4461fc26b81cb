"""A sigmoid for each class, in every text classifier, its file and its answers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export, tflite
from kerascompact.cli import main
from kerascompact.core.keras_graph import has_independent_outputs
from kerascompact.models import lstm_classifier, mean_classifier, text_cnn
from kerascompact.runtime import TextClassifier
from kerascompact.text import Vocabulary

WORDS = Vocabulary(["turn", "it", "up", "down", "off", "now", "please", "music"])
LABELS = ["louder", "softer", "stop"]
TEXTS = ["turn it up", "please turn it down now", "music off", "up and down", "what", "off now"]
SETS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1]], np.uint8)
BUILDERS = {
    "mean": mean_classifier,
    "cnn": lambda *args, **kw: text_cnn(*args, filter_sizes=(2,), num_filters=4, **kw),
    "lstm": lambda *args, **kw: lstm_classifier(*args, units=4, **kw),
}


def build(name, **options):
    keras.utils.set_random_seed(3)
    table = keras.layers.Embedding(len(WORDS), 4, mask_zero=True, name="embedding")
    model = BUILDERS[name](table, 3, multi_label=True, **options)
    random = np.random.default_rng(0)
    model.set_weights([2 * random.normal(size=weight.shape) for weight in model.get_weights()])
    return model


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model, folder = build("mean"), tmp_path_factory.mktemp("multi_label")
    export.save(model, folder / "ids.tflite", vocabulary=WORDS, labels=LABELS, recipe="int8")
    text_in = export.convert(model, "float32", text=WORDS, labels=LABELS, max_bytes=40)
    (folder / "text.tflite").write_bytes(text_in)
    return model, folder


@pytest.mark.few(2)
@pytest.mark.parametrize("name", BUILDERS)
def test_outputs_are_sigmoids(name):
    model = build(name, dropout=0.1)
    ids = np.array([[2, 3, 4, 5], [1, 2, 0, 0]])
    last = model.get_layer("probabilities")
    before = keras.Model(model.input, last.input)(ids).numpy()
    kernel, offset = last.get_weights()
    expected = 1 / (1 + np.exp(-(before @ kernel + offset)))
    np.testing.assert_allclose(model(ids), expected, rtol=1e-5)
    assert has_independent_outputs(model)


@pytest.mark.parametrize("name", BUILDERS)
def test_rejects(name):
    with pytest.raises(ValueError, match="`multi_label` must be True or False"):
        BUILDERS[name](keras.layers.Embedding(9, 4), 3, multi_label="yes")


def test_which_outputs_are_independent():
    x = keras.Input((4,))
    sigmoid, one = keras.layers.Dense(3, "sigmoid"), keras.layers.Dense(1, "sigmoid")
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(2)])
    assert has_independent_outputs(
        keras.Model(x, keras.Sequential([keras.Input((4,)), sigmoid])(x))
    )
    logits = keras.layers.Dense(3)(x)
    three = [keras.layers.Dense(1, "sigmoid")(x) for _ in range(3)]
    for output in (
        keras.layers.Activation("sigmoid")(logits),
        keras.ops.sigmoid(logits),
        keras.layers.Activation("linear", dtype="float32")(sigmoid(x)),
        keras.layers.Reshape((3, 1, 3))(keras.layers.Dense(9, "sigmoid")(x)),
        keras.layers.Concatenate()(three),
        keras.ops.cast(keras.layers.Dropout(0.5)(sigmoid(x)), "float16"),
    ):
        assert has_independent_outputs(keras.Model(x, output))
    softmax = keras.layers.Softmax()(logits)
    assert not has_independent_outputs(
        keras.Model(x, keras.layers.Concatenate()([*three, softmax]))
    )
    for output in (one(x), [sigmoid(x), sigmoid(x)], inner(x), keras.ops.relu(x)):
        assert not has_independent_outputs(keras.Model(x, output))
    assert not has_independent_outputs(keras.Sequential([keras.layers.Dense(2, "sigmoid")]))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["ids", "text"])
def test_a_file_gives_every_likely_label(saved, name):
    model, folder = saved
    file = folder / f"{name}.tflite"
    assert tflite.read_metadata(file)["multi_label"] is True
    classifier = TextClassifier(file)
    found = classifier.predict_many(TEXTS)
    expected = model(WORDS.encode_all(TEXTS, 6)).numpy()
    assert classifier.multi_label and all(one.multi_label for one in found)
    # int8 moves a probability by less than 0.02 here
    np.testing.assert_allclose([one.probabilities for one in found], expected, atol=0.02)
    for one, row in zip(found, expected, strict=True):
        sure = np.abs(row - 0.5) > 0.02
        wanted = {label for label, p, s in zip(LABELS, row, sure, strict=True) if s and p > 0.5}
        assert wanted <= set(one.answers) <= wanted | set(np.array(LABELS)[~sure])
        assert one.label == LABELS[int(np.argmax(one.probabilities))]
    assert {len(one.answers) for one in found} >= {0, 1} or len({one.answers for one in found}) > 1


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.table, self.last = keras.layers.Embedding(len(WORDS), 4), keras.layers.Dense(3)

    def call(self, ids):
        return tf.sigmoid(self.last(tf.reduce_mean(self.table(ids), axis=1)))


def test_a_model_that_is_no_graph_gives_every_likely_label():
    keras.utils.set_random_seed(1)
    model, ids = Subclassed(), WORDS.encode_all(TEXTS, 6)
    expected = model(ids).numpy()
    file = export.convert(model, labels=LABELS, vocabulary=WORDS, sequence_length=6)
    found = TextClassifier(file, WORDS).predict_many(TEXTS)
    for one, row in zip(found, expected, strict=True):
        assert set(one.answers) == {name for name, p in zip(LABELS, row, strict=True) if p >= 0.5}
        assert one.multi_label and not any("softmax" in note for note in one.notes)


def test_one_class_without_a_sigmoid_is_warned_of(recwarn):
    x = keras.Input((4,))
    with pytest.warns(UserWarning, match="the model ends without a sigmoid"):
        export.convert(keras.Model(x, keras.layers.Dense(1)(x)), labels=["spam"])
    recwarn.clear()
    file = export.convert(keras.Model(x, keras.ops.sigmoid(keras.layers.Dense(1)(x))), labels=["s"])
    export.convert(keras.Model(x, keras.layers.Dense(1)(x)))
    assert not [one for one in recwarn if issubclass(one.category, UserWarning)]
    assert "multi_label" not in tflite.read_metadata(file)


def test_quantization_aware_models_keep_their_sigmoids(saved):
    model = build("mean")
    aware = export.quantization_aware(model, "int4")
    assert tflite.read_metadata(export.convert(aware, "int4", labels=LABELS))["multi_label"]


@pytest.mark.slow
def test_metadata_of_other_files_are_as_before(saved):
    model, _ = saved
    softmax = mean_classifier(keras.layers.Embedding(len(WORDS), 4), 3)
    one_label = export.convert(softmax, labels=LABELS, vocabulary=WORDS)
    for file in (one_label, export.convert(model, vocabulary=WORDS)):  # no labels, no entry
        assert "multi_label" not in tflite.read_metadata(file)
    found = TextClassifier(one_label, WORDS).predict("turn it up")
    assert not found.multi_label and found.answers == (found.label,)


def test_each_of_several_models_has_its_own(saved):
    model, _ = saved
    softmax = mean_classifier(keras.layers.Embedding(len(WORDS), 4), 3)
    file = export.convert(
        {"one": softmax, "sets": model}, labels={"one": LABELS, "sets": LABELS}, vocabulary=WORDS
    )
    kinds = [TextClassifier(file, WORDS, signature=name).multi_label for name in ("one", "sets")]
    assert kinds == [False, True]


def test_verify_counts_exactly_right_sets(saved):
    model, folder = saved
    ids = WORDS.encode_all(TEXTS, 6)
    report = export.verify(model, folder / "ids.tflite", ids, SETS)
    outputs = model(ids).numpy()
    expected = np.mean(((outputs >= 0.5) == SETS).all(axis=1))
    assert report.trained_accuracy == pytest.approx(expected)
    assert report.file_accuracy == pytest.approx(
        np.mean(((report.outputs >= 0.5) == SETS).all(axis=1))
    )
    assert report.agreement == 1 and report.exact_sets
    classes = export.verify(model, folder / "ids.tflite", ids, SETS.argmax(axis=1))
    assert not classes.exact_sets and "\naccuracy: trained" in str(classes)


def test_predict_prints_every_likely_label(saved, capsys):
    _, folder = saved
    for text, wanted in zip(
        TEXTS, TextClassifier(folder / "text.tflite").predict_many(TEXTS), strict=True
    ):
        assert main(["predict", str(folder / "text.tflite"), text]) == 0
        cells = capsys.readouterr().out.rstrip("\n").split("\t")
        assert set(cells[::2]) - {""} == set(wanted.answers)
    assert main(["predict", str(folder / "text.tflite"), "up", "--top", "2"]) == 0
    assert len(capsys.readouterr().out.split("\t")) == 4


def test_verify_needs_a_separator(saved, capsys, tmp_path):
    model, folder = saved
    model.save(tmp_path / "model.keras")
    (tmp_path / "sets.csv").write_text("text,label\nturn it up,louder\nstop it now,stop|softer\n")
    (tmp_path / "one.csv").write_text("text,label\nturn it up,louder\n")
    command = ["verify", str(folder / "ids.tflite"), "--model", str(tmp_path / "model.keras")]
    assert main([*command, "--data", str(tmp_path / "sets.csv"), "--separator", "|"]) == 0
    printed = capsys.readouterr().out
    assert "accuracy, of exact sets of labels: trained" in printed
    assert "frozen model - file: same sets of labels 1.000000, largest difference" in printed
    assert main([*command, "--data", str(tmp_path / "one.csv")]) == 1
    assert "--separator None for a file of several labels or none" in capsys.readouterr().err
