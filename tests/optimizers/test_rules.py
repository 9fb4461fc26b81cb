"""Rules against NumPy with a full mask of penalised entries."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.optimizers.rules import GroupRule, L1Rule

TABLE = np.random.default_rng(0).normal(size=(9, 11)).astype(np.float32)
PAIRS = np.random.default_rng(1).integers(0, (9, 11), (25, 2))


def line_10(table, t, pairs, nonnegative):
    """Algorithm 1, line 10, with a dense S."""
    s = np.ones_like(table)
    s[pairs[:, 0], pairs[:, 1]] = 0
    masked = table * s
    out = np.sign(masked) * np.maximum(np.abs(masked) - t, 0) + table * (1 - s)
    return np.maximum(out, 0) if nonnegative else out


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("pairs", [PAIRS, PAIRS[:1], PAIRS[:0]], ids=len)
def test_l1_equals_line_10(nonnegative, pairs):
    rule = L1Rule(0.1, nonnegative, pairs)
    rule.build(TABLE.shape)
    expected = line_10(TABLE, 0.3, pairs, nonnegative)
    found = rule.prox(tf.constant(TABLE), tf.constant(0.3), None)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    ids = np.array([[8, 2], [2, PAIRS[0, 0]]])
    found = rule.prox(tf.constant(TABLE[ids]), tf.constant(0.3), tf.constant(ids))
    np.testing.assert_allclose(found, expected[ids], atol=1e-7)


def test_entries_are_stored_as_bits_of_the_rows_that_have_some():
    rule = L1Rule(0.1, unpenalised=np.array([[5, 3], [5, 10], [500, 0], [5, 3]]))
    rule.build((1000, 11))
    assert rule._bits.shape == (1 + 2, 2) and rule._bits.dtype == tf.uint8
    assert rule._places.shape == (1000,)


def test_group_equals_the_formula():
    norms = np.linalg.norm(TABLE, axis=1, keepdims=True)
    t = np.quantile(norms, 0.4)
    expected = np.where(norms > t, TABLE * (norms - t) / norms, 0)
    found = GroupRule(0.1).prox(tf.constant(TABLE), tf.constant(t, tf.float32), None)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    assert (expected == 0).all(axis=1).sum() == 4


@pytest.mark.parametrize("rule", [L1Rule, GroupRule])
@pytest.mark.parametrize("penalty_weight", [-0.1, np.nan, "much"])
def test_penalty_weight_is_checked(rule, penalty_weight):
    with pytest.raises(ValueError, match=r"`penalty_weight` must be a finite number >= 0\."):
        rule(penalty_weight)


@pytest.mark.parametrize("pairs", [np.zeros((3, 3), int), np.zeros(2, int)], ids=str)
def test_pairs_are_checked(pairs):
    with pytest.raises(ValueError, match="`unpenalised` must be .row, column. pairs"):
        L1Rule(0.1, unpenalised=pairs)


def test_pairs_must_lie_in_the_table():
    with pytest.raises(ValueError, match=r"`unpenalised rows` must lie in \[0, 4\)"):
        L1Rule(0.1, unpenalised=[[4, 0]]).build((4, 3))
    with pytest.raises(ValueError, match=r"`unpenalised columns` must lie in \[0, 3\)"):
        L1Rule(0.1, unpenalised=[[0, 3]]).build((4, 3))
    with pytest.raises(ValueError, match="`unpenalised` entries need a variable of two axes"):
        L1Rule(0.1, unpenalised=[[0, 3]]).build((4, 3, 2))
    with pytest.raises(ValueError, match="GroupRule needs a variable of two axes"):
        GroupRule(0.1).build((4,))
