import keras
import numpy as np
import pytest

from kerascompact.compress import Compressor, ScalarQuantization


def test_a_compressor_must_define_compress():
    with pytest.raises(NotImplementedError, match="Compressor must define `compress`"):
        Compressor().fit(np.ones((2, 2)))


@pytest.mark.parametrize(
    "table, message",
    [
        (np.zeros(3), r"`table` must be a matrix \(V, d\) of floats.*shape \(3,\)"),
        (np.zeros((0, 3)), "`table` must be a matrix"),
        (np.zeros((2, 3), int), "`table` must be a matrix.*int64"),
        (np.full((2, 3), np.nan), "`table` must hold finite numbers only.*6 of 6"),
        (np.array([[1e39, 1.0]]), "`table` must hold finite numbers only.*1 of 2"),  # of float32
    ],
)
def test_rejects_tables(table, message):
    with pytest.raises(ValueError, match=message):
        ScalarQuantization().fit(table)


@pytest.mark.parametrize("counts", [[1.0], [1.0, -1.0], [0.0, 0.0]])
def test_rejects_counts(counts):
    with pytest.raises(ValueError, match="`counts` must be 2 numbers >= 0"):
        ScalarQuantization().fit(np.ones((2, 3)), counts)


def test_takes_weights_of_bfloat16():
    layer = keras.layers.Embedding(4, 3, dtype="bfloat16")
    layer.build()
    (weights,) = layer.get_weights()
    form = ScalarQuantization().fit(weights)
    np.testing.assert_allclose(form(np.arange(4)), weights.astype(np.float32), atol=1e-3)
