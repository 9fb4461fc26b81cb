"""A missing package is named with the command that installs it."""

import json
import re

import pytest

import kerascompact
from kerascompact import cli
from kerascompact.core.extras import require, training_is_missing


def test_returns_the_module():
    assert require("json", "plot") is json
    assert require("xml.dom", "plot").__name__ == "xml.dom"


@pytest.mark.parametrize("module", ["kerascompact_absent", "kerascompact_absent.part"])
def test_says_which_extra_brings_it(module):
    sentence = (
        "This needs the package 'kerascompact_absent'. "
        "Install it with: pip install 'kerascompact[plot]'"
    )
    with pytest.raises(ImportError, match=f"^{re.escape(sentence)}$"):
        require(module, "plot")


def test_does_not_blame_a_package_that_is_there(tmp_path, monkeypatch):
    (tmp_path / "kerascompact_broken.py").write_text("import kerascompact_needed_by_broken\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="'kerascompact_needed_by_broken'"):
        require("kerascompact_broken", "plot")


def test_names_the_extra_of_the_package_that_is_installed(tmp_path, monkeypatch):
    """With kerascompact-runtime, but for extras that only kerascompact has."""
    info = tmp_path / "kerascompact_runtime-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: kerascompact-runtime\nVersion: 0.1.0\nProvides-Extra: plot\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"pip install 'kerascompact-runtime\[plot\]'$"):
        require("kerascompact_absent", "plot")
    with pytest.raises(ImportError, match=r"pip install 'kerascompact\[hub\]'$"):
        require("kerascompact_absent", "hub")
    missing = ModuleNotFoundError("No module named 'keras'", name="keras")
    assert str(training_is_missing(missing)).endswith(
        ": pip uninstall kerascompact-runtime, then pip install kerascompact"
    )


@pytest.mark.parametrize("module", ["tensorflow", "keras.src", "optuna"])
def test_says_that_training_is_missing(module, monkeypatch, capsys):
    missing = ModuleNotFoundError(f"No module named {module!r}", name=module)
    package = module.partition(".")[0]
    sentence = (
        f"Training and exporting need the package '{package}'. "
        "Install all that they need with: pip install kerascompact"
    )
    assert training_is_missing(missing) == sentence

    def fail(*arguments):
        raise missing

    monkeypatch.setattr(cli.COMMANDS["demo"], "run", fail)
    assert cli.main(["demo"]) == 1
    assert capsys.readouterr().err == f"kerascompact: error: {sentence}\n"
    monkeypatch.setattr(kerascompact.importlib, "import_module", fail)
    with pytest.raises(ImportError, match=f"^kerascompact.layers: {re.escape(sentence)}$"):
        kerascompact.__getattr__("layers")  # an attribute already, once another test has loaded it


def test_other_missing_packages_are_left_alone():
    assert training_is_missing(ModuleNotFoundError("No module named 'abc'", name="abc")) is None
    assert training_is_missing(ModuleNotFoundError("broken")) is None
