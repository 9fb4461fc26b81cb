import numpy as np
import pytest

from benchmarks.sparseness import recurrent_speed
from benchmarks.sparseness.recurrent_speed import ARMS, CASES, Case


@pytest.mark.slow
def test_every_arm_is_measured_and_sparse_arms_are_equal(monkeypatch, tmp_path):
    monkeypatch.setitem(CASES, "small", Case(10, 8, 2, 0.5, 3, 2))
    trained = recurrent_speed.training("small", steps=1)
    assert [(row["arm"], row["jit_compile"]) for row in trained] == [
        (arm, jit) for jit in (False, True) for arm in ARMS
    ]
    sizes = {row["arm"]: row["parameters"] for row in trained}
    assert sizes[ARMS[2]] == sizes[ARMS[3]] == 4 * 8 * (5 + 4 + 1)
    assert abs(sizes[ARMS[1]] / sizes[ARMS[2]] - 1) < 0.2  # whole units
    files = recurrent_speed.latency("small", rounds=2)
    assert [row["kind"] for row in files] == ["file, a text"] * 4 + ["file, a step"] * 4
    for row in files:
        assert row["microseconds"] > 0 and row["weight_bytes"] < row["file_bytes"]
        assert row["weight_bytes"] == 4 * sizes[row["arm"]]
    assert len(recurrent_speed.table([*trained, *files]).splitlines()) == 2 + 8 + 8


def test_cases_are_of_equal_parameters():
    for case in CASES.values():
        sparse = 4 * case.units * (case.gamma * case.input_dim + case.units / case.num_segments + 1)
        dense = 4 * case.dense_units * (case.input_dim + case.dense_units + 1)
        np.testing.assert_allclose(dense, sparse, rtol=0.01)
