"""Anchor & Transform (ANT): a few anchor vectors, and a sparse matrix from anchors to words."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import arrays, checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.extras import require
from kerascompact.core.registration import register
from kerascompact.forms.sparse import SparseForm
from kerascompact.initializers.half_normal import HalfNormal
from kerascompact.initializers.orthogonal_rows import OrthogonalRows
from kerascompact.layers.embeddings.anchor_sets import AnchorSets
from kerascompact.layers.embeddings.anchor_start import anchor_start
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.starts import given
from kerascompact.ops.first_rows import first_rows_matmul
from kerascompact.ops.random_bits import random_bits
from kerascompact.ops.row_logits import product_logits
from kerascompact.ops.softmax_rows import softmax_over_zeros
from kerascompact.ops.sparse_gradient import sparse_gradient_product
from kerascompact.ops.unique import unique_ids
from kerascompact.optimizers.pending import caught_up, caught_up_rows, proximal_rule
from kerascompact.optimizers.rules import (
    L1Rule,
    Schedule,
    penalty_weight_of,
    penalty_weight_to_config,
)
from kerascompact.regularizers.orthogonality import Orthogonality

CHUNK = 8192  # words at a time in a pass over all: 33 MB of rows with 1,000 anchors


@register
class AnchorTransformEmbedding(CompactEmbedding):
    """Combines a few of `|A|` anchor vectors into the vector of each word.

    `E = T A`, `T: (V, |A|)` sparse, `A: (|A|, d)`; a step computes the rows of `T` of the batch's
    unique ids, then their products. With `M` sets of anchors `E = sum_m T_m A_m`, or
    `E = sum_m softmax(s T_m) A_m` with the softmax over a row. Trained with the penalty
    `lambda * ||T * S||_1`, whose proximal step makes exact zeros: compile the model with
    `kerascompact.optimizers.Proximal`, any other optimizer is refused.

    In a softmax a missing entry is a 0, and its anchor has the weight `exp(0) / Z`, `Z` the sum of
    `exp(s t)` over a row. A row with missing entries freezes to weights `(exp(s t) - 1) / Z` of
    those that it has, and `1 / Z` of the sum of all anchors; a row without freezes to its softmax.
    Both equal the trained row up to float32 rounding, for entries of any size.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        num_anchors: `|A|`, or a list of the sizes of `M` sets. Columns count through all sets.
        l1_weight: `lambda`, a number >= 0 or a schedule of Keras that gives it for a step. 0 with
            `nonnegative=False`: no penalty, for any optimizer.
        nonnegative: Whether `T = ReLU(T)` after each step.
        mixture: Mixture of the anchors, "linear" or "softmax".
        logit_scale: Factor `s` of the entries in a softmax. Adam moves an entry by about its
            learning rate in a step, so that at a scale of 1 the weights stay near their start,
            where all are alike. On dev of AG News, three seeds, a scale of 10 had 87.4 %; at 1 two
            of three trainings stayed at chance. It must be 1 with a linear mixture.
        anchor_ids: Words that are anchors: a list of `|A|` ids, or for several sets a list of
            lists, `None` for a set without words. The row of a word that is an anchor starts
            one-hot.
        anchors: Vectors to start the anchors with, `(|A|, d)`, or a list of those, or `None`.
        trainable_anchors, trainable_transform: `False` leaves them as they start.
        positive_pairs: Entries of `T` without penalty, as (word, column) `(n, 2)`, such as from
            `knowledge.Graph.to_anchors`.
        negative_pairs: Pairs of unrelated words `(n, 2)`, which are pushed to share no anchors.
        negative_pairs_weight: Weight of the loss `sum |t_u| . |t_v|`, over `negative_samples` of
            them in each step.
        negative_samples: Number of pairs drawn in a step, with replacement.
        orthogonality_weight: Weight of the loss `sum_{i != j} |a_i . a_j|` over each set.
        gradient_threshold: Above 0, in a softmax over all words (`reverse=True`) the gradient of
            `T` is rows: those of words whose logits' gradient is above this share of the largest,
            see `ops.sparse_gradient`. 0: it is exact, and as large as `T`.
        transform_initializer: Initializer of `T`. Default: half-normal, `|N(0, 2 / V)|`.
        embeddings_initializer: Initializer of each set of anchors. Default: orthogonal vectors of
            length 1; in a set of more than `d` anchors, which cannot all be orthogonal, a tight
            frame of the same mean length, see `initializers.OrthogonalRows`.
        seed: Seed of the drawn pairs.
        **kwargs: `embeddings_regularizer` (of `A`), `weights` (anchors by k-SVD, or by k-means if
            `nonnegative`, and the best weights of those near a word; one linear mixture),
            `mask_zero` and those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: that of `forms.SparseForm`: `48 n + 9 V + 32 |A| d` bits for `n` entries (`40 n` up to
        256 anchors); in int8 `24 n` (`16 n`) and 8 a number of `A`. A softmax adds a vector a set,
        and an entry a word and set in which entries are missing.
        Training holds `32 V |A|` bits of `T` and as many for each slot of the optimizer.
    Raises: ValueError, if an argument is wrong or does not fit the sets.
    Example:
    >>> layer = AnchorTransformEmbedding(10_000, 16, num_anchors=50, l1_weight=1e-4)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 16])

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3, algorithm 1.
    Differs: negative pairs are a sample, and the sum over it is not scaled up. All sets have
    one `lambda`; the paper does not say whether sets differ in it. The paper has no `logit_scale`:
    1, the default, is its formula.
    """

    EXAMPLE: dict[str, Any] = dict(input_dim=20, output_dim=4, num_anchors=6, l1_weight=1e-4)
    UNCONSTRAINED = "its vectors are combinations of anchors"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        num_anchors: int | Sequence[int],
        *,
        l1_weight: float | Schedule = 1e-5,
        nonnegative: bool = True,
        mixture: str = "linear",
        logit_scale: float = 1.0,
        anchor_ids: Any = None,
        anchors: Any = None,
        trainable_anchors: bool = True,
        trainable_transform: bool = True,
        positive_pairs: Any = None,
        negative_pairs: Any = None,
        negative_pairs_weight: float = 0.0,
        negative_samples: int = 256,
        orthogonality_weight: float = 0.0,
        gradient_threshold: float = 0.0,
        transform_initializer: Any = None,
        embeddings_initializer: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        initializer = OrthogonalRows() if embeddings_initializer is None else embeddings_initializer
        super().__init__(input_dim, output_dim, embeddings_initializer=initializer, **kwargs)
        self.sets = AnchorSets(num_anchors, self.input_dim, self.output_dim, anchor_ids, anchors)
        self.num_anchors = self.sets.total
        self.l1_weight = penalty_weight_of(l1_weight, "l1_weight")
        self.nonnegative = checks.boolean("nonnegative", nonnegative)
        self.mixture = checks.choice("mixture", mixture, ("linear", "softmax"))
        self.logit_scale = checks.number("logit_scale", logit_scale, above=0)
        if mixture == "linear" and self.logit_scale != 1:
            checks.fail("logit_scale", "1 with a linear mixture", logit_scale)
        self.trainable_anchors = checks.boolean("trainable_anchors", trainable_anchors)
        self.trainable_transform = checks.boolean("trainable_transform", trainable_transform)
        bounds = (self.input_dim, self.sets.total)
        self.positive_pairs = arrays.pairs("positive_pairs", positive_pairs, *bounds)
        bounds = (self.input_dim, self.input_dim)
        self.negative_pairs = arrays.pairs("negative_pairs", negative_pairs, *bounds)
        self.negative_pairs_weight = checks.number(
            "negative_pairs_weight", negative_pairs_weight, at_least=0
        )
        self.negative_samples = checks.integer_in("negative_samples", negative_samples, 1)
        self.orthogonality_weight = checks.number(
            "orthogonality_weight", orthogonality_weight, at_least=0
        )
        self.gradient_threshold = checks.number(
            "gradient_threshold", gradient_threshold, at_least=0, below=1
        )
        if self.gradient_threshold and mixture == "softmax":
            checks.fail("gradient_threshold", "0 with a softmax over rows", gradient_threshold)
        if self.start_table is not None and mixture == "softmax":
            checks.fail("mixture", "'linear' with `weights`: a softmax fits no table", mixture)
        if transform_initializer is None:
            transform_initializer = HalfNormal()
        self.transform_initializer = keras.initializers.get(transform_initializer)
        self.seed = None if seed is None else checks.integer_in("seed", seed, 0)
        self.draws = None
        if (
            self.negative_pairs_weight
            and self.negative_pairs is not None
            and len(self.negative_pairs)
        ):
            self.draws = keras.random.SeedGenerator(seed)

    def build(self, input_shape: Any = None) -> None:
        draw: Any = self.transform_initializer.clone()
        if (table := self.take_start()) is not None:
            found = anchor_start(table, self.sets, self.nonnegative, self.seed or 0)
            draw, self.sets.vectors = given(found[0]), found[1]
        self.transform = self.add_weight(
            shape=(self.input_dim, self.sets.total),
            initializer=lambda *of, **more: self.sets.with_one_hot_rows(draw(*of, **more)),
            dtype="float32",
            trainable=self.trainable_transform,
            autocast=False,
            name="transform",
        )
        if self.trainable_transform and (self.l1_weight or self.nonnegative):
            rule = L1Rule(self.l1_weight, self.nonnegative, self.positive_pairs)
            proximal_rule(self, self.transform, rule)
        self.anchors = [self._add_anchors(place) for place in range(len(self.sets.sizes))]

    def _add_anchors(self, place: int) -> keras.Variable:
        vectors, start = self.sets.vectors[place], self.embeddings_initializer.clone()
        penalised = self.orthogonality_weight or self.embeddings_regularizer is not None
        return self.add_weight(
            shape=(self.sets.sizes[place], self.output_dim),
            initializer=start if vectors is None else given(vectors),
            regularizer=self._penalty if self.trainable_anchors and penalised else None,
            dtype="float32",
            trainable=self.trainable_anchors,
            autocast=False,
            name=f"anchors_{place}" if self.sets.several else "anchors",
        )

    def _penalty(self, anchors: tf.Tensor) -> tf.Tensor:
        own = Orthogonality(self.orthogonality_weight)(anchors)
        more = self.embeddings_regularizer
        return own if more is None else own + more(anchors)

    def all_anchors(self) -> tf.Tensor:
        """The anchors of all sets, one below the other, `(|A|, d)`."""
        sets = [tf.convert_to_tensor(anchors.value) for anchors in self.anchors]
        return sets[0] if len(sets) == 1 else tf.concat(sets, axis=0)

    def weights_of(self, rows: tf.Tensor) -> tf.Tensor:
        """Weights of the anchors: rows of `T` `(n, |A|)`, or their softmax by sets."""
        if self.mixture == "linear":
            return rows
        parts = tf.split(rows, self.sets.sizes, axis=-1)
        return tf.concat([tf.nn.softmax(self._scaled(part)) for part in parts], axis=-1)

    def _scaled(self, rows: tf.Tensor) -> tf.Tensor:
        """Entries times the scale, less a number that a softmax does not see: none overflows."""
        if self.logit_scale == 1:
            return rows
        largest = tf.reduce_max(rows, axis=-1, keepdims=True)
        return self.logit_scale * (rows - tf.stop_gradient(largest))

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        unique, inverse = unique_ids(ids, self.input_dim)
        vectors = self.vectors_of(unique, bool(training), inverse)
        trains = training and self.trainable and self.trainable_transform
        if trains and self.draws is not None:
            self.add_loss(self._negative_loss())
        return tf.gather(vectors, inverse)

    def output_rows(self, ids: tf.Tensor) -> tf.Tensor:
        return self.vectors_of(ids, False)

    def vectors_of(self, ids: tf.Tensor, training: bool, inverse: Any = None) -> tf.Tensor:
        """Vectors `(n, d)` of ids `(n,)`; with `inverse` these are the unique ids of a batch."""
        rows = self.weights_of(self._rows(ids))
        if inverse is None:
            return tf.matmul(rows, self.all_anchors())
        return first_rows_matmul(rows, self.all_anchors(), inverse)

    def _rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of `T` `(..., |A|)` as they are now."""
        return caught_up_rows(self.transform, ids)

    def _trained_rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of the weight that holds `T`, without deferred steps."""
        return tf.gather(self.transform.value, ids)

    def _negative_loss(self) -> tf.Tensor:
        """Weighted `sum |t_u| . |t_v|` over pairs of words drawn anew in each step."""
        assert self.negative_pairs is not None and self.draws is not None
        share = tf.cast(random_bits((self.negative_samples,), self.draws), tf.float64) * 2.0**-32
        drawn = tf.cast(share * len(self.negative_pairs), tf.int32)
        rows = tf.abs(self._rows(tf.gather(self.negative_pairs, drawn)))  # (samples, 2, |A|)
        return self.negative_pairs_weight * tf.reduce_sum(rows[:, 0] * rows[:, 1])

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """`T (A h)`, without the `(V, d)` table, see `ops.row_logits`."""
        flat = tf.reshape(hidden, [-1, self.output_dim])
        anchors = self.all_anchors()
        if self.mixture == "softmax":
            scores = tf.matmul(flat, anchors, transpose_b=True)
            logits = self.logits_by_rows(scores, lambda ids: self.weights_of(self._rows(ids)))
        elif self.gradient_threshold:
            scores = tf.matmul(flat, anchors, transpose_b=True)
            table = caught_up(self.transform)
            logits = sparse_gradient_product(scores, table, self.gradient_threshold)
        else:
            logits = product_logits(flat, anchors, caught_up(self.transform))
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def _entries(self, stored: bool) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Lengths, columns and values of chunks of rows: of `T`, or of the stored matrix."""
        self.check_built()
        for start in range(0, self.input_dim, CHUNK):
            ids = tf.range(start, min(start + CHUNK, self.input_dim))
            checks.finite("transform", self._trained_rows(ids).numpy())
            rows = self._rows(ids).numpy()
            if stored and self.mixture == "softmax":
                rows = self.logit_scale * rows.astype(np.float64)
                rows = np.hstack(
                    [softmax_over_zeros(p) for p in np.split(rows, self.sets.offsets[1:-1], 1)]
                )
            where, columns = np.nonzero(rows)
            yield np.bincount(where, minlength=len(rows)), columns, rows[where, columns]

    def sparse_transform(self) -> Any:
        """`T` as it is now: a SciPy CSR matrix `(V, |A|)` of its entries that are not 0."""
        sparse = require("scipy.sparse", "compress")
        lengths, columns, values = map(np.concatenate, zip(*self._entries(False), strict=True))
        starts = np.append(0, np.cumsum(lengths))
        return sparse.csr_matrix((values, columns, starts), (self.input_dim, self.sets.total))

    def to_form(self) -> SparseForm:
        stored = self._entries(stored=True)
        lengths, columns, values = map(np.concatenate, zip(*stored, strict=True))
        sets = [checks.finite(anchors.name, anchors.numpy()) for anchors in self.anchors]
        if self.mixture == "softmax":
            sets = [np.vstack([anchors, anchors.sum(axis=0)]) for anchors in sets]
        return SparseForm.from_entries(
            lengths, columns, values, np.vstack(sets), **self.form_config()
        )

    def paper_bits(self) -> int:
        """`32 (nnz(T) + |A| d)`."""
        entries = sum(len(values) for _, _, values in self._entries(False))
        return 32 * (entries + self.sets.total * self.output_dim)

    def get_config(self) -> dict[str, Any]:
        positive, negative = self.positive_pairs, self.negative_pairs
        return {
            **super().get_config(),
            **self.sets.get_config(),
            "l1_weight": penalty_weight_to_config(self.l1_weight),
            "nonnegative": self.nonnegative,
            "mixture": self.mixture,
            "logit_scale": self.logit_scale,
            "trainable_anchors": self.trainable_anchors,
            "trainable_transform": self.trainable_transform,
            "positive_pairs": None if positive is None else arrays.to_text(positive),
            "negative_pairs": None if negative is None else arrays.to_text(negative),
            "negative_pairs_weight": self.negative_pairs_weight,
            "negative_samples": self.negative_samples,
            "orthogonality_weight": self.orthogonality_weight,
            "gradient_threshold": self.gradient_threshold,
            "transform_initializer": keras.initializers.serialize(self.transform_initializer),
            "seed": self.seed,
        }
