import numpy as np
import pytest

from kerascompact.compress import TruncatedSVD
from kerascompact.core.storage import total_bits
from kerascompact.ops import svd

RANDOM = np.random.default_rng(0)
V, d = 50, 8
TABLE = RANDOM.normal(size=(V, d)) * [5, 4, 3, 2, 1, 1, 1, 1]


@pytest.mark.parametrize("rows", [8192, 7])
@pytest.mark.parametrize("rank", [1, 3, 8])
def test_is_the_nearest_table_of_its_rank(rank, rows, monkeypatch):
    monkeypatch.setattr(svd, "ROWS", rows)
    form = TruncatedSVD(rank).fit(TABLE, name="words", mask_zero=True)
    u, s, vt = np.linalg.svd(TABLE, full_matrices=False)
    expected = (u[:, :rank] * s[:rank]) @ vt[:rank]
    np.testing.assert_allclose(form(np.arange(V)), expected, atol=1e-5)  # float32 factors
    assert (form.name, form.mask_zero) == ("words", True)
    assert form.paper_bits == total_bits(form.storage()) == 32 * rank * (V + d)


def test_counts_weigh_the_errors():
    counts = RANDOM.integers(1, 100, V)
    root = np.sqrt(counts)[:, None]
    u, s, vt = np.linalg.svd(root * TABLE, full_matrices=False)
    expected = (u[:, :2] * s[:2]) @ vt[:2] / root
    np.testing.assert_allclose(
        TruncatedSVD(2).fit(TABLE, counts)(np.arange(V)), expected, atol=1e-5
    )


def test_a_word_that_never_occurs_is_projected():
    table = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 4.0]])
    form = TruncatedSVD(1).fit(table, [1, 1, 0])
    np.testing.assert_allclose(form(np.arange(3)), [[1, 0], [2, 0], [3, 0]], atol=1e-6)


def test_quantized_it_stays_near():
    form = TruncatedSVD(3).fit(TABLE)
    full, small = form(np.arange(V)).numpy(), form.stored_as("int8")(np.arange(V)).numpy()
    assert 0 < np.abs(full - small).max() < 0.03 * np.abs(full).max()  # 3 products of 1/127 each


def test_rejects_ranks():
    with pytest.raises(ValueError, match="`rank` must be an integer >= 1"):
        TruncatedSVD(0)
    for shape, most in (((9, 4), 4), ((3, 4), 3)):
        with pytest.raises(ValueError, match=rf"`rank` must be an integer in \[1, {most}\]"):
            TruncatedSVD(5).fit(np.ones(shape))
