"""Integers of layers that `keras.Model.quantize` quantized, and what they stand for."""

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import quantizers

from kerascompact.core.keras_graph.kinds import is_plain_table

MODES = ("int8", "int4", "gptq", "awq")


class Integers(NamedTuple):
    """A table of integers, with a row for each word or output of a layer.

    It stands for the numbers `s[i, g_j] (q[i, j] - z[i, g_j]) c[j]`.

    Args:
        rows: The integers `q`, int8 `(V, d)`.
        scale: The scales `s`, float32 `(V, groups)`.
        zero: The zero points `z`, int8 `(V, groups)`, or `None`.
        group: The group `g` of each column, `(d,)`.
        columns: The factors `c` of the columns, float32 `(d,)`, or `None`.
    """

    rows: np.ndarray
    scale: np.ndarray
    zero: np.ndarray | None
    group: np.ndarray
    columns: np.ndarray | None = None

    @property
    def bits(self) -> int:
        """Bits that each integer needs, 4 or 8."""
        return 4 if self.rows.min() >= -8 and self.rows.max() <= 7 else 8

    @property
    def numbers(self) -> np.ndarray:
        """The numbers that the integers stand for, float32 `(V, d)`.

        >>> zero = np.array([[1]])
        >>> Integers(np.array([[3, 1]]), np.array([[0.5]]), zero, np.zeros(2, int)).numbers.tolist()
        [[1.0, 0.0]]
        """
        zero = 0 if self.zero is None else self.zero[:, self.group]
        found = (self.rows - zero).astype(np.float32) * self.scale[:, self.group]
        return (found if self.columns is None else found * self.columns).astype(np.float32)


def quantized_kind(layer: Any) -> str | None:
    """What a quantized layer is: "embedding", "dense" or "einsum"; `None` for any other layer.

    A layer in float8, or that waits for its calibration, is none of them. Nor is one with LoRA, but
    for a kernel of mode "int8": the converter has no product of its integers.

    >>> dense = keras.layers.Dense(2)
    >>> dense.build((None, 4))
    >>> dense.quantize("int8")
    >>> quantized_kind(dense), quantized_kind(keras.layers.Dense(2))
    ('dense', None)
    """
    kinds: dict[Any, str] = {
        keras.layers.Embedding: "embedding",
        getattr(keras.layers, "ReversibleEmbedding", None): "embedding",
        keras.layers.Dense: "dense",
        keras.layers.EinsumDense: "einsum",
    }
    mode = getattr(layer, "quantization_mode", None)
    if mode not in MODES or not layer.built:
        return None
    if layer.lora_enabled and (mode != "int8" or kinds.get(type(layer)) not in ("dense", "einsum")):
        return None
    if mode in ("gptq", "awq") and not getattr(layer, f"is_{mode}_calibrated", False):
        return None
    return "embedding" if is_plain_table(type(layer)) else kinds.get(type(layer))


def integers_of(layer: Any) -> Integers:
    """The integers of a quantized layer: a table's rows, or a kernel's with a row for each output.

    Args:
        layer: Layer of a kind that `quantized_kind` names; a kernel has four bits or groups.
    """
    if quantized_kind(layer) == "embedding":
        zero = getattr(layer, "embeddings_zero", None)
        return _of(layer.embeddings, layer.embeddings_scale, zero, getattr(layer, "g_idx", None))
    mode = layer.quantization_mode
    if mode in ("gptq", "awq"):
        rows = np.asarray(layer.kernel).astype(np.int16)
        zero = np.asarray(layer.kernel_zero).astype(np.int16)
        # of the integers, which are stored from 0 on
        middle = 128 if max(rows.max(), zero.max()) > 15 else 8
        zero -= middle
        factors = 1 / np.asarray(layer.awq_scales) if mode == "awq" else None
        scale, group = np.asarray(layer.kernel_scale), np.asarray(layer.g_idx).astype(int)
        return Integers(
            (rows - middle).astype(np.int8), scale, zero.astype(np.int16), group, factors
        )
    # Keras makes a matrix of a kernel by reshaping it, in whatever order its axes are
    rows = np.asarray(layer.kernel).reshape(-1, np.shape(layer.kernel_scale)[-1]).T
    zero, scale = getattr(layer, "kernel_zero", None), np.asarray(layer.kernel_scale)
    if zero is not None:
        return _of(rows, scale.T, np.asarray(zero).T, layer.g_idx)
    return _of(rows, scale, None, None)


def float_kernel_of(layer: Any) -> np.ndarray:
    """The numbers of a quantized kernel with its LoRA, in the shape that it has in float."""
    if layer.quantization_mode != "int8":
        shape = (*getattr(layer, "original_kernel_shape", ()),) or (-1, layer.units)
        return integers_of(layer).numbers.T.reshape(shape)
    scale = layer.kernel_scale
    if quantized_kind(layer) == "einsum":
        scale = layer._adjust_scale_for_dequant(scale)
    integers = np.asarray(layer._kernel)  # `kernel` would add LoRA to them
    numbers = integers.astype(np.float32) * (1 / np.asarray(scale))
    if not layer.lora_enabled:
        return numbers
    product = np.asarray(layer.lora_kernel_a) @ np.asarray(layer.lora_kernel_b)
    return (numbers + layer.lora_alpha / layer.lora_rank * product).astype(np.float32)


def head_integers_of(layer: Any) -> Integers:
    """The integers of a quantized embedding's own head, a row for each word."""
    packed, mode = layer.reverse_embeddings, layer.quantization_mode
    if mode == "int4":
        packed = quantizers.unpack_int4(packed, layer.output_dim, axis=0)
    rows, scale = np.asarray(packed).T, np.asarray(layer.reverse_embeddings_scale)
    zero = getattr(layer, "reverse_embeddings_zero", None)
    if zero is not None:
        return _of(rows, scale.T, np.asarray(zero).T, layer.g_idx)
    return _of(rows, scale, None, None)


def _of(rows: Any, scale: Any, zero: Any, group: Any) -> Integers:
    """Integers whose scales multiply where there are zero points, and else divide."""
    table, scale = np.asarray(rows).astype(np.int8), np.asarray(scale)
    if zero is None:
        return Integers(table, 1 / scale[:, None], None, np.zeros(table.shape[1], int))
    zeros = np.rint(np.asarray(zero)).astype(np.int16)
    return Integers(table, scale, zeros, np.asarray(group).astype(int))
