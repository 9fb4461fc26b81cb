"""Deferred proximal steps of rows that were not in the batch."""

import copy
import weakref
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core.keras_graph import in_symbolic_scope
from kerascompact.ops import double_float
from kerascompact.optimizers.guard import ProxGuard
from kerascompact.optimizers.rules import Rule

CHUNK = 65_536  # rows updated at a time

# Divisors of rows (`None`: of all) in the metric of an optimizer; no metric is the plain one.
Metric = Callable[[tf.Tensor | None], tf.Tensor] | None


class Pending:
    """The rule of a variable, and the deferred steps of each row.

    `total` is the sum of `eta * lambda` over the steps so far, `last[i]` that sum when row `i` was
    last written. Row `i` owes a threshold of `total - last[i]`, divided by `metric(i)` if the
    optimizer thresholds in its adaptive metric: the metric of a row changes only when it is
    written, so the thresholds of the steps in between add up.

    Both sums are pairs of float32 numbers (`ops.double_float`), since they grow over millions of
    steps while their differences are small.

    Args:
        variable: Weight with rows along its first axis.
        rule: Rule of its penalty.
        total: Running sum as a pair, `(2,)`.
        last: Sum at the last update of each row, as pairs `(V, 2)`.
    """

    def __init__(
        self, variable: keras.Variable, rule: Rule, total: keras.Variable, last: keras.Variable
    ) -> None:
        self.variable, self.rule, self.total, self.last = variable, rule, total, last
        self.metric: Metric = None
        self._deferring: Any = weakref.WeakSet()  # optimizers that may defer steps
        self._count, self._number = 0, 0  # of metrics taken, and of the one in use; 0: plain
        self._traced: set[int] = set()  # numbers of the metrics that graphs compute with

    def take(self, optimizer: Any, metric: Metric) -> bool:
        """Lets an optimizer defer steps in its metric, and says whether it may.

        Rows owe steps in one metric: while optimizers of another one are in use, it may not.
        """
        if {*self._deferring} - {optimizer} and not (self.metric is None is metric):
            return False
        self._deferring.add(optimizer)
        self._count += 1
        self.metric, self._number = metric, 0 if metric is None else self._count
        return True

    def of_copy(self, variable: keras.Variable, copied: Callable[[Any], Any]) -> "Pending":
        """That of a copy of the variable, which shares nothing with this one."""
        rule = copy.copy(self.rule)
        for name, value in vars(rule).items():
            if isinstance(value, keras.Variable):
                vars(rule)[name] = copied(value)
        return Pending(variable, rule, copied(self.total), copied(self.last))

    def was_traced_beside(self, metric: Metric) -> bool:
        """Whether a graph reads rows that owe steps in another metric than this new one."""
        return bool(self._traced - {0} if metric is None else self._traced)

    @property
    def optimizers(self) -> frozenset[Any]:
        """Weak references to the optimizers in whose metric rows owe steps."""
        return frozenset(map(weakref.ref, self._deferring))

    def owed(self, ids: tf.Tensor | None, metric: Metric) -> tf.Tensor:
        """Thresholds of rows `ids` `(...)` (`None`: of all) that broadcast against these rows."""
        last = self.last.value if ids is None else tf.gather(self.last.value, ids)
        divisors = None if metric is None else metric(ids)
        return self.thresholds(double_float.difference(self.total.value, last), divisors)

    def thresholds(self, sums: tf.Tensor, divisors: tf.Tensor | None) -> tf.Tensor:
        """Sums of `eta * lambda`, per row or one for all, as thresholds of entries."""
        sums = tf.cast(sums, self.variable.dtype)
        if sums.shape.rank:
            for _ in self.variable.shape[1:]:
                sums = tf.expand_dims(sums, -1)
        return sums if divisors is None else sums / divisors

    def caught_up(self, values: tf.Tensor, ids: tf.Tensor | None) -> tf.Tensor:
        """Applies the deferred steps to stored rows `ids`."""
        if not tf.executing_eagerly() and not in_symbolic_scope():  # nothing runs shapes
            self._traced.add(self._number)
        return self.rule.prox(values, self.owed(ids, self.metric), ids)

    def advance(self, step: tf.Tensor, ids: tf.Tensor | None) -> None:
        """Counts a step of `eta * lambda` that has been taken on rows `ids` (`None`: on all)."""
        total = double_float.add(self.total.value, step)
        self.total.value.assign(total)
        if ids is None:
            self.last.value.assign(tf.broadcast_to(total, self.last.shape))
        else:
            totals = tf.broadcast_to(total, [tf.size(ids), 2])
            self.last.value.scatter_update(tf.IndexedSlices(totals, ids))

    def settle(self) -> None:
        """Brings all rows up to date at once, inside a graph or not."""
        self.settle_in(self.metric)

    def settle_in(self, metric: Metric) -> None:
        """Like `settle`, of steps in the metric of an optimizer that defers none."""
        value, last, total = self.variable.value, self.last.value, self.total.value

        def write() -> tf.Tensor:
            value.assign(self.rule.prox(tf.convert_to_tensor(value), self.owed(None, metric), None))
            last.assign(tf.broadcast_to(total, last.shape))
            return tf.constant(True)

        late = tf.reduce_any(tf.not_equal(last, total))  # none after a step on the entire table
        if getattr(self.rule, "nonnegative", False):  # a start below 0 has been read as 0
            late = tf.logical_or(late, tf.equal(total[0], 0))
        tf.cond(late, write, lambda: tf.constant(False))

    def settle_in_chunks(self) -> None:
        """Like `settle`, outside graphs: only rows with deferred steps, in chunks."""
        if not self.last.value.is_initialized():
            return  # the first step is being traced: nothing is deferred
        late = np.flatnonzero(np.any(self.last.numpy() != self.total.numpy(), axis=1))
        for start in range(0, len(late), CHUNK):
            ids = tf.constant(late[start : start + CHUNK], tf.int32)
            rows = self.caught_up(tf.gather(self.variable.value, ids), ids)
            self.variable.value.scatter_update(tf.IndexedSlices(rows, ids))
        if len(late):
            self.last.assign(np.broadcast_to(self.total.numpy(), self.last.shape))


def proximal_rule(layer: keras.Layer, variable: keras.Variable, rule: Rule) -> None:
    """Gives a weight of a layer a penalty whose proximal step the optimizer takes.

    To be called in `layer.build`, after `add_weight`. The layer gets two more weights that are not
    trained, `<name>_total` `(2,)` and `<name>_last` `(V, 2)`, float32, so that a file of its
    weights holds the deferred steps. The variable gets a constraint, `ProxGuard`, that owns the
    rule and raises at the first step of an optimizer without the proximal step.

    Args:
        layer: Layer that owns `variable`.
        variable: Weight with rows along the first axis.
        rule: Rule of the penalty, `L1Rule` or `GroupRule`; a separate instance for each variable.

    Raises: ValueError, if the rule does not fit, or the variable has a constraint already.

    >>> layer = keras.layers.Layer()
    >>> table = layer.add_weight((9, 2), name="table")
    >>> proximal_rule(layer, table, kerascompact.optimizers.rules.GroupRule(0.1))
    >>> [weight.name for weight in layer.weights[1:]]
    ['table_total', 'table_last']
    """
    if variable.constraint is not None:
        raise ValueError(
            f"Variable {variable.path!r} has a constraint, which would undo the zeros of its "
            f"proximal rule or be undone by them. Received: constraint={variable.constraint}."
        )
    rule.build(tuple(variable.shape))
    state = dict(initializer="zeros", dtype="float32", trainable=False, autocast=False)
    total = layer.add_weight(shape=(2,), name=f"{variable.name}_total", **state)
    last = layer.add_weight(shape=(variable.shape[0], 2), name=f"{variable.name}_last", **state)
    for weight in (total, last):  # TensorFlow's checkpoints and saved models follow attributes
        setattr(layer, weight.name, weight)
    variable.constraint = ProxGuard(variable.path, Pending(variable, rule, total, last))


def pending_of(variable: Any) -> Pending | None:
    """The rule and deferred steps of a variable, which its constraint owns; `None` without.

    >>> pending_of(keras.Variable([[1.0]])) is None
    True
    """
    constraint = getattr(variable, "constraint", None)  # a `tf.Variable` has none
    return constraint.pending if isinstance(constraint, ProxGuard) else None


def caught_up_rows(variable: keras.Variable, ids: tf.Tensor) -> tf.Tensor:
    """Rows `ids` of a variable, as if the proximal step had been taken on every row each time.

    The `lookup` of a layer reads these rows. The gradient goes to the rows as read, also where the
    threshold has made a zero. Without a rule it is `tf.gather`.

    Args:
        variable: Any weight, with or without a rule.
        ids: Ids of any shape `(...)`; with many repeats, pass `unique_ids` of them.

    Shapes: `(...)` -> `(..., *variable.shape[1:])`.

    >>> caught_up_rows(keras.Variable([[1.0], [2.0]]), tf.constant([1])).numpy().tolist()
    [[2.0]]
    """
    rows, pending = tf.gather(variable.value, ids), pending_of(variable)
    return rows if pending is None else _read_as(rows, pending.caught_up(rows, ids))


def caught_up(variable: keras.Variable) -> tf.Tensor:
    """All rows of `caught_up_rows`, for a softmax over all words, or for `to_form`.

    Args:
        variable: Any weight, with or without a rule.

    Returns: The rows, of the shape of the variable.

    >>> caught_up(keras.Variable([[1.0], [2.0]])).numpy().tolist()
    [[1.0], [2.0]]
    """
    rows, pending = tf.convert_to_tensor(variable.value), pending_of(variable)
    return rows if pending is None else _read_as(rows, pending.caught_up(rows, None))


def catch_up(target: Any) -> None:
    """Applies the deferred proximal steps of rows to the weights.

    `model.fit` does so at its end. Call it before reading such a variable directly (`get_weights`,
    `variable.numpy()`) during training, or after a training loop of your own.

    Args:
        target: Model, layer or variable to bring up to date.

    >>> catch_up(keras.layers.Embedding(9, 2))
    """
    variables = [target] if isinstance(target, keras.Variable) else target.variables
    for variable in variables:
        pending = pending_of(variable)
        if pending is not None:
            pending.settle_in_chunks()


@tf.custom_gradient
def _read_as(rows: tf.Tensor, values: tf.Tensor) -> Any:
    """`values`, with the gradient of `rows`."""
    return tf.identity(values), lambda gradient: (gradient, None)
