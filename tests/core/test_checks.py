"""Every check returns the plain value, or refuses with the one sentence."""

import math
import re

import numpy as np
import pytest

from kerascompact.core import checks


def test_message_names_argument_value_and_type():
    sentence = "`rank` must be an integer in [1, 8]. Received: rank=9 (of type int)."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        checks.fail("rank", "an integer in [1, 8]", 9)


def test_message_cuts_long_values():
    with pytest.raises(ValueError, match=r"Received: ids=\[0, 1, .*\.\.\. \(of type list\)") as e:
        checks.fail("ids", "short", list(range(1000)))
    assert len(str(e.value)) < 200


@pytest.mark.parametrize("value", [1, 8, np.int64(3), np.uint8(5)])
def test_integer_in_returns_a_plain_int(value):
    result = checks.integer_in("rank", value, 1, 8)
    assert type(result) is int
    assert result == value


@pytest.mark.parametrize("value", [0, 9, -1, 2.0, True, np.True_, "3", None, np.array(3), math.nan])
def test_integer_in_rejects(value):
    with pytest.raises(
        ValueError, match=r"`rank` must be an integer in \[1, 8\]\. Received: rank="
    ):
        checks.integer_in("rank", value, 1, 8)


def test_integer_without_upper_bound():
    assert checks.integer_in("width", 10**9, 1) == 10**9
    with pytest.raises(ValueError, match=r"`width` must be an integer >= 1\. Received: width=0"):
        checks.integer_in("width", 0, 1)


@pytest.mark.parametrize("value", [0.9, 1, np.float32(0.5), np.int32(1)])
def test_number_returns_a_plain_float(value):
    result = checks.number("rate", value, above=0, up_to=1)
    assert type(result) is float
    assert result == value


@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, math.inf, -math.inf, True, "0.5", None])
def test_number_rejects(value):
    with pytest.raises(ValueError, match=r"`rate` must be a number in \(0, 1\]\. Received"):
        checks.number("rate", value, above=0, up_to=1)


@pytest.mark.parametrize(
    "bounds, expected",
    [
        ({}, "a finite number"),
        ({"above": 0}, "a finite number > 0"),
        ({"at_least": 0}, "a finite number >= 0"),
        ({"up_to": 2}, "a finite number <= 2"),
        ({"below": 2}, "a finite number < 2"),
        ({"at_least": 0, "up_to": 0.999}, "a number in [0, 0.999]"),
        ({"at_least": 0, "below": 1}, "a number in [0, 1)"),
        ({"above": 0, "up_to": 1}, "a number in (0, 1]"),
        ({"above": -1, "below": 1}, "a number in (-1, 1)"),
    ],
)
def test_number_names_the_bounds_it_has(bounds, expected):
    sentence = f"`rate` must be {expected}. Received: rate=nan (of type float)."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        checks.number("rate", math.nan, **bounds)


@pytest.mark.parametrize(
    "bounds, good, bad",
    [
        ({"above": 0, "below": 1}, [0.5, 5e-324], [0, 1]),
        ({"at_least": 0, "below": 1}, [0, -0.0, 0.999], [-5e-324, 1]),
        ({"at_least": 0, "up_to": 1}, [0, 1], [-1e-300, -5e-324, 1 + 1e-15]),
    ],
)
def test_number_at_its_bounds(bounds, good, bad):
    for value in good:
        assert checks.number("rate", value, **bounds) == value
    for value in bad:
        with pytest.raises(ValueError, match="`rate` must be a number in"):
            checks.number("rate", value, **bounds)


@pytest.mark.parametrize("value", [True, False, np.True_])
def test_boolean_returns_a_plain_bool(value):
    assert checks.boolean("mask_zero", value) is bool(value)


@pytest.mark.parametrize("value", [1, 0, None, "yes"])
def test_boolean_rejects(value):
    with pytest.raises(ValueError, match=r"`mask_zero` must be True or False\. Received"):
        checks.boolean("mask_zero", value)


def test_choice_returns_the_value():
    assert checks.choice("recipe", "int8", ("float32", "int8")) == "int8"
    assert checks.choice("bits", None, (None, 8)) is None


@pytest.mark.parametrize("value", ["int4", 3, None, 8.0, ["int8"], {"int8"}])
def test_choice_rejects(value):
    with pytest.raises(ValueError, match="`recipe` must be one of 'float32', 'int8'. Received"):
        checks.choice("recipe", value, ("float32", "int8"))


@pytest.mark.parametrize("table", [np.zeros((2, 3)), np.arange(4), np.zeros((0, 3))])
def test_finite_returns_the_array(table):
    assert checks.finite("table", table) is table


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_finite_counts_what_it_rejects(bad):
    table = np.array([[0.0, bad], [bad, 1.0]])
    with pytest.raises(ValueError, match="`table` must hold finite numbers only.*2 of 4 entries"):
        checks.finite("table", table)


@pytest.mark.parametrize("ids", [[0, 4], np.array([[4]], np.uint8), np.zeros((0,), np.int32)])
def test_ids_below_returns_an_array(ids):
    result = checks.ids_below("ids", ids, 5)
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, ids)


@pytest.mark.parametrize("ids, worst", [([0, 5], 5), ([-1, 9], -1), ([2**40], 2**40)])
def test_ids_below_names_the_id_it_rejects(ids, worst):
    message = rf"`ids` must lie in \[0, 5\), the vocabulary\. Received: an id of {worst}\."
    with pytest.raises(ValueError, match=message):
        checks.ids_below("ids", np.array(ids), 5)


@pytest.mark.parametrize("ids", [[0.0], [True], ["a"]])
def test_ids_below_rejects_other_types(ids):
    with pytest.raises(ValueError, match="`ids` must be an array of integers. Received"):
        checks.ids_below("ids", ids, 5)
