"""Pass that makes a leaky ReLU of slope 1 what it is in a file of integers: a change of scales."""

from typing import Any

import numpy as np

from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import OP, TYPE, become, kind


def use_quantize(model: Any) -> None:
    """Rewrites each int8 `LEAKY_RELU` of slope 1 as `QUANTIZE`, or drops it between equal scales.

    Both compute `round((q - zero) scale / scale') + zero'`. The exporter writes the former, since
    the converter would fold the latter into what is beside it.

    Args:
        model: Parsed model, changed in place.
    """
    for graph in model.subgraphs:
        same: dict[int, int] = {}  # by what an operator that is dropped writes
        kept = []
        for operator in graph.operators:
            inputs = [same.get(int(n), int(n)) for n in operator.inputs]
            operator.inputs = np.array(inputs, np.int32)
            kept.append(operator)
            if kind(model, operator) != OP.LEAKY_RELU or operator.builtinOptions.alpha != 1.0:
                continue
            (source,), (output,) = operator.inputs, map(int, operator.outputs)
            own, wanted = graph.tensors[source], graph.tensors[output]
            if own.type != TYPE.INT8 or wanted.type != TYPE.INT8:
                continue
            if _affine(own) == _affine(wanted) and output not in graph.outputs:
                same[output] = source
                kept.pop()
            else:
                options = schema.BuiltinOptions.QuantizeOptions
                become(model, operator, OP.QUANTIZE, 2, options, schema.QuantizeOptionsT())
        graph.operators = kept


def _affine(tensor: Any) -> tuple[list[float], list[int]]:
    return list(tensor.quantization.scale), list(tensor.quantization.zeroPoint)
