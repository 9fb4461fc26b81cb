"""Steps of recurrent cells, against NumPy and against Keras' own cells."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops import cells

N, BATCH, S = 2, 3, 4  # cells side by side, rows, units
RANDOM = np.random.default_rng(0)
HIDDEN, CELL = RANDOM.normal(size=(2, N, BATCH, S)).astype(np.float32)
CLOSE = dict(rtol=1e-5, atol=1e-6)  # float32 sums in another order


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def drawn(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def test_lstm_equals_its_formula():
    projected, kernel = drawn(N, BATCH, 4 * S), drawn(N, S, 4 * S)
    found = cells.lstm(projected, HIDDEN, CELL, kernel, tf.tanh, tf.sigmoid)
    for n in range(N):
        i, f, g, o = np.split(projected[n] + HIDDEN[n] @ kernel[n], 4, axis=-1)
        cell = sigmoid(f) * CELL[n] + sigmoid(i) * np.tanh(g)
        np.testing.assert_allclose(found[1][n], cell, **CLOSE)
        np.testing.assert_allclose(found[0][n], sigmoid(o) * np.tanh(cell), **CLOSE)


@pytest.mark.parametrize("reset_after", [True, False])
def test_gru_equals_keras(reset_after):
    cell = keras.layers.GRUCell(S, reset_after=reset_after, bias_initializer="random_normal")
    inputs = drawn(BATCH, 5)
    expected, _ = cell(inputs, [HIDDEN[0]])
    bias = cell.bias.numpy().reshape(-1, 3 * S)
    found = cells.gru(
        inputs @ cell.kernel.numpy() + bias[0],
        HIDDEN[0],
        cell.recurrent_kernel,
        bias[1] if reset_after else None,
        reset_after,
        tf.tanh,
        tf.sigmoid,
    )
    np.testing.assert_allclose(found, expected, **CLOSE)
