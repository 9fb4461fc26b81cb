"""TensorFlow function of a frozen model, and its conversion to TFLite."""

import contextlib
import keyword
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError

from kerascompact.core.keras_graph import called, named_outputs
from kerascompact.export import traced_operators
from kerascompact.export.activation_ranges import true_ranges
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

    Its `arguments` are the names of the function's inputs, by the names that the file gives them.

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
        given = specs if text_in is None else text_in.specs
        self.arguments = arguments = _arguments(given)

        def serve(**passed: tf.Tensor) -> dict[str, tf.Tensor]:
            inputs = {name: passed[argument] for name, argument in arguments.items()}
            if text_in is None:
                return named_outputs(model, called(model, inputs))
            words, ids = text_in.read(inputs[INPUT])
            outputs = named_outputs(model, called(model, {name: ids[name] for name in specs}))
            return outputs | text_in.spans(words, outputs)

        serve.__name__ = name
        self.function = tf.function(serve, autograph=False).get_concrete_function(
            **{
                argument: tf.TensorSpec(given[name].shape, given[name].dtype, name=argument)
                for name, argument in arguments.items()
            }
        )
        # A graph may read a variable of a layer that is not in it, such as a table as its head.
        known = {id(constant) for constant in self.constants}
        self.constants = [
            *self.constants, *(v for v in self.function.variables if id(v) not in known)
        ]  # fmt: skip
        outputs = self.function.structured_outputs.items()
        self.output_shapes = [output.shape for name, output in outputs if name != SPANS]


def _arguments(names: Iterable[str]) -> dict[str, str]:
    """An argument of a TensorFlow function for each name: the names, or numbers if it lacks one."""
    names = list(names)
    # names of tensors may not differ in case only
    counts = Counter(map(str.lower, [*names, *keyword.kwlist, "self"]))
    if all(re.fullmatch(r"[A-Za-z]\w*", n, re.ASCII) and counts[n.lower()] == 1 for n in names):
        return dict(zip(names, names, strict=True))
    return {name: f"input_{number}" for number, name in enumerate(names)}


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
    ranges: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if any(one.runs for one in signatures.values()):
        ranges = true_ranges()
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: _runs(list(signatures.values()))
    elif any(map(has_trained_ranges, functions)):
        converter.optimizations = [tf.lite.Optimize.DEFAULT]  # use the integers of training
    try:
        with quiet(native=True), ranges, warnings.catch_warnings():
            # The converter runs the model on TensorFlow's interpreter, which warns of its age.
            warnings.filterwarnings("ignore", ".*tf.lite.Interpreter is deprecated")
            data = converter.convert()
    except (ConverterError, RuntimeError) as error:
        raise ValueError(
            "`model` must convert to built-in TFLite operators. "
            f"Received: {_reason(str(error), functions)}"
        ) from error
    return _renamed(data, signatures)


def _reason(message: str, functions: list[Any]) -> str:
    """The operators that the converter does not know, with their layers, or its first message."""
    unknown = set(re.findall(r"'tf\.(\w+)' op (?:is neither|requires element_shape)", message))
    found = [traced_operators.found(function, unknown.__contains__) for function in functions]
    lines = [line for line in message.splitlines() if line.strip()]
    reason = ", ".join(filter(None, found))
    if "Max and min for dynamic tensors should be recorded" in message:  # in int16x8 alone
        return (
            "a model with a comparison of ids, such as `mask_zero=True`, for which the converter "
            "finds no int16; take 'full_int8'"
        )
    advice = "".join(traced_operators.advice(function, unknown) for function in functions[:1])
    return f"{reason or f'a model for which the converter says: {lines[0]}'}{advice}"


def _runs(signatures: list[Any]) -> Iterator[Any]:
    for one in signatures:
        for run in one.runs():
            inputs = {one.module.arguments[name]: value for name, value in run.items()}
            yield inputs if len(signatures) == 1 else (one.module.function.graph.name, inputs)


def _renamed(data: bytes, signatures: dict[str, Any]) -> bytes:
    """Gives signatures and inputs their names; TensorFlow's functions allow fewer names."""
    inputs = [item for one in signatures.values() for item in one.module.arguments.items()]
    if [*signatures] == ["serving_default"] and all(name == known for name, known in inputs):
        return data
    parsed = flatbuffer.parse(data)
    names = {one.module.function.graph.name: name for name, one in signatures.items()}
    for signature in parsed.signatureDefs:
        name = names.get(signature.signatureKey.decode(), next(iter(signatures)))
        signature.signatureKey = name.encode()
        known = {value: key for key, value in signatures[name].module.arguments.items()}
        for port in signature.inputs:
            port.name = known[port.name.decode()].encode()
    return flatbuffer.pack(parsed)


def has_trained_ranges(function: Any) -> bool:
    """Whether a function rounds to ranges that quantization-aware training found."""
    graph = function.graph.as_graph_def()
    nodes = [*graph.node, *(node for inner in graph.library.function for node in inner.node_def)]
    return any(node.op.startswith("FakeQuantWithMinMax") for node in nodes)
