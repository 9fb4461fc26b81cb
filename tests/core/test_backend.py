"""The backend is looked for where Keras looks, in its order."""

import json
import re
import sys
from types import SimpleNamespace

import pytest

from kerascompact.core.backend import check_backend


@pytest.fixture(autouse=True)
def nothing_set(tmp_path, monkeypatch):
    """No Keras imported, no variable set, and an empty Keras folder."""
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))


def imported(backend):
    return SimpleNamespace(backend=SimpleNamespace(backend=lambda: backend))


def refused(backend, where):
    received = f"Received: backend='{backend}' (from {where}). Set the environment variable"
    return pytest.raises(ImportError, match=re.escape(received))


def test_passes_when_nothing_is_set():
    check_backend()


def test_passes_on_tensorflow(tmp_path, monkeypatch):
    (tmp_path / "keras.json").write_text(json.dumps({"backend": "jax"}))
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")  # stronger than the file
    check_backend()
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setitem(sys.modules, "keras", imported("tensorflow"))  # stronger than the variable
    check_backend()


@pytest.mark.parametrize("backend", ["jax", "torch", "numpy", "openvino"])
def test_refuses_the_variable(monkeypatch, backend):
    monkeypatch.setenv("KERAS_BACKEND", backend)
    with refused(backend, "the environment variable KERAS_BACKEND"):
        check_backend()


def test_refuses_the_file(tmp_path, monkeypatch):
    (tmp_path / "keras.json").write_text(json.dumps({"backend": "torch"}))
    with refused("torch", str(tmp_path / "keras.json")):
        check_backend()
    monkeypatch.setenv("KERAS_BACKEND", "")  # empty is as if it were not set
    with refused("torch", str(tmp_path / "keras.json")):
        check_backend()


def test_refuses_the_imported_keras(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")  # set too late to matter
    monkeypatch.setitem(sys.modules, "keras", imported("jax"))
    with refused("jax", "the imported keras"):
        check_backend()


@pytest.mark.few(2)
@pytest.mark.parametrize("text", ["", "{", "\N{SNOWMAN}", '{"floatx": "float16"}'])
def test_passes_over_a_file_that_keras_passes_over(tmp_path, text):
    (tmp_path / "keras.json").write_text(text, encoding="utf-8")
    check_backend()
