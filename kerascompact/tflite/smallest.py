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
    """Drops options of zeros, inner shapes of a single graph, and the second code of operators.

    A runtime computes the shape of what an operator writes, before it runs or while it does; only
    constants, states, and the inputs and outputs of the file keep theirs. Files with control flow
    keep all.

    Args:
        model: `ModelT` of the schema after `flatbuffer.slim`, changed in place.

    >>> from kerascompact.tflite import flatbuffer
    >>> from kerascompact.layers import ClusterEmbedding
    >>> layers = [keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)]
    >>> model = flatbuffer.parse(kerascompact.export.convert(keras.Sequential(layers)))
    >>> before = len(flatbuffer.pack(model))
    >>> leave_out(model)
    >>> len(flatbuffer.pack(model)) < before
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
    if len(model.subgraphs) == 1:
        _drop_shapes(model, model.subgraphs[0])


def _is_zeros(options: Any) -> bool:
    fields = vars(options).items()
    return all(not value or name in _TRUE for name, value in fields if value is not None)


def _drop_shapes(model: Any, graph: Any) -> None:
    kept = {int(index) for index in (*graph.inputs, *graph.outputs)}
    for index, tensor in enumerate(graph.tensors):
        own = model.buffers[tensor.buffer].data
        if index not in kept and not tensor.isVariable and (own is None or not len(own)):
            tensor.shape = tensor.shapeSignature = None
