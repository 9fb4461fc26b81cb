"""What a runtime fills in itself, left out of a file that has no byte for other tools."""

from typing import Any

# Operators that a runtime gives options of zeros if the file has none; others want theirs.
_ZEROS = (
    "AddOptions", "BatchMatMulOptions", "CastOptions", "ConcatenationOptions", "CumsumOptions",
    "DivOptions", "EqualOptions", "ExpandDimsOptions", "FullyConnectedOptions", "GatherOptions",
    "GreaterEqualOptions", "GreaterOptions", "LessEqualOptions", "LessOptions",
    "LogicalAndOptions", "LogicalOrOptions", "MaximumMinimumOptions", "MulOptions",
    "NotEqualOptions", "PadOptions", "ReducerOptions", "ReshapeOptions", "SelectV2Options",
    "SliceOptions", "SubOptions", "TransposeOptions",
)  # fmt: skip
_LARGEST_OLD = 127  # operators from here on have no code of one byte
_TRUE = ("potScaleInt16",)  # read for tensors of 16 bits alone


def leave_out(model: Any) -> None:
    """Drops options of zeros, and the second code of each operator.

    Shapes of inner tensors stay: XNNPACK reads them before the runtime has computed its own.

    Args:
        model: `ModelT` of the schema after `flatbuffer.slim`, changed in place.

    >>> from kerascompact.tflite import flatbuffer
    >>> from kerascompact.layers import ClusterEmbedding
    >>> layers = [keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)]
    >>> data = kerascompact.export.convert(keras.Sequential(layers))
    >>> model = flatbuffer.parse(data)
    >>> leave_out(model)
    >>> len(flatbuffer.pack(model)) < len(data)
    True
    """
    for graph in model.subgraphs:
        for operator in graph.operators:
            options = operator.builtinOptions
            if type(options).__name__.removesuffix("T") in _ZEROS and _is_zeros(options):
                operator.builtinOptionsType, operator.builtinOptions = 0, None
    for code in model.operatorCodes:
        if code.builtinCode < _LARGEST_OLD and code.builtinCode == code.deprecatedBuiltinCode:
            code.builtinCode = 0  # a runtime takes the larger of both


def _is_zeros(options: Any) -> bool:
    fields = vars(options).items()
    return all(not value or name in _TRUE for name, value in fields if value is not None)
