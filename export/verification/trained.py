"""Trained model with the settings of a file: hard assignments and float32."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from kerascompact.core.keras_graph import (
    all_layers,
    computing_in_float32,
    copy_with,
    is_graph,
    quantized_kind,
)
from kerascompact.models.bit_input import with_bit_input

SMALL_FLOATS = ("float16", "bfloat16")


@contextlib.contextmanager
def as_trained(model: keras.Model, bits: bool = False) -> Iterator[Any]:
    """Context in which the trained model predicts in float32 and with hard assignments.

    It is the trained model itself with its own layers and weights, neither frozen nor copied, so
    that errors of freezing show in a comparison with it. Three settings of its layers change:

    - `inference="soft"` becomes "hard". Soft assignments are samples or mixtures, which show how
      far the codes have settled; in the papers and in the file, a word has the codes of its largest
      logits.
    - Inputs of layers that `keras.Model.quantize` quantized are not rounded, since a file only
      rounds weights.
    - Mixed precision becomes float32. A file has no float16 arithmetic, and float16 rounds numbers
      by up to 1 in 2048, which would hide errors of this size. A model whose weights have 16 bits
      is copied for this, layer by layer, with its own layers.

    Args:
        model: Trained model, which is called with `training=False`.
        bits: Whether the model is called on the bits of words. A model with strings or ids in front
            of a projection is copied for this, since its layers cannot be called on other inputs in
            place; the copy has trained layers, not forms.
    """
    if bits and not _takes_bits(model):
        model = with_bit_input(copy_with(model, lambda layer: None))
    if is_graph(model) and any(one.dtype in SMALL_FLOATS for one in model.weights):
        # some layers return their weights as they are, which no float32 could be added to
        model = copy_with(model, lambda layer: None, float32=True)
    layers = all_layers(model)
    soft = [layer for layer in layers if getattr(layer, "inference", None) == "soft"]
    rounding = [
        (layer, layer.inputs_quantizer)
        for layer in layers
        if quantized_kind(layer) is not None
        and getattr(layer, "inputs_quantizer", None) is not None
    ]
    try:
        for layer, _ in rounding:
            layer.inputs_quantizer = None
        for layer in soft:
            layer.inference = "hard"
        with computing_in_float32(model):
            yield model
    finally:
        for layer, quantizer in rounding:
            layer.inputs_quantizer = quantizer
        for layer in soft:
            layer.inference = "soft"


def _takes_bits(model: Any) -> bool:
    return is_graph(model) and [tensor.dtype for tensor in model.inputs] == ["uint8"]
