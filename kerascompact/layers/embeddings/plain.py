"""Keras' own embedding, with a lookup and a gradient of the batch's rows only."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core.keras_graph import plain_table, stock_reversible
from kerascompact.core.registration import register
from kerascompact.core.word_scorer import Scorer, attach_scorer

_Keras: Any = stock_reversible() or keras.layers.Embedding
_REVERSE = {"tie_weights": True, "reverse_dtype": None, "logit_soft_cap": None}


@plain_table
@register
class Embedding(_Keras):
    """Looks up rows of a table as `keras.layers.Embedding` does, without reading the entire table.

    `E[i] = table[i]`. Keras' layer takes the table out of its variable before it gathers, so that a
    step copies all of it before the rows are written. Here the gather reads rows of the variable
    itself. Train it with `kerascompact.optimizers.lazy`, whose step updates these rows only: at a
    million words of width 64 a step takes 4.2 ms of a processor, that of Keras' layer with `lazy`
    19 ms, with Keras' Adam 147 ms. Compiled by XLA Keras' layer takes 4.6 ms, and this gains none.

    All else is Keras': arguments, weight, config, masks, types, LoRA, `quantize`, negative and
    sparse ids. `from_config`, `set_weights` and `load_weights` take what Keras' layer has saved; in
    a model that is loaded, `keras.models.clone_model` with a `clone_function` replaces the layer.
    From Keras 3.13 on it is a `keras.layers.ReversibleEmbedding` as well: `reverse=True` gives the
    logits of all words, with the mask of the vectors, which Keras' layer drops, so that a loss
    leaves padding out; `training.SampledSoftmaxCrossEntropy` trains it by some of them, in mixed
    precision if `reverse_dtype="float32"` or a bias makes them float32. It freezes and exports as
    Keras' layer does.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        embeddings_initializer, embeddings_regularizer, embeddings_constraint, mask_zero, weights:
            As in `keras.layers.Embedding`.
        **kwargs: Further ones of `keras.layers.Embedding` and `keras.layers.ReversibleEmbedding`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`; with `reverse=True` vectors
        `(..., d)` -> logits `(..., V)`.
    Storage: `32 V d` bits.
    Raises: ValueError, as `keras.layers.Embedding`, such as for `input_dim=0`.
    Example:
    >>> Embedding(10_000, 16)(np.array([[3, 7]])).shape
    TensorShape([1, 2, 16])
    >>> model = keras.Sequential([Embedding(9, 2), keras.layers.Flatten()])
    >>> model.compile(kerascompact.optimizers.lazy("adam"), "mse")
    >>> history = model.fit(np.array([[1, 1]]), np.zeros((1, 4)), verbose=0)

    Reference: `keras.layers.Embedding`.
    """

    _in_reverse = False

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        weights: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            input_dim,
            output_dim,
            embeddings_initializer=embeddings_initializer,
            embeddings_regularizer=embeddings_regularizer,
            embeddings_constraint=embeddings_constraint,
            mask_zero=mask_zero,
            **kwargs,
        )
        if weights is not None:  # Keras' reversible layer fails at them
            self.build()
            self.set_weights(weights if isinstance(weights, list) else [weights])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Keras asks for a mask after the call, and does not say which way round the call was.
        before, self._in_reverse = self._in_reverse, bool(kwargs.get("reverse", False))
        try:
            return super().__call__(*args, **kwargs)
        finally:
            self._in_reverse = before

    def call(self, inputs: Any, reverse: bool = False, training: bool | None = None) -> Any:
        if reverse:
            return self._logits(inputs, training)
        if self.lora_enabled or isinstance(inputs, tf.SparseTensor):
            return super().call(inputs)
        if isinstance(inputs, tf.RaggedTensor):
            return inputs.with_flat_values(self._rows(inputs.flat_values))
        return self._rows(keras.ops.convert_to_tensor(inputs))

    def _logits(self, hidden: Any, training: bool | None) -> Any:
        """Those of Keras; a loss over a sample of the words reads the rows that it needs.

        Not where logits are more than products with these rows: with a head of its own, a soft cap,
        LoRA or a quantized table such a loss refuses them.
        """
        logits = super().call(hidden, reverse=True)
        more = self.lora_enabled or getattr(self, "quantization_mode", None)
        if more or not self.tie_weights or self.logit_soft_cap is not None:
            return logits
        hidden = tf.cast(keras.ops.convert_to_tensor(hidden), tf.float32)
        scorer = Scorer(hidden, lambda ids: tf.gather(self.embeddings.value, ids))
        return attach_scorer(logits, scorer if training else None)

    def _rows(self, ids: tf.Tensor) -> tf.Tensor:
        if ids.dtype not in (tf.int32, tf.int64):
            ids = tf.cast(ids, tf.int32)
        ids = tf.where(ids < 0, ids + self.input_dim, ids)  # as Keras: from the end
        return tf.cast(tf.gather(self.embeddings.value, ids), self.compute_dtype)

    def compute_output_spec(
        self, inputs: Any, reverse: bool = False, training: Any = None
    ) -> keras.KerasTensor:
        if reverse:
            return super().compute_output_spec(inputs, reverse=True)
        return keras.layers.Embedding.compute_output_spec(self, inputs)  # it knows ragged ids

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if self._in_reverse:
            return mask  # of the vectors, so that a loss leaves padding out
        return keras.ops.not_equal(inputs, 0) if self.mask_zero else None

    def quantize(self, mode: Any = None, type_check: bool = True, **kwargs: Any) -> None:
        known = type(self) is Embedding
        super().quantize(mode, type_check=type_check and not known, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """That of `keras.layers.Embedding`, and what is set of `ReversibleEmbedding`."""
        config = super().get_config()
        return {key: config[key] for key in config if (key, config[key]) not in _REVERSE.items()}
