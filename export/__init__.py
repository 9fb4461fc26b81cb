"""Exporter: turns a trained Keras model into a small `.tflite` file and verifies it."""

if __name__ != "kerascompact.export":  # `import export` would load a second copy
    raise ImportError("Import `kerascompact.export`, not the checkout folder `export`.")

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kerascompact.export.constant_inputs import with_constants
    from kerascompact.export.converter import convert
    from kerascompact.export.freezing import Frozen, freeze
    from kerascompact.export.generation import convert_causal_lm
    from kerascompact.export.quantization_aware_training import quantization_aware
    from kerascompact.export.recipe import RECIPES, Recipe
    from kerascompact.export.saving import save
    from kerascompact.export.states import with_states
    from kerascompact.export.tf_keras.models import from_tf_keras
    from kerascompact.export.verification.report import Report
    from kerascompact.export.verification.verifier import verify

_WHERE = {  # the command line reads RECIPES without loading TensorFlow
    "Frozen": "freezing",
    "RECIPES": "recipe",
    "Recipe": "recipe",
    "Report": "verification.report",
    "convert": "converter",
    "convert_causal_lm": "generation",
    "freeze": "freezing",
    "from_tf_keras": "tf_keras.models",
    "quantization_aware": "quantization_aware_training",
    "save": "saving",
    "verify": "verification.verifier",
    "with_constants": "constant_inputs",
    "with_states": "states",
}

__all__ = [
    "Frozen",
    "RECIPES",
    "Recipe",
    "Report",
    "convert",
    "convert_causal_lm",
    "freeze",
    "from_tf_keras",
    "quantization_aware",
    "save",
    "verify",
    "with_constants",
    "with_states",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
