import pytest

from benchmarks.clusters import speed


def test_every_arm_has_a_row_and_a_ratio_to_the_stock_layer(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(speed, "UNIQUE", 20)
    rows = speed.speed((200,), steps=1)
    arms = [(row["method"], row["optimizer"], row["jit_compile"]) for row in rows]
    assert len(arms) == len(set(arms)) == 2 * 5
    for row in rows:
        (base,) = (
            other["milliseconds"]
            for other in rows
            if (other["method"], other["optimizer"]) == ("SE", "LazyAdam")
            and other["jit_compile"] == row["jit_compile"]
        )
        assert row["ratio"] == pytest.approx(row["milliseconds"] / base, rel=0.05, abs=0.02)
    assert speed.table(rows).count("\n") == 1 + len(rows)
