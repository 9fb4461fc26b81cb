"""`kerascompact export`: from the folder of `train` to a file."""

import json
import re
import shutil

import pytest

from kerascompact import export, tflite
from kerascompact.cli import main
from kerascompact.runtime import TextClassifier
from kerascompact.text import Vocabulary


@pytest.fixture
def folder(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "copy")


def test_the_default_gives_the_file_of_train(folder, capsys):
    before = (folder / "model.tflite").read_bytes()
    (folder / "model.tflite").unlink()
    assert main(["export", str(folder)]) == 0
    assert (folder / "model.tflite").read_bytes() == before
    assert f"{len(before):,} bytes" in capsys.readouterr().out


@pytest.fixture
def asked(monkeypatch):
    """What the command asks of `freeze` and `convert`, which is not done."""
    found, freeze = [], export.freeze

    def frozen(model, recipe):
        found.append({"recipe": recipe})
        return freeze(model, recipe)

    def convert(frozen, **options):
        found[-1] |= options
        raise KeyboardInterrupt

    monkeypatch.setattr(export, "freeze", frozen)
    monkeypatch.setattr(export.Frozen, "convert", convert)
    return found


def test_takes_the_recipe_that_train_recorded(folder, fails, asked, capsys):
    report = json.loads((folder / "report.json").read_text())
    assert report["recipe"] == "int8"  # the default of `train`
    (folder / "report.json").write_text(json.dumps({**report, "recipe": "int4"}))
    out = folder / "int4.tflite"
    assert main(["export", str(folder), "--out", str(out)]) == 130
    assert asked[-1]["recipe"] == "int4" and "interrupted" in capsys.readouterr().err
    for recipe, message in (
        ("dynamic", "report.json: the model was trained for the recipe 'dynamic'.* --recipe"),
        ("tiny", "report.json: it names a recipe that does not exist, 'tiny'"),
        (None, "report.json: it is not a report"),
    ):
        (folder / "report.json").write_text(json.dumps({**report, "recipe": recipe}))
        assert re.search(message, fails("export", folder, "--out", folder / "no.tflite"))
    (folder / "report.json").write_text(json.dumps({**report, "budget": 9}))
    assert "--out must be given: " in fails("export", folder)


def test_another_recipe_length_and_place(folder, tmp_path):
    out = tmp_path / "phone" / "small.tflite"
    arguments = ["--recipe", "float32", "--sequence-length", "3", "--out", str(out)]
    assert main(["export", str(folder), *arguments]) == 0
    assert tflite.read_metadata(out)["recipe"]["tables"] == "float32"
    assert TextClassifier(out).sequence_length == 3  # finds the vocabulary beside the file
    assert (folder / "model.tflite").exists()


def test_options_of_the_conversion(folder, tmp_path, asked, fails, capsys):
    words = Vocabulary(Vocabulary.load(folder / "vocabulary.txt").words, "mediapipe")
    words.save(folder / "vocabulary.txt")
    new = tmp_path / "new.tflite"
    command = ["export", str(folder), "--recipe", "float32", "--out", str(new)]
    usual = dict(recipe="float32", sequence_length=8, names=None, batch_size=1, mediapipe=False)
    for options, wanted in (
        (["--names", "--batch-size", "3", "--mediapipe"],
         dict(names=True, batch_size=3, mediapipe=True)),
        (["--no-names", "--batch-size", "any"], dict(names=False, batch_size=None)),
    ):  # fmt: skip
        assert main([*command, *options]) == 130 and "interrupted" in capsys.readouterr().err
        wanted = usual | wanted
        assert {name: asked[-1][name] for name in wanted} == wanted
        assert asked[-1]["vocabulary"].words == words.words
    both = fails(*command, "--mediapipe", "--text-in")
    assert "whose texts MediaPipe cuts itself" in both


@pytest.mark.slow
def test_a_file_without_names_is_smaller(folder, tmp_path):
    out, arguments = tmp_path / "nameless.tflite", ["--sequence-length", "8", "--no-names"]
    assert main(["export", str(folder), *arguments, "--out", str(out)]) == 0
    assert out.stat().st_size < (folder / "model.tflite").stat().st_size


def test_the_vocabulary_of_another_file_is_kept(folder, tmp_path, fails):
    other = Vocabulary(["other"]).save(tmp_path / "vocabulary.txt")
    before = other.read_bytes()
    line = fails("export", folder, "--out", tmp_path / "new.tflite")
    assert "vocabulary.txt is the vocabulary of another file" in line
    assert other.read_bytes() == before
    assert not (tmp_path / "new.tflite").exists()


def test_what_it_reads_is_not_overwritten(folder, fails):
    for name in ("model.keras", "vocabulary.txt"):
        before = (folder / name).read_bytes()
        assert "--out must end in .tflite" in fails("export", folder, "--out", folder / name)
        assert (folder / name).read_bytes() == before


def test_what_is_missing_or_damaged_is_named(folder, tmp_path, fails):
    out = tmp_path / "new.tflite"
    line = fails("export", tmp_path / "none", "--out", out)
    assert "DIR must be a folder that `train --out` wrote, with vocabulary.txt. Received:" in line
    (tmp_path / "several/16KiB").mkdir(parents=True)
    (tmp_path / "several/16KiB/vocabulary.txt").write_text("")
    assert "several, whose folders have one: 16KiB." in fails("export", tmp_path / "several")
    (tmp_path / "taken.tflite").mkdir()
    assert "is a folder" in fails("export", folder, "--out", tmp_path / "taken.tflite")
    for length in ("-2", "0"):
        line = fails("export", folder, "--sequence-length", length, "--out", out)
        assert (
            f"`sequence_length` must be an integer >= 1. Received: sequence_length={length}" in line
        )
    data = (folder / "model.keras").read_bytes()
    (folder / "model.keras").write_bytes(data[: len(data) // 2])
    assert "model.keras cannot be loaded as a Keras model" in fails("export", folder, "--out", out)
    (folder / "model.keras").unlink()
    assert "model.keras" in fails("export", folder, "--out", out)
    (folder / "report.json").write_text("[1]")
    assert "report.json: it is not a report" in fails("export", folder, "--out", out)
    (folder / "report.json").write_text("{")
    assert "report.json: " in fails("export", folder, "--out", out)
    (folder / "labels.txt").write_bytes(b"a\n\nb\n")
    assert "labels.txt, line 2: a label is empty" in fails("export", folder, "--out", out)
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize(("given", "recorded"), [("3", 3), ("any", "any")])
def test_files_of_several_texts_at_once(folder, tmp_path, given, recorded):
    out = tmp_path / "new.tflite"
    arguments = ["export", str(folder), "--batch-size", given, "--out", str(out)]
    assert main(arguments) == 0  # verified
    assert tflite.read_metadata(out)["batch_size"] == recorded
    texts = ["one", "two three", "what is it", "four"]
    alone = TextClassifier(folder / "model.tflite").predict_many(texts)
    for found, expected in zip(TextClassifier(out).predict_many(texts), alone, strict=True):
        # the same float32 products, added in another order
        assert found.probabilities == pytest.approx(expected.probabilities, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["mediapipe", "mediapipe_bert"])
def test_a_file_for_mediapipe_has_its_words_inside(rules, folder, tmp_path, capsys, fails):
    out = tmp_path / "app" / "model.tflite"
    wrong = fails("export", folder, "--mediapipe", "--out", out)
    assert "trained with --rules mediapipe or mediapipe_bert. Received: one with the rules" in wrong
    words = Vocabulary(Vocabulary.load(folder / "vocabulary.txt").words, rules)
    words.save(folder / "vocabulary.txt")
    assert main(["export", str(folder), "--mediapipe", "--out", str(out)]) == 0
    assert "for MediaPipe Tasks; the vocabulary and the labels" in capsys.readouterr().out
    assert [one.name for one in out.parent.iterdir()] == ["model.tflite"]
    assert TextClassifier(out).vocabulary.words == words.words
    both = fails("export", folder, "--mediapipe", "--text-in", "--out", out)
    assert "whose texts MediaPipe cuts itself" in both
