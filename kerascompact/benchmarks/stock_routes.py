"""How a Keras user exports a model without this package."""

import contextlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import keras
import tensorflow as tf

from kerascompact.core.extras import require
from kerascompact.export.quiet import quiet


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


def by_quantizer(model: keras.Model, recipe: str = "dynamic_wi8_afp32") -> bytes:
    """ai-edge-quantizer over the file of `by_keras`, with one of its recipes.

    It quantizes the weights of `EMBEDDING_LOOKUP`, while Keras' tables are read by `GATHER`.

    Raises: ImportError, without the package ai-edge-quantizer.
    """
    quantizer = require("ai_edge_quantizer.quantizer", "bench")
    recipes = require("ai_edge_quantizer.recipe", "bench")
    with tempfile.TemporaryDirectory() as folder, quiet(native=True):
        path = Path(folder) / "model.tflite"
        path.write_bytes(by_keras(model))
        with contextlib.redirect_stdout(io.StringIO()):  # sizes, of which rows tell more
            made = quantizer.Quantizer(str(path), getattr(recipes, recipe)()).quantize()
        return bytes(made.quantized_model)


ROUTES: dict[str, Callable[[keras.Model], bytes]] = {
    "Keras `model.export`": by_keras,
    "converter, dynamic range": by_dynamic_range,
    "ai-edge-quantizer, int8": by_quantizer,
    "ai-edge-quantizer, int4": lambda model: by_quantizer(model, "dynamic_wi4_afp32"),
}
