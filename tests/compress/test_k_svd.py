import numpy as np
import pytest

from kerascompact.compress import KSVD, NearestAnchors, report

RANDOM = np.random.default_rng(0)


def sparse_table(rows=400, anchors=12, width=8, entries=2):
    dictionary = RANDOM.normal(size=(anchors, width))
    table = np.zeros((rows, width))
    for row in range(rows):
        chosen = RANDOM.choice(anchors, entries, replace=False)
        table[row] = RANDOM.normal(size=entries) @ dictionary[chosen]
    return table


def error(table, compressor, counts=None):
    return report(table, compressor.fit(table, counts), counts).relative_error


def test_is_nearer_than_anchors_that_are_not_fitted():
    table = sparse_table(rows=150)
    errors = [error(table, KSVD(12, 2, iterations=n)) for n in (0, 1, 8)]
    assert np.all(np.diff(errors) < 0)
    assert errors[-1] < 0.5 * error(table, NearestAnchors(12, 2))


def test_a_word_has_so_many_entries_at_most():
    form = KSVD(12, 3, iterations=2).fit(sparse_table())
    entries = np.count_nonzero(form.transform(), axis=1)
    assert entries.max() == 3 and form.paper_bits == 32 * (entries.sum() + 12 * 8)
    np.testing.assert_allclose(np.linalg.norm(form.anchors, axis=1), 1, rtol=1e-6)


def test_one_entry_is_the_projection_on_the_best_anchor():
    table = sparse_table()
    form = KSVD(12, 1, iterations=3).fit(table)
    anchors = form.anchors.numpy().astype(np.float64)
    products = table @ anchors.T
    best = np.argmax(np.abs(products), axis=1)
    expected = np.take_along_axis(products, best[:, None], axis=1) * anchors[best]
    np.testing.assert_allclose(form(np.arange(400)), expected, atol=1e-5)


def test_unused_anchors_become_words_and_zeros_stay():
    table = np.zeros((30, 4))
    table[:3] = np.eye(4)[:3]
    form = KSVD(4, 1, iterations=4).fit(table)
    np.testing.assert_allclose(form(np.arange(30)), table, atol=1e-6)


def test_frequent_words_get_better():
    table = sparse_table(rows=150)
    counts = np.where(np.arange(150) < 15, 1000.0, 1.0)
    compressor = KSVD(8, 2, iterations=4)
    plain = report(table, compressor.fit(table), counts).relative_error
    assert error(table, compressor, counts) < 0.9 * plain
    few = KSVD(8, 2, iterations=1, max_points=50).fit(table, counts)  # to the frequent ones
    assert few.input_dim == 150


def test_rejects_arguments():
    with pytest.raises(ValueError, match=r"`num_neighbors` must be an integer in \[1, 5\]"):
        KSVD(5, 0)
    with pytest.raises(ValueError, match=r"`num_anchors` must be an integer in \[2, 400\]"):
        KSVD(401, 2).fit(sparse_table())
