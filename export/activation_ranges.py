"""Ranges of activations as calibration should find them, for the integers of a file."""

import contextlib
from collections import Counter
from typing import Any

import numpy as np
from tensorflow.lite.python.optimize import calibrator

from kerascompact.core.keras_graph import replaced
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import OP, TYPE, become, dims_of, kind, new_tensor
from kerascompact.tflite.passes.own_constants import give_own_constants

READER = b"read at the end"  # name of what such an operator writes
# Operators of several inputs that must all have the scale of the output.
JOINS = {OP.CONCATENATION, OP.PACK, OP.MAXIMUM, OP.MINIMUM, OP.SELECT, OP.SELECT_V2}
# Operators that write at any scale; what others write has that of their input, or a fixed one.
ANY_SCALE = {
    OP.ADD, OP.SUB, OP.MUL, OP.SUM, OP.MEAN, OP.SQUARED_DIFFERENCE, OP.FULLY_CONNECTED,
    OP.BATCH_MATMUL, OP.CONV_2D, OP.DEPTHWISE_CONV_2D, OP.TRANSPOSE_CONV, OP.EXP, OP.LOG, OP.SQRT,
    OP.RSQRT, OP.ABS, OP.ELU, OP.GELU, OP.LEAKY_RELU, OP.PRELU, OP.HARD_SWISH,
}  # fmt: skip


def true_ranges() -> contextlib.AbstractContextManager[None]:
    """Context in which TensorFlow's converter finds the range of every activation.

    Its calibration logs an operator's inputs before and after the operator runs. The runtime lets a
    sum, a product or a softmax write over an input that nobody else reads, so that the range of the
    input would be that of the output, too, and steps many times too large
    (https://github.com/tensorflow/tensorflow/issues/127842, open in TensorFlow 2.21). Here every
    activation has one more reader, at the end of its graph, while the converter calibrates.
    """
    tool, prepared = calibrator.Calibrator, calibrator.add_intermediate_tensors
    calibrate, quantize = tool.calibrate, tool.calibrate_and_quantize

    def ranges(self: Any, dataset_gen: Any) -> bytes:
        """To int8: the file with the range of each tensor, which the converter then rounds."""
        return with_own_scales(with_finite_ranges(without_readers(calibrate(self, dataset_gen))))

    def rounded(self: Any, dataset_gen: Any, *args: Any, **kwargs: Any) -> bytes:
        """To int16: the same, and rounded by what finds no other ranges in no data."""
        found = with_finite_ranges(without_readers(calibrate(self, dataset_gen)))
        model = flatbuffer.parse(found)
        give_own_constants(model)
        return quantize(tool(flatbuffer.pack(model)), lambda: iter(()), *args, **kwargs)

    return replaced(
        {
            (calibrator, "add_intermediate_tensors"): lambda file: with_readers(prepared(file)),
            (tool, "calibrate"): ranges,
            (tool, "calibrate_and_quantize"): rounded,
        }
    )


def with_readers(data: bytes) -> bytes:
    """Adds an operator that reads the shape of each input and of each tensor that is written."""
    model = flatbuffer.parse(data)
    for graph in model.subgraphs:
        written = [int(n) for operator in graph.operators for n in operator.outputs if n >= 0]
        for index in [*map(int, graph.inputs), *written]:
            if graph.tensors[index].type != TYPE.FLOAT32 or not dims_of(graph.tensors[index]):
                continue  # a scalar has no shape to read
            output = new_tensor(graph, TYPE.INT32, [len(dims_of(graph.tensors[index]))], 0)
            graph.tensors[output].name = READER
            reader, options = schema.OperatorT(), schema.ShapeOptionsT()
            options.outType = TYPE.INT32
            become(model, reader, OP.SHAPE, 1, schema.BuiltinOptions.ShapeOptions, options)
            reader.inputs, reader.outputs = [index], [output]
            graph.operators.append(reader)
    return flatbuffer.pack(model)


def without_readers(data: bytes) -> bytes:
    """Removes what `with_readers` added."""
    model = flatbuffer.parse(data)
    for graph in model.subgraphs:
        ours = {n for n, tensor in enumerate(graph.tensors) if tensor.name == READER}
        graph.operators = [one for one in graph.operators if ours.isdisjoint(map(int, one.outputs))]
        graph.tensors = [one for n, one in enumerate(graph.tensors) if n not in ours]  # the last
    used = {one.opcodeIndex for graph in model.subgraphs for one in graph.operators}
    while model.operatorCodes and len(model.operatorCodes) - 1 not in used:
        model.operatorCodes.pop()
    return flatbuffer.pack(model)


def with_finite_ranges(data: bytes) -> bytes:
    """The file as it is, if what operators write was finite: TensorFlow crashes while it rounds
    what was infinite, and has no range for what was never a number.

    Raises: ValueError, naming a tensor that was not.
    """
    for graph in flatbuffer.parse(data).subgraphs:
        for index in (int(n) for one in graph.operators for n in one.outputs if n >= 0):
            tensor = graph.tensors[index]
            found = _range(tensor) or (np.nan, np.nan)
            if tensor.type == TYPE.FLOAT32 and not np.isfinite(found).all():
                raise ValueError(
                    "`representative` must give finite numbers in every layer. "
                    f"Received: numbers in {[*found]} in {(tensor.name or b'').decode()!r}."
                )
    return data


def with_own_scales(data: bytes) -> bytes:
    """Keeps the range of a tensor that is joined with others and read elsewhere, too.

    All inputs of a concatenation or a maximum have the scale of its output. The converter gives it
    to the operators that write them, so that `max(x, -x)` would read an `x` of the range of the
    maximum, where what is negative is cut off, and its `-x` would be 0; and an LSTM whose input is
    joined with its output would have a state of 8 bits. Here such an input is a copy: a leaky ReLU
    of slope 1, which `passes.requantize` makes a change of scales.

    `a / b` is `(a / sqrt(b)) / sqrt(b)`, see `_by_root`. The second factor of a `BATCH_MATMUL`, as
    in attention, is a copy whose zero point is 0: `tf.lite.Interpreter` of TensorFlow 2.21 with
    XNNPACK takes it for that.

    Args:
        data: A file of floats with the range of each tensor.
    """
    model = flatbuffer.parse(data)
    for graph in model.subgraphs:
        writers = {int(n): one for one in graph.operators for n in one.outputs}
        readers = Counter(int(n) for one in graph.operators for n in one.inputs)
        readers.update(map(int, graph.outputs))
        operators = []
        for operator in graph.operators:
            if kind(model, operator) in JOINS:
                inputs = list(map(int, operator.inputs))
                for place, n in enumerate(inputs):
                    alone = n in writers and kind(model, writers[n]) in ANY_SCALE
                    alone = alone and readers[n] == 1
                    if not alone and _range(graph.tensors[n]) is not None:
                        operators.append(_copy(model, graph, n, int(operator.outputs[0])))
                        inputs[place] = int(operators[-1].outputs[0])
                operator.inputs = inputs
            elif kind(model, operator) == OP.DIV and (made := _by_root(model, graph, operator)):
                operators += made
                continue
            elif kind(model, operator) == OP.BATCH_MATMUL:
                second = int(operator.inputs[1])
                found = _range_or_constant(model, graph.tensors[second])
                if found is not None:
                    operators.append(_copy(model, graph, second, second))
                    copy = int(operators[-1].outputs[0])
                    graph.tensors[copy].quantization = _around_zero(max(map(abs, found)))
                    operator.inputs = [int(operator.inputs[0]), copy]
            operators.append(operator)
        graph.operators = operators
    return flatbuffer.pack(model)


def _by_root(model: Any, graph: Any, division: Any) -> list[Any]:
    """Two products with `1 / sqrt(b)` in place of `a / b`, if `b` is never below 0; else nothing.

    The kernel of a division of integers shifts by more than 31 bits where `a` is one step below 0
    and the scale of the quotient is not much finer: what should be 0 is then -128. That of
    TensorFlow 2.21 also stops where the stored byte of `b`, and not the number, is 0.
    """
    first, second, output = (int(n) for n in (*division.inputs, division.outputs[0]))
    dividend, divisor, found = (
        _range_or_constant(model, graph.tensors[n]) for n in (first, second, output)
    )
    if dividend is None or divisor is None or found is None or not 0 <= divisor[0] < divisor[1]:
        return []
    root, half = _like(graph, second, second), _like(graph, output, output)
    least = max(divisor[0], divisor[1] / 255)  # a step
    graph.tensors[root].quantization = _between(divisor[1] ** -0.5, least**-0.5)
    # (a / sqrt(b))^2 is a times the quotient.
    largest = [max(map(abs, one)) for one in (dividend, found)]
    bound = float(np.sqrt(largest[0] * largest[1]))
    low, high = (bound if wanted else 0.0 for wanted in (found[0] < 0, found[1] > 0))
    graph.tensors[half].quantization = _between(-low, max(high, 1e-9))
    made = [schema.OperatorT() for _ in range(3)]
    become(model, made[0], OP.RSQRT, 1)
    made[0].inputs, made[0].outputs = [second], [root]
    for one, given, written in ((made[1], first, half), (made[2], half, output)):
        options = schema.MulOptionsT()
        if written == output and division.builtinOptions is not None:
            options.fusedActivationFunction = division.builtinOptions.fusedActivationFunction
        become(model, one, OP.MUL, 1, schema.BuiltinOptions.MulOptions, options)
        one.inputs, one.outputs = [given, root], [written]
    return made


def _between(low: float, high: float) -> Any:
    found = schema.QuantizationParametersT()
    found.min, found.max = [float(low)], [float(high)]
    return found


def _around_zero(largest: float) -> Any:
    """A range whose integers are as those of a kernel: from -128, with 0 for 0."""
    return _between(-largest * 128 / 127, largest)


def _range(tensor: Any) -> tuple[float, float] | None:
    found = tensor.quantization
    if tensor.type != TYPE.FLOAT32 or found is None or found.min is None or found.max is None:
        return None
    return (float(found.min[0]), float(found.max[0])) if len(found.min) else None


def _range_or_constant(model: Any, tensor: Any) -> tuple[float, float] | None:
    """The range of an activation, or that of the numbers of a constant."""
    data = model.buffers[tensor.buffer].data
    if tensor.type != TYPE.FLOAT32 or data is None or not len(data):
        return _range(tensor)
    numbers = np.frombuffer(bytes(data), np.float32)
    return float(numbers.min()), float(numbers.max())


def _copy(model: Any, graph: Any, tensor: int, output: int) -> Any:
    """An operator that copies a tensor into a new one, of the range of an output."""
    made, options = schema.OperatorT(), schema.LeakyReluOptionsT()
    options.alpha = 1.0
    become(model, made, OP.LEAKY_RELU, 1, schema.BuiltinOptions.LeakyReluOptions, options)
    made.inputs, made.outputs = [tensor], [_like(graph, tensor, output)]
    return made


def _like(graph: Any, tensor: int, output: int) -> int:
    """Adds a tensor of the shape of one and of the range of another."""
    own = graph.tensors[tensor]
    made = new_tensor(graph, TYPE.FLOAT32, [] if own.shape is None else own.shape, 0)
    graph.tensors[made].name = b"copy %d" % made
    graph.tensors[made].shapeSignature = own.shapeSignature
    graph.tensors[made].quantization = graph.tensors[output].quantization
    return made
