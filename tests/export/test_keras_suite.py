"""Keras' own tests of LiteRT export, from the installed release, with our exporter in its place."""

from pathlib import Path

import keras
import pytest

from kerascompact import export

suite = pytest.importorskip(
    "keras.src.export.litert_test", reason="this release of Keras comes without its tests"
)
EXPORT = keras.Model.export


def exported(model, filepath, format="litert", input_signature=None, verbose=None, **options):
    """`keras.Model.export`, of which our converter writes the LiteRT files.

    Keras' default is a file of any batch. Of the converter's options, `optimizations` with
    `representative_dataset` asks for what we call "full_int8", and alone for "dynamic"; a batch of
    integer ranges is found with rows one by one.
    """
    if format != "litert" or Path(filepath).suffix != ".tflite":
        return EXPORT(model, filepath, format=format)
    rows = options.pop("representative_dataset", None)
    recipe = "full_int8" if rows else "dynamic" if options else "float32"
    given = {"representative": [row[0][0] for row in rows()]} if rows else {}
    data = export.convert(model, recipe, batch_size=None, **given)
    Path(filepath).write_bytes(data)


@pytest.fixture
def through_ours(monkeypatch):
    monkeypatch.setattr(keras.Model, "export", exported)


@pytest.mark.slow
@pytest.mark.usefixtures("through_ours")
class TestBasic(suite.ExportLitertBasicTest):
    """What a caller gets wrong; these are refused by Keras itself."""


@pytest.mark.slow
@pytest.mark.usefixtures("through_ours")
class TestInterpreter(suite.ExportLitertInterpreterTest):
    """Files that run: structures of inputs and outputs, signatures, batches, recipes."""
