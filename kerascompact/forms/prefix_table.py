"""Prefix table: only the first entries of each row are stored, the others are zero."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks, masked_mean
from kerascompact.core.embedding import reshape_as
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.forms.base import Form
from kerascompact.forms.tables import PRECISIONS, TABLE_BITS, at_most
from kerascompact.ops import vocabulary_chunks
from kerascompact.ops.ragged import ragged_rows


@register
class PrefixTableForm(Form):
    """Looks up rows whose first `k_i` of `d` entries are stored; the others are 0.

    `E[i] = [values of row i; 0; ...; 0]`. Consecutive ids form bins of equally wide rows. All rows
    are stored one after the other, in blocks of `g` numbers, the greatest common divisor of the
    widths; the start of a row follows from the bins. No zero is stored, and none is multiplied in
    `word_logits`. In a file, the mean of 32 words takes 4.4 us longer than that of a full table
    (`phone`, 32 bins).

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        sizes: Number of ids in each bin; their sum is `V`.
        widths: Stored entries `k_i` of the ids in each bin, in `[1, d]`.
        precision: Type of the entries: "float32", "int8" or "int4"; integers have a float32 scale
            for each column.
        permuted: Whether the position of each id among the bins is stored (`ranks`). Ids that are
            ordered by width need none.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: with `n` entries in `B` bins, `32 n + 96 B` bits in float32, `8 n + 96 B + 32 d` in
        int8, and `4 n + 96 B + 32 d` in int4: `4 n (g + 1) / g` if `g` is odd, since a block has an
        even number of entries, and `8 n` for `g = 1`. Ranks take `16 V`, or `32 V` above 32,768
        words.
    Raises: ValueError, for a wrong argument or an id out of range.

    Example:
    >>> form = PrefixTableForm.from_table(np.ones((3, 2)), sizes=[1, 2], widths=[2, 1])
    >>> form(np.array([0, 2])).numpy().tolist()
    [[1.0, 1.0], [1.0, 0.0]]

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 4.1.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        sizes: Sequence[int],
        widths: Sequence[int],
        precision: str = "float32",
        permuted: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.ragged = ragged_rows(sizes, widths)
        if sum(self.ragged.sizes) != self.input_dim:
            checks.fail("sizes", f"numbers of ids whose sum is {self.input_dim}", sizes)
        checks.integer_in("widths", max(self.ragged.widths), 1, self.output_dim)
        checks.choice("precision", precision, PRECISIONS)
        # An int4 row ends with a complete byte, so a single number takes a byte anyway.
        narrow = precision == "int4" and self.ragged.block == 1
        self.precision = "int8" if narrow else precision
        self.permuted = checks.boolean("permuted", permuted)

    @classmethod
    def from_table(
        cls,
        table: np.ndarray,
        sizes: Sequence[int],
        widths: Sequence[int],
        ranks: np.ndarray | None = None,
        **config: Any,
    ) -> "PrefixTableForm":
        """Stores the first entries of the rows of a table.

        Args:
            table: Float vectors `(V, d)`; entries beyond the width of a bin are dropped.
            sizes: Number of ids in each bin.
            widths: Stored entries of the ids in each bin.
            ranks: Position of each id among the bins, `(V,)`. Default: the id itself.
            **config: Further arguments of the form.
        """
        arrays, by_rank = {}, np.asarray(table, np.float32)
        if ranks is not None:
            arrays["ranks"] = ranks
            by_rank = by_rank[np.argsort(ranks)]
        arrays["values"] = ragged_rows(sizes, widths).pack(by_rank)
        config |= dict(sizes=sizes, widths=widths, permuted=ranks is not None)
        return cls.from_arrays(
            arrays, input_dim=len(by_rank), output_dim=by_rank.shape[1], **config
        )

    def build(self, input_shape: Any = None) -> None:
        count, block = self.ragged.num_blocks, self.ragged.block
        dtype = "float32" if self.precision == "float32" else "int8"
        wide = block + block % 2 if self.precision == "int4" else block
        stored = ((count, wide), TABLE_BITS[self.precision])
        self.add_array("values", (count, block), dtype, stored=stored)
        if dtype == "int8":
            self.largest["values"] = 2 ** (TABLE_BITS[self.precision] - 1) - 1
            self.add_array("scale", (self.output_dim,), "float32")
        if self.permuted:
            rank_type = "int16" if self.input_dim <= 2**15 else "int32"
            self.add_array("ranks", (self.input_dim,), rank_type)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        found = self._prefixes(*self.ragged.find(self._positions(ids)))
        return reshape_as(self._scaled(found), ids, self.output_dim)

    def means_faster(self, length: int | None) -> bool:
        return len(self.ragged.sizes) > 1

    def mean_of(self, ids: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Rows of padding have no entries, and one row is scaled, not each."""
        start, length = self.ragged.find(self._positions(ids))
        length *= tf.reshape(tf.cast(mask, tf.int32), [-1])
        added = tf.reduce_sum(self._prefixes(start, length), axis=0, keepdims=True)
        return self._scaled(masked_mean.over_number(added, mask))

    def _positions(self, ids: tf.Tensor) -> tf.Tensor:
        """Positions of ids among the bins, `(n,)`."""
        flat = tf.reshape(ids, [-1])
        return tf.cast(tf.gather(self.ranks.value, flat), tf.int32) if self.permuted else flat

    def _prefixes(self, start: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        """Vectors `(n, d)`, not scaled, of rows that begin at a block and have some of them."""
        rows = self.ragged
        along = np.arange(rows.longest, dtype=np.int32)
        place = tf.expand_dims(start, -1) + along
        # Blocks past the end of a short row belong to the next row; there is none after the last.
        own = along < tf.expand_dims(length, -1)
        if len(rows.sizes) == 1:
            found = self.raw_rows("values", place)
        elif self.precision == "float32":  # whose numbers may be infinite: no product with 0
            found = self.raw_rows("values", tf.minimum(place, rows.num_blocks - 1))
            found = tf.where(tf.expand_dims(own, -1), found, 0.0)
        else:
            found = self.raw_rows("values", place * tf.cast(own, tf.int32))
            found *= tf.expand_dims(tf.cast(own, tf.float32), -1)
        found = tf.reshape(found, [-1, rows.longest * rows.block])
        if found.shape[1] < self.output_dim:
            found = tf.pad(found, [[0, 0], [0, self.output_dim - found.shape[1]]])
        return found

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Multiplies with the stored entries only, bin by bin."""
        rows = self.ragged
        flat = self._scaled(tf.reshape(hidden, [-1, self.output_dim]))
        zero, logits = vocabulary_chunks.unknown_zero(flat), []
        size = max(
            vocabulary_chunks.GRAPH_CHUNK, -(-self.input_dim // vocabulary_chunks.MOST_GRAPH_CHUNKS)
        )  # words at a time
        for ids, width, length, start in zip(
            rows.sizes, rows.widths, rows.lengths, rows.starts, strict=True
        ):
            for first in range(0, ids, size):
                count = min(size, ids - first)
                blocks = self._blocks(zero + start + first * length, count * length)
                vectors = tf.reshape(blocks, [count, width])
                logits.append(tf.matmul(flat[:, :width], vectors, transpose_b=True))
        found = logits[0] if len(logits) == 1 else tf.concat(logits, axis=-1)
        if self.permuted:
            # Gathered: if the array were used in another shape, the file would store it twice.
            ranks = tf.gather(self.ranks.value, vocabulary_chunks.id_range(zero, self.input_dim))
            found = tf.gather(found, tf.cast(ranks, tf.int32), axis=-1)
        return reshape_as(found, hidden[..., 0], self.input_dim)

    def _blocks(self, start: tf.Tensor, count: int) -> tf.Tensor:
        """Reads `count` blocks from a place on, as they lie in the file.

        A slice is a copy: 0.35 ms for 10,000 words of 160,000 single numbers, gathered 0.9 ms.
        """
        if self.precision == "int4" or "values" in self.sources:  # a slice of int4 is not built in
            return self.raw_rows("values", vocabulary_chunks.id_range(start, count))
        blocks = tf.slice(self.values.value, tf.stack([start, 0]), [count, self.ragged.block])
        return tf.cast(blocks, tf.float32)

    def _scaled(self, vectors: tf.Tensor) -> tf.Tensor:
        return vectors if self.precision == "float32" else vectors * self.scale.value

    def quantized(self, precision: str) -> "PrefixTableForm":
        if precision == "int4" and self.ragged.block == 1:
            precision = "int8"
        if at_most(self.precision, precision):
            return self
        block, number = self.ragged.block, self.ragged.block_numbers()
        blocks = self.values.numpy().astype(np.float32)
        if self.precision != "float32":
            blocks *= self._scale_of_blocks()[number]
        codes, scale = np.zeros(blocks.shape, np.int8), np.ones(self.output_dim, np.float32)
        for place in range(self.ragged.longest):  # the blocks of the same columns
            columns = slice(place * block, (place + 1) * block)
            found = quantize_columns(blocks[number == place], TABLE_BITS[precision])
            codes[number == place], scale[columns] = found
        arrays = {"values": codes, "scale": scale}
        if self.permuted:
            arrays["ranks"] = self.ranks.numpy()
        return PrefixTableForm.from_arrays(arrays, **{**self.get_config(), "precision": precision})

    def _scale_of_blocks(self) -> np.ndarray:
        """Scales of the columns that are stored, `(longest, block)`."""
        used = self.ragged.longest * self.ragged.block
        return self.scale.numpy()[:used].reshape(-1, self.ragged.block)

    def storage(self) -> list[Stored]:
        # `RaggedRows.find` reads an offset and a length, and compares with the first id.
        bins = len(self.ragged.sizes)
        return [*super().storage(), *([Stored("bins", (bins, 3), 32)] if bins > 1 else [])]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "sizes": list(self.ragged.sizes),
            "widths": list(self.ragged.widths),
            "precision": self.precision,
            "permuted": self.permuted,
        }
