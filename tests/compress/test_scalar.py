import numpy as np
import pytest

from kerascompact.compress import ScalarQuantization
from kerascompact.core.storage import total_bits


def test_rounds_every_entry_to_the_nearest_step_of_its_column():
    table = np.random.default_rng(0).normal(size=(50, 3)) * [1, 10, 0.01]
    form = ScalarQuantization().fit(table, name="words", mask_zero=True)
    step = np.abs(table).max(axis=0) / 127
    expected = np.round(table / step) * step
    np.testing.assert_allclose(form(np.arange(50)), expected, rtol=1e-5)  # float32 products
    assert (form.name, form.mask_zero) == ("words", True)
    assert total_bits(form.storage()) == 8 * 50 * 3 + 32 * 3


@pytest.mark.parametrize(
    "table, message",
    [
        (np.zeros(3), r"`table` must be a matrix \(V, d\) of floats.*shape \(3,\)"),
        (np.zeros((0, 3)), r"`table` must be a matrix"),
        (np.zeros((2, 3), int), r"`table` must be a matrix.*int64"),
        (np.full((2, 3), np.nan), "`table` must hold finite numbers only.*6 of 6"),
    ],
)
def test_rejects_tables(table, message):
    with pytest.raises(ValueError, match=message):
        ScalarQuantization().fit(table)


@pytest.mark.parametrize("counts", [[1.0], [1.0, -1.0], [0.0, 0.0]])
def test_rejects_counts(counts):
    with pytest.raises(ValueError, match="`counts` must be 2 numbers >= 0"):
        ScalarQuantization().fit(np.ones((2, 3)), counts)
