"""Sets of anchors of an anchor embedding: their sizes, words and vectors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks


class AnchorSets:
    """`M` sets of anchors, whose columns in `T` are side by side.

    Args:
        num_anchors: Size of the only set, or a list of the sizes of several.
        input_dim, output_dim: Vocabulary size `V` and width `d`.
        anchor_ids: Words that are anchors, a list of ids; for several sets a list of such lists,
            `None` for a set without words.
        anchors: Initial vectors `(size, d)`; for several sets a list of those or `None`.

    Raises: ValueError, if ids or vectors do not fit the sizes.

    >>> AnchorSets([2, 3], 9, 4, [[8, 7], None], None).offsets
    [0, 2, 5]
    """

    def __init__(
        self,
        num_anchors: int | Sequence[int],
        input_dim: int,
        output_dim: int,
        anchor_ids: Any = None,
        anchors: Any = None,
    ) -> None:
        self.several = isinstance(num_anchors, list | tuple)
        sizes = list(num_anchors) if isinstance(num_anchors, list | tuple) else [num_anchors]
        if not sizes:
            checks.fail("num_anchors", "an integer >= 1 or a list of those", num_anchors)
        self.sizes = [checks.integer_in("num_anchors", size, 1) for size in sizes]
        self.offsets = [0, *np.cumsum(self.sizes).tolist()]
        self.total = self.offsets[-1]
        self.ids = [
            None if ids is None else _checked_ids(ids, size, input_dim)
            for ids, size in zip(self._each("anchor_ids", anchor_ids), self.sizes, strict=True)
        ]
        self.vectors = [
            None if vectors is None else _checked_vectors(vectors, size, output_dim)
            for vectors, size in zip(self._each("anchors", anchors), self.sizes, strict=True)
        ]

    def _each(self, name: str, value: Any) -> list[Any]:
        if value is None:
            return [None] * len(self.sizes)
        if not self.several:
            return [value]
        if not isinstance(value, list | tuple) or len(value) != len(self.sizes):
            checks.fail(name, f"a list of {len(self.sizes)}, one for each set of anchors", value)
        return list(value)

    def with_one_hot_rows(self, start: tf.Tensor) -> tf.Tensor:
        """`T` `(V, |A|)` with the rows of words that are anchors one-hot.

        A word that is an anchor in several sets has a 1 for each.
        """
        rows: dict[int, list[int]] = {}
        for ids, offset in zip(self.ids, self.offsets, strict=False):
            for place, id in enumerate(ids or []):
                rows.setdefault(id, []).append(offset + place)
        if not rows:
            return start
        one_hot = np.zeros((len(rows), self.total), np.float32)
        for row, columns in zip(one_hot, rows.values(), strict=True):
            row[columns] = 1
        known = np.array(list(rows), np.int32)[:, None]
        return tf.tensor_scatter_nd_update(start, known, tf.cast(one_hot, start.dtype))

    def get_config(self) -> dict[str, Any]:
        """The arguments, without the vectors, which a layer's weights hold."""
        known = any(ids is not None for ids in self.ids)
        return {
            "num_anchors": self.sizes if self.several else self.sizes[0],
            "anchor_ids": (self.ids if self.several else self.ids[0]) if known else None,
            "anchors": None,
        }


def _checked_ids(ids: Any, size: int, input_dim: int) -> list[int]:
    known = checks.ids_below("anchor_ids", np.asarray(ids), input_dim)
    if known.shape != (size,) or len(np.unique(known)) != size:
        checks.fail("anchor_ids", f"{size} different ids, one for each anchor", ids)
    return known.tolist()


def _checked_vectors(vectors: Any, size: int, output_dim: int) -> np.ndarray:
    known = checks.finite("anchors", np.asarray(vectors, np.float32))
    if known.shape != (size, output_dim):
        raise ValueError(
            f"`anchors` must have the shape ({size}, {output_dim}), a vector for each anchor of "
            f"the set. Received: {known.shape}."
        )
    return known
