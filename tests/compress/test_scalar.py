import numpy as np
import pytest

from kerascompact.compress import ScalarQuantization
from kerascompact.core.storage import total_bits
from kerascompact.ops import scalar_codes

RANDOM = np.random.default_rng(0)
V, d = 50, 6
TABLE = (RANDOM.normal(size=(V, d)) * RANDOM.uniform(0.1, 5, (V, 1))).astype(np.float32)


def values(form, rows=V):
    return form(np.arange(rows)).numpy()


def test_rounds_every_entry_to_the_nearest_step_of_its_column():
    table = RANDOM.normal(size=(50, 3)) * [1, 10, 0.01]
    form = ScalarQuantization().fit(table, name="words", mask_zero=True)
    step = np.abs(table).max(axis=0) / 127
    expected = np.round(table / step) * step
    np.testing.assert_allclose(values(form), expected, rtol=1e-5)  # float32 products
    assert (form.name, form.mask_zero) == ("words", True)
    assert total_bits(form.storage()) == 8 * 50 * 3 + 32 * 3


def test_four_bits_are_fifteen_steps_of_a_column():
    form = ScalarQuantization(4).fit(TABLE)
    for column in values(form).T:
        steps = column / np.diff(np.unique(column)).min()
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-4)
        assert np.abs(steps).max() < 7.5
    assert total_bits(form.storage()) == 4 * V * d + 32 * d


def test_the_default_is_a_byte_per_entry():
    np.testing.assert_array_equal(
        values(ScalarQuantization().fit(TABLE)), values(ScalarQuantization(8, "column").fit(TABLE))
    )


@pytest.mark.few(6)
@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("scale", ["row", "table"])
def test_rounds_to_the_nearest_of_evenly_spaced_values(bits, scale):
    form = ScalarQuantization(bits, scale).fit(TABLE, name="words", mask_zero=True)
    found = values(form)
    groups = range(V) if scale == "row" else [slice(None)]
    for rows in groups:
        step = float(np.ravel(form.scales.numpy()[rows] if scale == "row" else form.scales)[0])
        grid = step * (np.arange(2**bits) - (2**bits - 1) / 2)
        distances = np.abs(TABLE[rows][..., None] - grid)
        np.testing.assert_allclose(
            np.abs(TABLE[rows] - found[rows]), distances.min(axis=-1), atol=1e-5
        )
    assert (form.name, form.mask_zero) == ("words", True)
    scales = V if scale == "row" else 1
    assert total_bits(form.storage()) == bits * V * d + 32 * scales


@pytest.mark.parametrize("scale", ["row", "table"])
@pytest.mark.parametrize("rows", [4096, 7])
def test_no_scale_that_is_tried_is_better(scale, rows, monkeypatch):
    monkeypatch.setattr(scalar_codes, "ROWS", rows)
    axis = 1 if scale == "row" else None
    found = np.sum((values(ScalarQuantization(2, scale).fit(TABLE)) - TABLE) ** 2, axis=axis)
    limit = np.abs(TABLE).max(axis=axis, keepdims=True)
    for fraction in scalar_codes.FRACTIONS:
        step = 2 * fraction * limit / 3
        tried = step * (np.clip(np.round(TABLE / step + 1.5), 0, 3) - 1.5)
        assert np.all(found <= np.sum((tried - TABLE) ** 2, axis=axis) * (1 + 1e-5))


def test_default_scales_fit_the_bits():
    scales = {bits: ScalarQuantization(bits).scale for bits in (8, 6, 4, 1)}
    assert scales == {8: "column", 6: "row", 4: "column", 1: "row"}


def test_more_bits_never_make_it_worse():
    for scale in ("row", "table"):
        errors = [
            np.mean((values(ScalarQuantization(bits, scale).fit(TABLE)) - TABLE) ** 2)
            for bits in range(1, 9)
        ]
        assert np.all(np.diff(errors) < 0)


def test_counts_choose_the_scale_of_the_table():
    table = np.array([[0.1, -0.1], [9.0, -9.0]])
    pulled = ScalarQuantization(1, "table").fit(table, [1000, 1])
    mean = (1000 * 0.1 + 9) / 1001  # of one bit and its sign
    np.testing.assert_allclose(values(pulled, 2)[0], [mean, -mean], rtol=1e-5)
    plain = ScalarQuantization(1, "table").fit(table)
    np.testing.assert_allclose(values(plain, 2)[0], [4.55, -4.55], rtol=1e-5)


@pytest.mark.parametrize("count", [0.0, 1e-9])
def test_large_rows_that_hardly_count_do_not_set_the_scale(count):
    outliers = 100 * RANDOM.normal(size=(5, d))
    counts = np.r_[np.ones(V), np.full(5, count)]
    form = ScalarQuantization(4, "table").fit(np.concatenate([TABLE, outliers]), counts)
    alone = ScalarQuantization(4, "table").fit(TABLE)
    errors = [np.square(values(one) - TABLE).sum() for one in (form, alone)]
    assert errors[0] < 1.05 * errors[1]  # before 20 times


def test_rows_of_zeros_stay_zero():
    for scale in ("column", "row", "table"):
        form = ScalarQuantization(8, scale).fit(np.zeros((3, 2)))
        np.testing.assert_array_equal(values(form, 3), np.zeros((3, 2)))
    form = ScalarQuantization(3, "row").fit(np.array([[0.0, 0.0], [1.0, -1.0]]))
    np.testing.assert_array_equal(values(form, 1), [[0, 0]])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((0,), r"`bits` must be an integer in \[1, 8\]"),
        ((9,), r"`bits` must be an integer in \[1, 8\]"),
        ((8, "all"), "`scale` must be one of 'column', 'row', 'table'"),
        ((6, "column"), "`bits` must be 4 or 8 with a scale for each column. Received: bits=6"),
    ],
)
def test_rejects_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        ScalarQuantization(*arguments)
