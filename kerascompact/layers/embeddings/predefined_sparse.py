"""Predefined sparse embeddings: the more frequent a word, the more entries its vector has."""

import random
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.forms.prefix_table import PrefixTableForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.starts import given
from kerascompact.ops import sparse
from kerascompact.ops.keep_mask import keep_mask
from kerascompact.ops.ragged import put, ragged_rows
from kerascompact.ops.unique import unique_ids
from kerascompact.ops.word_bins import bin_widths, words_per_bin


@register
class PredefinedSparseEmbedding(CompactEmbedding):
    """Looks up vectors whose number of entries depends on the word's frequency; the rest is 0.

    `E[i, j]` is trained for `j < k_i` and 0 for `j >= k_i`. The `d` dimensions are cut into bins of
    widths `kappa_m`, and `V alpha^m` words, the most frequent ones, have entries in bin `m`;
    `alpha` follows from the density, `sum_m kappa_m alpha^m = density d`, in whole words: the
    number of entries is that of the density up to half a word of a bin.

    Zeros take no memory: the entries are one array of blocks `(n / g, g)`, row after row, with `g`
    the greatest common divisor of the widths. A step reads and updates the blocks of the batch's
    distinct words.

    Ids must come in the order of frequency, most frequent first, as a `Vocabulary` has them (and
    before them its two reserved ids, which get long vectors).

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        density: Share `delta_E` of the entries that exist, in `[kappa_0 / d, 1]`.
        bins: Number of bins of nearly equal width; a list of widths; or `None`: one per dimension.
        min_width: Width of the first bin, which all words have; `None`: given by `bins`.
        order: "up": the most frequent words have the longest vectors; "down": the shortest;
            `None`: lengths are assigned at random.
        word_dropout: Share of the batch's distinct words whose vectors are dropped in training.
        variational_dropout: Share of the dimensions dropped in all vectors of a text in training,
            with one mask for the last axis of the ids.
        seed: Seed of the random order and of both dropouts.
        **kwargs: `embeddings_initializer` (of the blocks), `embeddings_regularizer`, `weights`
            (without the entries that do not exist), `mask_zero` and those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: for `n` entries `32 n` bits (the paper's count), `n = density V d` up to half a word of
        a bin; 96 for each bin; and, if `order` is `None`, `16 V`, above 32,768 words `32 V`.
    Raises: ValueError, if bins do not add up to `d`, `density` is too small for the first bin, or
        another argument is wrong.
    Example:
    >>> layer = PredefinedSparseEmbedding(10_000, 20, density=0.2)
    >>> layer(np.array([[0, 9_999]])).numpy()[0, 1, 1:].any()
    np.False_
    >>> layer.num_entries, round(layer.alpha, 3)
    (40000, 0.751)

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 4.1, eq. 1;
    dropouts: [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182), sec. 4.3 and 4.4.
    Differs: the paper's code stores the zeros, solves `alpha` anew after each bin it has rounded,
    and gives padding and unknown words short vectors.
    """

    EXAMPLE = dict(input_dim=20, output_dim=8, density=0.5, bins=4)
    UNCONSTRAINED = "its rows have different lengths and are stored in blocks"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        density: float,
        *,
        bins: int | Sequence[int] | None = None,
        min_width: int | None = None,
        order: str | None = "up",
        word_dropout: float = 0.0,
        variational_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.density = checks.number("density", density, above=0, up_to=1)
        widths = bin_widths(self.output_dim, bins, min_width)
        self.bins = list(map(int, bins)) if isinstance(bins, list | tuple | np.ndarray) else bins
        self.min_width = min_width
        self.order = checks.choice("order", order, ("up", "down", None))
        self.word_dropout = _rate("word_dropout", word_dropout)
        self.variational_dropout = _rate("variational_dropout", variational_dropout)
        self.seed = None if seed is None else checks.integer_in("seed", seed, 0)
        self.noise = keras.random.SeedGenerator(seed)
        self.words_per_bin, self.alpha = words_per_bin(self.density, widths, self.input_dim)
        # Words with all bins first, then those without the last one, ...
        sizes = -np.diff([*self.words_per_bin, 0])[::-1]
        longest_first = list(zip(sizes.tolist(), np.cumsum(widths)[::-1].tolist(), strict=True))
        in_order = longest_first[::-1] if self.order == "down" else longest_first
        self.ragged = ragged_rows([size for size, _ in in_order], [width for _, width in in_order])

    @property
    def num_entries(self) -> int:
        """Number of entries that exist and are trained."""
        return self.ragged.num_blocks * self.ragged.block

    def build(self, input_shape: Any = None) -> None:
        ranks, start, blocks = None, self.take_start(), None
        if self.order is None:
            # Without a seed, `keras.utils.set_random_seed` decides.
            seed = random.randrange(2**31) if self.seed is None else self.seed
            ranks = np.random.default_rng(seed).permutation(self.input_dim).astype(np.int32)
        if start is not None:
            blocks = self.ragged.pack(start if ranks is None else start[np.argsort(ranks)])
        shape = (self.ragged.num_blocks, self.ragged.block)
        self.blocks = self.add_vectors("blocks", shape, blocks)
        if ranks is not None:
            self.ranks = self.add_weight(
                shape=(self.input_dim,),
                initializer=given(ranks),
                dtype="int32",
                trainable=False,
                autocast=False,
                name="ranks",
            )

    def call(self, inputs: Any, training: bool | None = None, reverse: bool = False) -> tf.Tensor:
        vectors = super().call(inputs, training, reverse)
        if reverse or not (training and self.variational_dropout):
            return vectors
        # A mask for each text. `lookup` has the words of a ragged batch in one row.
        if isinstance(inputs, tf.RaggedTensor):
            while isinstance(inputs.values, tf.RaggedTensor):
                inputs = inputs.values
            shape = tf.stack([inputs.nrows(), self.output_dim])
            kept = keep_mask(shape, self.variational_dropout, self.noise)
            kept = tf.cast(tf.gather(kept, inputs.value_rowids()), self.compute_dtype)
            return vectors.with_flat_values(vectors.flat_values * kept)
        shape, words = tf.shape(vectors), len(vectors.shape) > 1
        shape = tf.concat([shape[:-2], [1] * words, shape[-1:]], axis=0)
        kept = keep_mask(shape, self.variational_dropout, self.noise)
        return vectors * tf.cast(kept, self.compute_dtype)

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        unique, inverse = unique_ids(ids, self.input_dim)
        vectors = tf.gather(self._rows(unique, tf.size(ids)), inverse)
        if training and self.word_dropout:
            # One draw for each place of the batch, of which the different words take the first.
            words = keep_mask(tf.stack([tf.size(ids), 1]), self.word_dropout, self.noise)
            vectors *= tf.gather(words, inverse)
        return vectors

    def _rows(self, ids: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
        """Rows of different ids `(n,)`, in `count >= n` rows `(count, d)`.

        XLA knows `count`, the number of places in the batch, but not `n`.
        """
        if self.order is None:
            ids = tf.gather(self.ranks.value, ids)
        longest, block = self.ragged.longest, self.ragged.block
        if len(self.ragged.sizes) == 1:
            rows = tf.gather(self.blocks.value, ids)
        else:
            start, length = self.ragged.find(ids)
            row, place = sparse.entries_of_rows(start, length, longest)
            target = row * longest + place - tf.gather(start, row)
            found = tf.gather(self.blocks.value, place)
            rows = put(found, target, count * longest)
            rows = tf.reshape(rows, [-1, longest * block])
        missing = self.output_dim - longest * block
        return tf.pad(rows, [[0, 0], [0, missing]]) if missing else rows

    def output_rows(self, ids: tf.Tensor) -> tf.Tensor:
        return self._rows(ids, tf.size(ids))

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Products with the existing entries, bin by bin, without forming the table."""
        flat = tf.reshape(hidden, [-1, self.output_dim])
        # Split, not sliced: the gradient of a slice is as long as all bins together.
        parts = tf.split(tf.convert_to_tensor(self.blocks.value), self.ragged.counts)
        logits = [
            tf.matmul(flat[:, :width], tf.reshape(part, [-1, width]), transpose_b=True)
            for part, width in zip(parts, self.ragged.widths, strict=True)
        ]
        by_rank = tf.concat(logits, axis=-1)
        if self.order is None:
            by_rank = tf.gather(by_rank, self.ranks.value, axis=-1)
        return reshape_as(by_rank, hidden[..., 0], self.input_dim)

    def to_form(self) -> PrefixTableForm:
        self.check_built()
        arrays = {"values": checks.finite("blocks", self.blocks.numpy())}
        if self.order is None:
            arrays["ranks"] = self.ranks.numpy()
        return PrefixTableForm.from_arrays(
            arrays,
            input_dim=self.input_dim,
            output_dim=self.output_dim,
            sizes=self.ragged.sizes,
            widths=self.ragged.widths,
            permuted=self.order is None,
            **self.form_config(),
        )

    def paper_bits(self) -> int:
        return 32 * self.num_entries

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "density": self.density,
            "bins": self.bins,
            "min_width": self.min_width,
            "order": self.order,
            "word_dropout": self.word_dropout,
            "variational_dropout": self.variational_dropout,
            "seed": self.seed,
        }


def _rate(name: str, value: Any) -> float:
    return checks.number(name, value, at_least=0, up_to=0.99)
