"""`kerascompact verify`: every row, and a status past tolerance."""

import json
import shutil

import pytest

from kerascompact.cli import main


@pytest.fixture
def options(trained, table):
    return ["--model", str(trained / "model.keras"), "--data", str(table)]


def test_reports_every_row(trained, options, capsys):
    assert main(["verify", str(trained / "model.tflite"), *options]) == 0
    out = capsys.readouterr().out
    size, frozen_file, trained_frozen, trained_file, accuracy = out.splitlines()[-5:]
    assert size.startswith("240 examples, ")
    assert "frozen model - file: argmax agreement 1.000000, largest difference" in frozen_file
    assert frozen_file.endswith("(allowed: difference 0.0001, agreement 1)")
    assert "trained model - frozen model, before rounding: argmax agreement 1.0" in trained_frozen
    assert trained_frozen.endswith("(allowed: difference 0.0001, agreement 1)")
    assert "trained model - file: argmax" in trained_file and "no limit, since" in trained_file
    assert "(any loss allowed)" in accuracy


def test_says_what_the_recipe_costs(trained, options, capsys):
    assert main(["verify", str(trained / "model.tflite"), *options, "--max-loss", "0.01"]) == 0
    assert "(loss allowed: 0.01)" in capsys.readouterr().out


def test_json_is_there_even_if_it_fails(trained, options, capsys):
    file = str(trained / "model.tflite")
    assert main(["verify", file, *options, "--json"]) == 0
    good = json.loads(capsys.readouterr().out)
    assert good["examples"] == 240 and good["exact"] and good["rounds"]
    assert good["frozen_file"]["agreement"] == good["trained_frozen"]["agreement"] == 1
    assert good["file_accuracy"] == good["keras_accuracy"] >= good["trained_accuracy"] - 0.05
    assert main(["verify", file, *options, "--json", "--tolerance", "1e-12"]) == 1
    found = capsys.readouterr()
    assert json.loads(found.out)["frozen_file"] == good["frozen_file"]
    assert "does not predict what Keras does" in found.err


def test_bounds_that_are_none(trained, options, fails):
    file = trained / "model.tflite"
    assert "`min_agreement` must be" in fails("verify", file, *options, "--min-agreement", "2")
    assert "`max_loss` must be" in fails("verify", file, *options, "--max-loss", "nan")
    line = fails("verify", file, *options, "--max-loss", "-0.5")
    assert "The file loses accuracy: 240 examples" in line and "Allowed: -0.5." in line


def test_one_row_is_enough(trained, tmp_path, capsys):
    (tmp_path / "one.tsv").write_text("what\tsay\nlouder\tplease raise it\n")
    options = ["--data", str(tmp_path / "one.tsv"), "--text-column=say", "--label-column=what"]
    model = str(trained / "model.keras")
    assert main(["verify", str(trained / "model.tflite"), "--model", model, *options]) == 0
    assert "\n1 examples, " in capsys.readouterr().out


def test_past_tolerance_is_an_error(trained, options, fails):
    line = fails("verify", trained / "model.tflite", *options, "--tolerance", "1e-12")
    assert "The file does not predict what Keras does with the frozen model: 240 examples" in line
    assert "`tolerance` must be" in fails("verify", "x", *options, "--tolerance", "-1")


def test_a_file_of_another_model_is_an_error(trained, tmp_path, fails):
    from kerascompact.tasks.folder import load_model

    few = tmp_path / "few.csv"
    few.write_text("text,label\n" + "please raise it,louder\nhalt the music,stop\n" * 3)
    model = load_model(trained / "model.keras")
    dense = model.get_layer("probabilities")
    dense.set_weights([-weight for weight in dense.get_weights()])
    model.save(tmp_path / "other.keras")
    options = ["--model", tmp_path / "other.keras", "--data", few]
    assert "does not predict what Keras does" in fails("verify", trained / "model.tflite", *options)


def test_labels_columns_and_files_that_do_not_fit(trained, table, options, tmp_path, fails):
    file = trained / "model.tflite"
    other = tmp_path / "other.csv"
    other.write_text("text,label\n" + "up,louder\ndown,weather\n" * 20)
    line = fails("verify", file, "--model", trained / "model.keras", "--data", other)
    assert "other.csv, line 3: label 'weather' does not occur in the file" in line
    line = fails("verify", file, "--model", trained / "model.keras", "--data", "clinc150")
    assert "The labels of the file differ from those of clinc150" in line
    assert "has no column 'query'" in fails("verify", file, *options, "--text-column", "query")
    shutil.copy(file, tmp_path / "alone.tflite")
    assert "There is no" in fails("verify", tmp_path / "alone.tflite", *options)
    (tmp_path / "foreign.keras").write_bytes(b"no model")
    line = fails("verify", file, "--model", tmp_path / "foreign.keras", "--data", table)
    assert "foreign.keras cannot be loaded as a Keras model" in line
