"""TensorFlow function of a frozen model, and its conversion to TFLite."""

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError

from kerascompact.core import checks
from kerascompact.core.keras_graph import (
    build_shapes,
    distinct,
    graph_inputs,
    is_graph,
    required_arguments,
)
from kerascompact.export import traced_operators
from kerascompact.export.embedding_forms import outermost
from kerascompact.export.recipe import KERNELS
from kerascompact.export.silence import quiet
from kerascompact.export.text_in import INPUT, SPANS, TextIn
from kerascompact.forms.base import Form
from kerascompact.tflite import flatbuffer

_SETS = tf.lite.OpsSet
OPS = dict.fromkeys(KERNELS, _SETS.TFLITE_BUILTINS) | {
    "full_int8": _SETS.TFLITE_BUILTINS_INT8,
    "int16x8": _SETS.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8,
}


class Serve(tf.Module):
    """TensorFlow function with named inputs and outputs that runs a model, from text if wanted.

    Args:
        model: Frozen model.
        forms: All embeddings of the model.
        specs: Names, shapes and types of the model's inputs.
        text_in: Layer that turns a text into these inputs, or `None`.
        name: Name of the function, unique in the file.
    """

    def __init__(
        self,
        model: Any,
        forms: list[Form],
        specs: dict[str, tf.TensorSpec],
        text_in: TextIn | None = None,
        name: str = "serve",
    ) -> None:
        super().__init__()
        parts = (model, *forms) if text_in is None else (model, *forms, text_in.layer)
        # Only the variables: if the Keras model were an attribute, the converter would treat them
        # as state that may change, and write VAR_HANDLE and READ_VARIABLE into the file.
        self.constants = [v.value for part in parts for v in part.variables]
        names = list(specs)

        def run(inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
            outputs = called(model, {name: inputs[name] for name in names})
            if isinstance(outputs, dict) and not any(map(keras.tree.is_nested, outputs.values())):
                return outputs
            outputs = keras.tree.flatten(outputs)
            return dict(zip(names_of_outputs(model, len(outputs)), outputs, strict=True))

        def serve(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
            if text_in is None:
                return run(inputs)
            words, ids = text_in.read(inputs[INPUT])
            outputs = run(ids)
            return outputs | text_in.spans(words, outputs)

        given = specs if text_in is None else text_in.specs
        serve.__name__ = name
        self.function = tf.function(serve, autograph=False).get_concrete_function(**given)
        outputs = self.function.structured_outputs.items()
        self.output_shapes = [output.shape for name, output in outputs if name != SPANS]


def names_of_outputs(model: Any, count: int) -> list[str]:
    """The names in the file of a model's outputs that are no dictionary, flat and in order."""
    known = getattr(model, "output_names", None) or []
    return distinct(known) if len(known) == count else [f"output_{i}" for i in range(count)]


class _Several(tf.Module):
    """Several models that become one file."""

    def __init__(self, modules: list[Serve]) -> None:
        super().__init__()
        self.modules = modules


def to_tflite(signatures: dict[str, Any], kernels: str = "float32") -> bytes:
    """Runs TensorFlow's converter, which may use only built-in operators.

    Args:
        signatures: A `Signature` for each name.
        kernels: Type of the kernels as in `Recipe`; "float32" for those that passes over the file
            store as integers.

    Returns: The bytes of the file.

    Raises: ValueError, if the model needs other operators, naming them and their layers.
    """
    modules = [one.module for one in signatures.values()]
    module = modules[0] if len(modules) == 1 else _Several(modules)
    functions = [one.function for one in modules]
    converter = tf.lite.TFLiteConverter.from_concrete_functions(functions, module)
    converter.target_spec.supported_ops = [OPS[kernels]]
    converter.exclude_conversion_metadata = True
    if any(one.runs for one in signatures.values()):
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: _runs(list(signatures.values()))
    elif any(map(has_trained_ranges, functions)):
        converter.optimizations = [tf.lite.Optimize.DEFAULT]  # use the integers of training
    try:
        with quiet(native=True), warnings.catch_warnings():
            # The converter runs the model on TensorFlow's interpreter, which warns of its age.
            warnings.filterwarnings("ignore", ".*tf.lite.Interpreter is deprecated")
            data = converter.convert()
    except (ConverterError, RuntimeError) as error:
        raise ValueError(
            "`model` must convert to built-in TFLite operators. "
            f"Received: {_reason(str(error), functions)}"
        ) from error
    return data if [*signatures] == ["serving_default"] else _renamed(data, signatures)


def _reason(message: str, functions: list[Any]) -> str:
    """The operators that the converter does not know, with their layers, or its first message."""
    unknown = set(re.findall(r"'tf\.(\w+)' op (?:is neither|requires element_shape)", message))
    found = [traced_operators.found(function, unknown.__contains__) for function in functions]
    lines = [line for line in message.splitlines() if line.strip()]
    reason = ", ".join(filter(None, found))
    advice = "".join(traced_operators.advice(function, unknown) for function in functions[:1])
    return f"{reason or f'a model for which the converter says: {lines[0]}'}{advice}"


def _runs(signatures: list[Any]) -> Iterator[Any]:
    for one in signatures:
        for inputs in one.runs():
            yield inputs if len(signatures) == 1 else (one.module.function.graph.name, inputs)


def _renamed(data: bytes, signatures: dict[str, Any]) -> bytes:
    """Gives signatures the names that were asked for; TensorFlow's functions allow fewer names."""
    parsed = flatbuffer.parse(data)
    names = {one.module.function.graph.name: name for name, one in signatures.items()}
    for signature in parsed.signatureDefs:
        name = signature.signatureKey.decode()
        signature.signatureKey = names.get(name, next(iter(signatures))).encode()
    return flatbuffer.pack(parsed)


def has_trained_ranges(function: Any) -> bool:
    """Whether a function rounds to ranges that quantization-aware training found."""
    graph = function.graph.as_graph_def()
    nodes = [*graph.node, *(node for inner in graph.library.function for node in inner.node_def)]
    return any(node.op.startswith("FakeQuantWithMinMax") for node in nodes)


def input_specs(
    model: Any,
    sequence_length: int | None,
    inputs: dict[str, Any] | None = None,
    batch_size: int | None = 1,
) -> dict[str, tf.TensorSpec]:
    """Finds names, shapes and types of the file's inputs.

    Args:
        model: Frozen model.
        sequence_length: Size of dimensions that the model leaves open; `None` leaves them open.
        inputs: Inputs of a subclassed model, as `convert` takes them.
        batch_size: Examples per run; `None` for any number.

    Raises: ValueError, if the arguments do not fit the model.
    """
    if sequence_length is not None:
        checks.integer_in("sequence_length", sequence_length, 1)
    if is_graph(model):
        if inputs is not None:
            checks.fail(
                "inputs", "None for a functional or Sequential model: it has its own", inputs
            )
        inputs = {tensor.name: tensor for tensor in keras.tree.flatten(graph_inputs(model))}
    elif inputs is None:
        shape = next(iter(build_shapes(model).values()))
        if len(required_arguments(model)) > 1 or not _is_shape(shape):
            expected = "a keras.Input for each name, for a subclassed model of several inputs"
            checks.fail("inputs", expected, inputs)
        inputs = _inferred(model, shape)
    if not isinstance(inputs, dict) or not inputs or not all(isinstance(k, str) for k in inputs):
        checks.fail("inputs", "a dictionary of names and keras.Input or arrays", inputs)
    specs = {}
    for name, tensor in inputs.items():
        if not isinstance(tensor, keras.KerasTensor):
            tensor = np.asarray(tensor)
            # int64 is only NumPy's default type of integers
            tensor = tensor.astype("int32") if tensor.dtype == "int64" else tensor
        shape = [batch_size, *(sequence_length if n is None else n for n in tensor.shape[1:])]
        dtype = tf.as_dtype(keras.backend.standardize_dtype(tensor.dtype))
        specs[name] = tf.TensorSpec(shape, dtype, name=name)
    return specs


def input_structure(model: Any) -> Any:
    """Names of the inputs, nested as the model takes them; `None` for a subclassed model."""
    if not is_graph(model):
        return None
    return keras.tree.map_structure(lambda tensor: tensor.name, graph_inputs(model))


def _inferred(model: Any, shape: Sequence[int | None]) -> dict[str, Any]:
    """Finds the input of a subclassed model with one input.

    Args:
        model: Frozen model.
        shape: Shape that the model was called on or built for.

    Raises: ValueError, if it has an embedding and its input is not `(batch, length)`.
    """
    if not any(True for _ in outermost(model)):
        name = next(iter(required_arguments(model)), "inputs")
        return {name: keras.Input(shape[1:], dtype=model.input_dtype)}
    if len(shape) != 2:
        expected = "a keras.Input for its name, for a subclassed model of ids that are not (batch, "
        checks.fail("inputs", f"{expected}length)", None)
    return {"ids": keras.Input((None,), dtype="int32")}


def called(model: Any, given: dict[str, tf.Tensor]) -> Any:
    """Calls a model on named inputs, in the structure that it takes them."""
    flat = list(given.values())
    if is_graph(model):
        return model(keras.tree.pack_sequence_as(graph_inputs(model), flat), training=False)
    names = required_arguments(model)
    if len(names) > 1:
        if set(names) != set(given):
            checks.fail("inputs", f"a dictionary with the keys {names}", [*given])
        return model(*(given[name] for name in names), training=False)
    shape = next(iter(build_shapes(model).values()))
    if isinstance(shape, dict):
        return model(given, training=False)
    return model(flat[0] if _is_shape(shape) else flat, training=False)


def _is_shape(shape: Any) -> bool:
    return not isinstance(shape, dict) and all(n is None or isinstance(n, int) for n in shape)
