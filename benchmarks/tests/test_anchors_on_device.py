"""Small files through the whole benchmark, and the limits that it holds."""

import numpy as np
import pytest

from benchmarks.anchors import anchors_on_device
from benchmarks.lib import results


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(anchors_on_device, "SIZES", ((40, 12),))
    monkeypatch.setattr(anchors_on_device, "WIDTH", 8)


def test_every_arm_has_a_row_and_is_measured_once(small, capsys):
    rows = anchors_on_device.benchmark("anchors_device")
    assert len(rows) == 4 and results.rows("anchors_device") == rows
    lengths = np.minimum(np.random.default_rng(0).poisson(3.9, 40), 12)
    first = rows[0]
    assert first["entries"] == lengths.sum()
    # uint8 columns and float32 values, 64 uint8 lengths, 2 starts, 12 anchors, a bound
    assert first["theory_bytes"] == first["entries"] * 5 + 64 + 8 + 4 * 12 * 8 + 4
    for row in rows:
        assert row["theory_bytes"] < row["file_bytes"] < row["theory_bytes"] + 9 * 1024
        assert row["argmax_agreement"] == 1 and row["largest_difference"] < 1e-4
        assert 0 < row["microseconds"] < 1e6 and 0 < row["gather_microseconds"] < 1e6
    assert "| 40 | 12 |" in capsys.readouterr().out
    assert anchors_on_device.table(rows).count("\n") == 1 + 4
    assert anchors_on_device.benchmark("anchors_device") == rows  # nothing is measured again


def test_a_file_that_needs_too_much_memory_is_no_result(small, monkeypatch):
    monkeypatch.setattr(anchors_on_device, "MEMORY", -(2**40))
    with pytest.raises(ValueError, match="needs more memory than its size and 4 MiB"):
        anchors_on_device.benchmark("anchors_device")
    assert results.rows("anchors_device") == []


def test_a_file_of_other_numbers_is_no_result(small, monkeypatch):
    def freeze(model, recipe, freeze=anchors_on_device.export.freeze):
        frozen = freeze(model, recipe)
        table = frozen.model.layers[-1].anchors
        table.assign(-table)
        return frozen

    monkeypatch.setattr(anchors_on_device.export, "freeze", freeze)
    with pytest.raises(ValueError, match="gives other numbers than Keras"):
        anchors_on_device.measure(40, 12, "lookup", "float32")
