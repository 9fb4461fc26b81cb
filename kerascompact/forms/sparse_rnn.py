"""Frozen sparse RNN: parallel segments of an LSTM, a GRU or a SimpleRNN in one loop."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.ops import cells

GATES = {"lstm": 4, "gru": 3, "simple_rnn": 1}


class _Sizes(keras.layers.Layer):
    """Placeholder for the cell of Keras' RNN: it gives the sizes, the form has the weights."""

    def __init__(self, units: int, num_states: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.output_size = units
        self.state_size = [units] * num_states if num_states > 1 else units


@register
class FrozenRNN(keras.layers.RNN):
    """Runs parallel LSTMs, GRUs or SimpleRNNs over windows of the input in one loop.

    `z_t = P_t + H_t R`: the products `P` of all inputs with their kernels, plus biases, are
    computed before the loop, together for segments with the same window. The states of segments of
    equal length form one tensor `(N, batch, s)` and their recurrent kernels another `(N, s, g s)`,
    so each step is one batched product. A sequence with one known step, such as the next word on a
    phone, has no loop, nor has one of known length with `unroll=True`.

    In all else it is a Keras RNN, with masks, states and directions. It has nothing to train unless
    it is built with `trainable=True`.

    Args:
        kind: Type of the segments, "lstm", "gru" or "simple_rnn".
        input_dim: Width `i` of the inputs.
        lengths: Number of outputs of each segment.
        starts: First input of each segment's window.
        width: Number of inputs `w` in a window.
        activation: Activation of the outputs, as in `keras.layers.LSTM`.
        recurrent_activation: Activation of the gates, as in `keras.layers.LSTM`; a SimpleRNN has
            none.
        use_bias: Whether the gates have biases.
        reset_after: Whether a GRU applies the reset gate after the matrix product.
        **kwargs: Further arguments of `keras.layers.RNN`, such as `return_sequences`.

    Shapes: `(batch, steps, i)` -> `(batch, h)` or `(batch, steps, h)`, with `h` the sum of lengths.
    Storage: `32 g sum_n s_n (w + s_n + 1)` bits with `g = 4` for an LSTM, `g = 1` for a
        SimpleRNN and `g = 3` for a GRU, which has two biases with `reset_after`.
    Raises: ValueError, if a window exceeds the inputs.

    Example:
    >>> lstm = [np.zeros((2, 4)), np.zeros((1, 4)), np.ones(4)]
    >>> sizes = dict(kind="lstm", input_dim=3, lengths=[1, 1], width=2)
    >>> FrozenRNN.from_segments([lstm, lstm], [0, 1], **sizes)(np.ones((1, 5, 3))).shape
    TensorShape([1, 2])

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 3.1.
    """

    def __init__(
        self,
        kind: str,
        input_dim: int,
        lengths: Sequence[int],
        starts: Sequence[int],
        width: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        self.kind = checks.choice("kind", kind, tuple(GATES))
        self.input_dim = checks.integer_in("input_dim", input_dim, 1)
        self.width = checks.integer_in("width", width, 1, input_dim)
        kwargs.setdefault("trainable", False)
        sizes = _Sizes(sum(lengths), 2 if kind == "lstm" else 1, dtype=kwargs.get("dtype"))
        super().__init__(sizes, **kwargs)
        self.lengths = tuple(checks.integer_in("lengths", one, 1) for one in lengths)
        last = input_dim - width
        self.starts = tuple(checks.integer_in("starts", one, 0, last) for one in starts)
        self.activation = keras.activations.get(activation)
        self.recurrent_activation = keras.activations.get(recurrent_activation)
        self.use_bias, self.reset_after = use_bias, reset_after
        # Segments of equal length share a batched product, and those with the same window among
        # them share the product with the inputs.
        self.blocks = [_equal(self.starts, group) for group in _equal(self.lengths)]
        self.groups = [[n for block in blocks for n in block] for blocks in self.blocks]

    @classmethod
    def from_segments(
        cls,
        weights: Sequence[Sequence[np.ndarray]],
        starts: Sequence[int],
        batch_size: int | None = None,
        **config: Any,
    ) -> "FrozenRNN":
        """Builds the form from the weights of each segment.

        Args:
            weights: Kernel, recurrent kernel and bias of each segment, in Keras' shapes.
            starts: First input of each segment's window.
            batch_size: Size of a batch, which a stateful form needs.
            **config: Further arguments of the form.

        Raises: ValueError, if a weight is not finite or has another shape.
        """
        form = cls(starts=starts, **config)
        form.build((batch_size, None, form.input_dim))
        for place, group in enumerate(form.groups):
            recurrent = np.stack([np.asarray(weights[n][1]) for n in group])
            form.recurrent[place].assign(checks.finite("recurrent_kernel", recurrent))
            for kernel, block in zip(form.kernels[place], form.blocks[place], strict=True):
                joined = np.concatenate([np.asarray(weights[n][0]) for n in block], axis=1)
                kernel.assign(checks.finite("kernel", joined))
            if form.use_bias:
                bias = np.stack([np.atleast_2d(weights[n][2]) for n in group], axis=1)
                form.bias[place].assign(checks.finite("bias", bias))
        return form

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        gates = GATES[self.kind]

        def add(name: str, *shape: int) -> keras.Variable:
            return self.add_weight(
                shape=shape,
                initializer="zeros",
                dtype="float32",
                trainable=self.trainable,
                autocast=False,
                name=name,
            )

        self.kernels: list[list[keras.Variable]] = []
        self.recurrent: list[keras.Variable] = []
        self.bias: list[keras.Variable] = []
        for place, (group, blocks) in enumerate(zip(self.groups, self.blocks, strict=True)):
            length, number = self.lengths[group[0]], len(group)
            columns = gates * length
            self.kernels.append(
                [
                    add(f"kernel_{place}_{index}", self.width, len(block) * columns)
                    for index, block in enumerate(blocks)
                ]
            )
            self.recurrent.append(add(f"recurrent_{place}", number, length, columns))
            if self.use_bias:
                self.bias.append(add(f"bias_{place}", 1 + self.reset_after, number, columns))
        super().build(sequences_shape, initial_state_shape)

    def inner_loop(
        self, sequences: Any, initial_state: Any, mask: Any, training: bool = False
    ) -> Any:
        mask = mask[0] if isinstance(mask, list | tuple) else mask
        mask = None if mask is None else tf.transpose(mask)  # (steps, batch)
        sequences = tf.cast(sequences, tf.float32)  # of mixed precision: as all weights
        initial_state = [tf.cast(state, tf.float32) for state in initial_state]
        projected = [self._projected(sequences, place) for place in range(len(self.groups))]
        states = [self._to_segments(state) for state in initial_state]
        states = [part for group in zip(*states, strict=True) for part in group]
        num_states = len(initial_state)
        lasts = [tf.zeros_like(state) for state in states[::num_states]]
        steps = sequences.shape[1] if sequences.shape[1] is not None else tf.shape(sequences)[1]

        def step(time: Any, states: Any, lasts: Any) -> tuple[list[Any], list[Any]]:
            at = steps - 1 - time if self.go_backwards else time
            news, outputs = [], []
            for place in range(len(self.groups)):
                old = states[place * num_states : (place + 1) * num_states]
                new = self._cell(tf.gather(projected[place], at), old, place)
                output = new[0]
                if mask is not None:
                    real = tf.gather(mask, at)[None, :, None]
                    new = [tf.where(real, one, other) for one, other in zip(new, old, strict=True)]
                    last = lasts[place]
                    past = tf.zeros_like(last) if self.zero_output_for_mask else last
                    output = tf.where(real, output, past)
                news.extend(new)
                outputs.append(output)
            return news, outputs

        if sequences.shape[1] == 1 or (self.unroll and sequences.shape[1] is not None):
            every = []
            for time in range(steps):
                states, lasts = step(time, states, lasts)
                every.append(lasts)
            outputs, taken = self._to_units(lasts), every if self.return_sequences else every[-1:]
            sequence = tf.stack([self._to_units(one) for one in taken], axis=1)
        elif self.return_sequences:
            # XLA needs the number of steps for training; a file would get a second counter.
            limit = sequences.shape[1] if self.trainable else None
            arrays = [
                tf.TensorArray(tf.float32, size=steps, element_shape=last.shape) for last in lasts
            ]

            def body(time: Any, states: Any, lasts: Any, arrays: Any) -> tuple[Any, ...]:
                states, lasts = step(time, states, lasts)
                pairs = zip(arrays, lasts, strict=True)
                return time + 1, states, lasts, [array.write(time, one) for array, one in pairs]

            start = (tf.constant(0), states, lasts, arrays)
            _, states, lasts, arrays = tf.while_loop(
                lambda time, *_: time < steps, body, start, maximum_iterations=limit
            )
            outputs = self._to_units(lasts)
            sequence = self._to_units([array.stack() for array in arrays])
            sequence = tf.transpose(sequence, [1, 0, 2])
        else:

            def body_of_last(time: Any, states: Any, lasts: Any) -> tuple[Any, ...]:
                return (time + 1, *step(time, states, lasts))

            begin = (tf.constant(0), states, lasts)
            _, states, lasts = tf.while_loop(lambda time, *_: time < steps, body_of_last, begin)
            sequence = outputs = self._to_units(lasts)
        ends = [self._to_units(states[one::num_states]) for one in range(num_states)]
        dtype = self.compute_dtype
        return tf.cast(outputs, dtype), tf.cast(sequence, dtype), [tf.cast(e, dtype) for e in ends]

    def _projected(self, sequences: tf.Tensor, place: int) -> tf.Tensor:
        """Multiplies all inputs with the kernels of a group: `(steps, N, batch, g s)`."""
        by_time = tf.transpose(sequences, [1, 0, 2])
        shape = tf.shape(by_time)
        steps = by_time.shape[0] if by_time.shape[0] is not None else shape[0]
        batch = by_time.shape[1] if by_time.shape[1] is not None else shape[1]
        columns = self.recurrent[place].shape[-1]
        products = []
        for kernel, block in zip(self.kernels[place], self.blocks[place], strict=True):
            start = self.starts[block[0]]
            window = by_time[..., start : start + self.width]
            product = tf.matmul(tf.reshape(window, [-1, self.width]), kernel.value)
            products.append(tf.reshape(product, [steps, batch, len(block), columns]))
        joined = products[0] if len(products) == 1 else tf.concat(products, axis=2)
        if self.use_bias:
            joined += self.bias[place].value[0]
        return tf.transpose(joined, [0, 2, 1, 3])

    def _cell(self, projected: tf.Tensor, states: list[tf.Tensor], place: int) -> list[tf.Tensor]:
        """Computes one step of a group: `(N, batch, s)` for each of its states."""
        kernel = self.recurrent[place].value
        if self.kind == "simple_rnn":
            return [cells.simple_rnn(projected, states[0], kernel, self.activation)]
        how = self.activation, self.recurrent_activation
        if self.kind == "lstm":
            return cells.lstm(projected, states[0], states[1], kernel, *how)
        bias = self.bias[place].value[1][:, None] if self.use_bias and self.reset_after else None
        return [cells.gru(projected, states[0], kernel, bias, self.reset_after, *how)]

    def _to_segments(self, state: tf.Tensor) -> list[tf.Tensor]:
        """`(batch, h)` -> `(N, batch, s)` for each group."""
        state = tf.convert_to_tensor(state)  # a stateful form has a Keras variable here
        pieces = tf.split(state, list(self.lengths), axis=-1) if len(self.lengths) > 1 else [state]
        return [tf.stack([pieces[n] for n in group]) for group in self.groups]

    def _to_units(self, groups: list[tf.Tensor]) -> tf.Tensor:
        """`(..., N, batch, s)` for each group -> `(..., batch, h)`."""
        pieces: dict[int, tf.Tensor] = {}
        # In a batch of several examples, pieces keep their axis until they are joined: TFLite's
        # converter turns an unstack and a concat into a reshape, which is wrong for such a batch.
        single = groups[0].shape[-2] == 1
        for group, values in zip(self.groups, groups, strict=True):
            if single:
                found = tf.unstack(values, num=len(group), axis=-3)
            else:
                found = tf.split(values, len(group), axis=-3)
            pieces |= zip(group, found, strict=True)
        ordered = [pieces[n] for n in range(len(self.lengths))]
        joined = ordered[0] if len(ordered) == 1 else tf.concat(ordered, axis=-1)
        return joined if single else tf.squeeze(joined, axis=-3)

    def get_config(self) -> dict[str, Any]:
        loop = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll")
        return {
            **keras.layers.Layer.get_config(self),  # without the cell that RNN's would add
            **{name: getattr(self, name) for name in (*loop, "zero_output_for_mask")},
            "kind": self.kind,
            "input_dim": self.input_dim,
            "lengths": list(self.lengths),
            "starts": list(self.starts),
            "width": self.width,
            "activation": keras.activations.serialize(self.activation),
            "recurrent_activation": keras.activations.serialize(self.recurrent_activation),
            "use_bias": self.use_bias,
            "reset_after": self.reset_after,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "FrozenRNN":
        return cls(**config)


def _equal(values: Sequence[int], places: Sequence[int] | None = None) -> list[list[int]]:
    """Groups the positions of equal values.

    >>> _equal([5, 4, 5])
    [[0, 2], [1]]
    """
    places = range(len(values)) if places is None else places
    kinds = dict.fromkeys(values[place] for place in places)
    return [[place for place in places if values[place] == kind] for kind in kinds]
