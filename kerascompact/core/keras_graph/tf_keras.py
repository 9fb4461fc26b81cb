"""Private API of tf_keras, Keras 2, whose models `export.tf_keras` wraps."""

from typing import Any


def is_tf_keras_graph(model: Any) -> bool:
    """Whether a tf_keras model is a graph of layers: functional, or Sequential and built."""
    return bool(getattr(model, "_is_graph_network", False)) and model.built


def without_gpu_kernel(layer: Any) -> None:
    """Makes an LSTM or GRU of tf_keras run as a loop, which a TFLite file can hold."""
    if hasattr(layer, "_could_use_gpu_kernel"):
        layer._could_use_gpu_kernel = False
