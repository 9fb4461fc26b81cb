import json

import pytest

from benchmarks.lib import results


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "rows"))
    return tmp_path / "rows"


def row(seed, accuracy, **more):
    spec = {"dataset": "tiny", "seed": seed, "options": {}, "budget": (1, 2)}
    return {
        "spec": spec,
        "label": "CE(k=4)",
        "dev_accuracy": accuracy,
        "best_epoch": 2,
        "train_seconds": 1.2,
        **more,
    }


TESTED = dict(
    soft_accuracy=0.5, hard_accuracy=0.6, file_accuracy=0.7, paper_bytes=1000.0, stored_bytes=900.0,
    file_bytes=3000, microseconds=10.0, model_mb=0.05,
)  # fmt: skip


def test_rows_are_appended_and_read_back(folder):
    assert results.rows("none") == []
    results.append("tiny", row(0, 0.5))
    results.append("tiny", row(1, 0.7))
    lines = (folder / "tiny.jsonl").read_text().splitlines()
    assert [json.loads(line)["dev_accuracy"] for line in lines] == [0.5, 0.7]
    assert results.rows("tiny")[1]["spec"]["seed"] == 1


def test_find_wants_the_same_spec_and_the_newest_row():
    results.append("tiny", row(0, 0.5))
    spec = row(0, 0)["spec"]
    assert results.find("tiny", spec)["dev_accuracy"] == 0.5  # tuples and lists alike
    results.append("tiny", row(0, 0.9, **TESTED))
    assert results.find("tiny", spec)["file_accuracy"] == 0.7
    assert results.find("tiny", {**spec, "seed": 5}) is None


def test_table_has_mean_and_spread_over_seeds():
    found = [row(0, 0.5, **TESTED), row(1, 0.7, **{**TESTED, "file_accuracy": 0.9})]
    *_, line = results.table(found).splitlines()
    assert "| CE(k=4) | 2 | 60.00 ± 14.14 |" in line  # standard deviation of 50 and 70
    assert "| 80.00 ± 14.14 | 0.050 | 1,000 | 900 | 3,000 | 10 |" in line


def test_table_keeps_configurations_apart_and_shows_what_has_no_soft_accuracy():
    other = row(0, 0.5, **{**TESTED, "soft_accuracy": None})
    other["spec"]["dataset"] = "other"
    lines = results.table([row(0, 0.5, **TESTED), other]).splitlines()
    assert len(lines) == 4
    assert "| - | 60.00 |" in lines[3]


def test_line_says_what_there_is():
    assert results.line(row(3, 0.5)) == "tiny CE(k=4) seed 3: dev 0.5000 (epoch 2), 1 s"
    assert "test soft 0.5000 hard 0.6000 file 0.7000, 3000 B" in results.line(row(3, 0.5, **TESTED))
