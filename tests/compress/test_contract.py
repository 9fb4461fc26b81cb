"""What every compressor keeps, whatever its method."""

import numpy as np
import pytest

from kerascompact import export
from kerascompact.compress import (
    KSVD,
    CompositionalCodes,
    KDCodes,
    KMeansClusters,
    NearestAnchors,
    ProductCodes,
    ProductQuantization,
    Pruning,
    ScalarQuantization,
    SparseCode,
    TruncatedSVD,
    form_model,
    report,
)
from kerascompact.core.storage import total_bits
from kerascompact.forms import Form, SparseForm, SparseTableForm

RANDOM = np.random.default_rng(0)
V, d = 48, 8
TABLE = RANDOM.normal(size=(V, 3)) @ RANDOM.normal(size=(3, d)) + RANDOM.normal(size=(V, d))
TABLE = (TABLE * RANDOM.uniform(0.2, 4, (V, 1))).astype(np.float32)
COUNTS = np.r_[np.full(8, 50.0), np.ones(V - 12), np.zeros(4)]
QUICK = dict(epochs=30, batch_size=16, learning_rate=0.01)

# Each method with ever larger budgets.
LADDERS = {
    "scalar, column": [ScalarQuantization(bits) for bits in (4, 8)],
    "scalar, row": [ScalarQuantization(bits, "row") for bits in (1, 2, 3, 5, 8)],
    "scalar, table": [ScalarQuantization(bits, "table") for bits in (1, 2, 4, 8)],
    "product": [ProductQuantization(parts, 8) for parts in (1, 2, 4, 8)],
    "product, norms": [ProductQuantization(parts, 8, norms=True) for parts in (1, 2, 4)],
    "product codes": [ProductCodes(bits, group=1) for bits in (1, 2, 4)],
    "product codes, lengths": [ProductCodes(bits, 2, True) for bits in (1, 2, 3)],
    "svd": [TruncatedSVD(rank) for rank in (1, 3, 5, 8)],
    "k-means": [KMeansClusters(k) for k in (2, 4, 16)],
    "compositional": [CompositionalCodes(4, length, **QUICK) for length in (1, 6)],
    "kd, residual": [KDCodes(4, n, start="residual", iterations=5) for n in (1, 2, 4)],
    "nearest anchors": [NearestAnchors(n, s) for n, s in ((6, 2), (20, 4), (40, 7))],
    "nearest, kernel": [NearestAnchors(n, 2, "kernel") for n in (5, 12, 46)],
    "k-svd": [KSVD(n, s, iterations=3) for n, s in ((6, 1), (12, 3), (30, 5))],
    "sparse code": [SparseCode(n, l1_weight=0.01) for n in (4, 16, 40)],
    "pruning": [Pruning(share) for share in (0.95, 0.5, 0.1)],
    "kd, annealed": [KDCodes(4, n, start="annealed", iterations=20) for n in (1, 3)],
}
each_method = pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)


def values(form):
    return form(np.arange(V)).numpy()


@pytest.mark.few(4)
@each_method
def test_more_bits_mean_less_error(ladder):
    reports = [report(TABLE, compressor.fit(TABLE)) for compressor in ladder]
    assert np.all(np.diff([found.relative_error for found in reports]) < 0)
    assert np.all(np.diff([found.stored_bits for found in reports]) > 0)
    assert reports[0].relative_error < 1 and reports[-1].cosine > reports[0].cosine


@pytest.mark.few(4)
@each_method
def test_the_table_is_left_alone_and_any_float_will_do(ladder):
    expected = values(ladder[0].fit(TABLE))
    for table in (TABLE.astype(np.float64), TABLE.astype(">f4"), np.asfortranarray(TABLE)):
        before = table.copy()
        table.flags.writeable = False
        np.testing.assert_array_equal(values(ladder[0].fit(table)), expected)
        np.testing.assert_array_equal(table, before)
    assert np.isfinite(values(ladder[0].fit(TABLE.astype(np.float16)))).all()


@pytest.mark.parametrize("unit", [2.0**-90, 2.0**90])
@pytest.mark.parametrize("name", ["k-svd", "k-means", "nearest anchors", "product codes"])
def test_a_table_may_be_very_small_or_large(name, unit):
    expected = values(LADDERS[name][0].fit(TABLE))
    found = values(LADDERS[name][0].fit(TABLE * np.float32(unit)))
    np.testing.assert_allclose(found / np.float32(unit), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["k-means", "nearest, kernel"])
def test_a_large_constant_column_hides_no_other(name):
    small = 0.01 * TABLE[:, 1:]
    apart = values(LADDERS[name][1].fit(np.pad(small, ((0, 0), (1, 0)))))[:, 1:]
    beside = values(LADDERS[name][1].fit(np.c_[np.full(V, 1000.0), small]))[:, 1:]
    np.testing.assert_allclose(beside, apart, atol=1e-5)


# `test_compositional` has one of its own.
@pytest.mark.parametrize(
    "ladder",
    [
        pytest.param(
            ladder, id=name, marks=() if name in ("k-means", "pruning") else pytest.mark.slow
        )
        for name, ladder in LADDERS.items()
    ],
)
def test_frequent_words_weigh_more(ladder):
    """Where one number serves several words; rows that are rounded on their own need no counts."""
    plain, pulled = (ladder[0].fit(TABLE, counts) for counts in (None, COUNTS))
    errors = [report(TABLE, form, COUNTS).relative_error for form in (plain, pulled)]
    apart = isinstance(ladder[0], ScalarQuantization) and ladder[0].scale != "table"
    # k-means may end in another optimum, and norms apart are not what it makes small
    by_kmeans = KMeansClusters | ProductCodes | ProductQuantization | NearestAnchors | KSVD
    slack = 1.1 if isinstance(ladder[0], by_kmeans) else 1 + 1e-6
    assert errors[1] == errors[0] if apart else errors[1] <= errors[0] * slack
    if not isinstance(ladder[0], CompositionalCodes):  # which draws words by their counts
        uniform = values(ladder[0].fit(TABLE, np.full(V, 3.0)))
        np.testing.assert_allclose(uniform, values(ladder[0].fit(TABLE)), rtol=1e-3, atol=1e-3)


@each_method
def test_refuses_what_is_no_table(ladder):
    with pytest.raises(ValueError, match="`table` must hold finite numbers only"):
        ladder[0].fit(np.where(TABLE > 2, np.nan, TABLE))
    with pytest.raises(ValueError, match="`table` must be a matrix"):
        ladder[0].fit(TABLE[0])
    with pytest.raises(ValueError, match="`counts` must be 48 numbers >= 0"):
        ladder[0].fit(TABLE, COUNTS[1:])


@pytest.mark.few(1)
@each_method
def test_the_form_ships_what_it_evaluates(ladder):
    form = ladder[1].fit(TABLE, name="words", mask_zero=True, paper_bits=7)
    assert isinstance(form, Form) and not form.trainable_weights
    assert (form.name, form.mask_zero, form.paper_bits) == ("words", True, 7)
    default = ladder[1].fit(TABLE)
    if isinstance(default, SparseForm | SparseTableForm):  # the paper counts no columns
        assert default.paper_bits < total_bits(default.storage())
    else:
        assert default.paper_bits in (None, total_bits(default.storage()))
    model, ids = form_model(form), np.arange(V).reshape(6, 8)
    for recipe in ("float32", "int8_tables"):
        # the same numbers, added in another order
        found = export.verify(model, export.convert(model, recipe), ids, tolerance=1e-4)
        assert found.examples == 6
