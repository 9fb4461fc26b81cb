"""Base of the sparse recurrent layers: segments of the state, windows of the input."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from kerascompact.core import checks
from kerascompact.forms.sparse_rnn import FrozenRNN
from kerascompact.ops.segments import num_parameters, segment_lengths, window_starts, window_width

OPTIONS = (
    "activation",
    "recurrent_activation",
    "use_bias",
    "kernel_initializer",
    "recurrent_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "recurrent_regularizer",
    "bias_regularizer",
    "kernel_constraint",
    "recurrent_constraint",
    "bias_constraint",
    "recurrent_dropout",
    "weight_dropout",
    "unroll",
)
DRAWN = {  # Keras' default of what draws, and what keeps the draws of one seed apart
    "kernel_initializer": ("glorot_uniform", 0),
    "recurrent_initializer": ("orthogonal", 2**20),
}
OF_LOOP = ("return_sequences", "return_state", "go_backwards", "stateful", "zero_output_for_mask")


class Segments(keras.layers.Layer):
    """Takes the place of the cell in Keras' RNN, and holds a layer for each segment."""

    def __init__(self, layers: list[keras.layers.Layer], gamma: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.layers = layers
        self.gamma = gamma
        self.output_size = sum(layer.units for layer in layers)
        states = len(layers[0].state_size)
        self.state_size = [self.output_size] * states if states > 1 else self.output_size

    def build(self, input_shape: Any) -> None:
        number = len(self.layers)
        self.width = window_width(input_shape[-1], number, self.gamma)
        self.starts = window_starts(input_shape[-1], number, self.gamma)
        for layer in self.layers:
            layer.build((input_shape[0], None, self.width))


class SparseRecurrent(keras.layers.RNN):
    """Recurrent layer of segments with separate states.

    A subclass defines `SEGMENT`, the Keras layer of a segment, `GATES`, `OPTIONS`, and whether
    Keras may run a segment in cuDNN.
    """

    SEGMENT: Any
    KIND: str
    GATES: int
    OPTIONS: tuple[str, ...] = OPTIONS
    HAS_CUDNN = True

    def __init__(
        self,
        units: int,
        num_segments: int | Sequence[int] = 1,
        gamma: float = 1.0,
        *,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        # Keras' SimpleRNN has no such argument.
        cudnn = {"use_cudnn": kwargs.pop("use_cudnn", "auto")} if self.HAS_CUDNN else {}
        checks.integer_in("units", units, 1)
        lengths = segment_lengths(units, num_segments)
        gamma = checks.number("gamma", gamma, above=0, up_to=1)
        shared = {"dtype": kwargs.get("dtype"), "trainable": kwargs.get("trainable", True)}
        options = {name: kwargs.pop(name) for name in self.OPTIONS if name in kwargs}
        if seed is not None:
            options = {name: default for name, (default, _) in DRAWN.items()} | options
        segments = [
            self.SEGMENT(
                length,
                **{name: _nth(name, value, number, seed) for name, value in options.items()},
                seed=None if seed is None else seed + number,
                **cudnn,
                return_sequences=kwargs.get("return_sequences", False),
                return_state=True,
                go_backwards=kwargs.get("go_backwards", False),
                **shared,
                name=f"segment_{number}",
            )
            for number, length in enumerate(lengths)
        ]
        cell = Segments(segments, gamma, **shared, name="segments")
        super().__init__(cell, unroll=options.get("unroll", False), **kwargs)
        self.units, self.num_segments, self.gamma, self.seed = units, num_segments, gamma, seed
        self.cudnn = cudnn
        self.dropout = checks.number("dropout", dropout, at_least=0, up_to=1)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        if self.dropout:
            self.dropout_seed = keras.random.SeedGenerator(seed)

    @property
    def segments(self) -> list[keras.layers.Layer]:
        """The layer of each segment."""
        return self.cell.layers

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of outputs of each segment."""
        return tuple(segment.units for segment in self.segments)

    def inner_loop(
        self, sequences: Any, initial_state: Any, mask: Any, training: bool = False
    ) -> Any:
        mask = mask[0] if isinstance(mask, list | tuple) else mask
        if training and self.dropout:
            # Inputs are dropped before the windows, so for all segments, as in the dense layer.
            ones = ops.ones_like(sequences[:, :1])
            sequences *= keras.random.dropout(ones, self.dropout, seed=self.dropout_seed)
        # Split by lengths, since Keras' `split` refuses an empty list of positions.
        lengths = list(self.lengths)
        parts = zip(*(tf.split(state, lengths, axis=-1) for state in initial_state), strict=True)
        # Keras' unrolled loop reverses the mask of what it reads, but not of what it makes 0.
        late = self.zero_output_for_mask and self.unroll and self.go_backwards
        late = late and self.return_sequences
        found = []
        for segment, start, states in zip(self.segments, self.cell.starts, parts, strict=True):
            # Bidirectional sets it after the segments were made.
            segment.zero_output_for_mask = self.zero_output_for_mask and not late
            window = sequences[..., start : start + self.cell.width]
            found.append(
                segment(window, initial_state=list(states), mask=mask, training=bool(training))
            )
        outputs, *ends = (ops.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
        if late and mask is not None:
            outputs = ops.where(ops.expand_dims(ops.flip(mask, axis=1), -1), outputs, 0.0)
        return outputs, outputs, ends

    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False
    ) -> tf.Tensor:
        return super().call(sequences, initial_state=initial_state, mask=mask, training=training)

    def num_parameters(self, input_dim: int) -> int:
        """Number of trainable parameters for an input width, before the layer is built."""
        return num_parameters(input_dim, self.lengths, self.gamma, self.GATES, self._biases())

    def _biases(self) -> int:
        """Number of bias vectors of each gate."""
        return int(self.segments[0].use_bias)

    def to_form(self) -> FrozenRNN:
        """The stored form: one loop over all segments, with input projections before it."""
        if not self.built:
            raise ValueError(
                f"Layer {self.name!r} has no weights yet: call it or train it before freezing it."
            )
        first = self.segments[0]
        return FrozenRNN.from_segments(
            [segment.get_weights()[: 2 + first.use_bias] for segment in self.segments],
            self.cell.starts,
            batch_size=self.states[0].shape[0] if self.stateful else None,
            kind=self.KIND,
            input_dim=self.input_dim,
            lengths=self.lengths,
            width=self.cell.width,
            activation=first.activation,
            recurrent_activation=getattr(first, "recurrent_activation", None),
            use_bias=first.use_bias,
            reset_after=getattr(first, "reset_after", False),
            name=self.name,
            dtype="float32",
            unroll=self.unroll,
            **{name: getattr(self, name) for name in OF_LOOP},
        )

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        self.input_dim = sequences_shape[-1]
        super().build(sequences_shape, initial_state_shape)

    def get_config(self) -> dict[str, Any]:
        of_segment = self.segments[0].get_config()
        segments = self.num_segments if isinstance(self.num_segments, int) else [*self.lengths]
        return {
            **keras.layers.Layer.get_config(self),  # RNN's would add the cell
            **{name: getattr(self, name) for name in OF_LOOP},
            **{name: of_segment[name] for name in self.OPTIONS},
            "units": self.units,
            "num_segments": segments,
            "gamma": self.gamma,
            "dropout": self.dropout,
            "seed": self.seed,
            **self.cudnn,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return cls(**config)


def _nth(name: str, value: Any, number: int, seed: int | None) -> Any:
    """The option of one segment; with equal seeds, segments would start as copies.

    An initializer without a seed gets the layer's.
    """
    if not name.endswith("_initializer") or value is None:
        return value
    value = keras.initializers.get(value)
    if not isinstance(value, keras.initializers.Initializer):
        return value  # a function
    config = value.get_config()
    if "seed" in config and config["seed"] is None and seed is not None:
        config["seed"] = seed + DRAWN.get(name, ("", 2**21))[1]
    if isinstance(config.get("seed"), int):
        config["seed"] += number
    elif config.get("seed") is not None:
        return value  # a generator of seeds, different each time
    return type(value).from_config(config)
