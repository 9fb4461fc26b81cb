"""Freeze, convert, verify and inspect: from a trained Keras model to a small `.tflite` file.

`convert`, `freeze`, `save`, `verify` and `with_states` load TensorFlow when first used; `inspect`,
`diagnose`, `read_metadata` and `TextClassifier` never do.
"""

if __name__ != "kerascompact.export":  # `import export` would load a second copy
    raise ImportError("Import `kerascompact.export`, not the checkout folder `export`.")

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kerascompact.export.aware import quantization_aware
    from kerascompact.export.classifier import TextClassifier
    from kerascompact.export.converter import convert, save
    from kerascompact.export.doctor import diagnose
    from kerascompact.export.flatbuffer import read_metadata
    from kerascompact.export.freezing import freeze
    from kerascompact.export.inspector import inspect
    from kerascompact.export.legacy import from_tf_keras
    from kerascompact.export.recipe import RECIPES, Recipe
    from kerascompact.export.report import Report
    from kerascompact.export.stepping import with_states
    from kerascompact.export.verifier import verify

_WHERE = {
    "RECIPES": "recipe",
    "Recipe": "recipe",
    "Report": "report",
    "TextClassifier": "classifier",
    "convert": "converter",
    "diagnose": "doctor",
    "freeze": "freezing",
    "from_tf_keras": "legacy",
    "inspect": "inspector",
    "quantization_aware": "aware",
    "read_metadata": "flatbuffer",
    "save": "converter",
    "verify": "verifier",
    "with_states": "stepping",
}

__all__ = [
    "RECIPES",
    "Recipe",
    "Report",
    "TextClassifier",
    "convert",
    "diagnose",
    "freeze",
    "from_tf_keras",
    "inspect",
    "quantization_aware",
    "read_metadata",
    "save",
    "verify",
    "with_states",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
