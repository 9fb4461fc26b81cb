"""Keras optimizers: the steps that ours override, and their slots."""

from collections.abc import Iterable
from typing import Any


class OpenOptimizer:
    """Gives the private steps and lists of a Keras optimizer names that a subclass can rely on.

    It stands before a Keras optimizer in the bases of a class. Keras calls its own private methods,
    which lead here to the ones below; each of these does what Keras does, until it is overridden.
    """

    def index_of(self, variable: Any) -> int:
        """The place of a trained variable in `trained` and in the lists of slots."""
        return super()._get_variable_index(variable)  # type: ignore[misc]

    def clipped(self, gradients: list[Any]) -> list[Any]:
        """Gradients after clipping by norm, global norm or value."""
        return super()._clip_gradients(gradients)  # type: ignore[misc]

    def all_reduced(self, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """Pairs of a gradient and its variable, with the gradients summed over replicas."""
        return super()._all_reduce_sum_gradients(pairs)  # type: ignore[misc]

    def decay_weights(self, variables: Any) -> None:
        """Takes the step of the weight decay on all variables, before the update."""
        super()._apply_weight_decay(variables)  # type: ignore[misc]

    def decays(self, variable: Any) -> bool:
        """Whether weight decay applies to a variable."""
        return super()._use_weight_decay(variable)  # type: ignore[misc]

    def move_averages(self, variables: Any) -> None:
        """Moves the averages of the weights (`use_ema`) after the update."""
        super()._update_model_variables_moving_average(variables)  # type: ignore[misc]

    @property
    def trained(self) -> list[Any]:
        """The variables that the optimizer was built for."""
        return trained_by(self)

    @property
    def averages(self) -> list[Any]:
        """The averages of the weights, one for each of `trained`."""
        return slots(self, "averages")

    def _get_variable_index(self, variable: Any) -> int:
        return self.index_of(variable)

    def _clip_gradients(self, grads: list[Any]) -> list[Any]:
        return self.clipped(grads)

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> list[tuple[Any, Any]]:
        return self.all_reduced(list(grads_and_vars))

    def _apply_weight_decay(self, variables: Any) -> None:
        self.decay_weights(variables)

    def _update_model_variables_moving_average(self, trainable_variables: Any) -> None:
        self.move_averages(trainable_variables)


def trained_by(optimizer: Any) -> list[Any]:
    """The variables that an optimizer was built for, in the order of its lists of slots.

    >>> import keras
    >>> len(trained_by(keras.optimizers.SGD()))
    0
    """
    return optimizer._trainable_variables


def batches_seen(optimizer: Any) -> int:
    """The number of batches whose gradients an optimizer had, also those that it accumulates.

    >>> import keras
    >>> batches_seen(keras.optimizers.SGD(gradient_accumulation_steps=4)), batches_seen(None)
    (0, 0)
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    return 0 if optimizer is None else int(optimizer._iterations)


def copy_weight_decay_exclusions(
    source: Any, target: Any, copies: Iterable[tuple[Any, Any]] = ()
) -> None:
    """Excludes from the weight decay of an optimizer what another one excludes from its own.

    Args:
        source: The other optimizer.
        target: An optimizer that has not been built.
        copies: Pairs of a variable and its copy, where the target trains copies.

    >>> import keras
    >>> old, new = keras.optimizers.AdamW(), keras.optimizers.AdamW()
    >>> old.exclude_from_weight_decay(var_names=["bias"])
    >>> copy_weight_decay_exclusions(old, new)
    >>> new._use_weight_decay(keras.Variable([0.0], name="bias"))
    False
    """
    for name in ("_exclude_from_weight_decay", "_exclude_from_weight_decay_pattern"):
        if hasattr(source, name):  # not before `exclude_from_weight_decay` is called
            setattr(target, name, getattr(source, name))
    excluded: set[Any] = getattr(source, "_exclude_from_weight_decay", set())  # by identity
    added = {target._var_key(new) for old, new in copies if source._var_key(old) in excluded}
    if added:
        target._exclude_from_weight_decay = excluded | added


def parts_of(optimizer: Any) -> list[Any]:
    """The optimizers that have a rate: those of a `MultiOptimizer`, or behind a scale of the loss.

    >>> import keras
    >>> optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    >>> [type(one).__name__ for one in parts_of(optimizer)]
    ['SGD']
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    return list(getattr(optimizer, "optimizers", [optimizer]))


SLOTS = {
    "velocities": "_velocities",  # Adam, Nadam, RMSprop
    "velocity_hats": "_velocity_hats",  # Adam with `amsgrad`
    "largest": "_u",  # Adamax
    "accumulators": "_accumulators",  # Adagrad
    "average_gradients": "_average_gradients",  # RMSprop, centered
    "accumulated_grads": "_accumulated_grads",  # Adadelta
    "accumulated_steps": "_accumulated_delta_vars",  # Adadelta
    "averages": "_model_variables_moving_average",  # any, with `use_ema`
}


def slots(optimizer: Any, name: str) -> Any:
    """One kind of slot of an optimizer: a variable, or rows of it, for each trained variable.

    Args:
        optimizer: A Keras optimizer that has been built.
        name: A key of `SLOTS`.
    """
    return getattr(optimizer, SLOTS[name])
