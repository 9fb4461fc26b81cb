"""Scores: the numbers of scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

from kerascompact.training.scores import METRICS, default_metric, score


def by_sklearn(answers, labels, metric):
    if metric == "accuracy":
        return metrics.accuracy_score(labels, answers)
    return metrics.f1_score(labels, answers, average=metric[:5], zero_division=0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("rows, classes", [(1, 2), (7, 30), (200, 3), (500, 40)])
def test_one_label_a_row(metric, rows, classes):
    random = np.random.default_rng(rows)
    labels = random.integers(0, classes, rows).astype("int32") ** 2 % classes  # unequal counts
    outputs = random.normal(size=(rows, classes)).astype("float32")
    outputs[np.arange(rows), labels] += 1.5
    expected = by_sklearn(outputs.argmax(axis=1), labels, metric)
    assert score(outputs, labels, metric) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("rows, classes", [(1, 2), (7, 30), (200, 1), (500, 40)])
def test_several_labels_a_row(metric, rows, classes):
    random = np.random.default_rng(rows)
    labels = (random.uniform(size=(rows, classes)) < 1 / np.arange(1, classes + 1)).astype("uint8")
    outputs = np.clip(0.6 * labels + random.uniform(size=labels.shape) / 1.8, 0, 1)
    outputs[0, 0] = 0.5  # given
    expected = by_sklearn((outputs >= 0.5).astype(int), labels, metric)
    assert score(outputs, labels, metric) == pytest.approx(expected, abs=1e-12)


def test_bytes_are_counted_beyond_255():
    labels = np.ones((400, 2), np.uint8)
    assert score(labels.astype(float), labels, "micro_f1") == 1.0
    assert score(labels.astype(float), labels, "macro_f1") == 1.0


@pytest.mark.parametrize("metric", METRICS)
def test_a_row_with_nan_is_wrong(metric):
    outputs = np.array([[np.nan, 0.0], [0.9, 0.1]])
    assert score(outputs, np.array([0, 0]), metric) == pytest.approx(
        2 / 3 if metric == "macro_f1" else 0.5
    )
    assert score(np.full((3, 2), np.nan), np.array([0, 0, 1]), metric) == 0
    assert score(np.full((3, 2), np.nan), np.zeros((3, 2), np.uint8), metric) == 0


def test_default():
    assert default_metric(np.zeros((3, 2), np.uint8)) == "micro_f1"
    assert default_metric(np.zeros(3, np.int32)) == "accuracy"


@pytest.mark.parametrize(
    "outputs, labels, message",
    [
        (np.zeros(3), np.zeros(3, int), r"`outputs` must be an array \(rows, classes\)"),
        (np.zeros((0, 2)), np.zeros(0, int), r"`outputs` must be an array .* at least one row"),
        (np.zeros((3, 2)), np.zeros(2, int), r"`labels` must be .* shape \(3,\) or \(3, 2\)"),
        (np.zeros((3, 2)), np.zeros((3, 1), int), r"`labels` must be .* Received: labels=\(3, 1\)"),
        (np.zeros((3, 2)), np.array([0, 1, 2]), r"`labels` must be integers in \[0, 2\)"),
        (np.zeros((3, 2)), np.array([0, -1, 1]), r"`labels` must be integers in \[0, 2\)"),
        (np.zeros((3, 2)), np.zeros(3), r"`labels` must be integers in \[0, 2\)"),
        (np.zeros((1, 3)), np.array([[0, 1, 2]]), r"`labels` must be integers in \[0, 2\)"),
    ],
)
def test_refuses(outputs, labels, message):
    with pytest.raises(ValueError, match=message):
        score(outputs, labels)


def test_refuses_a_metric():
    with pytest.raises(ValueError, match="`metric` must be one of 'accuracy', 'macro_f1', 'micro"):
        score(np.zeros((1, 2)), np.array([0]), "f1")
