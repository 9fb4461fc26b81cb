"""How a Keras user exports a model without this package."""

import contextlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.export.silence import quiet
from kerascompact.tflite import flatbuffer


def by_keras(model: keras.Model) -> bytes:
    """`model.export(format="litert")`: float32.

    >>> by_keras(keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]))[4:8]
    b'TFL3'
    """
    with tempfile.TemporaryDirectory() as folder, quiet(native=True):
        path = Path(folder) / "model.tflite"
        model.export(str(path), format="litert", verbose=False)
        return path.read_bytes()


def by_dynamic_range(model: keras.Model) -> bytes:
    """The converter's dynamic range: int8 weights, one scale for a table.

    >>> by_dynamic_range(keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]))[4:8]
    b'TFL3'
    """
    with tempfile.TemporaryDirectory() as folder, quiet(native=True):
        model.export(folder, format="tf_saved_model", verbose=False)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        return bytes(converter.convert())


def by_integers(model: keras.Model, rows: np.ndarray) -> bytes:
    """The converter's integers alone, with ranges of activations from some rows.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> by_integers(model, np.ones((3, 2), "float32"))[4:8]
    b'TFL3'
    """
    with tempfile.TemporaryDirectory() as folder, quiet(native=True):
        model.export(folder, format="tf_saved_model", verbose=False)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.representative_dataset = lambda: ([row[None]] for row in rows)
        return bytes(converter.convert())


def by_quantizer(
    model: keras.Model, recipe: str = "dynamic_wi8_afp32", rows: np.ndarray | None = None
) -> bytes:
    """litert-quantizer over the file of `by_keras`, with one of its recipes.

    Its dynamic and weight-only recipes quantize the weights of `EMBEDDING_LOOKUP`, while Keras'
    tables are read by `GATHER`, which only its static recipes quantize.

    Args:
        model: The Keras model.
        recipe: A function of `litert_quantizer.recipe`.
        rows: Rows of the training data, for static recipes, which compute with integers.

    Raises: ImportError, without the package litert-quantizer.
    """
    return quantized(by_keras(model), recipe, rows)


def quantized(file: bytes, recipe: str, rows: np.ndarray | None = None) -> bytes:
    """litert-quantizer over a file with one input of ids; arguments as of `by_quantizer`."""
    quantizer = require("litert_quantizer.quantizer", "bench")
    recipes = require("litert_quantizer.recipe", "bench")
    with quiet(native=True), contextlib.redirect_stdout(io.StringIO()):  # rows tell more
        made = quantizer.Quantizer(file, getattr(recipes, recipe)())
        ranges = None
        if made.need_calibration:
            if rows is None:
                checks.fail("rows", f"rows of ids, for the recipe {recipe!r}", rows)
            (found,) = flatbuffer.parse(file).signatureDefs
            name = found.inputs[0].name.decode()
            given = [{name: row[None].astype(np.int32)} for row in rows]
            ranges = made.calibrate({found.signatureKey.decode(): given})
        return bytes(made.quantize(ranges).quantized_model)


# Each takes a trained model and rows of the training data.
ROUTES: dict[str, Callable[[keras.Model, np.ndarray], bytes]] = {
    "Keras `model.export`": lambda model, rows: by_keras(model),
    "converter, dynamic range": lambda model, rows: by_dynamic_range(model),
    "litert-quantizer, dynamic int8": lambda model, rows: by_quantizer(model),
    "litert-quantizer, dynamic int4": lambda model, rows: by_quantizer(model, "dynamic_wi4_afp32"),
    "litert-quantizer, static int8": lambda model, rows: by_quantizer(
        model, "static_wi8_ai8", rows
    ),
}
