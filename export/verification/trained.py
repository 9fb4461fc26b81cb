"""The trained model set to predict as a file can: hard assignments, float32."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from kerascompact.core.keras_graph import all_layers, copy_with, is_graph
from kerascompact.models.bit_input import with_bit_input


@contextlib.contextmanager
def as_trained(model: keras.Model, bits: bool = False) -> Iterator[Any]:
    """The trained model, which predicts in float32 and with hard assignments until the block ends.

    It is the live model with its own layers and weights, none of them frozen or copied, so that
    what freezing does wrong shows against it. Two settings of its layers differ in the block:

    - `inference="soft"` is "hard". Soft assignments are samples or mixtures, which show how decided
      the codes are; in the papers, and in the file, a word has the codes of its largest logits.
    - mixed precision is float32. A file has no float16 arithmetic, and float16 rounds a number by
      up to 1 in 2048, which would hide an error of that size.

    Args:
        model: The trained model; called with `training=False`, it changes nothing in itself.
        bits: Whether it is to be called on the bits of words. A model of strings or ids in front
            of a projection is copied for that, since its layers cannot be called on other inputs
            in place; its layers are still those that were trained, not their forms.
    """
    if bits and not _takes_bits(model):
        model = with_bit_input(copy_with(model, lambda layer: None))
    layers = all_layers(model)
    soft = [layer for layer in layers if getattr(layer, "inference", None) == "soft"]
    mixed = [
        (layer, layer.dtype_policy)
        for layer in layers
        if layer.compute_dtype in ("float16", "bfloat16") and layer.quantization_mode is None
    ]
    try:
        for layer in soft:
            layer.inference = "hard"
        for layer, _ in mixed:
            layer.dtype_policy = "float32"
        yield model
    finally:
        for layer in soft:
            layer.inference = "soft"
        for layer, policy in mixed:
            layer.dtype_policy = policy


def _takes_bits(model: Any) -> bool:
    return is_graph(model) and [tensor.dtype for tensor in model.inputs] == ["uint8"]
