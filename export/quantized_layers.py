"""Layers that `keras.Model.quantize` quantized, as forms of their own integers."""

from typing import Any

import keras
import numpy as np

from kerascompact.core.keras_graph import (
    Integers,
    float_kernel_of,
    head_integers_of,
    integers_of,
    quantized_kind,
)
from kerascompact.forms.affine_table import AffineTableForm
from kerascompact.forms.base import Form
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.einsum import EinsumForm
from kerascompact.forms.logits import LogitsForm
from kerascompact.forms.reversible import ReversibleForm


def form_of_quantized(layer: Any) -> keras.layers.Layer | None:
    """What stands in a frozen model for a layer that is quantized or has LoRA; else `None`.

    Tables and kernels become forms of the integers that Keras found. A kernel in mode "int8", which
    has no zero points, becomes an ordinary kernel of these numbers, whose integers a recipe with
    int8 kernels finds again; so does one whose groups are no blocks, or with LoRA, which such a
    recipe rounds anew. LoRA of kernels that are not quantized is added to them. Inputs are not
    rounded, as Keras does in mode "int8".

    Args:
        layer: A layer of a model.
    """
    kind = quantized_kind(layer)
    if kind is None:
        return _with_lora_merged(layer)
    config = {"name": layer.name, "dtype": "float32"}
    if kind == "embedding":
        return _embedding(layer, config)
    part = None
    if layer.quantization_mode != "int8":
        part = _form(integers_of(layer))
    if part is None:
        return _plain(layer)
    bias = None if layer.bias is None else np.asarray(layer.bias)
    if kind == "dense":
        return LogitsForm.over(part, bias, layer.activation, **config)
    shape = [*layer.original_kernel_shape]
    if bias is not None:
        made = layer.equation.replace(" ", "").split("->")
        axes = made[0].replace("...", "").split(",")[1]
        sizes = [size for axis, size in zip(axes, shape, strict=True) if axis in made[1]]
        bias = np.broadcast_to(bias, sizes).reshape(-1)
    own = {"equation": layer.equation, "kernel_shape": shape}
    return EinsumForm.over(part, bias, layer.activation, **own, **config)


def _embedding(layer: Any, config: dict[str, Any]) -> Form:
    part = _table(integers_of(layer), config)
    head = None
    if not getattr(layer, "tie_weights", True):
        head = _table(head_integers_of(layer), config)
    cap = getattr(layer, "logit_soft_cap", None)
    if head is None and cap is None:
        part.mask_zero = layer.mask_zero
        return part
    return ReversibleForm.over(part, head, soft_cap=cap, mask_zero=layer.mask_zero, **config)


def _table(found: Integers, config: dict[str, Any]) -> Form:
    """The form of a table's integers; of its numbers, if no form has these integers."""
    form = _form(found, **config)
    if form is not None:
        return form
    sizes = dict(zip(("input_dim", "output_dim"), found.rows.shape, strict=True))
    return DenseForm.from_arrays({"table": found.numbers}, **sizes, **config)


def _form(found: Integers, **config: Any) -> Form | None:
    """The form of integers; `None`, if their groups are no blocks, as GPTQ may order them."""
    width = found.rows.shape[1]
    size = int(np.count_nonzero(found.group == 0))
    if not np.array_equal(found.group, np.arange(width) // size):
        return None
    return AffineTableForm.from_integers(
        found.rows,
        found.scale,
        found.zero,
        None if size == width else size,
        f"int{found.bits}",
        found.columns,
        **config,
    )


def _plain(layer: Any) -> keras.layers.Layer:
    """The layer as it was before it was quantized, with the numbers that its integers stand for."""
    # not from its configuration, which may hold the model and the data that it was calibrated on
    config = {"activation": layer.activation, "name": layer.name, "dtype": "float32"}
    if quantized_kind(layer) == "dense":
        plain = keras.layers.Dense(layer.units, use_bias=layer.bias is not None, **config)
    else:
        shape = layer.partial_output_shape
        plain = keras.layers.EinsumDense(layer.equation, shape, bias_axes=layer.bias_axes, **config)
    plain.build_from_config(layer.get_build_config())
    plain.kernel.assign(float_kernel_of(layer))
    if layer.bias is not None:
        plain.bias.assign(layer.bias)
    return plain


def _with_lora_merged(layer: Any) -> keras.layers.Layer | None:
    """A layer of Keras' own with the kernel that LoRA makes; `None` for any other layer.

    The file has one kernel: rounded on their own, its parts would add up to no multiples of a step.
    """
    if not getattr(layer, "lora_enabled", False) or not type(layer).__module__.startswith("keras."):
        return None
    config = {name: v for name, v in layer.get_config().items() if not name.startswith("lora_")}
    merged = type(layer).from_config({**config, "dtype": "float32"})
    merged.build_from_config(layer.get_build_config())
    merged.kernel.assign(layer.kernel)
    if layer.bias is not None:
        merged.bias.assign(layer.bias)
    return merged
