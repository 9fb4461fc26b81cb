"""Files in two places: the comparison, with this one as both, and the committed rows."""

import sys
from argparse import Namespace

import numpy as np
import pytest

from benchmarks.lib import results
from benchmarks.product import example_forms, parity
from kerascompact import forms
from kerascompact.export.recipe import RECIPES
from kerascompact.runtime.interpreter import Interpreter

HERE = (sys.executable, parity.SCRIPT, "{}", "{}")


@pytest.fixture(scope="module")
def few():
    return example_forms.cases(("clusters", "anchors"))


def test_a_place_agrees_with_itself(few):
    rows = parity.compare(few, [HERE])
    assert [(row["form"], row["recipe"]) for row in rows] == list(few)
    for row, (file, given) in zip(rows, few.values(), strict=True):
        assert (row["file_bytes"], row["rows"]) == (len(file), len(given))
        assert (row["agreement"], row["largest_difference"]) == (1, 0)
    assert [row["forms"] for row in rows] == [["CodebookForm"], ["SparseForm"]]
    assert parity.table(rows).count("\n") == 1 + len(rows)


def test_no_class_of_a_file_is_a_near_tie(few):
    for file, rows in few.values():
        runner = Interpreter(file)
        found = [next(iter(runner.run({"ids": row}).values())) for row in rows[:, None]]
        outputs = np.concatenate(found)
        assert len(set(outputs.argmax(-1))) > 3
        assert np.diff(np.sort(outputs))[:, -1].min() > parity.TOLERANCE


def test_other_runtimes_agree(few, tmp_path, monkeypatch):
    monkeypatch.setattr(parity, "WAYS", (("plain", 1), ("compiled", 2)))
    rows = parity.compare(few, parity.commands("runtimes", tmp_path))
    places = [row["where"].split(", ", 1)[1] for row in rows]
    assert places == 2 * ["plain, 1 thread"] + 2 * ["compiled, 2 threads"]
    files, total = len(few), sum(len(given) for _, given in few.values())
    assert f"compiled, 2 threads | {files} | {total} | 100.0 % |" in parity.table(rows)


def test_a_place_that_fails_is_named(few):
    broken = ("sh", "-c", "echo no such instruction >&2; exit 132", "{}", "{}")
    with pytest.raises(ValueError, match="sh failed: no such instruction"):
        parity.compare(few, [broken])


def test_a_difference_is_an_error():
    here, exact = np.array([[0.2, 0.8], [0.9, 0.1]]), example_forms.HASHES[0]

    def difference(there, form="dense", recipe="int8_tables"):
        return parity._difference(form, recipe, here, there)

    assert difference(here + 1e-6)["largest_difference"] < 1e-5
    for form, there in (("dense", here[::-1]), ("dense", here + 1e-3), (exact, here + 1e-6)):
        with pytest.raises(
            ValueError, match=f"The file of '{form}' by 'int8_tables' gives something else"
        ):
            difference(there, form)
    with pytest.raises(ValueError, match="largest difference is nan"):
        difference(here * np.nan)
    assert difference(here + 0.02, recipe="dynamic")["rounded"]
    with pytest.raises(ValueError, match="by 'dynamic' gives something else"):
        difference(here[::-1], recipe="dynamic")


def test_a_table_tells_recipes_that_round_apart():
    row = {"where": "a", "rows": 10, "agreement": 1.0, "largest_difference": 1e-6, "rounded": False}
    other = {**row, "agreement": 0.9, "largest_difference": 0.02, "rounded": True}
    text = parity.table([row, row, other, {**row, "where": "b"}])
    assert "| a | 2 | 20 | 100.0 % | 1.0e-06 |" in text
    assert "| a, rounded between layers | 1 | 10 | 90.0 % | 2.0e-02 |" in text
    assert text.endswith("| b | 1 | 10 | 100.0 % | 1.0e-06 |")


def test_the_root_is_made_once(few, tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(parity, "cases", lambda: few)
    python = tmp_path / "aarch64" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    rows = parity.benchmark("aarch64", Namespace(work=str(tmp_path)))
    assert results.rows("aarch64") == rows and len(rows) == len(few)


@pytest.mark.parametrize("name", ["aarch64", "browser", "runtimes"])
def test_every_form_was_compared(name):
    rows = results.rows(name)
    kinds = {name for row in rows for name in row["forms"]}
    # the first is abstract, the second only trained; the others are no tables of words
    other = {"Form", "TrainableForm", "FrozenRNN", "LogitsForm", "EinsumForm"}
    assert kinds >= set(forms.__all__) - other
    recipes = {row["recipe"] for row in rows}
    assert recipes >= {*RECIPES} - {"int8"}  # "int8" is "int4" with tables of eight bits
    assert "segments of an LSTM" in {row["form"] for row in rows}
    for row in rows:
        assert row["rows"] >= 24
        if row["rounded"]:  # one class of 64 changes with XNNPACK's own rounding
            assert row["agreement"] > 0.95 and row["largest_difference"] < parity.ROUNDED
        else:
            bound = 0 if row["hash"] else parity.TOLERANCE
            assert row["agreement"] == 1 and row["largest_difference"] <= bound
    assert {row["form"] for row in rows if row["hash"]} == set(example_forms.HASHES)
    processor = {"aarch64": "aarch64", "browser": "Chromium", "runtimes": "x86_64"}[name]
    assert all(row["where"].startswith(processor) for row in rows)
