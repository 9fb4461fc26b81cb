"""Keras 3 layer that wraps a tf_keras model."""

import contextlib
import json
from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.core.keras_graph import all_layers, without_gpu_kernel
from kerascompact.core.registration import register


@register
class TFKerasLayer(keras.layers.Layer):
    """Runs a tf_keras model, with its weights, inside a Keras 3 model.

    It is for inference only: the weights are constants, dropout is off. A mask of the inputs
    reaches the layers inside; the outputs have none. LSTMs and GRUs run as loops, which TFLite
    files can hold; in a file, the fused ones of tf_keras would keep their state from one text to
    the next. To load a `.keras` file with this layer, import this module first.

    Args:
        architecture: JSON of a tf_keras model, from `model.to_json()`. It may have layers of
            tensorflow-model-optimization; others must be registered with tf_keras. Use
            `set_weights` for the weights.
        **kwargs: Further arguments of `keras.layers.Layer`, such as `name`.

    Shapes: those of the model; a list of tensors, if it has several inputs.
    Storage: the weights of the model, 32 bits each, or as the recipe of a file stores them.
    Raises: ValueError, if tf_keras cannot build the model; ImportError, without tf_keras.

    Example:
    >>> import tf_keras  # doctest: +SKIP
    >>> inside = [tf_keras.Input((3,)), tf_keras.layers.Dense(2)]  # doctest: +SKIP
    >>> architecture = tf_keras.Sequential(inside).to_json()  # doctest: +SKIP
    >>> TFKerasLayer(architecture)(np.ones((1, 3), "float32")).shape  # doctest: +SKIP
    TensorShape([1, 2])
    """

    def __init__(self, architecture: str, **kwargs: Any) -> None:
        kwargs.setdefault("trainable", False)
        super().__init__(autocast=False, **kwargs)
        self.architecture = architecture
        self.supports_masking = True  # it takes masks and returns none
        self.legacy = _built(architecture)
        self.rounds_itself = _is_quantized(architecture)
        # The model's own variables, wrapped for Keras 3, so that `set_weights` changes the model.
        self.held = [
            keras.Variable(weight, trainable=False, dtype=weight.dtype.name, name=_name(weight))
            for weight in self.legacy.weights
        ]

    def call(self, inputs: Any, mask: Any = None) -> Any:
        masked = any(one is not None for one in keras.tree.flatten(mask))
        return self.legacy(inputs, training=False, mask=mask if masked else None)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "architecture": self.architecture}


def _is_quantized(architecture: str) -> bool:
    return '"QuantizeWrapper' in architecture or '"QuantizeLayer"' in architecture


def _name(weight: Any) -> str:
    """The last part of a weight's name, such as `kernel` in `dense/kernel:0`."""
    return weight.name.split("/")[-1].split(":")[0]


def _built(architecture: str) -> Any:
    tf_keras = require("tf_keras", "tfmot")
    scope: Any = contextlib.nullcontext()
    if _is_quantized(architecture):
        tfmot = require("tensorflow_model_optimization", "tfmot")
        scope = tfmot.quantization.keras.quantize_scope()
    try:
        with scope:
            model = tf_keras.models.model_from_json(json.dumps(_unbuilt(json.loads(architecture))))
    except (ValueError, TypeError) as error:
        raise ValueError(
            "`architecture` must be the JSON of a tf_keras model whose layers are known; register "
            "other layers with tf_keras.saving.register_keras_serializable. "
            f"tf_keras says: {str(error).splitlines()[0]}"
        ) from error
    if not isinstance(model, tf_keras.Model):
        checks.fail("architecture", "the JSON of a tf_keras model", architecture)
    for layer in all_layers(model):
        if layer.compute_dtype not in (None, "float32"):
            checks.fail(layer.name, "a layer that computes in float32", layer.compute_dtype)
        without_gpu_kernel(layer)
    return model


def _unbuilt(config: Any) -> Any:
    """A configuration without shapes, which would make tfmot's wrappers build weights twice."""
    if isinstance(config, dict):
        return {key: _unbuilt(value) for key, value in config.items() if key != "build_config"}
    return [*map(_unbuilt, config)] if isinstance(config, list) else config
