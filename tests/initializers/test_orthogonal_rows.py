"""Rows of length 1, orthogonal where the width allows it."""

import keras
import numpy as np
import pytest

from kerascompact.initializers import OrthogonalRows


@pytest.mark.parametrize("shape", [(1, 7), (5, 7), (7, 7), (20, 7), (3, 1)])
def test_rows_or_columns_are_orthogonal(shape):
    rows = OrthogonalRows(seed=1)(shape).numpy().astype(float)
    n, d = shape
    gram = rows @ rows.T if n <= d else rows.T @ rows * d / n
    np.testing.assert_allclose(gram, np.eye(min(shape)), atol=1e-6)  # a QR in float32
    np.testing.assert_allclose(np.square(rows).sum(axis=1).mean(), 1, rtol=1e-5)


def test_has_both_signs_and_another_draw_at_each_call():
    draw = OrthogonalRows()
    first, second = draw((8, 16)).numpy(), draw((8, 16)).numpy()
    assert 0.2 < (first < 0).mean() < 0.8  # 128 numbers; one sign in a row would be 0 or 1
    assert np.abs(first - second).max() > 0.1


def test_keeps_its_config_and_seed():
    again = keras.initializers.get(keras.initializers.serialize(OrthogonalRows(seed=3)))
    np.testing.assert_array_equal(again((4, 5)), OrthogonalRows(seed=3)((4, 5)))


def test_refuses_wrong_arguments():
    with pytest.raises(ValueError, match=r"`seed` must be an integer >= 0\. Received: seed=-1"):
        OrthogonalRows(seed=-1)
    with pytest.raises(ValueError, match=r"`shape` must be that of a matrix, .*shape=\(2, 3, 4\)"):
        OrthogonalRows()((2, 3, 4))
