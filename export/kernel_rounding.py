"""Rounding of a model's kernels to the int8 numbers that a file stores."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.core.keras_graph import direct_layers, is_graph, maker_of, own_variables
from kerascompact.core.quantize import quantize_columns
from kerascompact.export.embedding_forms import is_embedding
from kerascompact.tflite.passes import kernels

LARGEST = 127
SAME = 1e-6  # relative tolerance: a few roundings of float32 products


def rounded(kernel: np.ndarray, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Rounds a kernel to integers `q`, and gives the float32 numbers `q s` they stand for.

    Args:
        kernel: Finite float32 array with at least two dimensions.
        axis: Axis with one scale `s` per index, such as the outputs.

    Returns: int8 and float32 of the same shape; the kernel itself, if it is rounded already.

    >>> codes, values = rounded(np.array([[1.27], [0.304]], "float32"))
    >>> codes.tolist(), (values * 100).round(3).tolist()
    ([[127], [30]], [[127.0], [30.0]])
    """
    found = as_integers(kernel, axis)
    if found is not None:
        return found[0], kernel
    moved = np.moveaxis(kernel, axis, -1)
    codes, scale = quantize_columns(moved.reshape(-1, moved.shape[-1]))
    codes, values = (
        np.moveaxis(array.reshape(moved.shape), -1, axis) for array in (codes, codes * scale)
    )
    return codes.astype(np.int8), values


def as_integers(kernel: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Finds the int8 numbers and scales of a kernel that `rounded` made; `None` for any other.

    A model that was frozen, saved and loaded has only the float32 numbers. All numbers of an output
    must be multiples of one step, with factors from -127 to 127.

    Args:
        kernel: Float32 array with at least two dimensions.
        axis: Axis with one scale per index.

    Returns: The int8 numbers, of the kernel's shape, and the float32 scales.

    >>> codes, scale = as_integers(np.array([[254.0], [2.0]], "float32"), axis=1)
    >>> codes.tolist(), scale.tolist()
    ([[127], [1]], [2.0])
    """
    moved = np.moveaxis(kernel, axis, -1)
    columns = moved.reshape(-1, moved.shape[-1])
    largest = np.abs(columns).max(axis=0)
    scale = np.where(largest > 0, largest / np.float32(LARGEST), 1).astype(np.float32)
    for column in np.flatnonzero(~_fits(columns, scale)):
        steps = (largest[column] / np.arange(LARGEST, 0, -1, dtype=np.float32)).astype(np.float32)
        fitting = np.flatnonzero(_fits(np.repeat(columns[:, [column]], LARGEST, axis=1), steps))
        if not len(fitting):
            return None
        scale[column] = steps[fitting[0]]
    # The scale that was multiplied is this float32 number or one of its two neighbours.
    choices = np.stack([scale, np.nextafter(scale, np.float32(np.inf)), np.nextafter(scale, 0)])
    codes = np.rint(columns / scale)
    wrong = np.stack([np.count_nonzero(codes * one != columns, axis=0) for one in choices])
    scale = np.take_along_axis(choices, np.argmin(wrong, axis=0)[None], axis=0)[0]
    codes = np.moveaxis(codes.reshape(moved.shape), -1, axis)
    return codes.astype(np.int8), scale.astype(np.float32)


def _fits(columns: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Whether each column holds only multiples of its scale."""
    multiples = columns.astype(np.float64) / scale
    return np.all(np.abs(np.rint(multiples) - multiples) <= SAME * np.abs(multiples), axis=0)


class Rounded(NamedTuple):
    """Rounded kernel: variable, numbers before rounding, int8 numbers, and their axis of scales.

    The file joins the axes of several outputs, and has a scale for each of them, `repeated` ones.
    """

    variable: Any
    before: np.ndarray
    codes: np.ndarray
    axis: int
    repeated: int = 1

    @property
    def stored_bits(self) -> int:
        """Bits of integers, scales and zero points in the file."""
        return 8 * self.codes.size + 96 * self.codes.shape[self.axis] * self.repeated


def round_kernels(
    model: Any, by_inputs: bool = True, float_layers: Sequence[str] = ()
) -> list[Rounded]:
    """Rounds the kernels of a model, except for its embeddings, to multiples of int8 scales.

    Args:
        model: Model whose variables are changed in place.
        by_inputs: Whether a dense kernel may have one scale per input, which must not be if it is
            multiplied as int8.
        float_layers: Names of layers whose kernels stay as they are.

    Returns: The rounded kernels, including those of layers that were trained to round.

    Raises: ValueError, if the model has no layer of such a name.
    """
    found: dict[int, Rounded] = {}
    unknown = {*float_layers} - {layer.name for layer in _others(model)} if float_layers else ()
    if unknown:
        checks.fail("float_layers", f"names of layers of {model.name!r}", sorted(unknown))
    for layer in _others(model, float_layers):
        if isinstance(layer, keras.layers.Normalization):
            continue  # means and variances of data: small ones would become 0
        for variable in own_variables(layer):
            if variable.dtype != "float32":
                continue
            if id(variable) in found:
                continue
            if getattr(layer, "rounds_itself", False):  # it was trained to round
                found |= _integers_of(variable)
                continue
            outputs, inputs = _outputs_of(layer, variable), by_inputs and _is_last(layer, model)
            axis = kernels.axis_of_scales(variable.shape, outputs, inputs)
            if axis is None:
                continue
            before = keras.ops.convert_to_numpy(variable)
            codes, values = rounded(before, axis)
            variable.assign(values)
            repeated = _repeated(layer, before.shape, axis)
            found[id(variable)] = Rounded(variable, before, codes, axis, repeated)
    return list(found.values())


def _integers_of(variable: Any) -> dict[int, Rounded]:
    """The integers of a kernel whose layer rounds itself; none, if its numbers have no steps."""
    values = keras.ops.convert_to_numpy(variable)
    for axis in range(values.ndim):
        codes = as_integers(values, axis) if kernels.pays(values.shape, axis) else None
        if codes is not None:
            return {id(variable): Rounded(variable, values, codes[0], axis)}
    return {}


def _others(layer: keras.layers.Layer, but: Sequence[str] = ()) -> Iterator[Any]:
    """A layer and all layers inside, except for embeddings and for layers of some names."""
    yield layer
    for inner in direct_layers(layer):
        if not is_embedding(inner) and inner.name not in but:
            yield from _others(inner, but)


def _is_last(layer: Any, model: Any) -> bool:
    """Whether a layer is a dense output layer of a graph.

    Only output layers may have one scale per input: elsewhere the converter may fold a batch
    normalization into the kernel, which breaks such scales.
    """
    if type(layer) is not keras.layers.Dense or not is_graph(model):
        return False
    outputs = keras.tree.flatten(model.outputs)
    return any(maker_of(tensor) is layer for tensor in outputs)


def _outputs_of(layer: Any, variable: Any) -> int:
    """Axis of a kernel's outputs."""
    kind = type(layer).__name__
    transposed = "Transpose" in kind or kind.startswith("Depthwise")
    return -2 if transposed or variable.name.startswith("depthwise") else -1


def _repeated(layer: Any, shape: Sequence[int], axis: int) -> int:
    """How many outputs of the file have each scale of a kernel.

    >>> heads = keras.layers.EinsumDense("abc,cde->abde", (None, 4, 16))
    >>> _repeated(heads, (64, 4, 16), -1)
    4
    """
    if type(layer).__name__.startswith(("Depthwise", "Separable")) and axis == -2:
        return shape[-1]  # the depth multiplier
    if not isinstance(layer, keras.layers.EinsumDense) or len(shape) < 3:
        return 1
    inputs, outputs = layer.equation.replace(" ", "").split("->")
    names = inputs.split(",")[1]
    sizes = [size for name, size in zip(names, shape, strict=True) if name in outputs]
    return math.prod(sizes) // shape[axis] if names[axis] in outputs else 1
