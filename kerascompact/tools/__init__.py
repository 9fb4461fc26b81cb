"""Tools for `.tflite` files of any exporter. Imports no TensorFlow, no Keras."""

from kerascompact.tools.doctor import diagnose
from kerascompact.tools.inspector import inspect
from kerascompact.tools.shrink import shrink

__all__ = ["diagnose", "inspect", "shrink"]
