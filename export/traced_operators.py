"""Operators of a traced function that its file cannot hold, by the layers they are in."""

import re
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.export.recipe import Recipe
from kerascompact.forms.base import Form
from kerascompact.forms.dense import DenseForm

# TensorFlow operators that TFLite does not have.
OPERATORS = re.compile(
    r"(Eager)?PyFunc\w*|Matrix(Inverse|Determinant|Solve|TriangularSolve|Logarithm)"
    r"|(LogMatrix\w+|Cholesky|Svd|Qr|Lu|Eig|SelfAdjointEig\w*)|String\w+|Regex\w+|Unicode\w+"
    r"|(Mutable|Anonymous)\w*HashTable\w*|LookupTable\w+|AsString|Decode\w+|Encode\w+|Parse\w+"
    r"|Sparse(Tensor|Fill|Reorder|Segment|Concat|Split|Slice)\w*|Ragged\w+|Stateless(Random|Trunc)\w+"
    r"|DenseBincount|Bincount|Digamma|Lgamma|Erfinv|Igammac?|Betainc|Polygamma|Zeta|UniqueV2"
)
VERY_NEGATIVE = -1e6  # a mask, no number that a model computes with
LOOPS = re.compile(r"(Stateless)?While")
CALLS = re.compile(r"(Stateful)?PartitionedCall|(Stateless)?(While|If|Case)")
LOOKUPS = ("GatherV2", "ResourceGather")  # by their second input
PARTS = ("Slice", "Split", "SplitV", "StridedSlice", "Unpack")
# Operators that hand numbers on as they are, and which of their inputs those are.
HAND_ON = {
    **dict.fromkeys(("Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "Transpose"), (0, 1)),
    **dict.fromkeys(("BroadcastTo", "Pad", "PadV2", "Slice", "StridedSlice", "Tile"), (0, 1)),
    **dict.fromkeys(("ConcatV2", "Pack", "Unpack"), (0, None)),
    **{"SelectV2": (1, 3), "Split": (1, 2), "SplitV": (0, 1), "ReverseV2": (0, 1)},
}


def check_operators(function: Any, recipe: Recipe, forms: list[Form]) -> None:
    """Checks that the recipe's file can hold every operator of a traced function.

    Args:
        function: Concrete TensorFlow function.
        recipe: Recipe of the file.
        forms: All embeddings of the model.

    Raises: ValueError, naming the first operators that it cannot hold.
    """
    bad = found(function, OPERATORS.fullmatch)
    if bad:
        raise ValueError(f"`model` must use only operators that TFLite has. Received: {bad}.")
    if lists := open_lists(function):
        raise ValueError(
            "`batch_size` must be a number for a model with a loop that keeps a list of states, "
            "whose size TFLite must know; or build Keras' LSTM or GRU with unroll=True. "
            f"Received: batch_size=None, and {', '.join(lists)}."
        )
    for kind, tensor in (("input", function.inputs), ("output", function.outputs)):
        for one in tensor:
            if one.dtype.name in ("string", "float64", "complex64", "complex128", "variant"):
                name = one.name.split(":")[0]
                checks.fail("model", f"one whose {kind}s are numbers of a phone's types", name)
    if recipe.kernels == "int16x8":
        others = [form.name for form in forms if not isinstance(form, DenseForm)]
        if others:
            raise ValueError(
                "`recipe` must not store kernels as 'int16x8' beside packed codes: the converter "
                f"has no int16 to unpack them, and its sums saturate. Received: {others}."
            )
    if recipe.kernels in ("full_int8", "int16x8"):
        loops = found(function, LOOPS.fullmatch)
        if loops:
            way = (
                "`fused_lstm=True` or unroll=True"
                if recipe.kernels == "full_int8"
                else "unroll=True"
            )
            raise ValueError(
                f"`recipe` must not store kernels as {recipe.kernels!r} in a model with loops: the "
                f"converter crashes on them: use {way}, or another recipe. Received: {loops}."
            )
        if backward := found(function, re.compile("ReverseSequence").fullmatch):
            raise ValueError(
                f"`recipe` must not store kernels as {recipe.kernels!r} in a model that reads "
                f"padded text backwards: TFLite cannot do that with integers. Received: {backward}."
            )
        if masks := very_negative(function):
            raise ValueError(
                f"`recipe` must not store kernels as {recipe.kernels!r} in a model that masks by "
                "numbers such as -1e9: a tensor of integers has one scale, and beside them all "
                "others are the same integer. Give `mask=` to attention or keras.layers.Softmax, "
                f"or use a number near the others. Received: {masks}."
            )


def advice(function: Any, unknown: Collection[str]) -> str:
    """Names the argument of `convert` that helps, if the converter only misses an open size.

    Args:
        function: Concrete TensorFlow function.
        unknown: Operators that the converter does not know for these sizes.

    Returns: An end for the error message, which may be empty.

    >>> ids = tf.TensorSpec((1, None), tf.int32)
    >>> advice(tf.function(lambda x: x + 1).get_concrete_function(ids), ["StridedSlice"])
    '; give `sequence_length=`, the length that the model leaves open'
    """
    shapes = [one.shape for one in function.inputs if one.shape.rank]
    if not {"StridedSlice", "TensorListReserve"} & {*unknown}:
        return ""
    if any(None in shape[1:].as_list() for shape in shapes):
        return "; give `sequence_length=`, the length that the model leaves open"
    if any(shape[0] is None for shape in shapes):
        return "; give `batch_size=` a number"
    return ""


def found(function: Any, matches: Callable[[str], Any]) -> str:
    """Finds operators of a traced function and their layers, at most three.

    Args:
        function: Concrete TensorFlow function.
        matches: Function that says whether an operator is one of them.

    Returns: A list for the error message, which may be empty.

    >>> function = tf.function(lambda x: tf.linalg.inv(x)).get_concrete_function(tf.zeros((2, 2)))
    >>> found(function, "MatrixInverse".__eq__)
    'MatrixInverse in MatrixInverse'
    """
    nodes = [node for node in _nodes(function) if matches(node.op)]
    names = [f"{node.op} in {layer_of(node.name)}" for node in nodes]
    return ", ".join(list(dict.fromkeys(names))[:3])


def very_negative(function: Any) -> str:
    """Finds constants below -1e6, which are masks, and their layers, at most three.

    >>> @tf.function(input_signature=[tf.TensorSpec((None, 2))])
    ... def masked(x):
    ...     return tf.where(x > 0, x, -1e9)
    >>> very_negative(masked.get_concrete_function())
    '-1e+09 in SelectV2'
    """
    names = []
    for node in _nodes(function):
        if node.op == "Const" and tf.as_dtype(node.attr["dtype"].type).is_floating:
            lowest = np.min(tf.make_ndarray(node.attr["value"].tensor), initial=0)
            if lowest < VERY_NEGATIVE:
                names.append(f"{lowest:g} in {layer_of(node.name)}")
    return ", ".join(list(dict.fromkeys(names))[:3])


def ends_in_sigmoids(function: Any) -> bool:
    """Whether a traced function has one output, of sigmoids.

    >>> @tf.function(input_signature=[tf.TensorSpec((None, 2))])
    ... def likely(x):
    ...     return tf.reshape(tf.sigmoid(x), (-1, 2))
    >>> ends_in_sigmoids(likely.get_concrete_function())
    True
    """
    return len(function.outputs) == 1 and _are_sigmoids(function.outputs[0])


def looks_up_inputs(function: Any) -> bool:
    """Whether rows may be looked up by the numbers of an input as they are, in whatever shape.

    So they may in a function that is called inside. Not if they are changed first, or if several
    parts of an input are read, of which some may be no ids.

    >>> @tf.function(input_signature=[tf.TensorSpec((None,), tf.int32)])
    ... def hashed(ids):
    ...     return tf.gather(tf.eye(9), ids % 9)
    >>> looks_up_inputs(hashed.get_concrete_function())
    False
    """
    count = len(function.inputs) - len(function.captured_inputs)
    reached: list[Any] = list(function.inputs[:count])
    seen = {tensor.ref() for tensor in reached}
    while reached:
        tensor = reached.pop()
        readers = tensor.consumers()
        parts = [one for one in readers if one.type in PARTS]
        if len(parts) > 1 or any(len(one.outputs) > 1 for one in parts):
            continue
        for one in readers:
            if CALLS.fullmatch(one.type) or one.type in LOOKUPS and one.inputs[1] is tensor:
                return True
            if any(each is tensor for each in one.inputs[slice(*HAND_ON.get(one.type, (0, 0)))]):
                reached += [each for each in one.outputs if each.ref() not in seen]
                seen |= {each.ref() for each in one.outputs}
    return False


def _are_sigmoids(tensor: tf.Tensor) -> bool:
    operator = tensor.op
    if operator.type == "ConcatV2":
        return all(map(_are_sigmoids, list(operator.inputs)[:-1]))  # the last is the axis
    if operator.type in ("Cast", "ExpandDims", "Identity", "Reshape", "Squeeze"):
        return _are_sigmoids(operator.inputs[0])
    return operator.type == "Sigmoid"


def _nodes(function: Any) -> list[Any]:
    """The operators of a traced function and of those in it."""
    graph = function.graph.as_graph_def()
    # The inside of a function that becomes one operator does not count: see `lstm_fusion.fused`.
    functions = [one for one in graph.library.function if "api_implements" not in one.attr]
    return [*graph.node, *(node for one in functions for node in one.node_def)]


def open_lists(function: Any) -> list[str]:
    """Finds layers with a list of tensors whose size depends on an open batch, at most three.

    >>> @tf.function(input_signature=[tf.TensorSpec((None, 2))])
    ... def twice(x):
    ...     return tf.TensorArray(tf.float32, 1, element_shape=x.shape).write(0, x).stack()
    >>> open_lists(twice.get_concrete_function())
    ['TensorArrayV2']
    """
    if not any(one.shape.rank and one.shape[0] is None for one in function.inputs):
        return []
    graph, found = function.graph.as_graph_def(), []
    for nodes in (graph.node, *(one.node_def for one in graph.library.function)):
        named = {node.name: node for node in nodes}
        for node in nodes:
            if node.op == "TensorListReserve":
                shape: Any = named.get(node.input[0].split(":")[0])
                known = shape is not None and shape.op == "Const"
                if not known or np.any(tf.make_ndarray(shape.attr["value"].tensor) < 0):
                    found.append(layer_of(node.name))
    return list(dict.fromkeys(found))[:3]


def layer_of(node: str) -> str:
    """The names of the layers in the name of an operator.

    >>> layer_of("model/inner/inverse/MatrixInverse")
    'model/inner/inverse'
    """
    return node.rpartition("/")[0] or node
