"""The contract every compact embedding keeps."""

from typing import Any

import keras
import tensorflow as tf
from keras import ops

from kerascompact.core import checks
from kerascompact.forms.base import Form, call_on_ids


class CompactEmbedding(keras.layers.Layer):
    """A trainable embedding that freezes to a small stored form; swap it for `Embedding`.

    A subclass creates its weights in `build` (with `add_table` for those of one row per id),
    defines `lookup`, `freeze` and `paper_bits`, and a class attribute `EXAMPLE`, the keyword
    arguments that build a small one.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        embeddings_initializer: Of the weights that hold vectors (paper's code: U(-0.1, 0.1)).
        embeddings_regularizer: Of the same weights; on a table with a row per id it makes the
            gradient, and so the step, as large as the table.
        mask_zero: Whether id 0 is padding, as in `keras.layers.Embedding`.
        **kwargs: Those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Raises: ValueError, for a wrong argument, or (outside a graph) an id out of range.
    """

    EXAMPLE: dict[str, Any] = {}

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        embeddings_initializer: Any = None,
        embeddings_regularizer: Any = None,
        mask_zero: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)  # or mixed precision casts whole tables
        self.input_dim = checks.integer_in("input_dim", input_dim, 1)
        self.output_dim = checks.integer_in("output_dim", output_dim, 1)
        if embeddings_initializer is None:
            embeddings_initializer = keras.initializers.RandomUniform(-0.1, 0.1)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.embeddings_regularizer = keras.regularizers.get(embeddings_regularizer)
        self.mask_zero = checks.boolean("mask_zero", mask_zero)
        self.supports_masking = self.mask_zero

    def add_vectors(self, name: str, shape: tuple[int, ...]) -> keras.Variable:
        """A trainable float32 table of vectors, or several of them.

        The initializer is cloned: one Keras initializer called twice draws the same numbers.
        """
        return self.add_weight(
            shape=shape,
            initializer=self.embeddings_initializer.clone(),
            regularizer=self.embeddings_regularizer,
            dtype="float32",
            autocast=False,
            name=name,
        )

    def add_temperature(self, value: float) -> keras.Variable:
        """The temperature of relaxed codes: a weight, for `training.TemperatureAnnealing`."""
        return self.add_weight(
            shape=(),
            initializer=keras.initializers.Constant(value),
            dtype="float32",
            trainable=False,
            autocast=False,
            name="temperature",
        )

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        """Vectors `(..., d)` of int32 ids `(...)`, as float32."""
        raise NotImplementedError(f"{type(self).__name__} must define `lookup`.")

    def freeze(self) -> Form:
        """The stored form; its outputs are this layer's outputs with `training=False`."""
        raise NotImplementedError(f"{type(self).__name__} must define `freeze`.")

    def paper_bits(self) -> int:
        """Bits of the deployed embedding by the size formula of the method's paper."""
        raise NotImplementedError(f"{type(self).__name__} must define `paper_bits`.")

    def call(self, ids: Any, training: bool | None = None) -> tf.Tensor:
        return call_on_ids(self, ids, lambda known: self.lookup(known, training))

    def compute_mask(self, ids: Any, mask: Any = None) -> Any:
        return ops.not_equal(ids, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape, self.output_dim)

    def form_config(self) -> dict[str, Any]:
        """What every form of this layer inherits from it."""
        return {
            "name": self.name,
            "dtype": self.dtype_policy,
            "mask_zero": self.mask_zero,
            "paper_bits": self.paper_bits(),
        }

    def check_built(self) -> None:
        """Raises `ValueError` if there are no weights to freeze or read yet."""
        if not self.built:
            raise ValueError(
                f"Layer {self.name!r} has no weights yet: call it or train it before freezing it."
            )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "embeddings_regularizer": keras.regularizers.serialize(self.embeddings_regularizer),
            "mask_zero": self.mask_zero,
        }
