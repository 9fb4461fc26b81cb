import keras
import numpy as np
import pytest
import tensorflow as tf

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


@pytest.mark.parametrize("training", ["paper", "averaged"])
def test_the_papers_training_is_dense_adam_at_a_constant_rate(training):
    spec = SPEC._replace(options={"training": training}, learning_rate=0.02)
    optimizer = text_runs.optimizer_of(spec, 48)(None, global_clipnorm=10.0)
    table = keras.Variable(np.zeros((4, 1)))
    first, second, expected = np.zeros((3, 4))
    average = expected.copy()
    for step, ids in enumerate(([1, 1, 2], [3, 3, 3], [0, 2, 2]), 1):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table.value, ids))
        (gradient,) = tape.gradient(loss, [table.value])
        assert isinstance(gradient, tf.IndexedSlices)
        optimizer.apply([gradient], [table])
        summed = np.bincount(ids, minlength=4)
        first, second = 0.9 * first + 0.1 * summed, 0.999 * second + 0.001 * summed**2
        expected -= 0.02 * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-7)
        average = expected.copy() if step == 1 else 0.999 * average + 0.001 * expected
    expected = average if training == "averaged" else expected  # three steps are an epoch
    np.testing.assert_allclose(table.numpy()[:, 0], expected, rtol=1e-4)


def test_trainings_have_labels_and_names():
    spec = SPEC._replace(options={"training": "averaged"}, epochs=1)
    (row,) = text_runs.run_all([spec], "tiny", test=False)
    assert row["label"] == "ME(training=averaged, k=4, m=4, u=5, v=30)"
    with pytest.raises(ValueError, match="`training` must be one of 'paper', 'averaged'"):
        text_runs.optimizer_of(spec._replace(options={"training": "other"}), 48)


def test_the_small_rnn_is_a_model():
    (row,) = text_runs.run_all([SPEC._replace(model="rnn")], "tiny")
    assert row["argmax_agreement"] == 1 and row["other_weight_bytes"] == 4 * (2 * 7 + 3 * 3)
