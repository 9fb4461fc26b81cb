"""A missing package is named with the command that installs it."""

import json
import re

import pytest

from kerascompact.core.extras import require


def test_returns_the_module():
    assert require("json", "plot") is json
    assert require("xml.dom", "plot").__name__ == "xml.dom"


@pytest.mark.parametrize("module", ["kerascompact_absent", "kerascompact_absent.part"])
def test_says_which_extra_brings_it(module):
    sentence = (
        f"This needs the package '{module}'. Install it with: pip install 'kerascompact[plot]'"
    )
    with pytest.raises(ImportError, match=f"^{re.escape(sentence)}$"):
        require(module, "plot")


def test_does_not_blame_a_package_that_is_there(tmp_path, monkeypatch):
    (tmp_path / "kerascompact_broken.py").write_text("import kerascompact_needed_by_broken\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="'kerascompact_needed_by_broken'"):
        require("kerascompact_broken", "plot")
