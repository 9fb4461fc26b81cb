"""Differences against NumPy, ties and NaN."""

import numpy as np
import pytest

from kerascompact.export.verification.differences import (
    Bounds,
    accuracy,
    differ,
    difference,
    without_numbers,
)


def test_a_difference_is_numpys():
    one = {"x": np.array([[0.1, 0.9], [0.4, 0.6]]), "y": np.array([[[1.0, 0.0]], [[0.0, 1.0]]])}
    other = {"x": np.array([[0.1, 0.8], [0.6, 0.4]]), "y": np.array([[[1.0, 0.0]], [[0.0, 1.0]]])}
    found = difference(one, other)
    assert differ(one, other).tolist() == [False, True]
    assert (found.agreement, found.ties, found.worst_example) == (0.5, 0, 1)
    np.testing.assert_allclose([found.largest, found.mean], [0.2, 0.5 / 8])
    tie = difference({"x": np.array([[0.5, 0.5 + 1e-7]])}, {"x": np.array([[0.5, 0.5 - 1e-7]])})
    assert (tie.agreement, tie.ties) == (0.0, 1)
    assert np.isnan(difference({"x": np.array([[np.nan, 0]])}, {"x": np.zeros((1, 2))}).largest)


def test_rounding_grows_with_the_size_of_logits():
    one = np.array([[30.0, 30.0 + 2e-5, -40.0], [0.5, 0.5 + 2e-5, 0.0], [-np.inf, 0.5, 0.5 + 2e-5]])
    other = np.stack([one[0, [1, 0, 2]], one[1, [1, 0, 2]], one[2, [0, 2, 1]]])
    found = difference({"logits": one}, {"logits": other})
    assert (found.agreement, found.ties) == (0.0, 1)  # the first; 2e-5 is no rounding of 0.5


def test_nan_is_within_no_bounds():
    found = difference({"x": np.array([[np.nan, 1.0]])}, {"x": np.array([[0.0, 1.0]])})
    assert not found.within(Bounds(np.inf, 0.0), 1)


def test_nan_in_both_is_no_difference():
    one = {"x": np.array([[np.nan, 1.0], [0.5, -np.inf]], np.float32)}
    other = {"x": np.array([[np.nan, 1.0], [0.25, -np.inf]], np.float32)}
    found = difference(one, other)
    assert (found.largest, found.mean, found.worst_example) == (0.25, 0.0625, 1)
    assert without_numbers(one) == 1 and without_numbers({"x": np.array([[1], [2]])}) == 0


def test_several_labels_are_one_answer():
    one = {"y": np.array([[0.9, 0.6], [0.9, 0.4], [0.4, 0.1], [0.5, 0.0]])}
    other = {"y": np.array([[0.6, 0.9], [0.9, 0.5], [0.1, 0.4], [0.5 - 1e-6, 0.0]])}
    assert differ(one, other).tolist() == [True, False, True, False]
    assert differ(one, other, multi_label=True).tolist() == [False, True, False, True]
    found = difference(one, other, multi_label=True)
    assert (found.agreement, found.ties) == (0.5, 1)
    assert str(found).startswith("same sets of labels 0.5")
    assert str(difference(one, other)).startswith("argmax agreement 0.5")


def test_accuracy_of_sets_is_the_share_of_exactly_right_ones():
    outputs = {"y": np.array([[0.9, 0.6], [0.9, 0.4], [0.4, 0.1], [0.5, 0.0]])}
    assert accuracy(outputs, np.array([[1, 1], [1, 1], [0, 0], [0, 1]], np.uint8)) == 0.5
    assert accuracy(outputs, np.array([0, 1, 0, 0])) == 0.75
    assert accuracy(outputs, None) is None


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 2)])
def test_accuracy_of_classes_in_any_shape_that_keras_takes(shape):
    outputs = {"y": np.array([[0.4, 0.3], [0.1, 0.2], [0.9, 0.8]])}
    classes = np.array([0, 1, 1])
    labels = np.eye(2)[classes] if shape == (3, 2) else classes.reshape(shape)
    assert accuracy(outputs, labels) == accuracy(outputs, labels.tolist()) == 2 / 3
    if shape == (3, 2):
        assert accuracy(outputs, labels.astype(int), multi_label=True) == 0  # {}, {} and {0, 1}


@pytest.mark.parametrize("labels", [["a", "b"], [[0], [1], [0]], [[0, 1, 0], [1, 0, 0]], [None, 0]])
def test_refuses_labels_that_no_accuracy_has(labels):
    with pytest.raises(ValueError, match=r"`labels` must be numbers of the shape \(2,\) or"):
        accuracy({"y": np.array([[0.4, 0.3], [0.1, 0.2]])}, labels)


@pytest.mark.parametrize("labels", [[0, 2], [0, -1], [0.5, 1], [np.nan, 0]])
def test_refuses_labels_that_are_no_classes(labels):
    with pytest.raises(ValueError, match=r"`labels` must be classes, integers in \[0, 1\]"):
        accuracy({"y": np.array([[0.4, 0.3], [0.1, 0.2]])}, labels)


def test_a_number_for_each_example_is_one_output():
    one, other = {"y": np.array([0.9, 0.4, 0.6])}, {"y": np.array([0.8, 0.7, 0.5])}
    assert differ(one, other).tolist() == [False, True, False]
    assert difference(one, other).agreement == 2 / 3
    assert accuracy(one, [1, 0, 0]) == accuracy(one, [[1], [0], [0]]) == 2 / 3
    assert accuracy({"y": np.array([[3.0], [0.3]])}, [[1], [1]]) == 1  # logits: over 0, not a half


def test_a_single_probability_answers_from_a_half_on():
    one, other = {"y": np.array([[0.9], [0.4], [0.6]])}, {"y": np.array([[0.8], [0.7], [0.5]])}
    assert differ(one, other).tolist() == [False, True, False]
    assert accuracy(one, np.array([1, 0, 0])) == 2 / 3
    numbers = {"y": np.array([[3.0], [-0.4], [0.6]])}  # of a regression, or logits
    assert accuracy(numbers, np.array([1, 0, 0])) == 2 / 3


def test_single_numbers_answer_alike_within_a_twentieth_of_the_largest():
    one = {"y": np.array([[40.0], [-9.0], [1.0], [np.nan]], np.float32)}
    other = {"y": np.array([[38.1], [-6.9], [-0.8], [np.nan]], np.float32)}  # allowed: 1.905
    assert differ(one, other).tolist() == differ(other, one).tolist() == [False, True, False, False]
    nothing = {"y": np.zeros((4, 1))}  # a file that always says 0
    found = difference(nothing, one)
    assert found.agreement == 0.25 and not found.within(Bounds(np.inf, 0.98), 4)
