"""Anchor & Transform whose transform is sparse in training: a few entries a word, that move."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.forms.sparse import SparseForm
from kerascompact.layers.embeddings.anchor_entries import Entries, first_entries, slots_of
from kerascompact.layers.embeddings.anchor_start import anchor_entries, largest_entries
from kerascompact.layers.embeddings.anchor_transform import CHUNK, AnchorTransformEmbedding
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.starts import given
from kerascompact.ops.replicas import replicas
from kerascompact.ops.sums_of_rows import dense_rows, softmax_sums, sums_of_rows
from kerascompact.optimizers.entry_rule import EntryRule, SlotRule
from kerascompact.optimizers.pending import caught_up_rows, proximal_rule


@register
class SparseAnchorEmbedding(AnchorTransformEmbedding):
    """Combines a few of `|A|` anchor vectors, and stores no other weights in training either.

    `E[i] = sum_k values[i, k] A[columns[i, k]]`, `k = 1 ... s`: the `E = T A` of
    `AnchorTransformEmbedding` with at most `s` entries in a row of `T`, as columns and values
    `(V, s)`. Memory and time of a step grow with `s`, not with `|A|`. With `M` sets of anchors a
    row has `s` entries in each; with `mixture="softmax"` a missing entry is a 0, as there.

    Entries find their columns in training: right after a proximal step, entries of 0 of up to
    `regrow_rows` of the batch's words move to the columns with the largest gradient, `|g A^T|`
    (`-g A^T` with `nonnegative`) for the gradient `g` of the word's vector. Their moments begin
    anew. The table does not change by that, and no gradient is approximate.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        num_anchors: `|A|`, or a list of the sizes of `M` sets. Columns count through all sets.
        entries: Number of entries `s` of a row in each set, or a list of `M` such numbers. Default:
            16, or the size of a set if that is less.
        regrow_rows: Number of words of a batch whose entries of 0 may move in a step; other words
            follow in the next. 0: columns stay, as they must on several devices.
        transform_initializer: Initializer of the values. Default: half-normal, `|N(0, 2 / V)|`.
        seed: Seed of the first columns (`None`: 0) and of the drawn pairs.
        **kwargs: Arguments of `AnchorTransformEmbedding` but `gradient_threshold`. With
            `positive_pairs`, a row keeps the columns of its pairs, `s` at most in each set.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: those of `forms.SparseForm`, as for `AnchorTransformEmbedding`. Training holds `(32 +
        16) V s` bits of `T`, `32 V s` for each slot of the optimizer, and `64 V`.
    Raises: ValueError, if an argument is wrong or does not fit the sets, or in training on several
        devices with `regrow_rows` above 0.
    Example:
    >>> layer = SparseAnchorEmbedding(10_000, 16, num_anchors=50, entries=8, l1_weight=1e-4)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 16])

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.4 and appendix C.
    Differs: they store the entries of a row as a list of any length, this layer as `s` slots; they
    do not say how entries find their columns. See `optimizers.entry_rule`.
    """

    EXAMPLE: dict[str, Any] = dict(
        input_dim=20, output_dim=4, num_anchors=6, entries=3, l1_weight=1e-4
    )

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        num_anchors: int | Sequence[int],
        entries: int | Sequence[int] | None = None,
        *,
        regrow_rows: int = 256,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, num_anchors, **kwargs)
        if self.gradient_threshold:
            why = "0: the gradient of a softmax over all words is as small as the entries"
            checks.fail("gradient_threshold", why, self.gradient_threshold)
        self.entries = entries
        self.slots = slots_of("entries", entries, self.sets)
        self.regrow_rows = checks.integer_in("regrow_rows", regrow_rows, 0)
        if self.start_table is not None and self.sets.several:
            checks.fail("num_anchors", "one set with `weights`", num_anchors)
        self._given_entries: tuple[np.ndarray, np.ndarray] | None = None
        self.rule: EntryRule | None = None

    @classmethod
    def from_form(
        cls, form: SparseForm, entries: int | None = None, **kwargs: Any
    ) -> "SparseAnchorEmbedding":
        """A layer that begins where a form is, such as one of `compress.KSVD`, to train it on.

        With `l1_weight=0.0` a signed form keeps its entries, of which only the values are trained,
        by any optimizer: its size stays, also where rows have fewer entries than others.

        Args:
            form: Form of sums of anchors.
            entries: Number of entries of a row; `None`: those of its longest. A row of more keeps
                the largest.
            **kwargs: Further arguments of the layer, such as `l1_weight`.

        Raises: ValueError, if `form` is no `SparseForm`, or an argument is wrong.

        >>> form = SparseForm.from_matrix(np.eye(3), np.eye(3, 2))
        >>> SparseAnchorEmbedding.from_form(form)(np.array([1])).numpy().tolist()
        [[0.0, 1.0]]
        """
        if not isinstance(form, SparseForm):
            checks.fail("form", "a SparseForm", form)
        scale = np.float32(1 if form.precision == "float32" else form.entry_steps)
        count = max(1, form.longest_row) if entries is None else entries
        defaults = dict(nonnegative=not form.signed, mask_zero=form.mask_zero, name=form.name)
        layer = cls(
            form.input_dim,
            form.output_dim,
            form.num_anchors,
            count,
            anchors=form.table_values("anchors") * scale,
            **{**defaults, **kwargs},
        )
        columns, values = largest_entries(form.entries(), layer.slots[0])
        if not layer.l1_weight and not layer.nonnegative:
            columns = np.where(values == 0, ~columns, columns)  # of no entry, see `_stored_entries`
        layer._given_entries = columns, values / scale
        layer.build()
        return layer

    def build(self, input_shape: Any = None) -> None:
        first = self._first_entries()
        # Several machines cannot send int16 to each other.
        kind = "int32" if tf.distribute.has_strategy() else first.columns.dtype.name
        self.columns = self._add_state("columns", first.columns.shape, given(first.columns), kind)
        self.values = self.add_weight(
            shape=first.columns.shape,
            initializer=lambda *of, **more: self._first_values(first, *of, **more),
            dtype="float32",
            trainable=self.trainable_transform,
            autocast=False,
            name="values",
        )
        if self.trainable_transform and (self.l1_weight or self.nonnegative):
            self._add_rule()
        self.anchors = [self._add_anchors(place) for place in range(len(self.sets.sizes))]

    def _first_entries(self) -> Entries:
        seed, start = self.seed or 0, self._given_entries
        self._given_entries = None
        if (table := self.take_start()) is not None:
            found = anchor_entries(table, self.sets, self.slots[0], self.nonnegative, seed)
            start, self.sets.vectors = found[:2], found[2]
        sizes = (self.sets, self.slots, self.input_dim)
        return first_entries(*sizes, self.positive_pairs, seed, start)

    def _first_values(self, first: Entries, shape: Any, dtype: Any = None) -> tf.Tensor:
        if first.values is None:
            values = self.transform_initializer.clone()(shape, dtype=dtype)
        else:
            values = tf.constant(first.values, dtype)
        if not len(first.one_hot):
            return values
        rows = np.unique(first.one_hot[:, 0])
        ones = np.zeros((len(rows), shape[1]), np.float32)
        ones[np.searchsorted(rows, first.one_hot[:, 0]), first.one_hot[:, 1]] = 1
        return tf.tensor_scatter_nd_update(values, rows[:, None], tf.constant(ones, dtype))

    def _add_rule(self) -> None:
        penalty = (self.l1_weight, self.nonnegative, self.positive_pairs, self.columns)
        rows = self.regrow_rows
        if not rows or self.slots == self.sets.sizes:  # a row has all columns
            proximal_rule(self, self.values, SlotRule(*penalty, self.sets.total))
            return
        self.regrow_place = self._add_state("regrow_place", (), "zeros", "int32")
        proposals = (
            self._add_state("regrow_ids", (rows,), "zeros", "int32"),
            self._add_state("regrow_columns", (rows, sum(self.slots)), _none, "int32"),
        )
        sets = [*zip(self.sets.sizes, self.slots, strict=True)]
        self.rule = EntryRule(*penalty, proposals, sets)
        proximal_rule(self, self.values, self.rule)

    def _add_state(
        self, name: str, shape: tuple[int, ...], initializer: Any, dtype: str
    ) -> keras.Variable:
        return self.add_weight(
            shape=shape,
            initializer=initializer,
            dtype=dtype,
            trainable=False,
            autocast=False,
            name=name,
        )

    def vectors_of(self, ids: tf.Tensor, training: bool, inverse: Any = None) -> tf.Tensor:
        (columns, values), anchors = self._stored_entries(ids), self.all_anchors()
        if self.mixture == "linear":
            parts = [sums_of_rows(anchors, columns, values)]
        else:
            parts = self._softmax_parts(columns, values, anchors)
        vectors = tf.add_n(parts)
        if training and self.rule is not None and self.trainable:
            # XLA has places behind the unique ids, which repeat one of them without its gradient.
            count = tf.size(ids) if inverse is None else tf.reduce_max(inverse) + 1
            return self._with_proposals(vectors, ids, count, parts, anchors)
        return vectors

    def _stored_entries(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Columns and values `(n, s)` of words; a negative column `~k` says that there is none.

        The value of no entry is 0 and has no gradient, so that it stays 0.
        """
        columns = tf.cast(tf.gather(self.columns.value, ids), tf.int32)
        values, kept = caught_up_rows(self.values, ids), columns >= 0
        zeros = tf.zeros_like(values)
        return tf.where(kept, columns, ~columns), tf.where(kept, values, zeros)

    def _softmax_parts(
        self, columns: tf.Tensor, values: tf.Tensor, anchors: tf.Tensor
    ) -> list[tf.Tensor]:
        """`softmax(s T_m) A_m` `(n, d)` of each set."""
        parts = zip(
            tf.split(anchors, self.sets.sizes),
            tf.split(columns, self.slots, axis=1),
            tf.split(values, self.slots, axis=1),
            self.sets.offsets,
            strict=False,
        )
        scale = self.logit_scale
        return [softmax_sums(own, which - first, rows, scale) for own, which, rows, first in parts]

    def _with_proposals(
        self,
        vectors: tf.Tensor,
        ids: tf.Tensor,
        count: tf.Tensor,
        parts: list[tf.Tensor],
        anchors: tf.Tensor,
    ) -> tf.Tensor:
        """The vectors; their gradient proposes columns for some of the first `count` words."""
        if replicas() > 1:
            why = "0 on several devices: each would move the entries of its part of the batch"
            checks.fail("regrow_rows", why, self.regrow_rows)
        rule, centred = self.rule, self.mixture == "softmax" and not self.nonnegative
        assert rule is not None

        @tf.custom_gradient
        def watched(vectors: tf.Tensor) -> Any:
            def backward(upstream: Any) -> tf.Tensor:
                upstream = tf.convert_to_tensor(upstream)
                # A batch without words has no row to propose columns for.
                tf.cond(count > 0, lambda: propose(upstream), lambda: 0)
                return upstream

            def propose(upstream: tf.Tensor) -> int:
                place, words = self.regrow_place.value, tf.maximum(count, 1)
                picked = (tf.convert_to_tensor(place) + tf.range(self.regrow_rows)) % words
                place.assign((place + self.regrow_rows) % words)
                gradient = tf.gather(upstream, picked)
                slopes = tf.matmul(gradient, anchors, transpose_b=True)
                if centred:  # the gradient of an entry of 0 in a softmax, times its Z
                    means = [tf.reduce_sum(gradient * tf.gather(p, picked), 1) for p in parts]
                    slopes -= tf.repeat(tf.stack(means, axis=1), self.sets.sizes, axis=1)
                scores = -slopes if self.nonnegative else tf.abs(slopes)
                rule.propose(tf.gather(ids, picked), scores)
                return 0

            return tf.identity(vectors), backward

        return watched(vectors)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Like every other embedding's: `|A|` products a word are more than its vector."""
        return CompactEmbedding.word_logits(self, hidden)

    def _rows(self, ids: tf.Tensor) -> tf.Tensor:
        columns, values = self._stored_entries(tf.reshape(ids, [-1]))
        return reshape_as(dense_rows(columns, values, self.sets.total), ids, self.sets.total)

    def _trained_rows(self, ids: tf.Tensor) -> tf.Tensor:
        return tf.gather(self.values.value, ids)

    def _entries(self, stored: bool) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        if stored and self.mixture == "softmax":
            yield from super()._entries(stored)
            return
        self.check_built()
        for start in range(0, self.input_dim, CHUNK):  # without dense rows
            ids = tf.range(start, min(start + CHUNK, self.input_dim))
            checks.finite("values", self._trained_rows(ids).numpy())
            columns = tf.gather(self.columns.value, ids).numpy()
            order = np.argsort(columns, axis=1)
            columns = np.take_along_axis(columns, order, axis=1)
            values = np.take_along_axis(caught_up_rows(self.values, ids).numpy(), order, axis=1)
            kept = (values != 0) & (columns >= 0)  # no entry has no value, whatever moved it
            yield kept.sum(axis=1), columns[kept], values[kept]

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["gradient_threshold"]
        return {**config, "entries": self.entries, "regrow_rows": self.regrow_rows}


def _none(shape: Any, dtype: Any = None) -> tf.Tensor:
    return tf.fill(shape, tf.constant(-1, dtype))
