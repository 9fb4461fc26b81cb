"""What README and RESULTS say is so: the code runs, the numbers are those of the committed rows."""

import importlib
import re
from pathlib import Path

import pytest

import kerascompact
from benchmarks.lib import results
from benchmarks.lib.experiments import MODULES
from benchmarks.projections import projection_fit, word_similarity

CHECKOUT = Path(__file__).parents[1]
README, RESULTS = ((CHECKOUT / f"{name}.md").read_text("utf-8") for name in ("README", "RESULTS"))
BLOCK = re.compile(r"<!-- results: (\w+) -->\n(.*?)\n?<!-- end -->", re.DOTALL)
TABLES = dict(BLOCK.findall(README + RESULTS))


def test_code_runs(tmp_path, monkeypatch, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert "argmax agreement 1.000000" in capsys.readouterr().out
    assert (tmp_path / "intents.tflite").exists() and (tmp_path / "vocabulary.txt").exists()


def test_rooms_that_it_names_are_attributes_of_the_package():
    """In its code, and in its prose: `training.choose_words`, "`knowledge` says which words"."""
    parts = {path.stem for path in (CHECKOUT / "kerascompact").iterdir()}
    named = set(
        re.findall(r"^from kerascompact import (.*)$", README, re.MULTILINE).pop().split(", ")
    )
    for quoted in re.findall(r"`([^`\n]+)`", README):
        found = re.match(r"(?:from |help\()?(?:kerascompact\.)?(\w+)(?:\.\w|$)", quoted)
        named |= {found[1]} & parts if found else set()
    assert {"compress", "export", "forms", "knowledge", "layers", "training"} <= named
    # run as `python -m benchmarks.run`
    assert named - {"benchmarks"} <= set(dir(kerascompact))


@pytest.mark.parametrize("name", TABLES)
def test_table_is_that_of_the_committed_rows(name):
    module = importlib.import_module(MODULES[name])
    assert TABLES[name] == module.table(results.rows(name))


def test_every_table_is_there_once():
    assert len(TABLES) == len(BLOCK.findall(README + RESULTS))
    committed = {path.stem for path in CHECKOUT.glob("benchmarks/*/rows/*.jsonl")} & set(MODULES)
    assert set(TABLES) == {name for name in committed if not name.endswith("_dev")}


def test_neighbours_are_those_of_the_committed_rows():
    shown = {word_similarity.label(row["spec"]): row for row in results.rows("word_similarity")}
    shown["begun at a table"] = results.find(
        "projection_fit", projection_fit.BEGUN._asdict(), False
    )
    assert word_similarity.neighbour_table(shown) in RESULTS


@pytest.mark.parametrize("text", [README, RESULTS], ids=["README", "RESULTS"])
def test_every_link_leads_somewhere(text):
    for target in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", text):
        assert (CHECKOUT / target).exists(), target
