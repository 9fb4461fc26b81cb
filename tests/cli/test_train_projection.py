"""`kerascompact train --method projection`: words that no text of the table has are words, too."""

import json
import shutil

import keras
import pytest

from kerascompact import tflite
from kerascompact.cli import main
from kerascompact.layers import BitCache, ProjectionEmbedding
from kerascompact.tasks.folder import load_model


def test_the_model_that_is_trained(table, tmp_path, monkeypatch):
    found = []

    def fit(model, *args, **options):
        found.append(model)
        raise KeyboardInterrupt

    monkeypatch.setattr(keras.Model, "fit", fit)
    arguments = ["--data", str(table), "--out", str(tmp_path / "out"), "--method", "projection"]
    small = ["--hidden", "12"]
    assert main(["train", *arguments, *small]) == 130
    (model,) = found
    (layer,) = [one for one in model.layers if isinstance(one, ProjectionEmbedding)]
    (cache,) = [one for one in model.layers if isinstance(one, BitCache)]
    assert layer.hidden_units == (12,) and cache.projection == layer.projection
    assert cache.input_dim > 20  # every word


@pytest.mark.slow
def test_trains_and_writes(projected, tmp_path, capsys):
    folder, printed = projected
    out = shutil.copytree(folder, tmp_path / "out")
    report = json.loads((out / "report.json").read_text())
    assert report["argmax_agreement"] == 1 and report["file_accuracy"] > 0.6
    model = load_model(out / "model.keras")
    (layer,) = [one for one in model.layers if isinstance(one, ProjectionEmbedding)]
    (cache,) = [one for one in model.layers if isinstance(one, BitCache)]
    assert layer.hidden_units == (12,) and cache.projection == layer.projection
    lines = (out / "vocabulary.txt").read_text().splitlines()
    assert len(lines) == cache.input_dim  # every word
    assert report["vocabulary_bytes"] == 0 and "vocabulary" not in tflite.read_metadata(
        out / "model.tflite"
    )
    (out / "vocabulary.txt").unlink()  # only `model.keras`, which reads ids, needs it
    assert "BitCache" not in printed
    for text in ("please raise the music", "pleasse raiise the musik, caf\u00e9"):
        assert main(["predict", str(out / "model.tflite"), text]) == 0
        assert capsys.readouterr().out.split("\t")[0] in ("louder", "softer", "stop")


def test_refuses_hidden(table, tmp_path, fails):
    arguments = ["--data", table, "--out", tmp_path / "out", "--method", "projection"]
    assert "`hidden_units` must be an integer >= 1" in fails("train", *arguments, "--hidden", "0")
    assert "`rules` must not form word pairs" in fails(
        "train", *arguments, "--rules=wordpunct_pairs"
    )
