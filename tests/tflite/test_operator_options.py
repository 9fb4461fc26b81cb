"""Settings that end the process, each broken by hand."""

import numpy as np
import pytest

from kerascompact.tflite.layout import schema
from kerascompact.tflite.operator_options import COUNTED, NEEDED, check_options
from kerascompact.tflite.operators import OPERATORS


def operator(kind, inputs=(0,), outputs=(1,), **fields):
    found = schema.OperatorT()
    found.inputs, found.outputs = np.array(inputs), np.array(outputs)
    found.builtinOptions = getattr(schema, kind)()
    for name, value in fields.items():
        assert hasattr(found.builtinOptions, name)
        setattr(found.builtinOptions, name, value)
    return found


@pytest.mark.parametrize(
    ("name", "kind", "fields"),
    [
        ("SPLIT", "SplitOptionsT", dict(numSplits=68)),
        ("SPLIT", "SplitOptionsT", dict(numSplits=0)),
        ("SPLIT_V", "SplitVOptionsT", dict(numSplits=2)),
        ("PACK", "PackOptionsT", dict(valuesCount=3)),
        ("UNPACK", "UnpackOptionsT", dict(num=-1)),
        ("CONV_2D", "Conv2DOptionsT", dict(strideW=0, strideH=1)),
        ("CONV_2D", "Conv2DOptionsT", dict(strideW=1, strideH=1, dilationWFactor=0)),
        ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptionsT", dict(strideW=1, strideH=-1)),
        ("MAX_POOL_2D", "Pool2DOptionsT", dict(strideW=1, strideH=1, filterWidth=0)),
        ("DEPTH_TO_SPACE", "DepthToSpaceOptionsT", dict(blockSize=0)),
    ],
)
def test_refuses(name, kind, fields):
    with pytest.raises(ValueError, match=f"{name} with .*="):
        check_options(name, operator(kind, **fields))


@pytest.mark.parametrize("name", NEEDED)
def test_refuses_settings_of_another_operator(name):
    with pytest.raises(ValueError, match=f"{name} without its options"):
        check_options(name, operator("AddOptionsT"))
    with pytest.raises(ValueError, match=f"{name} without its options"):
        check_options(name, schema.OperatorT())


def test_takes_what_fits():
    check_options("SPLIT", operator("SplitOptionsT", outputs=[1, 2, 3], numSplits=3))
    check_options("PACK", operator("PackOptionsT", inputs=[1, 2], valuesCount=2))
    fields = dict(strideW=1, strideH=2, dilationWFactor=1, dilationHFactor=1)
    check_options("CONV_2D", operator("Conv2DOptionsT", **fields))
    check_options("ADD", schema.OperatorT())


def test_names_are_those_of_the_schema():
    assert set(NEEDED) <= set(OPERATORS.values()) and set(COUNTED) <= set(NEEDED)
    assert all(hasattr(schema, kind) for kind in NEEDED.values())
