"""Embeddings: what the trainable ones and the forms that ship have in common."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from kerascompact.core import checks
from kerascompact.core.keras_graph import own_variables
from kerascompact.core.word_scorer import Scorer, attach_scorer

EXACT = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24}  # all integers up to these


class BaseEmbedding(keras.layers.Layer):
    """Base of all layers that make vectors of words: trainable ones, and the forms that ship.

    `isinstance(layer, BaseEmbedding)` is the question of all that looks for embeddings in a model.

    Args:
        output_dim: Embedding width `d`.
        mask_zero: Whether words that are padding are masked.
        **kwargs: Those of `keras.layers.Layer`.
    """

    def __init__(self, output_dim: int, *, mask_zero: bool = False, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)  # or mixed precision casts entire tables
        self.output_dim = checks.integer_in("output_dim", output_dim, 1)
        self.mask_zero = checks.boolean("mask_zero", mask_zero)
        self.supports_masking = True

    def to_form(self) -> Any:
        """The stored form; its outputs are this layer's outputs with `training=False`."""
        raise NotImplementedError(f"{type(self).__name__} must define `to_form`.")

    def check_built(self) -> None:
        """Raises `ValueError` if there are no weights to freeze or read yet."""
        if not self.built:
            raise ValueError(
                f"Layer {self.name!r} has no weights yet: call it or train it before freezing it."
            )

    def save_own_variables(self, store: Any) -> None:
        for variable in own_variables(self):
            guard: Any = getattr(variable, "constraint", None)
            if hasattr(guard, "before_copy"):  # a file may lack what a variable's rows owe
                guard.before_copy()
        super().save_own_variables(store)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "output_dim": self.output_dim,
            "mask_zero": self.mask_zero,
        }


class TableEmbedding(BaseEmbedding):
    """Base of embeddings of ids: `layer(ids)`, and `layer(hidden, reverse=True)`.

    `reverse=True` gives the logits `x_v = h . E[v]` of all words under the same vectors that the
    layer looks up, so that the softmax of a language model has no table of its own. It is the call
    of `keras.layers.ReversibleEmbedding`. One layer that a model calls twice is one layer wherever
    the model goes: it is saved once, and clones, frozen models and files share it as well.

    A subclass has `word_logits`, and a `call` that uses `call_on_ids` and `call_in_reverse`.

    Args:
        input_dim: Vocabulary size `V`.
        output_dim: Embedding width `d`.
        **kwargs: Those of `BaseEmbedding`.

    Shapes: ids `(...)` -> vectors `(..., d)`; in reverse, vectors `(..., d)` -> float32 logits
        `(..., V)`, in mixed precision, too.
    """

    _in_reverse = False

    def __init__(self, input_dim: int, output_dim: int, **kwargs: Any) -> None:
        size = checks.integer_in("input_dim", input_dim, 1)
        super().__init__(output_dim, **kwargs)
        self.input_dim = size

    def __call__(self, inputs: Any, *args: Any, reverse: bool = False, **kwargs: Any) -> Any:
        # Keras asks for a mask after the call, and does not say which way round the call was.
        before, self._in_reverse = self._in_reverse, checks.boolean("reverse", reverse)
        try:
            if reverse:
                self.check_width(inputs)
                kwargs["reverse"] = True
            return super().__call__(inputs, *args, **kwargs)
        finally:
            self._in_reverse = before

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Logits `(..., V)` of float32 vectors `(..., d)`."""
        raise NotImplementedError(f"{type(self).__name__} must define `word_logits`.")

    def call_in_reverse(
        self, inputs: Any, rows: Callable[[tf.Tensor], tf.Tensor] | None = None
    ) -> tf.Tensor:
        """The logits of vectors of any float type.

        In training `rows` gives the vectors `(m, d)` of ids `(m,)`, from which a loss over a sample
        of the words computes their logits.
        """
        hidden = tf.cast(ops.convert_to_tensor(inputs), tf.float32)
        scorer = None if rows is None else Scorer(hidden, rows)
        return attach_scorer(self.word_logits(hidden), scorer)

    def check_width(self, hidden: Any) -> None:
        """Raises `ValueError` if vectors do not have the embedding's width."""
        shape: tuple[int | None, ...] = tuple(getattr(hidden, "shape", ()))
        if len(shape) == 0 or shape[-1] not in (None, self.output_dim):
            raise ValueError(
                f"`inputs` must be vectors of the embedding's width, {self.output_dim}, to be "
                f"called with reverse=True. Received: the shape {shape}."
            )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if self._in_reverse:
            return mask
        if not self.mask_zero:
            return None
        if isinstance(inputs, tf.SparseTensor):
            inputs = ops.convert_to_tensor(inputs, sparse=False)
        return ops.not_equal(inputs, 0)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape, self.output_dim)

    def compute_output_spec(
        self, inputs: Any, training: Any = None, reverse: bool = False
    ) -> keras.KerasTensor:
        if reverse:
            return keras.KerasTensor((*inputs.shape[:-1], self.input_dim), "float32")
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "input_dim": self.input_dim}


def call_on_ids(layer: keras.layers.Layer, ids: Any, lookup: Any) -> tf.Tensor:
    """Runs `lookup` on ids of any rank and type, ragged or sparse, in the layer's compute type.

    What a sparse tensor does not hold is id 0, as in Keras' own embedding.

    Ids that can be looked at (outside a graph) are checked; in a graph, TensorFlow's own gather
    reports them on CPU and clamps them on GPU and TPU.
    """
    if isinstance(ids, tf.RaggedTensor):
        return ids.with_flat_values(call_on_ids(layer, ids.flat_values, lookup))
    ids = ops.convert_to_tensor(ids, sparse=False)
    if ids.dtype.is_floating:  # keras.Input is float unless told otherwise
        check_exact(layer, ids)
    if tf.executing_eagerly():
        known = ids.numpy().astype(np.int64) if ids.dtype.is_floating else ids.numpy()
        checks.ids_below("ids", known, layer.input_dim)
    return tf.cast(lookup(tf.cast(ids, tf.int32)), layer.compute_dtype)


def check_exact(layer: keras.layers.Layer, ids: tf.Tensor) -> None:
    """Raises `ValueError` if the type of float ids is too small to tell the layer's ids apart."""
    largest = EXACT.get(ids.dtype.name)
    if largest is not None and layer.input_dim - 1 > largest:
        raise ValueError(
            f"`ids` must be integers: {ids.dtype.name} tells no ids above {largest} apart, and "
            "Keras casts float inputs in mixed precision. Give the ids of an integer type, or "
            'begin the model with `keras.Input(..., dtype="int32")`. Received: ids of '
            f"{ids.dtype.name} for input_dim={layer.input_dim} of layer {layer.name!r}."
        )


def reshape_as(vectors: tf.Tensor, ids: tf.Tensor, width: int, inner: int = 0) -> tf.Tensor:
    """Reshapes vectors of ids `(...)` to `(..., width)`.

    Args:
        vectors: Numbers of the vectors, in any shape.
        ids: What the vectors belong to.
        width: Width of a vector.
        inner: Last axes of `ids` that are no axes of the result, 1 for bits `(..., T d)` of words.

    >>> reshape_as(tf.ones(12), tf.ones((2, 3, 7)), 2, inner=1).shape
    TensorShape([2, 3, 2])
    """
    outer = len(ids.shape) - inner
    shape = [-1 if size is None else size for size in (*ids.shape[:outer], width)]
    if shape.count(-1) > 1:
        sizes = tf.shape(ids)
        shape = tf.concat([sizes[:outer] if inner else sizes, [width]], axis=0)
    return tf.reshape(vectors, shape)
