"""Base class of all compact embeddings."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import TableEmbedding, call_on_ids, reshape_as
from kerascompact.forms.base import Form
from kerascompact.layers.embeddings.starts import given, table_of
from kerascompact.ops.row_logits import row_logits


class CompactEmbedding(TableEmbedding):
    """A trainable embedding that turns into a small stored form; use it in place of `Embedding`.

    A subclass creates its weights in `build` (with `add_table` for those of one row per id),
    defines `lookup`, `to_form` and `paper_bits`, and a class attribute `EXAMPLE`, the keyword
    arguments that build a small one.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        embeddings_initializer: Initializer of the weights that hold vectors. The paper's code uses
            U(-0.1, 0.1).
        embeddings_regularizer: Regularizer of the same weights. On a table with a row per id it
            makes the gradient, and so the step, as large as the table.
        embeddings_constraint: Constraint of the same weights, applied after each step as in
            `keras.layers.Embedding`, such as `keras.constraints.MaxNorm(2, axis=1)`. Only for
            methods whose weights are the vectors themselves; the others raise and say why.
        weights: A table `(V, d)` to start from, such as that of a trained
            `keras.layers.Embedding`, as an array or a list of one. The layer starts at the
            approximation that its own compressor finds. The table is read when the layer is built
            and is not part of the config.
        mask_zero: Whether id 0 is padding, as in `keras.layers.Embedding`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`; with `reverse=True`, vectors
        `(..., d)` -> logits `(..., V)` of all words, see `word_logits`.
    Raises: ValueError, for a wrong argument, or (outside a graph) an id out of range.
    """

    EXAMPLE: dict[str, Any] = {}
    UNCONSTRAINED = ""  # why a constraint of the weights would not hold for the vectors
    LOGITS_CHUNK = 2048

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        embeddings_initializer: Any = None,
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        weights: Any = None,
        mask_zero: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, mask_zero=mask_zero, **kwargs)
        if embeddings_initializer is None:
            embeddings_initializer = keras.initializers.RandomUniform(-0.1, 0.1)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.embeddings_regularizer = keras.regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = keras.constraints.get(embeddings_constraint)
        if self.UNCONSTRAINED and self.embeddings_constraint is not None:
            checks.fail(
                "embeddings_constraint", f"None: {self.UNCONSTRAINED}", embeddings_constraint
            )
        self.start_table = None
        if weights is not None:
            self.start_table = table_of(weights, self.input_dim, self.output_dim)

    def take_start(self) -> np.ndarray | None:
        """Returns the table given as `weights`, if any, and drops it; for `build`."""
        table, self.start_table = self.start_table, None
        return table

    def add_vectors(
        self, name: str, shape: tuple[int, ...], start: np.ndarray | None = None
    ) -> keras.Variable:
        """Adds a trainable float32 table of vectors, or several of them.

        The initializer is cloned: one Keras initializer called twice draws the same numbers.

        Args:
            name: Name of the weight.
            shape: Shape of the weight.
            start: Values of the weight; `None`: the initializer draws them.
        """
        return self.add_weight(
            shape=shape,
            initializer=self.embeddings_initializer.clone() if start is None else given(start),
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
            dtype="float32",
            autocast=False,
            name=name,
        )

    def add_annealed(self, name: str, value: float) -> keras.Variable:
        """Adds a number that a callback changes during training: a weight that is not trained."""
        return self.add_weight(
            shape=(),
            initializer=keras.initializers.Constant(value),
            dtype="float32",
            trainable=False,
            autocast=False,
            name=name,
        )

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        """Vectors `(..., d)` of int32 ids `(...)`, as float32."""
        raise NotImplementedError(f"{type(self).__name__} must define `lookup`.")

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Logits `(..., V)` of float32 vectors `(..., d)`: `h . E[v]` for every word.

        The vectors are computed for `LOGITS_CHUNK` words at a time, and again in the backward pass,
        so that `(V, d)` is never in memory. A table with a row per id gets a dense gradient, since
        every word is in the softmax.
        """
        return self.logits_by_rows(hidden, self.output_rows)

    def output_rows(self, ids: tf.Tensor) -> tf.Tensor:
        """The vectors `(m, d)` of ids `(m,)` for the softmax over all words, also in training.

        They are those of inference, without noise or batch statistics, since a step computes them
        twice. A method whose inference passes no gradient to its codes overrides this.
        """
        return self.lookup(ids, False)

    def logits_by_rows(
        self, vectors: tf.Tensor, rows: Callable[[tf.Tensor], tf.Tensor]
    ) -> tf.Tensor:
        """Products `(..., V)` of vectors `(..., r)` with `rows(ids)` `(m, r)` of all ids."""
        weights = self.trainable_variables
        # TensorFlow still watches variables that Keras trains no more, which `row_logits` refuses.
        trained = {id(weight) for weight in weights}
        frozen = [
            (weight, tf.stop_gradient(tf.convert_to_tensor(weight.value)))
            for weight in self.variables
            if id(weight) not in trained and keras.backend.is_float_dtype(weight.dtype)
        ]

        def rows_of(ids: tf.Tensor, values: Any) -> tf.Tensor:
            mapping = [*zip(weights, values, strict=True), *frozen]
            with keras.StatelessScope(state_mapping=mapping):
                return rows(ids)

        flat = tf.reshape(vectors, [-1, vectors.shape[-1]])
        values = [tf.convert_to_tensor(weight.value) for weight in weights]
        logits = row_logits(flat, rows_of, self.input_dim, values, self.LOGITS_CHUNK)
        return reshape_as(logits, vectors[..., 0], self.input_dim)

    def to_form(self) -> Form:
        """The stored form; its outputs are this layer's outputs with `training=False`."""
        raise NotImplementedError(f"{type(self).__name__} must define `to_form`.")

    def paper_bits(self) -> int:
        """Bits of the deployed embedding by the size formula of the method's paper."""
        raise NotImplementedError(f"{type(self).__name__} must define `paper_bits`.")

    def call(self, inputs: Any, training: bool | None = None, reverse: bool = False) -> tf.Tensor:
        if reverse:
            return self.call_in_reverse(inputs, self.output_rows if training else None)
        return call_on_ids(self, inputs, lambda known: self.lookup(known, training))

    def form_config(self) -> dict[str, Any]:
        """Arguments that every form of this layer takes from it."""
        return {
            "name": self.name,
            "dtype": self.dtype_policy,
            "mask_zero": self.mask_zero,
            "paper_bits": self.paper_bits(),
        }

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "embeddings_regularizer": keras.regularizers.serialize(self.embeddings_regularizer),
            "embeddings_constraint": keras.constraints.serialize(self.embeddings_constraint),
        }
