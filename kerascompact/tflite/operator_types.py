"""Type and size rules of operators that the runtime itself does not check."""

from typing import Any

from kerascompact.tflite.layout import TYPE_NAMES


def _names(text: str) -> list[str]:
    return text.split()


# Operators that copy numbers or compute in one type: all outputs have the type of the input with
# this number. The runtime checks most of this, but not for all types.
SAME = dict.fromkeys(
    _names(
        "ABS ADD ADD_N AVERAGE_POOL_2D BATCH_TO_SPACE_ND BROADCAST_TO CEIL CONCATENATION COS "
        "CUMSUM DEPTH_TO_SPACE DIV DYNAMIC_UPDATE_SLICE ELU EXP EXPAND_DIMS FLOOR FLOOR_DIV "
        "FLOOR_MOD GATHER GATHER_ND GELU HARD_SWISH L2_NORMALIZATION L2_POOL_2D LEAKY_RELU LOG "
        "MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL NEG PACK PAD PADV2 POW PRELU REDUCE_ALL "
        "REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 RESHAPE "
        "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_SEQUENCE REVERSE_V2 RIGHT_SHIFT ROUND "
        "RSQRT SEGMENT_SUM SIN SLICE SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT_V SQRT SQUARE "
        "SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM TANH TILE TRANSPOSE UNPACK "
        "UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_SUM "
        "ZEROS_LIKE BITWISE_XOR"
    ),
    0,
) | {"FILL": 1, "SPLIT": 1, "SCATTER_ND": 1, "SELECT": 1, "SELECT_V2": 1}

# The operators that accept strings, and those that accept resource handles.
_STRINGS = _names(
    "GATHER GATHER_ND RESHAPE SLICE STRIDED_SLICE SPLIT SPLIT_V CONCATENATION PACK UNPACK TILE "
    "EXPAND_DIMS SQUEEZE FILL EQUAL NOT_EQUAL SELECT SELECT_V2 SHAPE RANK TRANSPOSE PADV2 "
    "HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_LOOKUP LSH_PROJECTION WHILE IF CUSTOM"
)
_HANDLES = _names(
    "VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT "
    "HASHTABLE_SIZE WHILE IF CUSTOM"
)
ALLOWED = {"STRING": _STRINGS, "RESOURCE": _HANDLES, "VARIANT": _HANDLES}

# Allowed types of weights, by the type of the input that they multiply.
_FLOAT = ("FLOAT32", "FLOAT16", "BFLOAT16", "INT8", "UINT8", "INT4", "INT2")
_INTEGER = ("INT8", "INT4", "INT2")
WEIGHTS = {
    "FLOAT32": _FLOAT,
    "FLOAT16": _FLOAT,
    "INT8": _INTEGER,
    "INT16": _INTEGER,
    "UINT8": ("UINT8",),
}
MULTIPLY = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 0, "CONV_3D": 0, "FULLY_CONNECTED": 0,
            "TRANSPOSE_CONV": 2}  # fmt: skip
_WINDOWS = {"CONV_2D": (1, 2), "DEPTHWISE_CONV_2D": (1, 2), "AVERAGE_POOL_2D": None,
            "MAX_POOL_2D": None, "L2_POOL_2D": None}  # fmt: skip


def check_types(name: str, operator: Any, tensors: Any) -> None:
    """Checks the types of an operator's inputs and outputs, and that its windows fit.

    Args:
        name: Name of the operator, such as "SOFTMAX".
        operator: `OperatorT` of the schema, with inputs and outputs in range.
        tensors: All tensors of the operator's graph.

    Raises: ValueError, naming what does not fit.

    >>> schema = kerascompact.tflite.layout.schema
    >>> operator, text, number = schema.OperatorT(), schema.TensorT(), schema.TensorT()
    >>> operator.inputs, operator.outputs, text.type = [0], [1], schema.TensorType.STRING
    >>> check_types("SOFTMAX", operator, [number, text])
    Traceback (most recent call last):
        ...
    ValueError: SOFTMAX of STRING
    """
    inputs = [] if operator.inputs is None else [int(index) for index in operator.inputs]
    outputs = [] if operator.outputs is None else [int(index) for index in operator.outputs]
    types = {index: TYPE_NAMES[tensors[index].type] for index in (*inputs, *outputs) if index >= 0}
    for kind in types.values():
        if name not in ALLOWED.get(kind, [name]):
            raise ValueError(f"{name} of {kind}")
    if name in SAME:
        given = types[inputs[SAME[name]]]
        for index in outputs:
            if types[index] != given:
                raise ValueError(f"{name} of {given} with an output of {types[index]}")
    if name == "SOFTMAX" or name in MULTIPLY:
        given, got = types[inputs[MULTIPLY.get(name, 0)]], types[outputs[0]]
        if given.startswith("FLOAT") != got.startswith("FLOAT"):
            raise ValueError(f"{name} of {given} with an output of {got}")
    if name in MULTIPLY:
        kind, weights = types[inputs[MULTIPLY[name]]], types[inputs[1]]
        if weights not in WEIGHTS.get(kind, ()):
            raise ValueError(f"{name} of {kind} with weights of {weights}")
    if name in _WINDOWS:
        _check_windows(name, operator, [tensors[index] for index in (*inputs[:2], outputs[0])])


def _check_windows(name: str, operator: Any, tensors: list[Any]) -> None:
    """Checks that the window of a convolution or pooling fits into the input.

    Without padding, a dimension of `n` gives `ceil((n - window + 1) / stride)` outputs; a window
    larger than the input would give a negative number.
    """
    options, given = operator.builtinOptions, tensors[0]
    shapes = [[] if tensor.shape is None else [int(n) for n in tensor.shape] for tensor in tensors]
    if len(shapes[0]) != 4 or (given.shapeSignature is not None and -1 in given.shapeSignature):
        return  # the runtime reports an input that is no image; an open size is not known here
    if _WINDOWS[name] is None:
        windows = (options.filterHeight, options.filterWidth)
        dilations = (1, 1)
    else:
        if len(shapes[1]) != 4:
            return
        windows = (shapes[1][1], shapes[1][2])
        dilations = (options.dilationHFactor, options.dilationWFactor)
    steps = (options.strideH, options.strideW)
    for axis, window, dilation, step in zip((1, 2), windows, dilations, steps, strict=True):
        size, reach = shapes[0][axis], (window - 1) * dilation + 1
        found = -(-size // step) if options.padding == 0 else (size - reach + step) // step
        output = shapes[-1][axis] if len(shapes[-1]) == 4 else found
        if found < 1 or output != found:
            raise ValueError(f"{name} of {size} by windows of {reach} every {step} to {output}")
