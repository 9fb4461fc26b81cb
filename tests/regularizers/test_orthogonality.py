"""The sum of what rows have in common."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.regularizers import Orthogonality


def test_adds_up_every_pair_twice_and_no_row_with_itself():
    table = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    expected = sum(
        abs(float(table[i] @ table[j])) for i in range(5) for j in range(5) if i != j
    )  # fmt: skip
    np.testing.assert_allclose(Orthogonality(0.5)(table), 0.5 * expected, rtol=1e-6)
    assert float(Orthogonality(0.5)(10 * np.eye(4, dtype=np.float32))) == 0


def test_gradient_is_that_of_the_other_rows():
    table = tf.Variable([[1.0, 2.0], [3.0, -1.0]])
    with tf.GradientTape() as tape:
        loss = Orthogonality(1.0)(table)
    # 2 |a . b|, a . b = 1
    np.testing.assert_allclose(tape.gradient(loss, table), [[6.0, -2.0], [2.0, 4.0]], rtol=1e-6)


def test_keeps_its_config():
    again = keras.regularizers.get(keras.regularizers.serialize(Orthogonality(0.25)))
    assert isinstance(again, Orthogonality) and again.orthogonality_weight == 0.25


@pytest.mark.parametrize("orthogonality_weight", [-1, np.inf, "1", True])
def test_refuses_other_weights(orthogonality_weight):
    with pytest.raises(ValueError, match=r"`orthogonality_weight` must be a finite number >= 0\."):
        Orthogonality(orthogonality_weight)
