"""Composition of code vectors to word vectors: the function `f` of KD encoding."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.code_lstm import CodeLSTMForm
from kerascompact.forms.codebook import CodebookForm
from kerascompact.forms.factored import FactoredForm
from kerascompact.layers.embeddings.kd_start import KDStart
from kerascompact.layers.embeddings.starts import given
from kerascompact.layers.row_normalization import RowBatchNormalization
from kerascompact.ops.first_rows import first_rows_matmul

COMPOSITIONS = ("sum", "mean", "lstm")


@register
class CodeComposition(keras.layers.Layer):
    """Composes the vector of a word from the code vectors that its codes point to.

    "sum": `f(c) = sum_j W^j[c^j]`; "mean": that divided by `D`; "lstm":
    `f(c) = sum_j h_j`, `h = LSTM(W^1[c^1], ..., W^D[c^D])`. Then, with a hidden layer,
    `H f(c) + b`. Batch normalization follows both the sum and the hidden layer.

    Args:
        output_dim: Width `d` of the result.
        cardinality, code_length: Alphabet size `K` and number of letters `D`.
        hidden_dim: Width `d'` of the code vectors before a hidden layer `H`, or `None` for
            code vectors of width `d` and no hidden layer.
        composition: "sum", "mean" or "lstm".
        shared_codebook: Whether one codebook serves all `D` positions.
        batch_norm: Whether to apply batch normalization.
        codebooks_initializer, codebooks_regularizer: Initializer and regularizer of the code
            vectors.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 2.3.
    """

    def __init__(
        self,
        output_dim: int,
        cardinality: int,
        code_length: int,
        *,
        hidden_dim: int | None,
        composition: str,
        shared_codebook: bool,
        batch_norm: bool,
        codebooks_initializer: Any,
        codebooks_regularizer: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.output_dim, self.cardinality, self.code_length = output_dim, cardinality, code_length
        if hidden_dim is not None:
            checks.integer_in("hidden_dim", hidden_dim, 1)
        self.hidden_dim = hidden_dim
        self.composition = checks.choice("composition", composition, COMPOSITIONS)
        self.shared_codebook = checks.boolean("shared_codebook", shared_codebook)
        self.batch_norm = checks.boolean("batch_norm", batch_norm)
        self.codebooks_initializer = codebooks_initializer
        self.codebooks_regularizer = codebooks_regularizer
        self.start: list[np.ndarray | None] = [None, None]
        self.width = output_dim if hidden_dim is None else hidden_dim
        inner = {"dtype": "float32", "trainable": self.trainable}
        self.lstm: Any = None
        self.dense: Any = None
        if composition == "lstm":
            self.lstm = keras.layers.LSTM(self.width, return_sequences=True, name="lstm", **inner)
        if hidden_dim is not None:
            self.dense = keras.layers.Dense(output_dim, name="hidden", **inner)
        widths = [self.width] if self.dense is None else [self.width, output_dim]
        self.norms = [
            RowBatchNormalization(trainable=self.trainable, name=f"norm_{place}")
            for place in range(len(widths) * batch_norm)
        ]

    def begin(self, start: KDStart) -> None:
        """Sets the initial codebooks and hidden layer; to be called before the layer is built."""
        self.start = [start.codebooks, start.kernel]
        for norm, vectors in zip(self.norms, start.composed, strict=False):
            norm.keep(vectors)

    def build(self, input_shape: Any = None) -> None:
        (codebooks, kernel), self.start = self.start, [None, None]
        draw, one = self.codebooks_initializer.clone(), (self.cardinality, self.width)
        self.codebooks = self.add_weight(
            shape=one if self.shared_codebook else (self.code_length, *one),
            initializer=draw if codebooks is None else given(codebooks),
            regularizer=self.codebooks_regularizer,
            dtype="float32",
            autocast=False,
            name="codebooks",
        )
        if self.lstm is not None:
            self.lstm.build((None, self.code_length, self.width))
        if self.dense is not None:
            own = self.dense.kernel_initializer
            self.dense.kernel_initializer = own if kernel is None else given(kernel)
            self.dense.build((None, self.width))
            self.dense.kernel_initializer = own
        for norm, width in zip(self.norms, (self.width, self.output_dim), strict=False):
            norm.build((None, width))

    def call(
        self,
        one_hot: tf.Tensor,
        counts: Any = None,
        training: bool = False,
        track: bool = True,
        inverse: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """One-hot (or relaxed) codes `(n, D, K)` -> vectors `(n, d)`.

        With `inverse`, see `ops.first_rows`, rows of no id may have any vector.
        """
        codebooks = self.codebooks.value
        if self.lstm is not None:
            equation = "njk,kd->njd" if self.shared_codebook else "njk,jkd->njd"
            vectors = tf.reduce_sum(self.lstm(tf.einsum(equation, one_hot, codebooks)), axis=1)
        elif self.shared_codebook:
            vectors = tf.matmul(tf.reduce_sum(one_hot, axis=1), codebooks)
        else:
            # One matrix product; gathering (n, D, d') vectors and adding them moves more memory.
            pairs = self.code_length * self.cardinality
            flat = tf.reshape(one_hot, [-1, pairs])
            matrix = tf.reshape(codebooks, [pairs, self.width])
            if inverse is None:
                vectors = tf.matmul(flat, matrix)
            else:
                vectors = first_rows_matmul(flat, matrix, inverse)
        if self.composition == "mean":
            vectors = vectors / self.code_length
        norms = iter(self.norms)
        if self.batch_norm:
            vectors = next(norms)(vectors, counts, training=training, track=track)
        if self.dense is not None:
            vectors = self.dense(vectors)
            if self.batch_norm:
                vectors = next(norms)(vectors, counts, training=training, track=track)
        return vectors

    def num_parameters(self) -> int:
        """Embedding parameters `K D d' + C`, the papers' count (its definition 1)."""
        counted = [one for one in self.weights if not one.name.startswith("moving_")]
        return sum(int(np.prod(one.shape)) for one in counted)

    def to_form(self, codes: np.ndarray, **config: Any) -> Form:
        """The stored form for codes `(V, D)`; normalization becomes part of its arrays."""
        for weight in self.weights:
            checks.finite(weight.path, weight.numpy())
        codebooks = self.codebooks.numpy().astype(np.float64)
        if self.composition == "mean":
            codebooks /= self.code_length
        scale, shift = self.norms[0].affine() if self.batch_norm else (1.0, 0.0)
        if self.dense is None and not (self.lstm and self.batch_norm):
            if self.lstm:
                return self._recurrent(codes, codebooks, **config)
            # A word takes one row of each codebook, so a sum spread over all is added once.
            return _codebooks(codes, codebooks * scale + shift / self.code_length, **config)
        if self.lstm:
            part, before = self._recurrent(codes, codebooks), np.ones(self.width) * scale
        else:
            part, before = _codebooks(codes, codebooks * scale), np.ones(self.width)
        kernel, bias = np.eye(self.width), np.zeros(self.width)
        if self.dense is not None:
            kernel, bias = (weight.numpy().astype(np.float64) for weight in self.dense.weights)
        bias = bias + shift @ kernel if self.batch_norm else bias
        kernel = before[:, None] * kernel
        if self.batch_norm and self.dense is not None:
            scale, shift = self.norms[1].affine()
            kernel, bias = kernel * scale, bias * scale + shift
        kernel, bias = kernel.astype(np.float32), bias.astype(np.float32)
        return FactoredForm.from_parts(part, kernel, bias=bias, **config)

    def _recurrent(self, codes: np.ndarray, codebooks: np.ndarray, **config: Any) -> Form:
        weights = [weight.numpy() for weight in self.lstm.weights]
        return CodeLSTMForm.from_codes(codes, codebooks.astype(np.float32), *weights, **config)


def _codebooks(codes: np.ndarray, codebooks: np.ndarray, **config: Any) -> Form:
    return CodebookForm.from_codes(codes, codebooks.astype(np.float32), **config)
