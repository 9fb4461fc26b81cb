"""Optimizers that update only the rows of a table that the batch has touched."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core.registration import register


class RowGradients:
    """Makes a Keras optimizer treat the gradient of a table as rows: summed, then clipped."""

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        # Summed before anything else, so that clipping sees the true gradient of a row.
        summed = [sum_repeated(g) if isinstance(g, tf.IndexedSlices) else g for g in grads]
        scale: float | None = getattr(self, "loss_scale_factor", None)
        if scale is None:
            super().apply(summed, trainable_variables)  # type: ignore[misc]
            return
        # Stock Keras divides IndexedSlices by the number, a TypeError: divide here instead.
        self.loss_scale_factor = None
        try:
            super().apply([_divide(g, scale) for g in summed], trainable_variables)  # type: ignore[misc]
        finally:
            self.loss_scale_factor = scale

    def _clip_gradients(self, grads: list[Any]) -> list[Any]:
        if not self.global_clipnorm:  # type: ignore[attr-defined]
            return super()._clip_gradients(grads)  # type: ignore[misc]
        # Stock Keras multiplies IndexedSlices by the ratio of norms, and gets the whole table.
        return tf.clip_by_global_norm(grads, self.global_clipnorm)[0]  # type: ignore[attr-defined]


@register
class LazyAdam(RowGradients, keras.optimizers.Adam):
    """Adam whose step on an embedding costs what the batch's rows cost, not the table's.

    For a gradient that comes as rows (`tf.IndexedSlices`): rows of repeated ids are summed first,
    `g_i = sum_{j: id_j = i} g_j`, then Adam updates `m`, `v` and the variable at these rows only.
    Every other gradient is updated as `keras.optimizers.Adam` does.

    Stock Keras 3 never sums the rows of repeated ids, so its second moment on an embedding is
    `sum g_j^2` instead of `(sum g_j)^2`: another optimizer than Adam. It also rewrites all rows of
    `m`, `v` and the table at each step. Users of plain `keras.layers.Embedding` gain, too.

    Args: those of `keras.optimizers.Adam`.

    Example:
    >>> model = keras.Sequential([keras.layers.Embedding(9, 2), keras.layers.Flatten()])
    >>> model.compile(LazyAdam(0.01), "mse")
    >>> history = model.fit(np.array([[1, 1]]), np.zeros((1, 4)), verbose=0)

    Reference: [Kingma & Ba, ICLR 2015](https://arxiv.org/abs/1412.6980), algorithm 1.
    Differs: a row that is not in the batch gets no momentum tail, and its moments do not decay.
    `weight_decay`, gradient accumulation, and anything that makes the gradient dense (an L2
    regularizer on the table, a softmax tied to it) still cost the whole table; Keras'
    `LossScaleOptimizer` around it costs one boolean per entry, for its check of overflow.
    """

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        if not isinstance(gradient, tf.IndexedSlices):
            super().update_step(gradient, variable, learning_rate)
            return
        if tf.distribute.get_strategy().num_replicas_in_sync > 1:
            gradient = sum_repeated(gradient)  # replicas may have met the same ids
        rows, grad = gradient.indices, tf.cast(gradient.values, variable.dtype)
        step = tf.cast(self.iterations + 1, variable.dtype)
        rate = tf.cast(learning_rate, variable.dtype)
        rate *= tf.sqrt(1 - tf.pow(self.beta_2, step)) / (1 - tf.pow(self.beta_1, step))
        index = self._get_variable_index(variable)
        m = _update_rows(self._momentums[index], rows, grad, self.beta_1)
        v = _update_rows(self._velocities[index], rows, tf.square(grad), self.beta_2)
        if self.amsgrad:
            slot = self._velocity_hats[index].value
            v = tf.maximum(tf.gather(slot, rows), v)
            slot.scatter_update(tf.IndexedSlices(v, rows))
        variable.scatter_sub(tf.IndexedSlices(rate * m / (tf.sqrt(v) + self.epsilon), rows))


@register
class LazySGD(RowGradients, keras.optimizers.SGD):
    """Gradient descent whose step on an embedding costs what the batch's rows cost.

    `w_i -= rate g_i` for the rows `i` in the batch; with momentum `m`,
    `u_i = m u_i - rate g_i`, `w_i += u_i` (Nesterov: `w_i += m u_i - rate g_i`), at these rows
    only. Clipping sees the summed gradient of a row and keeps it rows; stock Keras'
    `global_clipnorm` makes it the whole table.

    Args: those of `keras.optimizers.SGD`.

    Example:
    >>> model = keras.Sequential([keras.layers.Embedding(9, 2), keras.layers.Flatten()])
    >>> model.compile(LazySGD(1.0, global_clipnorm=5.0), "mse")
    >>> history = model.fit(np.array([[1, 1]]), np.zeros((1, 4)), verbose=0)

    Reference: [Sutskever et al., ICML 2013](https://proceedings.mlr.press/v28/sutskever13.html),
    sec. 2. Differs: a row that is not in the batch gets no momentum tail; `weight_decay` costs the
    whole table.
    """

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        if not isinstance(gradient, tf.IndexedSlices):
            super().update_step(gradient, variable, learning_rate)
            return
        if tf.distribute.get_strategy().num_replicas_in_sync > 1:
            gradient = sum_repeated(gradient)
        rows = gradient.indices
        step = tf.cast(learning_rate, variable.dtype) * tf.cast(gradient.values, variable.dtype)
        if self.momentum == 0:
            variable.scatter_sub(tf.IndexedSlices(step, rows))
            return
        slot = self.momentums[self._get_variable_index(variable)].value
        velocity = self.momentum * tf.gather(slot, rows) - step
        slot.scatter_update(tf.IndexedSlices(velocity, rows))
        move = self.momentum * velocity - step if self.nesterov else velocity
        variable.scatter_add(tf.IndexedSlices(move, rows))


def sum_repeated(gradient: tf.IndexedSlices) -> tf.IndexedSlices:
    """The same gradient with every row named once.

    >>> rows = tf.IndexedSlices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([5, 3, 5]), [9, 1])
    >>> summed = sum_repeated(rows)
    >>> summed.indices.numpy().tolist(), summed.values.numpy().tolist()
    ([5, 3], [[5.0], [2.0]])
    """
    ids, place = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, place, tf.shape(ids)[0])
    return tf.IndexedSlices(values, ids, gradient.dense_shape)


def _update_rows(slot: keras.Variable, rows: tf.Tensor, new: tf.Tensor, beta: float) -> tf.Tensor:
    """Moves rows of a moment's running average towards `new` and returns them."""
    values = beta * tf.gather(slot.value, rows) + (1 - beta) * new
    slot.value.scatter_update(tf.IndexedSlices(values, rows))
    return values


def _divide(gradient: Any, scale: float) -> Any:
    if isinstance(gradient, tf.IndexedSlices):
        values = gradient.values / scale
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return None if gradient is None else gradient / scale
