"""Files that crash a runtime while it loads them, as published; we refuse them first."""

import struct
import subprocess
import sys

import numpy as np
import pytest

from kerascompact import tools
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.layout import schema
from kerascompact.tools.doctor import diagnose

LITERT = """
import sys
from ai_edge_litert.interpreter import Interpreter
Interpreter(model_path=sys.argv[1]).allocate_tensors()
"""
# As the C++ function `BuildFromBuffer`: LiteRT's Python checks the offsets of the file first.
ANALYZER = """
import sys
import tensorflow as tf
tf.lite.experimental.Analyzer.analyze(model_content=open(sys.argv[1], "rb").read())
"""


def reshape_of(stored, entries=4):
    """A RESHAPE of a constant of more bytes than its shape says, all of which it copies.

    Reference: https://github.com/tensorflow/tensorflow/issues/124982
    """
    model, graph, operator = schema.ModelT(), schema.SubGraphT(), schema.OperatorT()
    code, shape = schema.OperatorCodeT(), np.array([entries], np.int32)
    contents = (None, np.full(stored, 65, np.uint8), shape.view(np.uint8))
    types = (schema.TensorType.INT8, schema.TensorType.INT8, schema.TensorType.INT32)
    model.version, model.buffers, graph.tensors = 3, [], []
    for number, (data, type_) in enumerate(zip(contents, types, strict=True)):
        buffer, tensor = schema.BufferT(), schema.TensorT()
        buffer.data, tensor.buffer, tensor.type = data, number, type_
        tensor.shape = np.array([1], np.int32) if number == 2 else shape
        model.buffers.append(buffer)
        graph.tensors.append(tensor)
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.RESHAPE
    code.version, model.operatorCodes = 1, [code]
    operator.inputs, operator.outputs = np.array([1, 2], np.int32), np.array([0], np.int32)
    graph.operators, graph.inputs, graph.outputs = [operator], [], operator.outputs
    model.subgraphs = [graph]
    return flatbuffer.pack(model)


def root_outside():
    """Eight bytes, whose first offset leads past the last.

    Reference: https://github.com/tensorflow/tensorflow/issues/115308
    """
    return struct.pack("<I", 24) + b"TFL3"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (reshape_of(22), "a tensor has 22 of 4 bytes"),
        (reshape_of(4_000_000), "a tensor has 4000000 of 4 bytes"),
        (root_outside(), "byte 24 lies outside"),
    ],
    ids=["124982", "124982 in full", "115308"],
)
def test_refuses(data, message):
    message = rf"must be a complete TFLite model\. Received: {len(data)} bytes .*\({message}\)"
    for reads in (flatbuffer.load, tools.inspect, diagnose, Interpreter):
        with pytest.raises(ValueError, match=message):
            reads(data)


def test_takes_the_same_reshape_of_as_many_bytes_as_the_shape_says():
    flatbuffer.load(reshape_of(4))


@pytest.mark.parametrize(
    ("script", "data"),
    [
        pytest.param(LITERT, reshape_of(4_000_000), id="124982"),
        pytest.param(ANALYZER, root_outside(), id="115308", marks=pytest.mark.slow),
    ],
)
def test_a_runtime_crashes(script, data, tmp_path):
    """Why these checks are there; a release without the fault says so here."""
    path = tmp_path / "crash.tflite"
    path.write_bytes(data)
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True)
    if done.returncode >= 0:
        pytest.skip(f"this release does not crash: {done.stderr[-200:]!r}")
    assert done.returncode in (-11, -6)  # SIGSEGV, SIGABRT


def test_flatbuffers_own_verifier_sees_each_file_that_is_loaded(tmp_path):
    """LiteRT's interpreter runs it before all else, and so `convert` runs it on each file."""
    from ai_edge_litert.interpreter import Interpreter as Runtime

    good = reshape_of(4)
    Runtime(model_content=good)
    with pytest.raises(ValueError, match="The model is not a valid Flatbuffer buffer"):
        Runtime(model_content=root_outside())
    names = good.replace(struct.pack("<i", 4) + b"\4\0\0\0", struct.pack("<i", 4) + b"\xff" * 4)
    assert names != good  # a vector that ends outside
    with pytest.raises(ValueError, match="The model is not a valid Flatbuffer buffer"):
        Runtime(model_content=names)
