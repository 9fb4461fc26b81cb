"""Product codes of few bits: their errors, lengths of rows, and what is refused."""

import functools

import numpy as np
import pytest

from kerascompact.compress import ProductCodes, ScalarQuantization
from kerascompact.core.storage import total_bits

RANDOM = np.random.default_rng(0)
NORMAL = RANDOM.normal(size=(2000, 12)).astype(np.float32)
UNEVEN = NORMAL * np.exp(RANDOM.normal(size=(2000, 1))).astype(np.float32)


def error(form, table=NORMAL):
    found = form(np.arange(len(table))).numpy()
    return np.sqrt(np.square(found - table).sum() / np.square(table).sum())


@functools.cache
def fitted(**options):
    """Fitted once for all tests that read it."""
    return ProductCodes(**options, row_scales=False).fit(NORMAL)


slow = functools.partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("options", "largest"),
    [
        (dict(bits=4), 0.09),
        slow(dict(bits=4, group=1), 0.1),  # a list of 16 values
        slow(dict(bits=3), 0.17),
        slow(dict(bits=2), 0.31),
    ],
)
def test_errors_of_normal_numbers(options, largest):
    found = error(fitted(**options))
    assert 0.85 * largest < found < largest
    if options["bits"] == 4:
        assert found < 0.9 * error(ScalarQuantization(4).fit(NORMAL))


def test_lengths_of_rows_win_back_what_uneven_rows_lose():
    table = UNEVEN[:800]
    without, form = (
        ProductCodes(4, row_scales=rows, iterations=5).fit(table) for rows in (False, True)
    )
    assert error(form, table) < 0.75 * error(without, table)
    lengths = form.lengths(np.arange(800)).numpy().ravel()
    assert len(np.unique(lengths)) <= 256
    rows = np.sqrt(np.square(table / np.sqrt(np.square(table).mean(0))).mean(1))
    np.testing.assert_allclose(lengths, rows, rtol=0.02)  # 255 steps over a factor of 2,000


def test_lengths_are_kept_where_a_row_has_many_bits():
    assert [ProductCodes(4).form_of(9, width).row_scales for width in (15, 16)] == [False, True]
    assert ProductCodes(2, row_scales=True).form_of(9, 3).row_scales


def test_a_column_of_another_size_keeps_its_digits():
    wide = NORMAL * 10.0 ** np.arange(-6, 6)
    found = ProductCodes(4, row_scales=False, max_points=3000).fit(wide)(np.arange(2000)).numpy()
    errors = np.sqrt(np.square(found - wide).mean(0) / np.square(wide).mean(0))
    assert errors.max() < 0.15


def test_rows_of_zeros_stay_zero():
    table = UNEVEN[:200].copy()
    table[[0, 7]] = 0
    found = ProductCodes(4, row_scales=True, iterations=2).fit(table)(np.arange(200)).numpy()
    assert not found[[0, 7]].any() and found[1:7].any()
    assert not ProductCodes(2, row_scales=True).fit(0 * table)(np.arange(9)).numpy().any()
    assert not ProductCodes(2, row_scales=False).fit(0 * table)(np.arange(9)).numpy().any()


def test_counts_weigh_the_errors():
    table, counts = UNEVEN[:800], np.where(np.arange(800) < 100, 100.0, 0.0)
    compressor = ProductCodes(2, row_scales=False, iterations=5)
    plain = compressor.fit(table)(np.arange(100)).numpy() - UNEVEN[:100]
    pulled = compressor.fit(table, counts)(np.arange(100)).numpy() - UNEVEN[:100]
    assert np.square(pulled).sum() < 0.9 * np.square(plain).sum()


def test_two_fits_are_equal_and_a_sample_is_almost_as_good():
    form, again = (ProductCodes(4).fit(NORMAL[:300]) for _ in range(2))
    for left, right in zip(form.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)
    assert error(ProductCodes(4, max_points=4000).fit(NORMAL)) < 1.1 * error(fitted(bits=4))


@pytest.mark.few(2)
@pytest.mark.parametrize(("bits", "width", "group"), [(4, 12, 2), (3, 11, 3), (2, 5, 4), (4, 1, 1)])
def test_the_form_without_numbers_stores_as_much(bits, width, group):
    compressor = ProductCodes(bits)
    form = compressor.fit(NORMAL[:, :width], name="words", mask_zero=True)
    assert (form.group, form.name, form.mask_zero) == (group, "words", True)
    assert form.storage() == compressor.form_of(2000, width).storage()
    codes = 2000 * -(-width // group) * bits * group
    assert total_bits(form.storage()[:1]) == codes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(bits=0), r"`bits` must be an integer in \[1, 8\]"),
        (dict(bits=4, group=4), r"`group` must be an integer in \[1, 3\]"),
        (dict(row_scales=1), "`row_scales` must be True or False"),
        (dict(seed=-1), "`seed` must be an integer >= 0"),
        (dict(iterations=0), "`iterations` must be an integer >= 1"),
        (dict(max_points=1), "`max_points` must be an integer >= 2"),
    ],
)
def test_refuses_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        ProductCodes(**options)


def test_refuses_a_table_of_fewer_groups_than_centroids():
    with pytest.raises(
        ValueError, match=r"`bits` must be an integer in \[1, 3\]. Received: bits=4"
    ):
        ProductCodes(4).fit(NORMAL[:32, :8])


def test_codes_of_one_bit_have_256_centroids_too():
    with pytest.raises(ValueError, match="`table` must be one of 256 or more groups"):
        ProductCodes(bits=1).fit(NORMAL[:10, :8])
