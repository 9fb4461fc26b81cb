"""Compact embeddings for Keras: train in `model.fit`, ship a small `.tflite`.

Its packages load on first use, so that reading a file on a machine without TensorFlow
(`kerascompact predict`, `kerascompact inspect`) stays light, and works in the package
kerascompact-runtime, which does not bring TensorFlow:

>>> import kerascompact
>>> kerascompact.layers.ClusterEmbedding.__name__
'ClusterEmbedding'
"""

import importlib
from typing import Any

from kerascompact.core.backend import check_backend
from kerascompact.core.extras import training_is_missing

__version__ = "0.1.0"

_PACKAGES = (
    "compress",
    "datasets",
    "export",
    "forms",
    "initializers",
    "knowledge",
    "layers",
    "models",
    "optimizers",
    "regularizers",
    "runtime",
    "search",
    "size",
    "text",
    "tflite",
    "tools",
    "training",
)

check_backend()


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        try:
            return importlib.import_module(f"kerascompact.{name}")
        except ModuleNotFoundError as error:
            if (sentence := training_is_missing(error)) is None:
                raise
            raise ImportError(f"kerascompact.{name}: {sentence}") from error
    raise AttributeError(f"module 'kerascompact' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*(name for name in globals() if name.startswith("__")), *_PACKAGES])
