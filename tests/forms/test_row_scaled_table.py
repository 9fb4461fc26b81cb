"""Rows of integers with their own scales, against NumPy."""

import keras
import numpy as np
import pytest

from kerascompact.core.storage import total_bits
from kerascompact.forms import RowScaledForm

TABLE = np.random.default_rng(0).normal(size=(11, 37)).astype(np.float32) * 3


def by_hand(table, largest, block):
    """Each part of a row rounded for itself, without the search for a smaller scale."""
    parts = [table[:, start : start + block] for start in range(0, table.shape[1], block)]
    steps = [np.abs(part).max(1, keepdims=True) / largest for part in parts]
    rounded = [np.rint(part / s) * s for part, s in zip(parts, steps, strict=True)]
    wide = [np.repeat(s, part.shape[1], axis=1) for s, part in zip(steps, parts, strict=True)]
    return np.hstack(rounded), np.hstack(wide)


def test_rows_of_eight_bits():
    form = RowScaledForm.from_table(TABLE)
    expected, _ = by_hand(TABLE, 127, 37)
    np.testing.assert_allclose(form(np.arange(11)), expected, rtol=1e-5)
    assert total_bits(form.storage()) == 11 * (37 * 8 + 32)
    assert form.stored_as("int8") is form


@pytest.mark.parametrize("block", [None, 32])
def test_rows_and_blocks_of_four_bits(block):
    form = RowScaledForm.from_table(TABLE, "int4", block)
    found = form(np.arange(11)).numpy()
    expected, steps = by_hand(TABLE, 7, block or 37)
    # A smaller scale may cut the largest numbers off, and never has a larger squared error (that
    # of float16 scales aside).
    assert np.sum((found - TABLE) ** 2) <= 1.01 * np.sum((expected - TABLE) ** 2)
    assert np.all(np.abs(found - TABLE) <= 3.6 * steps)
    width = 64 if block else 38
    scales = 2 * 16 if block else 32
    assert total_bits(form.storage()) == 11 * (width * 4 + scales)
    assert np.abs(form.table.numpy()).max() <= 7
    if block:
        np.testing.assert_array_equal(form.scale, form.scale.numpy().astype(np.float16))


def test_ids_of_any_rank_config_and_mask():
    form = RowScaledForm.from_table(TABLE, "int4", 32, mask_zero=True, name="rows")
    ids = np.array([[[1, 0], [10, 3]]])
    found = form(ids).numpy()
    np.testing.assert_array_equal(found[0, 1, 0], form(np.array([10])).numpy()[0])
    again = RowScaledForm.from_config(form.get_config())
    again.build()
    again.set_weights(form.get_weights())
    np.testing.assert_array_equal(again(ids), found)
    np.testing.assert_array_equal(form.compute_mask(ids), ids != 0)


def test_logits_are_products_with_the_rows():
    form = RowScaledForm.from_table(TABLE)
    hidden = np.random.default_rng(1).normal(size=(2, 3, 37)).astype(np.float32)
    expected = hidden @ form(np.arange(11)).numpy().T
    np.testing.assert_allclose(form(hidden, reverse=True), expected, rtol=1e-4, atol=1e-4)


def test_eight_bits_become_four():
    form = RowScaledForm.from_table(TABLE, name="rows", paper_bits=5).stored_as("int4")
    assert (form.precision, form.name, form.paper_bits) == ("int4", "rows", 5)
    relative = np.linalg.norm(form(np.arange(11)) - TABLE) / np.linalg.norm(TABLE)
    assert 0.02 < relative < 0.2


def test_saves_and_loads(tmp_path):
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, RowScaledForm.from_table(TABLE, "int4", 32)(ids))
    model.save(tmp_path / "rows.keras")
    loaded = keras.models.load_model(tmp_path / "rows.keras")
    np.testing.assert_array_equal(loaded(np.array([[1, 9]])), model(np.array([[1, 9]])))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"precision": "float32"}, "`precision` must be one of 'int8', 'int4'"),
        ({"precision": "int8", "block": 32}, "`block` must be one of None"),
        ({"precision": "int4", "block": 16}, "`block` must be one of None, 32"),
    ],
)
def test_refuses(config, message):
    with pytest.raises(ValueError, match=message):
        RowScaledForm(3, 4, **config)


def test_numbers_too_large_for_scales_of_16_bits_are_refused():
    table = np.float32([[458_000.0] * 32, [1.0] * 32])
    rows = RowScaledForm.from_table(table, "int4", 32)(np.arange(2))
    np.testing.assert_allclose(rows, table, rtol=1e-3)
    with pytest.raises(ValueError, match=r"`table` must be numbers up to 458,000.*5e\+06"):
        RowScaledForm.from_table(np.float32([[5e6] * 32]), "int4", 32)


def test_blocks_of_small_numbers_are_not_zeros():
    """Scales of float16 below 3e-8 were 0, then 1, and all codes 0."""
    table = np.random.default_rng(4).uniform(-1, 1, (5, 32)).astype(np.float32)
    found = RowScaledForm.from_table(1e-7 * table, "int4", 32)(np.arange(5)).numpy()
    np.testing.assert_allclose(found, 1e-7 * table, atol=3.1e-8)  # half of float16's least number
    zeros = RowScaledForm.from_table(0 * table, "int4", 32)
    np.testing.assert_array_equal(zeros(np.arange(5)).numpy(), 0 * table)
