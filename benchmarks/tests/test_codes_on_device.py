"""Small files through the whole benchmark, and the limits that it holds."""

import pytest

from benchmarks.kd_codes import codes_on_device
from benchmarks.lib import results

ARMS = [(40, "sum", None, "int8_tables"), (40, "sum", 6, "int4_tables"), (40, "lstm", 6, "float32")]


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(codes_on_device, "ARMS", ARMS)
    monkeypatch.setattr(codes_on_device, "WORDS", (40, 80))
    monkeypatch.setattr(codes_on_device, "WIDTH", 8)
    monkeypatch.setattr(codes_on_device, "CODE_LENGTH", 4)
    monkeypatch.setattr(codes_on_device, "CARDINALITY", 4)


def test_every_arm_has_a_row_and_is_measured_once(small, capsys):
    rows = codes_on_device.benchmark("codes_device")
    assert len(rows) == 3 and results.rows("codes_device") == rows
    first = rows[0]
    # 4 letters of 2 bits, codebooks of 4 x 8 int8, a scale for each of 8 columns
    assert first["theory_bytes"] == 40 + 4 * 4 * 8 + 4 * 8
    for row in rows:
        assert row["theory_bytes"] < row["file_bytes"] < row["theory_bytes"] + 7 * 1024
        assert row["argmax_agreement"] == 1 and row["largest_difference"] < 1e-4
        assert 0 < row["microseconds"] < 1e6 and 0 < row["gather_microseconds"] < 1e6
        assert row["resident_bytes"] <= row["file_bytes"] + codes_on_device.MEMORY
    assert "| 40 | sum | 6 + H | int4_tables |" in capsys.readouterr().out
    assert codes_on_device.table(rows).count("\n") == 1 + 3
    assert codes_on_device.benchmark("codes_device") == rows  # nothing is measured again


def test_a_file_that_needs_too_much_memory_is_no_result(small, monkeypatch):
    monkeypatch.setattr(codes_on_device, "MEMORY", -(2**40))
    with pytest.raises(ValueError, match="needs more memory than its size and 4 MiB"):
        codes_on_device.benchmark("codes_device")
    assert results.rows("codes_device") == []


def test_a_file_of_other_numbers_is_no_result(small, monkeypatch):
    def freeze(model, recipe, freeze=codes_on_device.export.freeze):
        frozen = freeze(model, recipe)
        table = frozen.model.layers[-1].codebook
        table.assign(-table)
        return frozen

    monkeypatch.setattr(codes_on_device.export, "freeze", freeze)
    with pytest.raises(ValueError, match="gives other vectors than Keras"):
        codes_on_device.measure(*ARMS[0])
