"""Preconditions of a conversion, checked before the converter runs for minutes."""

import contextlib
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import (
    all_layers,
    build_shapes,
    direct_layers,
    is_graph,
    is_graph_of,
)
from kerascompact.export.recipe import Recipe
from kerascompact.forms.base import Form
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.logits import LogitsForm
from kerascompact.layers.unknown_as_padding import UnknownAsPadding
from kerascompact.text.buckets import Buckets
from kerascompact.text.slot_vocabulary import SlotVocabulary
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.text.wordpiece import WordPiece, is_tokenizer

# Layers that need string tables or 64-bit hashes of strings.
LAYERS = {"HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization"}
# TensorFlow operators that TFLite does not have.
OPERATORS = re.compile(
    r"(Eager)?PyFunc\w*|Matrix(Inverse|Determinant|Solve|TriangularSolve|Logarithm)"
    r"|(LogMatrix\w+|Cholesky|Svd|Qr|Lu|Eig|SelfAdjointEig\w*)|String\w+|Regex\w+|Unicode\w+"
    r"|(Mutable|Anonymous)\w*HashTable\w*|LookupTable\w+|AsString|Decode\w+|Encode\w+|Parse\w+"
    r"|Sparse(Tensor|Fill|Reorder|Segment|Concat|Split|Slice)\w*|Ragged\w+|Stateless(Random|Trunc)\w+"
    r"|DenseBincount|Bincount|Digamma|Lgamma|Erfinv|Igammac?|Betainc|Polygamma|Zeta|UniqueV2"
)
LOOPS = re.compile(r"(Stateless)?While")


def check_model(model: Any) -> None:
    """Checks that a model can be converted.

    Args:
        model: Keras model.

    Raises: ValueError, if it is not a built model with finite weights, or if it has layers of
        strings or stateful layers.
    """
    if not isinstance(model, keras.Model):
        checks.fail("model", "a keras.Model", model)
    if not model.built or (not is_graph(model) and not build_shapes(model)):
        raise ValueError(
            f"`model` must be built before it is converted: call it on data, or train it. "
            f"Received: model={model.name!r} without weights."
        )
    for variable in model.weights:
        checks.finite(variable.path, keras.ops.convert_to_numpy(variable))
    for path, layer in paths(model):
        if isinstance(layer, keras.layers.RNN) and layer.stateful:
            raise ValueError(
                "`model` must not be stateful, since a file keeps no states: convert "
                "`export.with_states(model)`, which has them as inputs and outputs. "
                f"Received: {path}, a stateful {type(layer).__name__}."
            )
        if type(layer).__name__ in LAYERS and type(layer).__module__.startswith("keras."):
            raise ValueError(
                "`model` must not have layers of strings: split texts into words before it, or "
                f"give `text`. Received: {path}, a {type(layer).__name__}."
            )


def paths(model: Any) -> Iterator[tuple[str, Any]]:
    """Every layer inside a model, with the names of the layers that contain it.

    >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="last")])
    >>> [path for path, _ in paths(model)]
    ['last']
    """
    for layer in direct_layers(model):
        if isinstance(layer, keras.layers.InputLayer) or is_graph_of(layer, model):
            continue
        yield layer.name, layer
        for path, inner in paths(layer):
            yield f"{layer.name}/{path}", inner


@contextlib.contextmanager
def traced(batch_size: int | None = 1) -> Iterator[None]:
    """Context that turns the error of a layer that cannot be traced into one with its path.

    Args:
        batch_size: Examples in the inputs; `None` for any number.

    Raises: ValueError, naming the layer.
    """
    filtering = keras.config.is_traceback_filtering_enabled()
    keras.config.disable_traceback_filtering()
    try:
        yield
    except Exception as error:
        outer: Any = None
        names, trace = [], error.__traceback__
        while trace is not None:
            layer: Any = trace.tb_frame.f_locals.get("self")
            is_layer = isinstance(layer, keras.layers.Layer) and layer.name not in names
            if is_layer and not (outer and is_graph_of(layer, outer)):
                outer = layer
                names.append(layer.name)
            trace = trace.tb_next
        if not names:  # the error is not from a layer
            raise
        said = " ".join(str(error).splitlines()[:1])
        raise ValueError(
            "`model` must run as a TensorFlow function of inputs of "
            f"{'any batch size' if batch_size is None else f'batch size {batch_size}'}. Received: "
            f"the layer {'/'.join(names)}, which raises {type(error).__name__}: {said}"
        ) from error
    finally:
        if filtering:
            keras.config.enable_traceback_filtering()


def check_fused(fused_lstm: bool, recipe: Recipe) -> None:
    """Raises a `ValueError` if `fused_lstm` is not a bool, or does not fit the recipe."""
    checks.boolean("fused_lstm", fused_lstm)
    if fused_lstm and recipe.kernels == "int16x8":
        raise ValueError(
            "`fused_lstm` must be False with kernels of 'int16x8': the converter finds no ranges "
            "inside the operator. Unroll the LSTM (unroll=True), or take 'full_int8'. "
            "Received: True."
        )


def check_batch(batch_size: Any, takes_text: bool, fused_lstm: bool) -> None:
    """Checks `batch_size`.

    Args:
        batch_size: Examples per run; `None` for any number.
        takes_text: Whether the file takes text.
        fused_lstm: Whether LSTMs become operators, whose states have a fixed size.

    Raises: ValueError, if it is not a number or `None`, or does not fit.
    """
    if batch_size is not None:
        checks.integer_in("batch_size", batch_size, 1)
    if takes_text and batch_size != 1:
        checks.fail("batch_size", "1 for a file that takes text, one at a time", batch_size)
    if fused_lstm and batch_size is None:
        checks.fail(
            "batch_size", "a number with `fused_lstm`, whose states have a fixed size", batch_size
        )


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
    graph = function.graph.as_graph_def()
    # The inside of a function that becomes one operator does not count: see `lstm_fusion.fused`.
    functions = [one for one in graph.library.function if "api_implements" not in one.attr]
    nodes = [*graph.node, *(node for one in functions for node in one.node_def)]
    names = [f"{node.op} in {layer_of(node.name)}" for node in nodes if matches(node.op)]
    return ", ".join(list(dict.fromkeys(names))[:3])


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


def check_vocabulary(
    models: list[keras.Model], vocabulary: Vocabulary | Buckets | WordPiece
) -> None:
    """Raises a `ValueError` if a vocabulary has another size than the embeddings."""
    layers = [layer for model in models for layer in all_layers(model)]
    # rows of a head are outputs, not words
    heads = {id(i) for layer in layers if isinstance(layer, LogitsForm) for i in all_layers(layer)}
    sizes = [
        layer.input_dim
        for layer in layers
        if isinstance(getattr(layer, "input_dim", None), int) and id(layer) not in heads
    ]
    if sizes and len(vocabulary) != max(sizes):
        raise ValueError(
            f"`vocabulary` must have as many ids as the embedding, {max(sizes)}. "
            f"Received: {'buckets' if isinstance(vocabulary, Buckets) else 'a vocabulary'} of "
            f"{len(vocabulary)}."
        )
    if isinstance(vocabulary, Buckets) and any(
        isinstance(layer, UnknownAsPadding) for model in models for layer in all_layers(model)
    ):
        raise ValueError(
            "`model` must not skip unknown words, if they have buckets: id 1 is a bucket. "
            "Received: a model with an UnknownAsPadding layer."
        )


def check_listed(vocabulary: Any) -> None:
    """Raises a `ValueError` for what apps cannot look up in a list of words."""
    if isinstance(vocabulary, Buckets | SlotVocabulary) or is_tokenizer(vocabulary):
        expected = "a kerascompact.text.Vocabulary; buckets, slots and tokenizers are `text`"
        checks.fail("vocabulary", expected, vocabulary)


def same_vocabulary(
    text: Any, vocabulary: Vocabulary | None
) -> Vocabulary | Buckets | WordPiece | None:
    """Checks that `text` and `vocabulary` are the same vocabulary, and returns it.

    For a projection, `text` is the name of token rules, and `vocabulary` is returned as it is.

    Raises: ValueError, if they differ.
    """
    check_listed(vocabulary)
    if text is None or isinstance(text, str):
        return vocabulary
    if not isinstance(text, Vocabulary | Buckets | WordPiece):
        expected = "the kerascompact.text.Vocabulary or Buckets of the model, or its tokenizer"
        checks.fail("text", expected, text)
    if vocabulary is not None and vocabulary.sha256 != text.sha256:
        checks.fail("vocabulary", "the same as `text`, or None", vocabulary)
    return text
