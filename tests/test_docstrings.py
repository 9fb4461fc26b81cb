"""Every `>>>` example runs, with the usual names in scope."""

import doctest
import importlib
import pkgutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import kerascompact

NAMES = {"np": np, "tf": tf, "keras": keras, "kerascompact": kerascompact}
MODULES = [
    "kerascompact",
    *(module.name for module in pkgutil.walk_packages(kerascompact.__path__, "kerascompact.")),
]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_examples(name, tmp_path, monkeypatch):
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)  # an example may write files
    failed, _ = doctest.testmod(module, extraglobs=NAMES)
    assert failed == 0, "the examples that failed are in the captured output"
