"""Step of a Keras optimizer that updates only the rows of a table that the batch has touched."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core.keras_graph import OpenOptimizer
from kerascompact.ops.bfloat16 import in_float32
from kerascompact.ops.replicas import replicas
from kerascompact.optimizers.guard import check_bfloat16, held_in_bfloat16
from kerascompact.optimizers.replicas import check_replicated, check_strategy
from kerascompact.optimizers.row_constraint import row_constraint, without_keras_constraint
from kerascompact.optimizers.row_view import (
    DivisibleRows,
    RowView,
    at_rows,
    rounding_seed,
    sum_repeated,
)


class LazyStep(OpenOptimizer):
    """Mixin: the step of a Keras optimizer on a table updates the batch's rows only.

    Rows of repeated ids are summed first, and clipping keeps the gradient as rows; the optimizer's
    `update_step` is then called on these rows of the variable and of its slots. It works for every
    optimizer whose step treats each entry separately, see `lazy`.
    """

    # Attributes of the Keras optimizer that this is mixed into.
    name: str
    built: bool
    use_ema: bool
    global_clipnorm: float | None
    weight_decay: float | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    ema_overwrite_frequency: int | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        check_strategy()
        super().__init__(*args, **kwargs)

    def build(self, variables: Any) -> None:
        if not self.built:
            variables = list(variables)
            check_bfloat16(self, variables)
            super().build(variables)  # type: ignore[misc]

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        check_strategy()
        if replicas() > 1:
            check_replicated(self)
        if trainable_variables is not None:
            trainable_variables = list(trainable_variables)
            if not self.built:
                with keras.name_scope(self.name, caller=self):
                    self.build(trainable_variables)
        known = self.trained if trainable_variables is None else trainable_variables
        grads = list(grads)
        fits = len(known) == len(grads)  # else Keras raises
        for i, variable in enumerate(known if fits else ()):
            if held_in_bfloat16(variable):
                grads[i] = in_float32(grads[i])
        summed = [sum_repeated(g) if isinstance(g, tf.IndexedSlices) else g for g in grads]
        if self.loss_scale_factor is not None:
            summed = [
                DivisibleRows(g.values, g.indices, g.dense_shape)
                if isinstance(g, tf.IndexedSlices)
                else g
                for g in summed
            ]
        if fits and not self._overwrites and any(map(without_keras_constraint, known)):
            # Keras applies constraints of its own variables only: `update_step` applies these.
            trainable_variables = [v.value if without_keras_constraint(v) else v for v in known]
        super().apply(summed, trainable_variables)  # type: ignore[misc]

    @property
    def _overwrites(self) -> bool:
        """Whether averages replace weights: Keras then constrains all rows, after that."""
        return bool(self.use_ema and self.ema_overwrite_frequency)

    def clipped(self, gradients: list[Any]) -> list[Any]:
        if replicas() > 1:
            # Keras clips first, which would clip each replica's part of the gradient on its own.
            summed = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
            # replicas may have the same ids
            gradients = [sum_repeated(g) if isinstance(g, tf.IndexedSlices) else g for g in summed]
        if not self.global_clipnorm:
            return super().clipped(gradients)
        # Stock Keras multiplies IndexedSlices by the ratio of norms, which gives the full table.
        return tf.clip_by_global_norm(gradients, self.global_clipnorm)[0]

    def all_reduced(self, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """Nothing here: `clipped` has summed over replicas."""
        return pairs

    def decay_weights(self, variables: Any) -> None:
        """Nothing here: `step_on` decays what it updates, so that rows stay rows."""

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        index = self.index_of(variable)
        constraint = None if self._overwrites else row_constraint(self.trained[index])
        rounds, ids = held_in_bfloat16(self.trained[index]), None
        if isinstance(gradient, tf.IndexedSlices):
            ids, gradient = gradient.indices, gradient.values
        elif not rounds:
            self.step_on(self, variable, gradient, variable, learning_rate)
            if constraint is not None:
                variable.assign(constraint(variable))
            return
        optimizer, slots = at_rows(self, index, ids, rounds)
        seed = rounding_seed(self, index) if rounds else None
        rows = RowView(variable, ids, index, seed)
        self.step_on(optimizer, rows, gradient, variable, learning_rate)
        if constraint is not None:
            rows.assign(constraint(tf.convert_to_tensor(rows)))
        for view in (*slots, rows):
            view.flush()

    def finalize_variable_values(self, var_list: Any) -> None:
        super().finalize_variable_values(var_list)  # type: ignore[misc]
        for variable in var_list:  # rows that were in no batch
            constraint = row_constraint(variable)
            if constraint is not None:
                variable.assign(constraint(variable))

    def step_on(
        self, optimizer: Any, target: Any, gradient: tf.Tensor, variable: Any, learning_rate: Any
    ) -> None:
        """Updates `target`, a variable or a `RowView` of it, by an optimizer with such slots."""
        if self.weight_decay is not None and self.decays(variable):
            rate = tf.cast(learning_rate, target.dtype)
            decay = tf.cast(self.weight_decay, target.dtype)
            target.assign_sub(target * decay * rate)
        super(LazyStep, optimizer).update_step(gradient, target, learning_rate)  # type: ignore[misc]

    def index_of(self, variable: Any) -> int:
        return variable.index if isinstance(variable, RowView) else super().index_of(variable)
