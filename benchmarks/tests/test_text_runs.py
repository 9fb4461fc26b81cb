import pytest

from benchmarks.lib import results, text_runs
from benchmarks.lib.text_runs import Spec
from tiny_task import dataset

SPEC = Spec("tiny", "mixture", "mean", 30, 8, 4, clusters=4, unique=5, epochs=2, batch_size=16)


@pytest.fixture(autouse=True)
def tiny(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(text_runs.datasets, "load", lambda name, data_dir: dataset())


def test_a_row_says_what_was_run_and_what_came_out():
    (row,) = text_runs.run_all([SPEC], "tiny")
    assert row["label"] == "ME(k=4, m=4, u=5, v=30)"
    assert row["spec"]["options"] == {} and row["spec"]["seed"] == 0
    assert 0 <= row["hard_accuracy"] <= 1 and row["argmax_agreement"] == 1
    assert row["paper_bytes"] < row["file_bytes"]
    assert 1 <= row["best_epoch"] <= 2


def test_without_test_the_test_split_stays_untouched():
    (row,) = text_runs.run_all([SPEC], "tiny", test=False)
    assert "file_bytes" in row and not any(key.startswith("hard") for key in row)


def test_a_run_that_has_a_row_is_not_repeated(monkeypatch):
    first = text_runs.run_all([SPEC], "tiny")
    monkeypatch.setattr(text_runs, "run", lambda *args, **options: pytest.fail("ran again"))
    assert text_runs.run_all([SPEC], "tiny") == first
    assert len(results.rows("tiny")) == 1


def test_two_runs_of_a_spec_give_the_same_row():
    data = text_runs.load(SPEC)
    first, second = (text_runs.run(SPEC, data) for _ in range(2))
    for row in (first, second):
        for key in ("train_seconds", "microseconds"):
            row.pop(key)
    assert first == second


def test_bytes_are_counted_anew_without_training(monkeypatch):
    (row,) = text_runs.run_all([SPEC], "tiny")
    results.rewrite("tiny", [{**row, "file_bytes": 1, "stored_bytes": 1}])
    monkeypatch.setattr(text_runs, "train", lambda *args, **options: pytest.fail("trained"))
    text_runs.size_again("tiny")
    assert results.rows("tiny") == [row]
