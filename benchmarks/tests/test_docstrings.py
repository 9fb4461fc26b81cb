"""Every `>>>` example of the benchmarks runs, with the usual names in scope."""

import doctest
import importlib

import keras
import numpy as np
import pytest

from benchmarks.lib.experiments import ROOT

NAMES = {"np": np, "keras": keras}
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "benchmarks").rglob("*.py"))
    if "tests" not in path.parts and ">>>" in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)  # an example may write files
    failed, _ = doctest.testmod(module, extraglobs=NAMES)
    assert failed == 0, "the examples that failed are in the captured output"
