"""What the README says is so: its code runs, its numbers are those of the committed rows."""

import importlib
import re
from pathlib import Path

import pytest

from kerascompact.benchmarks import results
from kerascompact.benchmarks.__main__ import MODULES

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
TABLES = dict(re.findall(r"<!-- results: (\w+) -->\n(.*?)\n?<!-- end -->", README, re.DOTALL))


def test_code_runs(tmp_path, monkeypatch, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert "argmax agreement 1.000000" in capsys.readouterr().out
    assert (tmp_path / "intents.tflite").exists() and (tmp_path / "vocabulary.txt").exists()


@pytest.mark.parametrize("name", TABLES)
def test_table_is_that_of_the_committed_rows(name):
    module = importlib.import_module(f"kerascompact.benchmarks.{MODULES[name]}")
    assert TABLES[name] == module.table(results.rows(name))


def test_every_link_leads_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (Path(__file__).parents[1] / target).exists(), target
