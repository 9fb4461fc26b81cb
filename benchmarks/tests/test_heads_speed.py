"""The benchmark of heads measures what it says, on a small vocabulary."""

import pytest

from benchmarks.product import heads_speed


@pytest.mark.parametrize("arm", heads_speed.ARMS)
def test_measures_an_arm(arm, monkeypatch):
    for name, small in (("WORDS", 40), ("WIDTH", 6), ("STREAMS", 2), ("STEPS", 3), ("SAMPLED", 5)):
        monkeypatch.setattr(heads_speed, name, small)
    for name, small in (("K", 3), ("D", 4), ("HIDDEN", 5), ("RANK", 2), ("CLUSTERS", 4)):
        monkeypatch.setattr(heads_speed, name, small)
    row = heads_speed.measure(arm, jit_compile=False, steps=1)
    assert row["n"] == 6 and row["milliseconds"] > 0
    assert isinstance(row["peak_bytes"], int)  # of a process that others' memory leaves: may be < 0
    assert row["sampled"] == (5 if arm.endswith("sampled") else None)
    assert len(heads_speed.table([row | {"ratio": 1.0}]).splitlines()) == 3
