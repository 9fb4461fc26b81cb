"""View of some rows of a variable, which an optimizer treats as the entire variable."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core.keras_graph import trained_by
from kerascompact.ops.bfloat16 import stochastic_bfloat16
from kerascompact.ops.unique import sum_by_id


class RowView:
    """Some rows of a variable, read and written like the entire variable.

    It converts to a tensor, computes with tensors and numbers, and takes `assign`, `assign_add` and
    `assign_sub`; `flush` then writes the rows by one scatter. Rows that are only added to are
    scattered without being gathered. With a `seed`, rows in bfloat16 are read and computed with as
    float32, and rounded at random when they are written.

    Args:
        variable: Variable with rows along its first axis, `(V, ...)`.
        ids: Ids of the rows, `(...)`, distinct if the rows are written; `None`: all rows.
        index: Index of the trained variable in the optimizer.
        seed: Seed of the rounding, see `stochastic_bfloat16`; `None`: values are not rounded.

    >>> table = tf.Variable([[1.0], [2.0], [3.0]])
    >>> rows = RowView(table, tf.constant([2, 0]), 0)
    >>> rows.assign_add(2 * rows)
    >>> rows.flush()
    >>> table.numpy().tolist()
    [[3.0], [2.0], [9.0]]
    """

    def __init__(
        self, variable: tf.Variable, ids: tf.Tensor | None, index: int, seed: Any = None
    ) -> None:
        self.variable, self.ids, self.index, self.seed = variable, ids, index, seed
        self._rows: tf.Tensor | None = None
        self._written = False
        self._subtracted: tf.Tensor | None = None  # from rows that have not been read

    @property
    def dtype(self) -> tf.DType:
        return self.variable.dtype if self.seed is None else tf.float32

    @property
    def shape(self) -> tf.TensorShape:
        shape = self.variable.shape
        return shape if self.ids is None else self.ids.shape + shape[1:]

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> tf.Tensor:
        if self._rows is None:
            if self.ids is None:  # as a tensor: of its own dtype `tf.cast` returns the variable
                rows = tf.convert_to_tensor(self.variable)
            else:
                rows = tf.gather(self.variable, self.ids)
            self._rows = tf.cast(rows, self.dtype)
            if self._subtracted is not None:
                self._rows -= self._subtracted
                self._subtracted, self._written = None, True
        return self._rows if dtype is None else tf.cast(self._rows, dtype)

    def assign(self, value: Any) -> None:
        self._rows = tf.convert_to_tensor(value, self.dtype)
        self._written, self._subtracted = True, None

    def assign_add(self, value: Any) -> None:
        self.assign(self + value)

    def assign_sub(self, value: Any) -> None:
        if self._rows is None and self._subtracted is None and self.seed is None:
            self._subtracted = tf.convert_to_tensor(value, self.dtype)
        else:
            self.assign(self - value)

    def flush(self) -> None:
        """Writes to the variable what was assigned."""
        if self._subtracted is not None:
            self.variable.scatter_sub(tf.IndexedSlices(self._subtracted, self.ids))
        elif self._written:
            rows = self._rows
            if self.seed is not None:
                rows = stochastic_bfloat16(rows, self.seed)
            if self.ids is None:
                self.variable.assign(rows)
            else:
                self.variable.scatter_update(tf.IndexedSlices(rows, self.ids))
        self._rows, self._written, self._subtracted = None, False, None

    def __add__(self, other: Any) -> tf.Tensor:
        return tf.convert_to_tensor(self) + other

    def __radd__(self, other: Any) -> tf.Tensor:
        return other + tf.convert_to_tensor(self)

    def __sub__(self, other: Any) -> tf.Tensor:
        return tf.convert_to_tensor(self) - other

    def __rsub__(self, other: Any) -> tf.Tensor:
        return other - tf.convert_to_tensor(self)

    def __mul__(self, other: Any) -> tf.Tensor:
        return tf.convert_to_tensor(self) * other

    def __rmul__(self, other: Any) -> tf.Tensor:
        return other * tf.convert_to_tensor(self)

    def __truediv__(self, other: Any) -> tf.Tensor:
        return tf.convert_to_tensor(self) / other

    def __rtruediv__(self, other: Any) -> tf.Tensor:
        return other / tf.convert_to_tensor(self)

    def __pow__(self, other: Any) -> tf.Tensor:
        return tf.convert_to_tensor(self) ** other

    def __neg__(self) -> tf.Tensor:
        return -tf.convert_to_tensor(self)


def at_rows(
    optimizer: Any, index: int, ids: tf.Tensor | None, rounds: bool = False
) -> tuple[Any, list[RowView]]:
    """A shallow copy of an optimizer with rows for the slots of one variable, and these rows.

    Slots are found as the lists, one entry per trained variable, that Keras optimizers keep.
    The copy is for one call of its `update_step` and shares everything else.

    Args:
        optimizer: Optimizer that has been built.
        index: Index of the trained variable in it.
        ids: Ids of the rows; `None`: all.
        rounds: Whether slots are bfloat16 and rounded at random, each with noise of its own.
    """
    view = shallow_copy(optimizer)
    trained = trained_by(optimizer)
    shape = tuple(trained[index].shape)
    views: list[RowView] = []
    for name, value in vars(optimizer).items():
        if not isinstance(value, list) or len(value) != len(trained):
            continue
        slot = value[index]
        if isinstance(slot, keras.Variable) and tuple(slot.shape) == shape:
            seed = rounding_seed(optimizer, index, len(views) + 1) if rounds else None
            views.append(RowView(slot.value, ids, index, seed))
            vars(view)[name] = {index: views[-1]}  # not setattr, with which Keras tracks variables
    return view, views


def shallow_copy(optimizer: Any) -> Any:
    """A copy of an optimizer that shares its slots and settings; `copy` would make new slots."""
    view = object.__new__(type(optimizer))
    vars(view).update(vars(optimizer))
    return view


def rounding_seed(optimizer: Any, index: int, slot: int = 0) -> tf.Tensor:
    """Seed of the rounding at this step of a variable (`slot` 0) or of one of its slots.

    >>> rounding_seed(keras.optimizers.SGD(), 2, 1).numpy().tolist()
    [0, 2001]
    """
    step = tf.cast(tf.convert_to_tensor(optimizer.iterations), tf.int32)
    return tf.stack([step, 1000 * index + slot])


def sum_repeated(gradient: tf.IndexedSlices) -> tf.IndexedSlices:
    """Sums the rows of repeated ids of a gradient.

    >>> rows = tf.IndexedSlices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([5, 3, 5]), [9, 1])
    >>> summed = sum_repeated(rows)
    >>> summed.indices.numpy().tolist(), summed.values.numpy().tolist()
    ([5, 3], [[5.0], [2.0]])
    """
    shape = gradient.dense_shape
    known = tf.get_static_value(shape)
    rows = shape[0] if known is None else int(known[0])
    ids, values = sum_by_id(tf.convert_to_tensor(gradient.indices), gradient.values, rows)
    return tf.IndexedSlices(values, ids, gradient.dense_shape)


class DivisibleRows(tf.IndexedSlices):
    """A gradient as rows that Keras can divide by its `loss_scale_factor`."""

    def __truediv__(self, scale: float) -> tf.IndexedSlices:
        return tf.IndexedSlices(self.values / scale, self.indices, self.dense_shape)
