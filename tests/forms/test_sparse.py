"""The sparse form: `T A` of the entries alone, whatever the rows look like."""

import numpy as np
import pytest
import scipy.sparse
import tensorflow as tf

from form_examples import V, numbers, some_transform, sparse
from kerascompact.core.storage import total_bits
from kerascompact.forms import FactoredForm, SparseForm

ROUNDING = 1e-5  # float32 sums of some ten products of size <= 10


@pytest.mark.few(6)
@pytest.mark.parametrize("low", [-1.0, 0.0])
@pytest.mark.parametrize("num_anchors", [9, 256, 257])
@pytest.mark.parametrize("precision", ["float32", "int8", "int4"])
def test_is_the_product_of_what_it_stores(low, num_anchors, precision):
    form, table = sparse(num_anchors=num_anchors, low=low)
    form = form if precision == "float32" else form.stored_as(precision)
    kinds = [form.columns.dtype, form.values.dtype, form.lengths.dtype]
    small = "int8" if low < 0 else "uint8"
    assert kinds == [
        "uint8" if num_anchors <= 256 else "int16",
        "float32" if precision == "float32" else small,
        "uint8",
    ]
    product = form.transform() @ form.table_values("anchors")
    np.testing.assert_allclose(form(np.arange(V)), product, atol=ROUNDING)
    np.testing.assert_allclose(form(np.arange(V)[None])[0], product, atol=ROUNDING)
    steps = {"float32": 1e7, "int8": 127, "int4": 7}[precision]
    assert np.abs(product - table).max() <= 3 * np.abs(table).max() / steps


def test_stores_entries_and_no_more():
    transform, anchors = some_transform(100, 300), numbers(300, 6)
    form = SparseForm.from_matrix(transform, anchors)
    entries = np.count_nonzero(transform)
    rows = 8 * 128 + 32 * 4  # uint8 lengths, a start for each 32 rows
    assert total_bits(form.storage()) == entries * (16 + 32) + rows + 32 * 300 * 6 + 32
    small = form.stored_as()
    kept = np.count_nonzero(np.rint(transform / np.abs(transform).max(axis=0) * 127))
    assert total_bits(small.storage()) == kept * (16 + 8) + rows + 8 * 300 * 6 + 32 * 6 + 32
    least = form.stored_as("int4")
    assert total_bits(least.storage()) == kept * (16 + 8) + rows + 4 * 300 * 6 + 32 * 6 + 32


def test_takes_scipy_matrices_and_arrays_alike():
    transform, anchors = some_transform(), numbers(9, 4)
    expected = SparseForm.from_matrix(transform, anchors).get_weights()
    coo = scipy.sparse.coo_array(transform)
    doubled = scipy.sparse.coo_array(  # an entry in two parts, and one that is 0
        (
            np.concatenate([coo.data / 2, coo.data / 2, [0.0]]),
            (np.append(np.tile(coo.row, 2), 0), np.append(np.tile(coo.col, 2), 0)),
        ),
        shape=coo.shape,
    )
    for matrix in (coo, scipy.sparse.csr_matrix(transform), transform.tolist(), doubled):
        given = np.array(matrix) if isinstance(matrix, list) else matrix
        for one, other in zip(
            expected, SparseForm.from_matrix(given, anchors).get_weights(), strict=True
        ):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_transform_without_entries_is_zeros(precision):
    form = SparseForm.from_matrix(np.zeros((40, 3)), numbers(3, 2))
    form = form if precision == "float32" else form.stored_as(precision)
    np.testing.assert_array_equal(form(np.arange(40)), np.zeros((40, 2)))
    np.testing.assert_array_equal(form(np.ones((1, 5, 2)), reverse=True), np.zeros((1, 5, 40)))


@pytest.mark.parametrize("num_anchors", [255, 256, 300])
def test_rows_may_have_every_anchor(num_anchors):
    """Row lengths of 256 and more need 16 bits."""
    transform = np.random.default_rng(0).uniform(0.1, 1, (3, num_anchors)).astype(np.float32)
    anchors = numbers(num_anchors, 2)
    form = SparseForm.from_matrix(transform, anchors)
    assert form.lengths.dtype == ("uint8" if num_anchors < 256 else "int16")
    # sums of 300 float32 products
    np.testing.assert_allclose(form(np.arange(3)), transform @ anchors, atol=1e-4)
    hidden = numbers(1, 4, 2)
    expected = hidden @ (transform @ anchors).T
    np.testing.assert_allclose(form(hidden, reverse=True), expected, atol=1e-3)


def test_one_text_in_reverse_has_the_gradient_of_a_product():
    form, table = sparse()
    hidden = tf.constant(numbers(1, 3, 4))
    weights = numbers(1, 3, V, seed=5)
    with tf.GradientTape() as tape:
        tape.watch(hidden)
        loss = tf.reduce_sum(form(hidden, reverse=True) * weights)
    np.testing.assert_allclose(tape.gradient(loss, hidden), weights @ table, atol=5 * ROUNDING)


def test_vectors_that_are_not_finite_or_zeros_give_such_logits():
    form, _ = sparse()
    found = form(np.array([[[np.nan, 0, 0, 0]]], np.float32), reverse=True)
    assert np.isnan(found).all()
    np.testing.assert_array_equal(form(np.zeros((1, 1, 4), np.float32), reverse=True), 0)


def test_a_matrix_behind_it_takes_any_precision():
    form, table = sparse(width=3)
    wide = FactoredForm.from_parts(form, numbers(3, 5, seed=8))
    found = wide.stored_as()(np.arange(V)).numpy()
    expected = table @ numbers(3, 5, seed=8)
    assert np.abs(found - expected).max() <= 0.05 * np.abs(expected).max()  # two roundings to int8


@pytest.mark.parametrize(
    ("transform", "anchors", "message"),
    [
        (np.ones(3), np.ones((3, 2)), r"`transform` must be a matrix \(V, \|A\|\)"),
        (np.ones((0, 3)), np.ones((3, 2)), r"`transform` must be a matrix"),
        (np.ones((2, 3)), np.ones((2, 2)), r"`anchors` must have the shape \(3, d\)"),
        (np.ones((2, 3)), np.ones(3), r"`anchors` must have the shape \(3, d\)"),
        (np.full((2, 3), np.nan), np.ones((3, 2)), "`transform` must hold finite numbers"),
        (np.ones((2, 3)), np.full((3, 2), np.inf), "`anchors` must hold finite numbers"),
    ],
)
def test_refuses_what_is_no_product(transform, anchors, message):
    with pytest.raises(ValueError, match=message):
        SparseForm.from_matrix(transform, anchors)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_anchors": 0}, "`num_anchors` must be an integer >= 1"),
        ({"num_entries": 0}, "`num_entries` must be an integer in"),
        ({"longest_row": 5}, r"`longest_row` must be an integer in \[0, 4\]"),
        ({"precision": "float16"}, "`precision` must be one of"),
        ({"signed": 1}, "`signed` must be True or False"),
    ],
)
def test_refuses_wrong_arguments(change, message):
    sizes = dict(input_dim=3, output_dim=2, num_anchors=4, num_entries=5, longest_row=4)
    with pytest.raises(ValueError, match=message):
        SparseForm(**{**sizes, **change})
