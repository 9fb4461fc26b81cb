"""Types that the runtime would read as others, and windows past the end."""

import numpy as np
import pytest

from kerascompact.tflite.layout import TYPE_NAMES, schema
from kerascompact.tflite.operator_types import ALLOWED, MULTIPLY, SAME, WEIGHTS, check_types
from kerascompact.tflite.operators import OPERATORS

TYPE = schema.TensorType


def tensor(kind, shape=(1, 3), signature=None):
    found = schema.TensorT()
    found.type, found.shape, found.shapeSignature = getattr(TYPE, kind), np.array(shape), signature
    return found


def operator(inputs, outputs, options=None):
    found = schema.OperatorT()
    found.inputs, found.outputs, found.builtinOptions = inputs, outputs, options
    return found


@pytest.mark.parametrize(
    ("name", "given", "got", "message"),
    [
        ("RESHAPE", ["FLOAT32"], ["INT32"], "RESHAPE of FLOAT32 with an output of INT32"),
        ("SPLIT", ["INT32", "FLOAT32"], ["INT32"] * 2, "SPLIT of FLOAT32 with an output of INT32"),
        ("SOFTMAX", ["FLOAT32"], ["INT8"], "SOFTMAX of FLOAT32 with an output of INT8"),
        ("SOFTMAX", ["FLOAT32"], ["STRING"], "SOFTMAX of STRING"),
        ("ADD", ["RESOURCE", "RESOURCE"], ["RESOURCE"], "ADD of RESOURCE"),
        ("CONV_2D", ["FLOAT32", "INT32"], ["FLOAT32"], "of FLOAT32 with weights of INT32"),
        ("CONV_2D", ["INT8", "FLOAT32"], ["INT8"], "of INT8 with weights of FLOAT32"),
        ("CONV_2D", ["UINT8", "INT8"], ["UINT8"], "of UINT8 with weights of INT8"),
        ("CONV_2D", ["FLOAT32", "INT8"], ["INT8"], "of FLOAT32 with an output of INT8"),
        ("FULLY_CONNECTED", ["INT32", "INT8"], ["INT32"], "of INT32 with weights of INT8"),
    ],
)
def test_refuses(name, given, got, message):
    tensors = [tensor(kind) for kind in (*given, *got)]
    numbers = range(len(tensors))
    ports = [*numbers[: len(given)]], [*numbers[len(given) :]]
    with pytest.raises(ValueError, match=message):
        check_types(name, operator(*ports), tensors)


@pytest.mark.parametrize(
    ("name", "given", "got"),
    [
        ("SOFTMAX", ["INT8"], ["INT16"]),
        ("GATHER", ["STRING", "INT32"], ["STRING"]),
        ("SPLIT", ["INT32", "FLOAT32"], ["FLOAT32"] * 2),
        ("FULLY_CONNECTED", ["FLOAT32", "INT4"], ["FLOAT32"]),
        ("EMBEDDING_LOOKUP", ["INT32", "INT8"], ["FLOAT32"]),
        ("CAST", ["FLOAT32"], ["INT32"]),
        ("READ_VARIABLE", ["RESOURCE"], ["FLOAT32"]),
    ],
)
def test_takes(name, given, got):
    tensors = [tensor(kind) for kind in (*given, *got)]
    numbers = range(len(tensors))
    check_types(name, operator([*numbers[: len(given)]], [*numbers[len(given) :]]), tensors)


def window(padding, stride, size=8, reach=3, dilation=1, output=None, signature=None):
    """A convolution of `size` by `size`; the output is that of a loop over places."""
    options = schema.Conv2DOptionsT()
    options.padding, options.strideH, options.strideW = padding, stride, stride
    options.dilationHFactor = options.dilationWFactor = dilation
    if output is None:
        last = size - (reach - 1) * dilation if padding else size
        output = len(range(0, max(last, 0), stride))
    tensors = [
        tensor("FLOAT32", (1, size, size, 2), signature),
        tensor("FLOAT32", (4, reach, reach, 2)),
        tensor("FLOAT32", (1, output, output, 4)),
    ]
    check_types("CONV_2D", operator([0, 1], [2], options), tensors)


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("stride", [1, 2, 3, 100])
@pytest.mark.parametrize("reach", [1, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2])
def test_windows_that_fit(padding, stride, reach, dilation):
    window(padding, stride, reach=reach, dilation=dilation)


@pytest.mark.parametrize(
    "broken",
    [
        dict(padding=1, stride=1, reach=9),
        dict(padding=1, stride=1, reach=4, dilation=4),
        dict(padding=0, stride=2, output=8),
        dict(padding=1, stride=100, output=3),
    ],
)
def test_windows_that_do_not(broken):
    with pytest.raises(ValueError, match="CONV_2D of 8 by windows of"):
        window(**broken)
    window(**broken, signature=np.array([1, -1, -1, 2]))  # whose size is not known here


def test_names_are_those_of_the_schema():
    names = {*SAME, *MULTIPLY, *(name for listed in ALLOWED.values() for name in listed)}
    assert names <= set(OPERATORS.values()), names - set(OPERATORS.values())
    kinds = {*ALLOWED, *WEIGHTS, *(kind for listed in WEIGHTS.values() for kind in listed)}
    assert kinds <= set(TYPE_NAMES.values()), kinds - set(TYPE_NAMES.values())
