"""Every text model of keras-hub in a file, beside Keras' own export: bytes, operators, answers.

Models are small and have random weights, since none can be downloaded, all of them different, as
those of a trained model: gains, shifts and biases as well. Keras exports with open lengths, its
default, and again with fixed ones, `input_signature`. keras-hub's own test of an export runs on our
files.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
from tensorflow.lite.python.convert_phase import ConverterError

from benchmarks.data import keras_hub_models as hub
from benchmarks.lib import runner
from benchmarks.lib.hub_export_test import run_their_test
from kerascompact import export
from kerascompact.compress import ScalarQuantization, compress_model
from kerascompact.export.silence import quiet
from kerascompact.runtime.interpreter import bare
from kerascompact.tflite import flatbuffer

EXAMPLES = 3


class Spec(NamedTuple):
    """What decides a row: the class of the model."""

    model: str
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    makers = hub.models()

    def run(spec: Spec) -> dict[str, Any]:
        keras.utils.clear_session()
        model = hub.as_if_trained(makers[spec.model](), spec.seed)
        exports = {"keras_open": by_keras(model), "keras_fixed": by_keras(model, hub.LENGTH)}
        return {**exports, **by_us(model), "passes": passes_their_test(model)}

    specs = [Spec(model, seed) for model in makers for seed in arguments.seeds or (0,)]
    return runner.run_all(name, specs, run, table)


def passes_their_test(model: keras.Model) -> bool:
    """Whether keras-hub's own test of an export passes on our file."""
    try:
        run_their_test(model, hub.inputs_of(model), hub.LENGTH)
    except AssertionError:
        return False
    return True


def by_us(model: keras.Model) -> dict[str, Any]:
    """Files as trained, in int8, and with tables that `compress_model` compressed to 4 bits."""
    inputs = hub.inputs_of(model, EXAMPLES)
    frozen = export.freeze(model, "float32")
    file = frozen.convert(sequence_length=hub.LENGTH)
    report = frozen.verify(inputs, file=file)
    small = export.freeze(compress_model(model, ScalarQuantization(4)), "int8")
    small_file = small.convert(sequence_length=hub.LENGTH)
    return {
        "bytes": len(file),
        "operators": len(flatbuffer.operator_names(flatbuffer.parse(file))),
        "difference": report.trained_file.largest,
        "int8_bytes": len(export.convert(model, "int8", sequence_length=hub.LENGTH)),
        "compressed_bytes": len(small_file),
        "compressed_difference": small.verify(inputs, file=small_file).frozen_file.largest,
    }


def by_keras(model: keras.Model, length: int | None = None) -> dict[str, Any]:
    """The file of `model.export`, with inputs of a fixed length if one is given."""
    signature = None
    if length is not None:
        shapes = {x.name: [length if n is None else n for n in x.shape[1:]] for x in model.inputs}
        signature = [
            {
                name: keras.InputSpec(x.dtype, (1, *shapes[x.name]), name=x.name)
                for name, x in model.input.items()
            }
        ]
    with tempfile.TemporaryDirectory() as folder, quiet(native=True):
        path = Path(folder) / "model.tflite"
        try:
            model.export(str(path), format="litert", verbose=False, input_signature=signature)
        except (ConverterError, RuntimeError, ValueError, TypeError, AttributeError) as error:
            return {"bytes": None, "error": str(error).splitlines()[0][:200]}
        data = path.read_bytes()
    names = flatbuffer.operator_names(flatbuffer.parse(data))
    flex = sorted(name.removeprefix("CUSTOM:") for name in names if name.startswith("CUSTOM:"))
    row: dict[str, Any] = {"bytes": len(data), "custom": flex}
    inputs = hub.inputs_of(model)
    expected = keras.tree.flatten(model(inputs, training=False))
    try:
        return {**row, "difference": _difference(data, inputs, expected)}
    except (RuntimeError, ValueError) as error:
        return {**row, "error": str(error).splitlines()[0][:200]}


def _difference(data: bytes, inputs: dict[str, np.ndarray], expected: list[Any]) -> float:
    """Largest difference of a file's outputs, in any order, from Keras'."""
    runtime = bare(data)
    for one in runtime.get_input_details():
        (name,) = [name for name in inputs if name in one["name"]]
        runtime.resize_tensor_input(one["index"], inputs[name].shape)
    runtime.allocate_tensors()
    for one in runtime.get_input_details():
        (name,) = [name for name in inputs if name in one["name"]]
        runtime.set_tensor(one["index"], inputs[name].astype(one["dtype"]))
    runtime.invoke()
    found = [runtime.get_tensor(one["index"]) for one in runtime.get_output_details()]
    largest = 0.0
    for want in map(np.asarray, expected):
        alike = [np.abs(got - want).max() for got in found if got.shape == want.shape]
        largest = max(largest, float(min(alike)))
    return largest


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each model."""
    heads = ["model", "Keras B", "its custom operators", "runs", "with fixed lengths B", "runs"]
    heads += ["ours B", "difference", "their test", "int8 B", "tables of 4 bits B", "difference"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        cells = [row["spec"]["model"]]
        opened, fixed = row["keras_open"], row["keras_fixed"]
        cells += [_bytes(opened), ", ".join(sorted({*opened.get("custom", [])})) or "none"]
        cells += [_runs(opened), _bytes(fixed), _runs(fixed)]
        cells += [f"{row['bytes']:,}", f"{row['difference']:.1e}"]
        cells += ["passes" if row["passes"] else "fails", f"{row['int8_bytes']:,}"]
        cells += [f"{row['compressed_bytes']:,}", f"{row['compressed_difference']:.1e}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _bytes(row: dict[str, Any]) -> str:
    return "none" if row["bytes"] is None else f"{row['bytes']:,}"


def _runs(row: dict[str, Any]) -> str:
    return "no" if row.get("difference") is None else "yes"
