"""The `.tflite` file format: read, check and edit. Imports no TensorFlow, no Keras."""

from kerascompact.tflite.metadata import read_metadata

__all__ = ["read_metadata"]
