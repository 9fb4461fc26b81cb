"""LSTM fusion: one TFLite operator for each Keras LSTM in place of a loop."""

import contextlib
import functools
import itertools
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core.keras_graph import all_layers
from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import OP, TYPE, become, kind, new_buffer, new_tensor

OUTPUT_STATE, CELL_STATE = 18, 19  # inputs of the operator
DTYPES = {TYPE.FLOAT32: np.float32, TYPE.INT8: np.int8, TYPE.INT16: np.int16}


@contextlib.contextmanager
def fused(model: Any) -> Iterator[list[str]]:
    """Context in which a model's LSTMs are traced as one TFLite operator each, where that exists.

    It exists for `keras.layers.LSTM` with Keras' default activations and biases that start from
    zeros and do not return their state. With a mask, padding must be at the end, as in every text
    here. All other recurrent layers stay loops, GRUs included: TFLite has no operator for them.

    Args:
        model: Keras model of any kind, called with a batch of known size.

    Yields: The names of the layers that are fused.
    """
    layers = [layer for layer in all_layers(model) if is_fusable(layer)]
    try:
        for layer in layers:
            layer.inner_loop = functools.partial(_loop, layer)
        yield [layer.name for layer in layers]
    finally:
        for layer in layers:
            del layer.inner_loop


def is_fusable(layer: Any) -> bool:
    """Whether one TFLite operator can compute a layer.

    >>> is_fusable(keras.layers.LSTM(3)), is_fusable(keras.layers.LSTM(3, return_state=True))
    (True, False)
    """
    return (
        type(layer) is keras.layers.LSTM
        and layer.activation is keras.activations.tanh
        and layer.recurrent_activation is keras.activations.sigmoid
        and layer.use_bias
        and not (layer.return_state or layer.stateful or layer.unroll)
    )


_NUMBERS = itertools.count()


def _loop(
    layer: Any, sequences: Any, initial_state: Any, mask: Any, training: bool = False
) -> tuple[Any, Any, Any]:
    """Replacement of `LSTM.inner_loop` for `sequences` `(batch, steps, width)`; returns no cell.

    A state that a caller gave is read by Keras' own loop: the operator starts from zeros.
    """
    if not all(_is_zero(one) for one in tf.nest.flatten(initial_state)):
        return type(layer).inner_loop(layer, sequences, initial_state, mask, training)
    mask = mask[0] if isinstance(mask, list | tuple) else mask
    mask = None if mask is None else tf.convert_to_tensor(mask)
    length = None if mask is None else tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    if layer.go_backwards:
        sequences = _reversed(sequences, length)
    zeros = tf.zeros((sequences.shape[0], layer.units))
    last, outputs = _operator(layer)(
        sequences,
        zeros,
        zeros,
        *(tf.convert_to_tensor(weight.value) for weight in layer.cell.weights),
    )[:2]
    if length is not None:
        at = tf.maximum(length - 1, 0)
        there = tf.cast(length > 0, outputs.dtype)[:, None]
        last = tf.gather(outputs, at, axis=1, batch_dims=1) * there
        real = tf.cast(mask, outputs.dtype)[:, :, None]
        if layer.go_backwards:  # Keras reads the padding first and returns zeros for it
            real = tf.reverse(real, [1])
            outputs = tf.reverse(_reversed(outputs, length), [1]) * real
        else:
            past = 0.0 if layer.zero_output_for_mask else last[:, None]
            outputs = outputs * real + past * (1 - real)
    return last, outputs, [last, zeros]


def _is_zero(state: Any) -> bool:
    known = tf.get_static_value(tf.convert_to_tensor(state))
    return known is not None and not np.any(known)


def _reversed(sequences: Any, length: Any) -> Any:
    """Reverses sequences and leaves the padding at the end."""
    if length is None:
        return tf.reverse(sequences, [1])
    return tf.reverse_sequence(sequences, length, seq_axis=1, batch_axis=0)


def _operator(layer: Any) -> Any:
    """A function that the converter recognizes as an LSTM by its attributes and arguments."""

    def lstm(x: Any, hidden: Any, cell: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
        def step(state: Any, inputs: Any) -> Any:
            gates = inputs @ kernel + state[0] @ recurrent + bias
            entry, keep, new, exit = tf.split(gates, 4, axis=-1)
            cell = tf.sigmoid(keep) * state[1] + tf.sigmoid(entry) * tf.tanh(new)
            return tf.sigmoid(exit) * tf.tanh(cell), cell

        hiddens, cells = tf.scan(step, tf.transpose(x, [1, 0, 2]), (hidden, cell))
        outputs = tf.transpose(hiddens, [1, 0, 2])
        return hiddens[-1], outputs, hiddens[-1], cells[-1], tf.constant(1.0)

    attributes = {
        "api_implements": f"lstm_{layer.name}_{next(_NUMBERS)}",
        "api_preferred_device": "CPU",
        "time_major": False,
        "go_backwards": False,
    }
    return tf.function(lstm, autograph=False, experimental_attributes=attributes)


def forget_states(model: Any) -> int:
    """Makes the fused LSTMs of a file start from zeros in every run, without clipping cells.

    The operator keeps its state in variable tensors from one run to the next, and the converter
    clips cells at 10. This pass adds a `SLICE` of zeros that first overwrites each of the tensors.

    Args:
        model: Parsed model, changed in place.

    Returns: The number of fused LSTMs.
    """
    found = 0
    for graph in model.subgraphs:
        wanted = OP.UNIDIRECTIONAL_SEQUENCE_LSTM
        for node in [one for one in graph.operators if kind(model, one) == wanted]:
            node.builtinOptions.cellClip = 0.0
            for port in (OUTPUT_STATE, CELL_STATE):
                _write_zeros(model, graph, node, _own_state(graph, node, port))
            found += 1
    return found


def _own_state(graph: Any, node: Any, port: int) -> int:
    """A state that nothing else reads: the converter shares zeros, such as with a loop's start."""
    index = int(node.inputs[port])
    state = graph.tensors[index]
    if sum(int(one) == index for other in graph.operators for one in other.inputs) > 1:
        index = new_tensor(graph, state.type, state.shape, 0)
        own = graph.tensors[index]
        own.quantization, own.isVariable = state.quantization, True
        node.inputs = np.array(node.inputs, np.int32)
        node.inputs[port] = index
    return index


def _write_zeros(model: Any, graph: Any, node: Any, index: int) -> None:
    state = graph.tensors[index]
    scales = state.quantization
    quantized = scales is not None and scales.zeroPoint is not None
    zero = int(scales.zeroPoint[0]) if quantized else 0
    numbers = np.full(state.shape, zero, DTYPES[state.type])
    zeros = new_tensor(graph, state.type, state.shape, new_buffer(model, numbers))
    graph.tensors[zeros].quantization = scales
    rank = len(state.shape)
    ports = [
        new_tensor(graph, TYPE.INT32, [rank], new_buffer(model, np.array(values, np.int32)))
        for values in ([0] * rank, list(state.shape))
    ]
    write = schema.OperatorT()
    write.inputs, write.outputs = np.array([zeros, *ports], np.int32), np.array([index], np.int32)
    become(model, write, OP.SLICE, 1, schema.BuiltinOptions.SliceOptions, schema.SliceOptionsT())
    place = next(i for i, operator in enumerate(graph.operators) if operator is node)
    graph.operators.insert(place, write)
