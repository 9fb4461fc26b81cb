"""Projection embeddings: vectors of words from the bits of their characters."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.projection import Projection
from kerascompact.core.registration import register
from kerascompact.core.whitening import whitening
from kerascompact.forms.projected import ProjectedForm, unit_vectors, widths
from kerascompact.forms.words import ProjectionBase
from kerascompact.text.ngrams import projection_bits

NORMALIZATIONS = ("batch", "layer", "l2", None)
EPSILON = 0.2  # of a whitening
MOST_WORDS = 8192  # whose bits are in memory at a time
_SETTINGS = tuple(field.name for field in fields(Projection))
_REFUSED = {  # arguments of keras.layers.Embedding that need a table
    "weights": "it has no table. `models.fit_projection` trains it to give the vectors of a table.",
    "embeddings_constraint": "it has no table, only layers that all words share.",
}


@register
class ProjectionEmbedding(ProjectionBase):
    """Computes the vector of any word from its characters, without a table or a vocabulary.

    `v = N(f_n(P(w)))`: `P(w)` are the `T d` bits of a locality-sensitive hash of the word's n-grams
    (see `Projection`), which cost no storage; `f_n` is a network with ReLU after each layer but the
    last; `N` is a normalization. Words with common n-grams, such as misspellings, share most bits.

    Inputs are strings, a RaggedTensor of bytes, or bits from `bits`, `tf.data`
    (`text.bit_pipeline`) or a `BitCache`; GPUs, TPUs and XLA can take bits only. An empty string
    has no bits.

    Args:
        output_dim: Width of the vectors.
        hidden_units: Widths of the layers before the last.
        normalization: Normalization `N` of the vectors: "batch", "layer", "l2" or `None`.
        dropout: Share of each hidden layer dropped in training; the paper drops 0.65.
        kernel_initializer: Initializer of the dense layers; the paper's is Xavier's.
        kernel_regularizer: Regularizer of the dense layers; the paper's is
            `keras.regularizers.L2(5e-4)`.
        mask_zero: Whether words without bytes are padding, as a mask and for batch statistics.
        together: Whether the words of the last axis form one text, with the bits of all their
            features (SGNN).
        whitening: Whether the network reads bits that are whitened for known words, see `adapt`.
            Short n-grams are in most words, so that their bits say the same; then training from
            scratch takes fewer steps. Folded into the first layer, it costs no storage.
        **kwargs: `num_projections`, `projection_dim`, `ngrams`, `max_gap`, `lower`, `boundaries`,
            `max_word_bytes`, `seed` of a `Projection`, and those of `keras.layers.Layer`.

    Shapes: strings `(...)`, RaggedTensor of bytes `(..., None)` or bits `(..., T d)` -> vectors
        `(..., d)`; ragged words give ragged vectors. `together`: strings `(b, n)` or bytes
        `(b, n, None)` -> `(b, d)`.
    Storage: `32 (r + 1) c` bits for each layer of `r` inputs and `c` outputs, the paper's count;
        int8 `8 r c + 64 c`. Batch normalization is folded into the last layer.
    Raises: ValueError, if an argument is wrong, or the inputs are none of those.
    Example:
    >>> layer = ProjectionEmbedding(100)
    >>> layer(["king", "kingg"]).shape
    TensorShape([2, 100])
    >>> layer.bits(["king", "kingg"]).shape
    (2, 1120)

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), eq. 2 and sec. 3.2.
    Differs: the network reads bits as -1 and 1, which start it with the variance that Xavier's
    initializer assumes; frozen, as 0 and 1.
    """

    EXAMPLE = dict(output_dim=4, hidden_units=(6,), num_projections=4, projection_dim=8)

    def __init__(
        self,
        output_dim: int,
        hidden_units: Sequence[int] = (2048,),
        *,
        normalization: str | None = "batch",
        dropout: float = 0.0,
        kernel_initializer: Any = "glorot_uniform",
        kernel_regularizer: Any = None,
        mask_zero: bool = False,
        together: bool = False,
        whitening: bool = False,
        **kwargs: Any,
    ) -> None:
        for name, why in _REFUSED.items():
            if kwargs.pop(name, None) is not None:
                raise ValueError(f"`{name}` must be None for a projection: {why}")
        settings = {name: kwargs.pop(name) for name in _SETTINGS if name in kwargs}
        super().__init__(output_dim, mask_zero=mask_zero, **kwargs)
        self.projection = Projection(**settings)
        self.hidden_units = widths(hidden_units)
        self.normalization = checks.choice("normalization", normalization, NORMALIZATIONS)
        self.dropout = checks.number("dropout", dropout, at_least=0, up_to=0.999)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.together = checks.boolean("together", together)
        self.whitening = checks.boolean("whitening", whitening)
        self.dense = [
            keras.layers.Dense(
                units,
                kernel_initializer=self.kernel_initializer.clone(),
                kernel_regularizer=self.kernel_regularizer,
                dtype=self.dtype_policy,
                trainable=self.trainable,
                name=f"dense_{number}",
            )
            for number, units in enumerate((*self.hidden_units, self.output_dim))
        ]
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.normalize: Any = None
        if self.normalization in ("batch", "layer"):
            kind = {
                "batch": keras.layers.BatchNormalization,
                "layer": keras.layers.LayerNormalization,
            }[self.normalization]
            options = {"dtype": self.dtype_policy, "trainable": self.trainable}
            self.normalize = kind(**options, name="normalization")

    def build(self, input_shape: Any = None) -> None:
        width = self.projection.num_bits
        if self.whitening:
            common: dict[str, Any] = dict(trainable=False, dtype="float32", autocast=False)
            self.bit_mean = self.add_weight((width,), "zeros", name="bit_mean", **common)
            self.whitener = self.add_weight((width, width), "identity", name="whitener", **common)
        for dense in self.dense:
            dense.build((None, width))
            width = dense.units
        if self.normalize is not None:
            self.normalize.build((None, width))

    def encode(self, bits: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        """Vectors `(n, d)` of bits `(n, T d)` of any type."""
        signs = 2 * tf.cast(bits, self.compute_dtype) - 1
        inputs = signs
        if self.whitening:
            inputs = tf.cast(signs, tf.float32) - self.bit_mean.value
            inputs = tf.cast(tf.matmul(inputs, self.whitener.value), self.compute_dtype)
        vectors = self.dense[0](inputs)
        for dense in self.dense[1:]:
            vectors = dense(self.drop(tf.nn.relu(vectors), training=training))
        if self.normalization == "l2":
            exact = unit_vectors(tf.cast(vectors, tf.float32))  # squares are out of float16's range
            return tf.cast(exact, self.compute_dtype)
        if self.normalization == "layer":
            return self.normalize(vectors)
        if self.normalization is None:
            return vectors
        words = None
        if self.mask_zero:
            words = tf.reduce_max(signs, axis=-1) > 0
        return self.normalize(vectors, training=training, mask=words)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return self.encoded(inputs, lambda bits: self.encode(bits, training))

    def adapt(
        self,
        words: Sequence[str] | Sequence[bytes],
        counts: Any = None,
        *,
        epsilon: float = EPSILON,
        power: float = 0.5,
    ) -> None:
        """Whitens the bits of known words; before training, as it changes what the layer computes.

        The network then reads `(2 b - 1 - mu) (S + epsilon I)^(-1/2)`, with the mean `mu` and the
        covariance `S` of the bits as -1 and 1 of words that count `count^power`.

        Args:
            words: Words, as `str` or bytes.
            counts: How often each word occurs, `(V,)`; `None`: all words equally often.
            epsilon: Added to each variance: with a larger one, rare patterns are amplified less.
            power: Exponent of the counts.

        Raises: ValueError, without `whitening=True`, or if an argument is wrong.

        >>> layer = ProjectionEmbedding(8, num_projections=20, whitening=True)
        >>> layer.adapt(["king", "queen", "kingdom"])
        """
        if not self.whitening:
            checks.fail("whitening", "True for a layer that adapts to words", self.whitening)
        if self.together or len(words) == 0:
            expected = "at least one word, for a layer of single words"
            checks.fail("words", expected, "a layer with `together`" if self.together else words)
        shares = np.ones(len(words)) if counts is None else np.asarray(counts, np.float64)
        checks.finite("counts", shares)
        if shares.shape != (len(words),) or shares.min() < 0:
            checks.fail("counts", f"{len(words)} numbers >= 0", counts)
        checks.number("epsilon", epsilon, above=0)
        shares = shares ** checks.number("power", power, at_least=0)
        shares *= [len(word) > 0 for word in words]  # padding has no bits
        if not shares.any():
            checks.fail("counts", "a number above 0 for a word with letters", counts)
        if not self.built:
            self.build()
        starts = range(0, len(words), MOST_WORDS)
        parts = (slice(start, start + MOST_WORDS) for start in starts)
        mean, whitener = whitening(
            ((self._signs(words[part]), shares[part] / shares.sum()) for part in parts), epsilon
        )
        self.bit_mean.assign(mean.astype(np.float32))
        self.whitener.assign(whitener.astype(np.float32))

    def _signs(self, words: Sequence[str] | Sequence[bytes]) -> np.ndarray:
        return 2 * projection_bits(words, self.projection).astype(np.float32) - 1

    def bits(self, words: Sequence[str] | Sequence[bytes]) -> np.ndarray:
        """The bits of words, in NumPy.

        Args:
            words: Words, as `str` or bytes; with `together`, the words of one text.

        Returns: uint8 `(n, T d)`; with `together`, `(1, T d)`.

        >>> ProjectionEmbedding(8).bits(["king"]).dtype
        dtype('uint8')
        """
        bits = projection_bits(words, self.projection, together=self.together)
        return bits[None] if self.together else bits

    def vectors(self, words: Sequence[str] | Sequence[bytes], batch_size: int = 1024) -> np.ndarray:
        """The vectors of words in inference, `(n, d)` float32, some words at a time."""
        checks.integer_in("batch_size", batch_size, 1)
        bits = self.bits(words)
        parts = [
            np.asarray(self(bits[start : start + batch_size], training=False), np.float32)
            for start in range(0, len(bits), batch_size)
        ]
        return np.concatenate([np.zeros((0, self.output_dim), np.float32), *parts])

    def to_form(self) -> ProjectedForm:
        """The stored form; its outputs are this layer's outputs with `training=False`."""
        self.check_built()
        arrays = {}
        for number, dense in enumerate(self.dense):
            for kind in ("kernel", "bias"):
                values = keras.ops.convert_to_numpy(getattr(dense, kind))
                arrays[f"{kind}_{number}"] = checks.finite(kind, values).astype(np.float64)
        if self.whitening:  # (s - mu) Z W + c = s (Z W) + (c - mu Z W)
            mean, whitener = (
                keras.ops.convert_to_numpy(one).astype(np.float64)
                for one in (self.bit_mean, self.whitener)
            )
            arrays["kernel_0"] = checks.finite("whitener", whitener) @ arrays["kernel_0"]
            arrays["bias_0"] = arrays["bias_0"] - mean @ arrays["kernel_0"]
        # (2 b - 1) W + c = b (2 W) + (c - 1 W)
        arrays["bias_0"] = arrays["bias_0"] - arrays["kernel_0"].sum(axis=0)
        arrays["kernel_0"] = 2 * arrays["kernel_0"]
        options = {}
        if self.normalize is not None:
            norm = {v.name: keras.ops.convert_to_numpy(v) for v in self.normalize.variables}
            norm = {name: checks.finite(name, value) for name, value in norm.items()}
            if self.normalization == "layer":
                arrays |= norm
                options = dict(normalization="layer", epsilon=self.normalize.epsilon)
            else:
                last = len(self.dense) - 1
                scale = norm["moving_variance"].astype(np.float64) + self.normalize.epsilon
                scale = norm["gamma"] / np.sqrt(scale)
                arrays[f"kernel_{last}"] = arrays[f"kernel_{last}"] * scale
                centred = arrays[f"bias_{last}"] - norm["moving_mean"]
                arrays[f"bias_{last}"] = centred * scale + norm["beta"]
        elif self.normalization == "l2":
            options = dict(normalization="l2")
        return ProjectedForm.from_arrays(
            arrays,
            projection=self.projection,
            output_dim=self.output_dim,
            hidden_units=self.hidden_units,
            together=self.together,
            mask_zero=self.mask_zero,
            paper_bits=self.paper_bits(),
            name=self.name,
            dtype=self.dtype_policy,
            **options,
        )

    def paper_bits(self) -> int:
        """Bits of the layers' weights and biases."""
        sizes = [self.projection.num_bits, *self.hidden_units, self.output_dim]
        return 32 * sum((r + 1) * c for r, c in zip(sizes, sizes[1:], strict=False))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            **self.projection.get_config(),
            "hidden_units": list(self.hidden_units),
            "normalization": self.normalization,
            "dropout": self.dropout,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "together": self.together,
            "whitening": self.whitening,
        }
