"""A strategy for several machines under which `fit` of Keras 3 works."""

from typing import Any

import keras
import tensorflow as tf


class MultiWorkerStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """`tf.distribute.MultiWorkerMirroredStrategy` for `fit`, `evaluate` and `predict` of Keras 3.

    Every process runs the same script with a `TF_CONFIG` of its own, and makes the strategy before
    anything else of TensorFlow. A batch is the batch of all of them: each takes its part, and
    gradients are summed. Gradients of rows (`tf.IndexedSlices`) travel as rows. With optimizers of
    `kerascompact.optimizers` the weights are those of one process with the same batches, up to the
    order of sums; the page
    [Training on more than one device](../several_devices.md) has a script and the limits.

    TensorFlow's own class fails in `fit` of Keras 3.12 to 3.15, which asks it for the mean of a
    batch, to learn its shapes, and for the mean of numbers along their first axis. This one
    answers; nothing of Keras is replaced.

    Args:
        cluster_resolver: Addresses of the processes. Default: those of `TF_CONFIG`; without it, the
            devices of this machine.
        communication_options: `tf.distribute.experimental.CommunicationOptions`.

    Raises: ValueError, in the first step of `fit`, for `jit_compile=True`, `steps_per_execution`
        above 1, a `LossScaleOptimizer`, and variables that were made outside of `strategy.scope()`.

    Example:
    >>> strategy = MultiWorkerStrategy()
    >>> strategy.num_replicas_in_sync
    1

    Reference: the failures are [keras#20585](https://github.com/keras-team/keras/issues/20585).
    """

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """Reduces a value across replicas, as `tf.distribute.Strategy.reduce` does.

        Args:
            reduce_op: "SUM" or "MEAN".
            value: Value of each replica. Of a batch, a structure of values, the part of this
                process's first replica is returned: parts may differ in size, so that they have no
                mean, and Keras reads only shapes and types.
            axis: Axis to reduce along as well, or None; ignored for a number, which has none.
        """
        if tf.nest.is_nested(value):
            return tf.nest.map_structure(self._first, value)
        if axis is not None and self._first(value).shape.rank == 0:
            axis = None
        return super().reduce(reduce_op, value, axis)

    def run(self, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Runs a function on each replica, after a check of the model if it is a step of `fit`."""
        model = getattr(fn, "__self__", None)
        if isinstance(model, keras.Model) and self.num_replicas_in_sync > 1:
            _check(model)
            self._check_scope(model)
        return super().run(fn, args, kwargs, options)

    def _check_scope(self, model: keras.Model) -> None:
        """Raises ValueError for a variable that each process would change on its own."""
        of_optimizer = [] if model.optimizer is None else model.optimizer.variables
        for variable in [*model.variables, *model.metrics_variables, *of_optimizer]:
            if not self.extended.variable_created_in_scope(variable.value):
                raise ValueError(
                    "Layers, metrics, the optimizer and what else has variables must be made "
                    "within `strategy.scope()`, or each process would change its own. "
                    f"Received: {variable.path!r} was made outside of `strategy.scope()`."
                )

    def _first(self, value: Any) -> Any:
        return self.experimental_local_results(value)[0]


def _check(model: keras.Model) -> None:
    """Raises ValueError for what TensorFlow cannot do, or would wait for without an end."""
    if getattr(model, "jit_compile", False) is True:
        raise ValueError(
            "`jit_compile` must be False on several replicas: XLA cannot compile a step that sums "
            "over them. Received: jit_compile=True."
        )
    if getattr(model, "steps_per_execution", 1) > 1:
        raise ValueError(
            "`steps_per_execution` must be 1 on several machines: TensorFlow cannot sum over them "
            f"within a loop. Received: steps_per_execution={model.steps_per_execution}."
        )
    if isinstance(getattr(model, "optimizer", None), keras.optimizers.LossScaleOptimizer):
        raise ValueError(
            "`optimizer` must not be a `LossScaleOptimizer` on several machines: each looks for "
            "overflow in its own gradients, and one that skips a step would let the others wait "
            "forever. Use the policy 'mixed_bfloat16', or 'mixed_float16' with "
            "`compile(..., auto_scale_loss=False)` and `loss_scale_factor` of the optimizer. "
            f"Received: optimizer={model.optimizer.name!r}."
        )
