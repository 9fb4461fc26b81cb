import numpy as np
import pytest

from form_examples import dense
from kerascompact.compress import KMeansClusters, ScalarQuantization, report
from kerascompact.forms import DenseForm

RANDOM = np.random.default_rng(0)
V, d = 30, 4
TABLE = RANDOM.normal(size=(V, d)).astype(np.float32)


def test_every_number_by_hand():
    counts = RANDOM.integers(0, 9, V)
    form = KMeansClusters(5).fit(TABLE)
    found, vectors = report(TABLE, form, counts), form(np.arange(V)).numpy()
    lost = ((TABLE - vectors) ** 2).sum(axis=1)
    shares = counts / counts.sum()
    assert found.mean_squared_error == pytest.approx((shares * lost).sum() / d)
    whole = (shares * (TABLE**2).sum(axis=1)).sum()
    assert found.relative_error == pytest.approx((shares * lost).sum() / whole)
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(TABLE, vectors)]  # noqa: B905
    assert found.cosine == pytest.approx((shares * cosines).sum(), rel=1e-6)
    bits = V * 3 + 32 * 5 * d
    assert (found.stored_bits, found.paper_bits) == (bits, bits)
    assert (found.float32_bits, found.ratio) == (32 * V * d, 32 * V * d / bits)


def test_zeros_and_exact_tables():
    exact = report(*dense()[::-1])
    assert (exact.mean_squared_error, exact.relative_error) == (0, 0)
    assert exact.cosine == pytest.approx(1) and exact.ratio == 1
    zeros = np.zeros((3, 2), np.float32)
    nothing = report(zeros, ScalarQuantization().fit(zeros))
    assert (nothing.relative_error, nothing.cosine) == (0, 1)
    lost = report(TABLE, dense(V, d)[0], np.eye(V)[2])
    assert np.isfinite(lost[:3]).all()


def test_prints_two_lines():
    lines = str(report(TABLE, ScalarQuantization().fit(TABLE))).splitlines()
    assert lines[0].startswith("relative squared error ")
    assert f"({8 * V * d + 32 * d:,} bits" in lines[1] and lines[1].endswith("x smaller")


def test_rejects_what_does_not_fit():
    form = dense()[0]
    with pytest.raises(ValueError, match=r"shape of the form, \(23, 4\). Received: \(30, 4\)"):
        report(TABLE, form)
    with pytest.raises(ValueError, match="`form` must be a stored form"):
        report(TABLE, TABLE)
    for counts in (np.ones(3), np.zeros(23), np.r_[-1, np.ones(22)]):
        with pytest.raises(ValueError, match="`counts` must be 23 numbers >= 0"):
            report(dense()[1], form, counts)


def test_numbers_of_any_size_have_squares():
    for size in (1e-25, 1e25):
        other = {"table": np.float32([[-size, 0]])}
        form = DenseForm.from_arrays(other, input_dim=1, output_dim=2)
        found = report(np.float32([[size, 0]]), form)
        np.testing.assert_allclose((found.relative_error, found.cosine), (4, -1), rtol=1e-6)
