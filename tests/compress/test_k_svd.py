import numpy as np
import pytest

from kerascompact.compress import KSVD, NearestAnchors, report
from kerascompact.ops.pursuit import pursue

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


def test_words_share_entries_by_what_these_gain():
    table, counts = RANDOM.normal(size=(150, 8)), np.r_[np.full(30, 50.0), np.ones(120)]
    equal, shared = (
        KSVD(12, 2, iterations=3, max_neighbors=most).fit(table, counts) for most in (None, 5)
    )
    entries = np.count_nonzero(shared.transform(), axis=1)
    assert entries.sum() == 2 * 150 and entries.max() == 5
    assert entries[:30].mean() > 3 > 2 > entries[30:].mean()
    first, second = (report(table, form, counts).relative_error for form in (equal, shared))
    assert second < 0.8 * first
    assert shared.paper_bits == equal.paper_bits
    # No entry of another word would lessen the weighted error more than one that a word has.
    anchors = shared.anchors.numpy().astype(np.float64)
    left = [
        counts * np.square(table - pursue(table, anchors, count) @ anchors).sum(axis=1)
        for count in range(6)
    ]
    gains = np.minimum.accumulate(-np.diff(left, axis=0))  # of one entry more, (5, V)
    every = np.arange(150)
    taken = gains[np.maximum(entries - 1, 0), every][entries > 0]
    others = gains[np.minimum(entries, 4), every][entries < 5]
    assert taken.min() >= others.max() - 1e-4


def test_rejects_arguments():
    with pytest.raises(ValueError, match=r"`max_neighbors` must be an integer in \[2, 5\]"):
        KSVD(5, 2, max_neighbors=1)
    with pytest.raises(ValueError, match=r"`num_neighbors` must be an integer in \[1, 5\]"):
        KSVD(5, 0)
    with pytest.raises(ValueError, match=r"`num_anchors` must be an integer in \[2, 400\]"):
        KSVD(401, 2).fit(sparse_table())
