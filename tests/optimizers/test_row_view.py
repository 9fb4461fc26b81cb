"""RowView against the same formulas on NumPy rows."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.optimizers.row_view import RowView, at_rows, sum_repeated

TABLE = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
IDS = [4, 1]


def view(table=TABLE):
    variable = tf.Variable(table)
    return variable, RowView(variable, tf.constant(IDS), 0)


FORMULAS = {
    "r + 2": lambda r: r + 2,
    "2 + r": lambda r: 2 + r,
    "r - 2": lambda r: r - 2,
    "2 - r": lambda r: 2 - r,
    "r * r": lambda r: r * r,
    "2 * r": lambda r: 2 * r,
    "r / 2": lambda r: r / 2,
    "2 / r": lambda r: 2 / r,
    "-r ** 2": lambda r: -(r**2),
    "-r": lambda r: -r,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_computes_as_the_rows_do(name):
    _, rows = view()
    np.testing.assert_allclose(FORMULAS[name](rows), FORMULAS[name](TABLE[IDS]), rtol=1e-6)


def test_what_was_read_of_all_rows_stays():
    variable = tf.Variable(TABLE)
    read = tf.convert_to_tensor(RowView(variable, None, 0))
    read -= 1.0  # a variable would refuse
    variable.assign(0 * TABLE)
    np.testing.assert_allclose(read, TABLE - 1)


def test_keras_takes_it_for_a_tensor():
    _, rows = view()
    found = keras.ops.maximum(keras.ops.square(rows), keras.ops.multiply(rows, 2.0))
    expected = np.maximum(TABLE[IDS] ** 2, TABLE[IDS] * 2)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert rows.dtype == tf.float32 and tuple(rows.shape) == (2, 3)


def updates(rows):
    rows.assign_sub(np.ones((2, 3), np.float32))
    yield TABLE[IDS] - 1
    rows.assign_sub(2 * np.ones((2, 3), np.float32))
    yield TABLE[IDS] - 3
    rows.assign_add(rows)
    yield 2 * (TABLE[IDS] - 3)
    rows.assign(np.zeros((2, 3), np.float32))
    yield np.zeros((2, 3))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("read_first", [False, True])
def test_flush_writes_these_rows_only(count, read_first):
    variable, rows = view()
    if read_first:
        tf.convert_to_tensor(rows)
    steps = updates(rows)
    expected = [next(steps) for _ in range(count)][-1]
    np.testing.assert_array_equal(variable, TABLE)  # not yet
    rows.flush()
    np.testing.assert_allclose(variable.numpy()[IDS], expected, atol=1e-6)
    others = [0, 2, 3, 5]
    np.testing.assert_array_equal(variable.numpy()[others], TABLE[others])
    rows.flush()  # nothing more to write
    np.testing.assert_allclose(variable.numpy()[IDS], expected, atol=1e-6)


def test_reading_after_a_subtraction_sees_it():
    variable, rows = view()
    rows.assign_sub(np.ones((2, 3), np.float32))
    np.testing.assert_allclose(tf.convert_to_tensor(rows), TABLE[IDS] - 1, atol=1e-6)
    rows.flush()
    np.testing.assert_allclose(variable.numpy()[IDS], TABLE[IDS] - 1, atol=1e-6)


def test_an_optimizer_at_rows_shares_everything_but_its_slots():
    optimizer = keras.optimizers.Adam(amsgrad=True)
    optimizer.build([keras.Variable(np.zeros((2, 2))), keras.Variable(TABLE)])
    copy, views = at_rows(optimizer, 1, tf.constant(IDS))
    assert type(copy) is keras.optimizers.Adam and copy.iterations is optimizer.iterations
    slots = [optimizer._momentums, optimizer._velocities, optimizer._velocity_hats]
    for slot, name in zip(slots, ("_momentums", "_velocities", "_velocity_hats"), strict=True):
        assert getattr(copy, name)[1] in views
        assert getattr(copy, name)[1].variable is slot[1].value
        assert getattr(optimizer, name) is slot  # as it was


def test_sum_repeated_equals_numpy():
    ids = [3, 1, 3, 3, 0]
    values = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    found = sum_repeated(tf.IndexedSlices(tf.constant(values), tf.constant(ids), (6, 3)))
    assert sorted(found.indices.numpy().tolist()) == [0, 1, 3]
    expected = np.zeros((6, 3))
    np.add.at(expected, ids, values)
    np.testing.assert_allclose(tf.convert_to_tensor(found), expected, rtol=1e-6)


def test_sum_repeated_of_a_single_row():
    one = tf.IndexedSlices(tf.ones((1, 3)), tf.constant([2]), (6, 3))
    summed = sum_repeated(one)
    assert summed.indices is one.indices and summed.values is one.values
