"""Losses that layers have added, where the replicas of `tf.distribute` take turns."""

import contextlib
from collections.abc import Iterator

from keras.src.backend.common import global_state

from kerascompact.core.keras_graph.layers import all_layers


@contextlib.contextmanager
def keeping_losses() -> Iterator[None]:
    """Context for what waits for other replicas inside a call of a model.

    The replicas share its layers. While one waits, the next calls the model from its start, where
    Keras drops the losses that layers have added, and adds its own. Here the first one gets those
    that it had added back.

    >>> class Adds(keras.layers.Layer):
    ...     def call(self, x):
    ...         self.add_loss(keras.ops.sum(x))
    ...         with keeping_losses():
    ...             self._losses.clear()  # by another replica
    ...         return x
    >>> layer = Adds()
    >>> _ = layer(np.ones(3))
    >>> [float(loss) for loss in layer.losses]
    [3.0]
    """
    context = global_state.get_global_attribute("current_call_ctx")
    called = [] if context is None else all_layers(context.entry_layer)
    kept = [(layer, list(layer._losses)) for layer in called]
    try:
        yield
    finally:
        for layer, losses in kept:
            layer._losses[:] = losses
