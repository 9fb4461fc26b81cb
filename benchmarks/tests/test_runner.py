"""Rows that are there already are found, and every other spec is run once."""

import argparse
import json
from typing import NamedTuple

import pytest

from benchmarks.lib import results, runner


class Spec(NamedTuple):
    kind: str
    budget: tuple[int, ...] = (1, 2)
    epochs: int = 7
    seed: int = 0


SPECS = [Spec("one"), Spec("two", epochs=9)]


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))


def arguments(seeds=None, epochs=None):
    return argparse.Namespace(seeds=seeds, epochs=epochs)


def table(rows):
    return "\n".join(["head", *(f"a line of {row['spec']['kind']}" for row in rows)])


def test_each_spec_is_run_once_for_each_seed(capsys):
    ran = []

    def run(spec):
        ran.append(spec)
        return {"spec": spec._asdict(), "accuracy": 0.1}

    rows = runner.benchmark("some", iter(SPECS), arguments(seeds=[1, 0]), run, table)
    assert ran == [spec._replace(seed=seed) for seed in (1, 0) for spec in SPECS]
    assert capsys.readouterr().out.splitlines() == ["a line of one", "a line of two"] * 2
    assert rows == results.rows("some")  # as JSON has them: the budget is a list
    assert runner.benchmark("some", SPECS, arguments(), run, table) == rows[2:]
    assert len(ran) == 4 and not capsys.readouterr().out
    (cut, _) = runner.benchmark("some", SPECS, arguments(epochs=2), run, table)
    assert ran[4:] == [spec._replace(epochs=2) for spec in SPECS]
    assert cut["spec"] == json.loads(json.dumps(ran[4]._asdict()))


def test_a_run_that_fails_leaves_the_rows_before_it():
    def run(spec):
        if spec.kind == "two":
            raise KeyboardInterrupt
        return {"spec": spec._asdict()}

    with pytest.raises(KeyboardInterrupt):
        runner.benchmark("some", SPECS, arguments(), run, table)
    assert [row["spec"]["kind"] for row in results.rows("some")] == ["one"]


def test_a_spec_may_be_a_mapping_and_a_run_may_be_left_out():
    specs = [{"arm": "one", "sizes": (1, 2)}, {"arm": "two", "sizes": ()}]

    def run(spec):
        return {"time": 1.5} if spec["arm"] == "one" else None

    rows = runner.run_all("some", specs, run, lambda rows: f"{rows[0]['time']}")
    assert rows == [{"spec": {"arm": "one", "sizes": [1, 2]}, "time": 1.5}] == results.rows("some")
