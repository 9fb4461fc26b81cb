"""The benchmark of lazy optimizers measures what it says, on small vocabularies."""

import pytest

from benchmarks.product import lazy_speed


@pytest.mark.parametrize("arm", ["gathered table, lazy Adam", "ANT 10, proximal lazy Adam"])
def test_measures_an_arm(arm, monkeypatch):
    for name, small in (("BATCH", 3), ("LENGTH", 5), ("WIDTH", 4)):
        monkeypatch.setattr(lazy_speed, name, small)
    row = lazy_speed.measure(arm, 40, jit_compile=False, steps=1)
    assert row["V"] == 40 and row["milliseconds"] > 0 and 0 < row["unique"] <= 15
    assert len(lazy_speed.table([row | {"faster": 1.0}, row | {"faster": None}]).splitlines()) == 4


def test_arms_that_do_not_fit_are_known_before():
    at_a_million = {arm: lazy_speed.needed_bytes(arm, 10**6) / 1e9 for arm in lazy_speed.ARMS}
    assert at_a_million["SE, Keras Adam"] == pytest.approx(6 * 4 * 0.256)
    assert at_a_million["ANT 1000, proximal lazy Adam"] == pytest.approx(4 * 4)
