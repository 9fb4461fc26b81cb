"""Files on two processors: the comparison, with this one as both, and the committed rows."""

import sys
from argparse import Namespace

import numpy as np
import pytest

from kerascompact import forms
from kerascompact.benchmarks import aarch64, every_form, results
from kerascompact.export.interpreter import Interpreter


@pytest.fixture(scope="module")
def few():
    return every_form.cases(("clusters", "anchors"))


def test_a_processor_agrees_with_itself(few):
    rows = aarch64.compare(few, [sys.executable])
    assert [(row["form"], row["recipe"]) for row in rows] == list(few)
    for row, (file, given) in zip(rows, few.values(), strict=True):
        assert (row["file_bytes"], row["rows"]) == (len(file), len(given))
        assert (row["agreement"], row["largest_difference"]) == (1, 0)
    assert [row["forms"] for row in rows] == [["CodebookForm"], ["SparseForm"]]
    assert aarch64.table(rows).count("\n") == 1 + len(rows)


def test_files_say_what_their_class_is_no_near_tie(few):
    for file, rows in few.values():
        runner = Interpreter(file)
        found = [next(iter(runner.run({"ids": row}).values())) for row in rows[:, None]]
        outputs = np.concatenate(found)
        assert len(set(outputs.argmax(-1))) > 3
        assert np.diff(np.sort(outputs))[:, -1].min() > aarch64.TOLERANCE


def test_a_processor_that_fails_is_named(few, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no such instruction >&2; exit 132\n")
    broken.chmod(0o755)
    with pytest.raises(ValueError, match="python failed: no such instruction"):
        aarch64.compare(few, [str(broken)])


def test_a_difference_is_an_error():
    here = np.array([[0.2, 0.8], [0.9, 0.1]])
    assert aarch64._difference(here, here + 1e-6, False)["largest_difference"] < 1e-5
    for there, exact in ((here[::-1], False), (here + 1e-3, False), (here + 1e-6, True)):
        with pytest.raises(ValueError, match="Two processors disagree"):
            aarch64._difference(here, there, exact)
    with pytest.raises(ValueError, match="largest difference is nan"):
        aarch64._difference(here * np.nan, here * np.nan, False)


def test_the_root_is_made_once(few, tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(aarch64, "cases", lambda: few)  # and no root is made
    python = tmp_path / "aarch64" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    rows = aarch64.benchmark("aarch64", Namespace(work=str(tmp_path)))
    assert results.rows("aarch64") == rows and len(rows) == len(few)


def test_every_form_was_compared():
    rows = results.rows("aarch64")
    composed = {"Form", "SegmentedForm"}  # the first is abstract, the second no table
    assert {name for row in rows for name in row["forms"]} >= set(forms.__all__) - composed
    assert {"int4", "int8", "float32"} == {row["recipe"] for row in rows if row["form"] == "dense"}
    assert "segments of an LSTM" in {row["form"] for row in rows}
    for row in rows:
        assert row["agreement"] == 1 and row["machine"] == "aarch64" and row["rows"] >= 24
        assert row["largest_difference"] <= (0 if row["hash"] else aarch64.TOLERANCE)
    assert {row["form"] for row in rows if row["hash"]} == set(every_form.HASHES)
