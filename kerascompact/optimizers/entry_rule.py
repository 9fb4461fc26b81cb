"""Rules of a sparse matrix in slots: an L1 penalty, and new columns for entries that became 0."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.optimizers.rules import L1Rule, Schedule

DIGITS = 2 ** np.arange(8, dtype=np.uint8)


class SlotRule(L1Rule):
    """`L1Rule` of the entries of a matrix of which each row stores `s`, with their columns.

    Un-penalised entries are named by their columns, wherever a row stores these: a file or another
    model may give it other slots.

    Args:
        penalty_weight: Weight `lambda >= 0`, or a Keras schedule that gives it for a step.
        nonnegative: Whether negative entries become 0, also un-penalised ones.
        unpenalised: Integers `(n, 2)`, the (row, column) of entries without penalty.
        columns: Weight `(V, s)` of integers, the column of each entry; different in a row.
        num_columns: Number of columns of the matrix.

    Raises: ValueError, as `L1Rule`.

    >>> columns = keras.Variable([[0, 3], [2, 1]], dtype="int16", trainable=False)
    >>> rule = SlotRule(0.1, True, np.array([[1, 1]]), columns, num_columns=4)
    >>> rule.build((2, 2))
    >>> rule.unpenalised_of(None).numpy().tolist()
    [[False, False], [False, True]]
    """

    def __init__(
        self,
        penalty_weight: float | Schedule,
        nonnegative: bool,
        unpenalised: Any,
        columns: keras.Variable,
        num_columns: int,
    ) -> None:
        super().__init__(penalty_weight, nonnegative, unpenalised)
        self.columns, self.num_columns = columns, num_columns

    def build(self, shape: tuple[int, ...]) -> None:
        super().build((shape[0], self.num_columns))

    def unpenalised_of(self, ids: tf.Tensor | None) -> tf.Tensor | None:
        if self._bits is None:
            return None
        columns, places = tf.convert_to_tensor(self.columns.value), self._places
        if ids is not None:
            columns, places = tf.gather(columns, ids), tf.gather(places, ids)
        columns = tf.cast(columns, tf.int32)
        rows = tf.broadcast_to(tf.expand_dims(places, -1), tf.shape(columns))
        digits = tf.gather_nd(self._bits, tf.stack([rows, columns // 8], axis=-1))
        return tf.bitwise.bitwise_and(digits, tf.gather(DIGITS, columns % 8)) > 0


class EntryRule(SlotRule):
    """`SlotRule` that gives entries which became 0 other columns.

    An entry that the proximal step has made 0 says nothing by its column. Of some rows of a batch
    the gradient of a step has proposed other columns (`propose`); right after the step an entry of
    0 takes the best of these (`regrow`). The matrix does not change by that, only which of its
    zeros get a gradient from then on. Un-penalised entries keep their columns.

    Args:
        penalty_weight: Weight `lambda >= 0`, or a Keras schedule that gives it for a step.
        nonnegative: Whether negative entries become 0, also un-penalised ones.
        unpenalised: Integers `(n, 2)`, the (row, column) of entries without penalty.
        columns: Weight `(V, s)` of integers, the column of each entry; different in a row.
        proposals: Two weights of int32, ids `(r,)` and columns `(r, s)`, -1 where there is none.
        sets: For each set of columns its size, and the number of slots that hold columns of it.

    Raises: ValueError, as `L1Rule`.

    >>> columns = keras.Variable([[0, 3], [1, 2]], dtype="int16", trainable=False)
    >>> proposals = [keras.Variable([1], dtype="int32"), keras.Variable([[-1, -1]], dtype="int32")]
    >>> rule = EntryRule(0.1, True, None, columns, proposals, sets=[(4, 2)])
    >>> rule.propose(tf.constant([1]), tf.constant([[1.0, 9.0, 9.0, 2.0]]))
    >>> rule.regrow(tf.constant([[5.0, 0.0]])).numpy().tolist(), columns.numpy()[1].tolist()
    ([[False, True]], [1, 3])

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.4 and appendix C,
    where non-zero entries move, without saying how; growth by the largest gradient is that of
    [Evci et al., ICML 2020](https://arxiv.org/abs/1911.11134), sec. 3. Differs: of rows of a batch,
    at each step, and only in place of entries that are 0.
    """

    def __init__(
        self,
        penalty_weight: float | Schedule,
        nonnegative: bool,
        unpenalised: Any,
        columns: keras.Variable,
        proposals: Sequence[keras.Variable],
        sets: Sequence[tuple[int, int]],
    ) -> None:
        super().__init__(penalty_weight, nonnegative, unpenalised, columns, sum(n for n, _ in sets))
        self.ids, self.proposed = proposals
        ends = np.cumsum([(0, 0), *sets], axis=0).tolist()
        self._sets = [
            (slice(a, b), slice(s, t)) for (a, s), (b, t) in zip(ends[:-1], ends[1:], strict=True)
        ]

    def propose(self, ids: tf.Tensor, scores: tf.Tensor) -> None:
        """Keeps, for rows `ids` `(r,)`, the columns of the largest scores that they do not store.

        Args:
            ids: Rows; one that is repeated has the same scores each time.
            scores: What an entry of each column would gain, `(r, columns)`.
        """
        stored = tf.cast(tf.gather(self.columns.value, ids), tf.int32)
        row = tf.broadcast_to(tf.range(stored.shape[0])[:, None], stored.shape)
        least = tf.fill(stored.shape, scores.dtype.min)
        scores = tf.tensor_scatter_nd_update(scores, tf.stack([row, stored], axis=-1), least)
        found = []
        for columns, slots in self._sets:
            count = slots.stop - slots.start
            most = min(count, columns.stop - columns.start - count)
            best = tf.math.top_k(scores[:, columns], most).indices + columns.start
            found.append(tf.pad(best, [[0, 0], [0, count - most]], constant_values=-1))
        self.ids.assign(ids)
        self.proposed.assign(tf.concat(found, axis=1))

    def regrow(self, values: tf.Tensor) -> tf.Tensor:
        """Gives entries that are 0 the proposed columns, the best first, and forgets these.

        Args:
            values: Entries of the rows for which there are proposals, `(r, s)`.

        Returns: Which entries have a new column, `(r, s)` bool.
        """
        empty, proposed = tf.equal(values, 0), tf.convert_to_tensor(self.proposed.value)
        fixed = self.unpenalised_of(self.ids.value)
        if fixed is not None:
            empty = tf.logical_and(empty, tf.logical_not(fixed))
        chosen = []
        for _, slots in self._sets:
            rank = tf.cumsum(tf.cast(empty[:, slots], tf.int32), axis=1, exclusive=True)
            chosen.append(tf.gather(proposed[:, slots], rank, axis=1, batch_dims=1))
        new = tf.concat(chosen, axis=1)
        moved = tf.logical_and(empty, new >= 0)
        ids, columns = tf.convert_to_tensor(self.ids.value), self.columns.value
        old = tf.gather(columns, ids)
        rows = tf.where(moved, tf.cast(new, old.dtype), old)
        columns.scatter_update(tf.IndexedSlices(rows, ids))
        self.proposed.assign(-tf.ones_like(proposed))
        return moved
