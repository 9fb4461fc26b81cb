"""Optimizers that take the proximal step of a penalty right after their own."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import copy_weight_decay_exclusions, slots
from kerascompact.optimizers.entry_rule import EntryRule
from kerascompact.optimizers.lazy import (
    ELEMENTWISE,
    class_named,
    derived_class,
    lazy,
    lazy_class,
)
from kerascompact.optimizers.lazy_step import LazyStep
from kerascompact.optimizers.metric import divisors, has_metric, rate_factor
from kerascompact.optimizers.pending import Metric, Pending, pending_of
from kerascompact.optimizers.row_view import RowView, at_rows, shallow_copy
from kerascompact.optimizers.rules import Schedule

METRICS = ("plain", "adaptive")


class ProximalStep(LazyStep):
    """Takes the proximal step of every variable that has a rule; see `Proximal`."""

    # Attributes of the Keras optimizer that this is mixed into.
    add_optimizer_variables: Callable[[list[Any], str], list[Any]]

    def __init__(self, *args: Any, metric: str = "plain", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.metric = checks.choice("metric", metric, METRICS)
        self._settles_each_step = False
        # Indices of variables that another optimizer trains in another metric, as in two models.
        self._beside_another: set[int] = set()
        if isinstance(self, keras.optimizers.Ftrl):
            raise ValueError(
                "Proximal does not fit Ftrl, which computes the variable anew from its slots at "
                "each step; it makes zeros by its own `l1_regularization_strength`."
            )
        if self.metric == "adaptive" and not has_metric(self):
            raise ValueError(
                "`metric` must be 'plain' for an optimizer without second moments. "
                f"Received: metric='adaptive' with {type(self).__name__}."
            )

    def build(self, variables: Any) -> None:
        if self.built:
            return
        super().build(variables)
        # Layers whose lookup has been traced before there were moments can only read rows that owe
        # nothing; the average of the weights is over tables, not rows.
        traced = self.metric == "adaptive" and not tf.executing_eagerly()
        self._settles_each_step = traced or self.use_ema
        if self.use_ema:
            ruled = [variable for variable in variables if pending_of(variable) is not None]
            self._whole_averages = self.add_optimizer_variables(ruled, "whole_average")
        for index, variable in enumerate(variables):
            pending = pending_of(variable)
            if pending is None:
                continue
            if self.metric == "adaptive" and not pending.rule.separable:
                raise ValueError(
                    f"`metric` must be 'plain' for the rule {type(pending.rule).__name__} of "
                    f"{variable.path!r}, whose thresholds are per row. Received: 'adaptive'."
                )
            with tf.init_scope():
                pending.settle_in_chunks()  # steps deferred by another optimizer, in its metric
            metric = self.metric_at(index)
            # Functions that were traced before, as for `predict`, can only read rows that owe
            # nothing.
            stale = pending.was_traced_beside(metric)
            if not pending.take(self, metric) or stale:
                self._beside_another.add(index)

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        if not self.built and trainable_variables is not None:
            trainable_variables = list(trainable_variables)
            with keras.name_scope(self.name, caller=self):
                self.build(trainable_variables)
        known = self.trained if trainable_variables is None else trainable_variables
        # Keras applies constraints of its own variables only: the guard is not called.
        bare = [v if pending_of(v) is None else v.value for v in known]
        super().apply(grads, bare)

    def step_on(
        self, optimizer: Any, target: Any, gradient: tf.Tensor, variable: Any, learning_rate: Any
    ) -> None:
        index = self.index_of(variable)
        pending = self.pending_at(index)
        if pending is None:
            super().step_on(optimizer, target, gradient, variable, learning_rate)
            return
        ids = None
        if isinstance(target, RowView):
            ids = target.ids
            target.assign(pending.caught_up(tf.convert_to_tensor(target), ids))
        else:
            pending.settle()
        super().step_on(optimizer, target, gradient, variable, learning_rate)
        penalty_weight = pending.rule.penalty_weight
        if isinstance(penalty_weight, Schedule):
            penalty_weight = tf.cast(penalty_weight(optimizer.iterations), tf.float32)
        amount = tf.cast(learning_rate, tf.float32) * penalty_weight
        by = None
        if self.metric == "adaptive":
            amount, by = amount * rate_factor(self), divisors(optimizer, index)
        thresholds = pending.thresholds(amount, by)
        target.assign(pending.rule.prox(tf.convert_to_tensor(target), thresholds, ids))
        pending.advance(amount, ids)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        index = self.index_of(variable)
        pending, beside = self.pending_at(index), index in self._beside_another
        if pending is not None and beside:
            pending.settle()  # what the other one has deferred
        super().update_step(gradient, variable, learning_rate)
        if pending is not None and (self._settles_each_step or beside):
            pending.settle_in(self.metric_at(index))
        if pending is not None and isinstance(pending.rule, EntryRule):
            self._regrow(pending.rule, variable, index)

    def _regrow(self, rule: EntryRule, variable: Any, index: int) -> None:
        """Moves entries that are 0 to other columns; their slots begin anew."""
        ids = tf.convert_to_tensor(rule.ids.value)
        moved = rule.regrow(tf.gather(variable, ids))
        _, views = at_rows(self, index, ids)
        if self.use_ema:
            ruled = [i for i, v in enumerate(self.trained) if pending_of(v) is not None]
            views.append(RowView(self._whole_averages[ruled.index(index)].value, ids, index))
        for slot in views:
            start = tf.constant(self._start_of(slot.variable, index), slot.dtype)
            slot.assign(tf.where(moved, start, slot))
            slot.flush()

    def _start_of(self, slot: Any, index: int) -> float:
        """What a slot of a variable has before the first step."""
        if not isinstance(self, keras.optimizers.Adagrad):
            return 0.0
        accumulator = slots(self, "accumulators")[index].value
        return self.initial_accumulator_value if slot is accumulator else 0.0

    def finalize_variable_values(self, var_list: Any) -> None:
        for variable in var_list:
            pending = pending_of(variable)
            if pending is not None:
                pending.settle_in_chunks()
        super().finalize_variable_values(var_list)

    def move_averages(self, variables: Any) -> None:
        """Moves averages of ruled variables as Keras does, then gives them the latest zeros.

        The average of a weight that was not always zero is not zero. Readers of the averages
        (Keras' `SwapEMAWeights`, the end of `fit`) see the zeros; the averages without zeros are
        kept separately and go on moving.
        """
        ruled = [i for i, v in enumerate(variables) if pending_of(v) is not None]
        sparse = [self.averages[i] for i in ruled]
        for average, whole in zip(sparse, self._whole_averages, strict=True):
            average.assign(whole)
        super().move_averages(variables)
        for i, average, whole in zip(ruled, sparse, self._whole_averages, strict=True):
            whole.assign(average)
            value = tf.convert_to_tensor(variables[i])
            average.assign(tf.where(tf.equal(value, 0), tf.zeros_like(value), whole))

    def pending_at(self, index: int) -> Pending | None:
        return pending_of(self.trained[index])

    def metric_at(self, index: int) -> Metric:
        """The metric in which rows of a variable owe steps; none is the plain one."""
        if self.metric == "plain":
            return None
        held = shallow_copy(self)  # `Pending.take` asks whether the optimizer is in use
        return lambda ids: divisors(at_rows(held, index, ids)[0], index)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metric": self.metric}  # type: ignore[misc]


def proximal_class(kind: type) -> Any:
    """The proximal class of a lazy optimizer's class, `Proximal<name>`, registered with Keras."""
    if kind not in _CLASSES:
        name = "Proximal" + kind.__name__.removeprefix("Lazy")
        _CLASSES[kind] = derived_class(ProximalStep, kind, name, __name__)
    return _CLASSES[kind]


def __getattr__(name: str) -> Any:
    return class_named(_CLASSES, __name__, name)


_CLASSES: dict[type, type] = {}
for _kind in ELEMENTWISE:
    if _kind is not keras.optimizers.Ftrl:
        proximal_class(lazy_class(_kind))  # so that a saved model finds the class


def Proximal(optimizer: Any, metric: str = "plain") -> Any:
    """Makes an optimizer take the proximal step of a penalty after its own, on rows (`lazy`).

    `w <- gradient step`, then `w <- prox_{eta lambda}(w)`, for every variable to which a layer has
    given a rule (`proximal_rule`): zeros are exact, where the subgradient of a penalty in the loss
    leaves small numbers. `eta` is the optimizer's rate at that step, of a schedule or a callback;
    `lambda` may also be a Keras schedule over the optimizer's `iterations`, such as 0 for some
    epochs and then a large weight.

    A gradient that comes as rows updates these rows. For the others the threshold is deferred until
    they are next read or updated, which gives the same values as a step on the entire table with
    this lazy optimizer. A dense gradient updates all rows.

    Args:
        optimizer: Name or instance of a Keras optimizer that `lazy` takes, except `Ftrl`.
        metric: Metric of the step. "plain": thresholds `eta lambda`. "adaptive": `eta lambda /
            (sqrt(v_hat) + eps)` per entry, with the divisors of the optimizer's own step (Adam and
            its variants, `Adagrad`, `RMSprop`, `Adadelta`): the proximal step in the metric of the
            gradient step. An entry with no gradient so far has no second moment, and becomes 0 at
            the first step. Build the optimizer before `fit`
            (`model.optimizer.build(model.trainable_variables)`); if it is built within the first
            step, each step updates the entire table. So does each step of an optimizer that trains
            a table which one in use trains in another metric, as in two models that share a layer.

    Returns: An optimizer of class `Proximal<name>`, with the given one's config.
    Raises: ValueError, as `lazy`; for "adaptive", if the optimizer has no second moments or a rule
        has one threshold per row (when built).

    Example:
    >>> type(Proximal(keras.optimizers.SGD(0.1))).__name__, Proximal("adam").metric
    ('ProximalSGD', 'plain')

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), eq. 3 to 5; thresholds
    in another metric: [Duchi et al., JMLR 2011](https://jmlr.org/papers/v12/duchi11a.html), sec. 5.
    Differs: their public code takes the adaptive step on the entire table, with the momentum tail
    of a dense Adam. "adaptive" here omits the factor `1 / (1 - beta_1^t)`, which belongs to the
    mean of the gradient, not to its metric. Weights that are kept during `fit` by `get_weights`
    lose steps deferred in the adaptive metric, and keep steps deferred in the plain one: put
    `training.CatchUp()` before callbacks that do so (`EarlyStopping` that restores the best
    weights). Files of our layers lose none. Schedules of `lambda` count updates, where Keras'
    schedules of the rate count batches, which differ if gradients are accumulated.
    """
    chosen = lazy(optimizer)
    kind: Any = type(chosen)
    if not isinstance(chosen, ProximalStep):
        kind = proximal_class(kind)
    made = kind.from_config({**chosen.get_config(), "metric": metric})
    copy_weight_decay_exclusions(chosen, made)
    return made
