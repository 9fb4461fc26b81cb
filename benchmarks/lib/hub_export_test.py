"""keras-hub's own test of an export to LiteRT, on files of this package.

Their test runs on PyTorch only, since that is where their exporter is: it is told that the backend
is PyTorch, and `model.export` is ours. What it checks is theirs: signatures, names, shapes and
numbers.
"""

import sys
import types
from collections.abc import Mapping
from typing import Any
from unittest import mock

import keras
import numpy as np

from kerascompact import export
from kerascompact.core.extras import require

WITHIN = {"*": {"max": 1e-4, "mean": 1e-5}}


class _Keras:
    """Keras, whose backend is called PyTorch."""

    backend = types.SimpleNamespace(
        backend=lambda: "torch", standardize_dtype=keras.backend.standardize_dtype
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(keras, name)


def run_their_test(model: keras.Model, inputs: Mapping[str, np.ndarray], length: int) -> None:
    """Runs `TestCase.run_litert_export_test` of keras-hub.

    Args:
        model: A model of keras-hub.
        inputs: Its inputs, one example.
        length: Length of the ids in the file.

    Raises: AssertionError, if their test fails; unittest.SkipTest, if it does not run.
    """
    theirs = require("keras_hub.src.tests.test_case", "bench")

    def exported(path: str, **_: Any) -> None:
        export.save(model, path, recipe="float32", sequence_length=length)

    case = theirs.TestCase("run_litert_export_test")
    with (
        mock.patch.object(theirs, "keras", _Keras()),
        mock.patch.dict(sys.modules, {"litert_torch": types.ModuleType("litert_torch")}),
        mock.patch.object(model, "export", exported),
    ):
        case.run_litert_export_test(
            model=model,
            input_data=dict(inputs),
            comparison_mode="statistical",
            output_thresholds=WITHIN,
        )
