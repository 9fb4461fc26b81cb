"""A tf_keras model wrapped as one layer of a Keras 3 model."""

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
    """What a tf_keras model computes, with its weights, inside a Keras 3 model.

    Inference only: the weights are constants, dropout is off. A mask that comes with the inputs
    reaches the layers inside; the outputs carry none. LSTMs and GRUs run as loops, which TFLite
    files can hold; the fused ones of tf_keras keep their state from one text to the next there.

    Args:
        architecture: `model.to_json()` of a tf_keras model; layers of tensorflow-model-optimization
            in it are known, others must be registered with tf_keras. Weights come by `set_weights`.
        **kwargs: Those of `keras.layers.Layer`.

    Shapes: as the model has them; a list of tensors, if it has several inputs.
    Storage: the weights of the model, 32 bits each, or what the recipe of a file makes of them.
    Raises: ValueError, if tf_keras cannot build the model; ImportError, without tf_keras.

    A `.keras` file that has one loads once this module is imported.

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
        self.supports_masking = True  # it takes masks, and gives none
        self.legacy = _built(architecture)
        self.rounds_itself = _is_quantized(architecture)
        # The model's own variables under Keras 3's names: it reads what `set_weights` assigns.
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
    """The last part of a name: `kernel` of `dense/kernel:0`."""
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
            "your own with tf_keras.saving.register_keras_serializable. "
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
    """A configuration without shapes: wrappers of tfmot that get them make their weights twice."""
    if isinstance(config, dict):
        return {key: _unbuilt(value) for key, value in config.items() if key != "build_config"}
    return [*map(_unbuilt, config)] if isinstance(config, list) else config
