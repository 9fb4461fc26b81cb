"""`kerascompact train`: what it writes, and that nothing is written when an argument is wrong."""

import json
import os
import random
import shutil

import keras
import pytest

from kerascompact import export, tflite
from kerascompact.cli import main
from kerascompact.runtime import TextClassifier
from kerascompact.tasks.folder import load_model
from kerascompact.text import Vocabulary

FILES = ["labels.txt", "model.keras", "model.tflite", "report.json", "vocabulary.txt"]


def test_writes_what_belongs_together(trained):
    assert sorted(path.name for path in trained.iterdir()) == FILES
    vocabulary = Vocabulary.load(trained / "vocabulary.txt")
    metadata = tflite.read_metadata(trained / "model.tflite")
    assert metadata["vocabulary"]["sha256"] == vocabulary.sha256
    assert (trained / "labels.txt").read_text() == "louder\nsofter\nstop\n"
    assert metadata["labels"] == ["louder", "softer", "stop"]
    report = json.loads((trained / "report.json").read_text())
    assert report["file_bytes"] == (trained / "model.tflite").stat().st_size
    assert report["argmax_agreement"] == 1
    assert report["file_accuracy"] > 0.6  # three classes, each named by its verb; chance is 0.33
    assert report["arguments"]["clusters"] == 5


# `test_export` makes the same file of this model, by the command.
@pytest.mark.slow
def test_the_keras_model_loads_and_is_the_one_exported(trained):
    model = load_model(trained / "model.keras")
    assert isinstance(model, keras.Model)
    vocabulary = Vocabulary.load(trained / "vocabulary.txt")
    again = export.convert(
        model, labels=["louder", "softer", "stop"], vocabulary=vocabulary, sequence_length=8
    )
    assert again == (trained / "model.tflite").read_bytes()


def test_a_text_may_have_several_labels(tmp_path, capsys):
    draw, rows, out = random.Random(0), [], tmp_path / "out"
    for number in range(150):
        asked = draw.sample(["louder", "softer", "stop"], draw.randint(0, 2))
        rows.append((f"{' and '.join(asked)} please number {number % 20}", "|".join(asked)))
    lines = [f"{text},{labels}" for text, labels in rows]
    (tmp_path / "sets.csv").write_text("\n".join(["text,label", *lines]))
    small = ["--method", "standard", "--width", "4", "--batch-size", "8", "--learning-rate", "0.05"]
    command = ["train", "--data", str(tmp_path / "sets.csv"), "--separator", "|", *small]
    assert main([*command, "--out", str(out)]) == 0
    assert "micro f1 dev " in capsys.readouterr().out
    report = json.loads((out / "report.json").read_text())
    assert report["dev_micro_f1"] > 0.9 < report["file_micro_f1"] <= 1  # chance: about a half
    file = TextClassifier(out / "model.tflite", Vocabulary.load(out / "vocabulary.txt"))
    right = [
        set(file.predict(text).answers) == {*labels.split("|")} - {""} for text, labels in rows
    ]
    assert sum(right) > 0.9 * len(rows)
    given = [str(out / "model.tflite"), "--model", str(out / "model.keras")]
    assert main(["verify", *given, "--data", str(tmp_path / "sets.csv")]) != 0
    assert "--separator must say what stands between labels" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clusters", "5000"], "`num_clusters` must be an integer in [2, "),
        (["--unique", "5000"], "`num_unique` must be an integer in [1, "),
        (["--clusters", "1"], "`num_clusters` must be an integer in [2, "),
        (["--text-column", ""], "has no column ''"),
        (["--text-column", "query"], "has no column 'query'. Its columns are 'text', 'label'"),
        (["--label-column", "intent"], "has no column 'intent'"),
        (["--epochs", "0"], "`epochs` must be an integer >= 1"),
        (["--batch-size", "-1"], "`batch_size` must be an integer >= 1"),
        (["--sequence-length", "0"], "`sequence_length` must be an integer >= 1"),
        (["--width", "0"], "`width` must be an integer >= 1"),
        (["--vocabulary-size", "2"], "`vocabulary_size` must be an integer >= 3"),
        (["--learning-rate", "nan"], "`learning_rate` must be a finite number > 0"),
        (["--learning-rate", "0"], "`learning_rate` must be a finite number > 0"),
        (["--dropout", "1"], "`dropout` must be a number in [0, 1)"),
        (["--seed", "-1"], "`seed` must be an integer in [0,"),
        (
            ["--method", "standard", "--clusters", "7"],
            "--clusters is not an option of --method standard",
        ),
        (["--method", "quantized", "--ratio", "0.2"], "--ratio is not an option of --method"),
        (["--method", "projection", "--vocabulary-size", "9"], "--vocabulary-size is not an"),
        (["--rules", "words"], "`rules` must be one of 'wordpunct'"),
        (["--data-dir", "x"], "--data-dir is for named data sets"),
        (["--data", "none.csv"], "There is no file none.csv"),
        (["--data", "none"], "--data must be a file that ends in .csv"),
        (["--data", "clinc150", "--text-column", "text"], "is for tables, not for clinc150"),
        (["--data", "trec", "--data-dir", "no/folder"], "There is no data folder no/folder"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_written(
    table, tmp_path, arguments, message, fails, monkeypatch
):
    monkeypatch.setattr(keras.Model, "fit", None)  # nothing may be trained
    out = tmp_path / "out"
    assert message in fails("train", "--data", table, "--out", out, *arguments)
    assert not out.exists()


def test_a_rate_at_which_training_diverges_is_named(table, tmp_path, fails):
    arguments = ["--method", "standard", "--width", "4", "--epochs", "1", "--learning-rate", "1e30"]
    out = tmp_path / "out"
    assert "training does not diverge" in fails("train", "--data", table, "--out", out, *arguments)
    assert not out.exists()


def test_tables_that_are_damaged_are_refused(tmp_path, fails):
    path = tmp_path / "bad.csv"
    for content, message in (
        (b"", "is empty"),
        (b"text,label\n", "has a header and no rows"),
        (b"text,label\nup,a\n\xff,b\n", "line 3: not UTF-8"),
        (b"text,label\nup,a\ndown\n", "line 3: 1 fields"),
        (b"text,label\nup,a\ndown,c\n", "too few"),
    ):
        path.write_bytes(content)
        assert message in fails("train", "--data", path, "--out", tmp_path / "out")
    path.write_text("text,label\n" + 'up,"lou\nder"\ndown,softer\n' * 20)
    assert "contains a line break" in fails("train", "--data", path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_refused(table, tmp_path, fails, monkeypatch):
    monkeypatch.setattr(keras.Model, "fit", None)
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert "is a file" in fails("train", "--data", table, "--out", taken)
    assert "is not a writable folder" in fails("train", "--data", table, "--out", taken / "x")
    assert taken.read_text() == "mine"
    (tmp_path / "out" / "model.tflite").mkdir(parents=True)
    assert "is a folder" in fails("train", "--data", table, "--out", tmp_path / "out")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be written" in fails("train", "--data", table, "--out", tmp_path / "new")


def test_the_words_of_another_file_are_kept(trained, table, tmp_path, fails, monkeypatch):
    monkeypatch.setattr(keras.Model, "fit", None)
    folder = shutil.copytree(trained, tmp_path / "copy")
    shutil.copy(folder / "model.tflite", folder / "other.tflite")
    again = ["train", "--data", table, "--out", folder, "--vocabulary-size", 20]
    assert "vocabulary.txt is the vocabulary of another file: other.tflite" in fails(*again)
    assert (folder / "vocabulary.txt").read_bytes() == (trained / "vocabulary.txt").read_bytes()


KD = ["--method", "kd", "--cardinality", "4", "--code-length", "3"]
GROUP_LASSO = ["--method", "group_lasso", "--group-lasso-weight", "0.1"]
OTHERS = [
    (KD, "KDCodeEmbedding", dict(cardinality=4, code_length=3)),
    (
        ["--method", "dpq", "--cardinality", "4", "--code-length", "2"],
        "DPQEmbedding",
        dict(cardinality=4, code_length=2),
    ),
    (["--method", "dpq"], "DPQEmbedding", dict(code_length=8)),
    (["--method", "quantized", "--bits", "3"], "QuantizedEmbedding", dict(bits=3)),
    (["--method", "low_rank", "--ratio", "0.5"], "LowRankEmbedding", {}),
    (["--method", "selected", "--unique", "12"], "SelectedEmbedding", {}),
    (GROUP_LASSO, "GroupLassoEmbedding", {}),
    (["--method", "sparse_vd_voc"], "SparseVariationalVocabularyEmbedding", {}),
    (["--method", "anchors", "--anchors", "5"], "AnchorTransformEmbedding", dict(num_anchors=5)),
    (
        ["--method", "sparse_anchors", "--anchors", "5", "--entries", "2"],
        "SparseAnchorEmbedding",
        dict(num_anchors=5, entries=2),
    ),
    (
        ["--method", "predefined_sparse", "--density", "0.4"],
        "PredefinedSparseEmbedding",
        dict(density=0.4),
    ),
    (
        ["--method", "hashed", "--unique", "9", "--buckets", "5"],
        "HashEmbedding",
        dict(num_frequent=9, num_buckets=5),
    ),
]
SMALL = ["--width", "8", "--epochs", "1"]


@pytest.mark.few(2)
@pytest.mark.parametrize(("arguments", "layer", "options"), OTHERS)
def test_other_methods_take_their_own_options(
    table, tmp_path, arguments, layer, options, monkeypatch
):
    """The layer of the model that is about to be trained."""
    found = []

    def fit(model, *args, **kwargs):
        found.append(model.get_layer("embedding"))
        raise KeyboardInterrupt

    monkeypatch.setattr(keras.Model, "fit", fit)
    common = ["--data", str(table), "--out", str(tmp_path / "out"), *SMALL]
    assert main(["train", *common, *arguments]) == 130
    (embedding,) = found
    assert type(embedding).__name__ == layer
    config = embedding.get_config()
    assert {name: config[name] for name in options} == options
    assert config["output_dim"] == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "layer"),
    [
        pytest.param(
            arguments,
            layer,
            marks=[] if arguments == GROUP_LASSO else pytest.mark.slow,
        )
        for arguments, layer, _ in OTHERS
    ],
)
def test_other_methods_are_trained_and_written(table, tmp_path, arguments, layer):
    out = tmp_path / "out"
    assert main(["train", "--data", str(table), "--out", str(out), *SMALL, *arguments]) == 0
    report = json.loads((out / "report.json").read_text())
    assert report["argmax_agreement"] == 1
    model = load_model(out / "model.keras")
    assert type(model.get_layer("embedding")).__name__ == layer
