"""Pass that makes a leaky ReLU of slope 1 what it is in a file of integers: a change of scales."""

from typing import Any

from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import OP, TYPE, become, kind


def use_quantize(model: Any) -> None:
    """Rewrites each int8 `LEAKY_RELU` of slope 1 as `QUANTIZE`, from int8 to int8.

    Both compute `round((q - zero) scale / scale') + zero'`. The exporter writes the former, since
    the converter would fold the latter into what is beside it.

    Args:
        model: Parsed model, changed in place.
    """
    for graph in model.subgraphs:
        for operator in graph.operators:
            if kind(model, operator) != OP.LEAKY_RELU or operator.builtinOptions.alpha != 1.0:
                continue
            (source,), (output,) = operator.inputs, operator.outputs
            if graph.tensors[source].type == graph.tensors[output].type == TYPE.INT8:
                options = schema.BuiltinOptions.QuantizeOptions
                become(model, operator, OP.QUANTIZE, 2, options, schema.QuantizeOptionsT())
