"""The benchmark of steps and its gate, on a small vocabulary."""

import pytest

from benchmarks.lib import results
from benchmarks.lib.experiments import ROOT
from benchmarks.product import step_speed
from benchmarks.product.step_speed import ARMS, BASE, PROMISED, SIZE, SLACK


@pytest.mark.parametrize("jit_compile", [False, True])
def test_measures_every_arm_and_its_ratio(jit_compile, monkeypatch):
    for name, small in (("BATCH", 3), ("LENGTH", 5)):
        monkeypatch.setattr(step_speed, name, small)
    names = list(ARMS) if not jit_compile else [BASE, "DPQ"]
    rows = step_speed.measure(6400, jit_compile, names, rounds=1)
    assert [row["arm"] for row in rows] == names and rows[0]["ratio"] == 1.0
    for row in rows:
        expected = row["cpu_milliseconds"] / rows[0]["cpu_milliseconds"]
        assert row["ratio"] == pytest.approx(expected, rel=0.05)
    assert len(step_speed.table(rows).splitlines()) == 2 + len(names)


def measured(slow):
    """What a machine would measure on which some arms are slower, once or always."""
    calls = []

    def rows(words, jit_compile, names, rounds):
        calls.append((jit_compile, names))
        again = (jit_compile, [BASE]) in [(j, n[:1]) for j, n in calls[:-1]]
        more = {arm: slow[arm][min(again, len(slow[arm]) - 1)] for arm in slow if arm in names}
        return [
            {
                "arm": arm,
                "V": words,
                "jit_compile": jit_compile,
                "cpu_milliseconds": 1.0,
                "ratio": more.get(arm, PROMISED[jit_compile].get(arm, 1.0)),
            }
            for arm in names
        ]

    rows.calls = calls
    return rows


def test_the_gate_opens_for_what_is_promised_and_tries_the_slow_again():
    machine = measured({"DPQ": (9.0, 3.0 * SLACK)})
    rows = step_speed.gate(machine)
    assert {row["arm"] for row in rows} == {BASE} | {a for p in PROMISED.values() for a in p}
    assert machine.calls[-1] == (True, [BASE, "DPQ"]) and len(machine.calls) == 3


def test_the_gate_shuts_for_what_is_lost_by_more_than_a_fifth():
    with pytest.raises(SystemExit, match=r"slower than promised: DPQ \(jit_compile=True\)$"):
        step_speed.gate(measured({"DPQ": (3.0 * SLACK + 0.01,)}))


def test_promises_hold_in_the_committed_rows():
    found = {(r["jit_compile"], r["arm"]): r for r in results.rows("step_speed") if r["V"] == SIZE}
    for jit_compile, promised in PROMISED.items():
        for arm, most in promised.items():
            assert found[jit_compile, arm]["ratio"] <= SLACK * most


def test_numbers_of_the_pages():
    rows = {(r["V"], r["jit_compile"], r["arm"]): r for r in results.rows("step_speed")}
    arms = ("layers.Embedding", BASE, "SE, Keras Adam", "torch Embedding, SparseAdam")
    times = [f"{rows[step_speed.LARGE, False, arm]['cpu_milliseconds']:.0f}" for arm in arms]
    page = " ".join((ROOT / "docs" / "methods" / "plain.md").read_text("utf-8").split())
    said = (
        f"{times[0]} ms of a CPU, with Keras' layer {times[1]}, with Keras' layer and Keras' Adam"
    )
    compiled = rows[step_speed.LARGE, True, BASE]["cpu_milliseconds"]
    assert f"{said} {times[2]}; compiled by XLA" in page
    assert f"Keras' layer takes {compiled:.1f} and this one gains nothing" in page
    assert f"takes {times[3]} ms at a million words" in page
    compact = [
        row["ratio"]
        for (words, _, arm), row in rows.items()
        if words == SIZE and arm in ("CE", "CAE", "ME", "DPQ", "KD", "ANT 100")
    ]
    said = f"take {min(compact):.1f} to {max(compact):.1f} times those of Keras' layer"
    assert said in (ROOT / "docs" / "keras_models.md").read_text("utf-8")
