"""Which columns entries of 0 take, and which entries stay."""

import keras
import numpy as np
import tensorflow as tf

from kerascompact.optimizers.entry_rule import EntryRule


def rule_of(columns, rows, sets, unpenalised=None):
    columns = np.array(columns)
    weight = keras.Variable(columns, dtype="int16", trainable=False)
    proposals = (
        keras.Variable(np.zeros(rows), dtype="int32", trainable=False),
        keras.Variable(-np.ones((rows, columns.shape[1])), dtype="int32", trainable=False),
    )
    rule = EntryRule(0.1, True, unpenalised, weight, proposals, sets)
    rule.build(columns.shape)
    return rule


def test_the_best_column_goes_to_the_first_entry_of_zero():
    rule = rule_of([[0, 1, 2], [3, 4, 5]], 2, [(7, 3)])
    scores = tf.constant([[9.0, 9, 9, 1, 4, 2, 3], [5.0, 7, 6, 9, 9, 9, 8]])
    rule.propose(tf.constant([0, 1]), scores)
    moved = rule.regrow(tf.constant([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0]]))
    assert moved.numpy().tolist() == [[True, False, True], [False, True, False]]
    assert rule.columns.numpy().tolist() == [[4, 1, 6], [3, 6, 5]]


def test_proposals_are_taken_once():
    rule = rule_of([[0, 1]], 1, [(5, 2)])
    rule.propose(tf.constant([0]), tf.constant([[0.0, 0, 1, 2, 3]]))
    rule.regrow(tf.zeros((1, 2)))
    assert rule.columns.numpy().tolist() == [[4, 3]]
    assert not rule.regrow(tf.zeros((1, 2))).numpy().any()
    assert rule.columns.numpy().tolist() == [[4, 3]]


def test_columns_stay_in_their_set():
    rule = rule_of([[0, 3], [2, 4]], 2, [(3, 1), (3, 1)])
    rule.propose(tf.constant([1, 0]), tf.constant([[1.0, 2, 9, 8, 9, 7], [9.0, 1, 2, 9, 9, 3]]))
    rule.regrow(tf.zeros((2, 2)))
    assert rule.columns.numpy().tolist() == [[2, 4], [1, 3]]


def test_a_set_with_fewer_other_columns_than_slots_moves_as_many():
    rule = rule_of([[0, 1, 2]], 1, [(4, 3)])
    rule.propose(tf.constant([0]), tf.zeros((1, 4)))
    moved = rule.regrow(tf.zeros((1, 3)))
    assert moved.numpy().tolist() == [[True, False, False]]
    assert rule.columns.numpy().tolist() == [[3, 1, 2]]


def test_entries_without_penalty_stay():
    rule = rule_of([[0, 1], [0, 1]], 1, [(4, 2)], unpenalised=np.array([[1, 0]]))
    rule.propose(tf.constant([1]), tf.constant([[0.0, 0, 2, 1]]))
    rule.regrow(tf.zeros((1, 2)))
    assert rule.columns.numpy().tolist() == [[0, 1], [0, 2]]


def test_a_row_that_is_proposed_twice_moves_once():
    rule = rule_of([[0, 1], [2, 3]], 3, [(5, 2)])
    scores = tf.constant([[0.0, 0, 2, 1, 3]])
    rule.propose(tf.constant([0, 0, 0]), tf.repeat(scores, 3, axis=0))
    rule.regrow(tf.zeros((3, 2)))
    assert rule.columns.numpy().tolist() == [[4, 2], [2, 3]]
