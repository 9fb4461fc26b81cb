import numpy as np
import pytest

from kerascompact.compress import NearestAnchors
from kerascompact.core.storage import total_bits

RANDOM = np.random.default_rng(0)
V, d = 60, 6
TABLE = RANDOM.normal(size=(V, d)).astype(np.float32)


def test_words_are_nearest_to_their_neighbors_least_squares():
    form = NearestAnchors(12, 3).fit(TABLE, name="words", mask_zero=True)
    anchors, found = form.anchors.numpy(), form(np.arange(V)).numpy()
    for row, vector in zip(TABLE, found, strict=True):
        near = np.argsort(np.linalg.norm(anchors - row, axis=1))[:3]
        weights = np.linalg.lstsq(anchors[near].T, row, rcond=None)[0]
        np.testing.assert_allclose(vector, weights @ anchors[near], atol=1e-5)
    assert (form.name, form.mask_zero) == ("words", True)
    assert form.paper_bits == 32 * (3 * V + 12 * d)


def test_kernel_weights():
    form = NearestAnchors(12, 3, weights="kernel").fit(TABLE)
    anchors, found = form.anchors.numpy().astype(np.float64), form(np.arange(V)).numpy()
    squares = np.square(TABLE[:, None] - anchors).sum(-1)
    near = np.argsort(squares, axis=1)[:, :3]
    squares = np.take_along_axis(squares, near, axis=1)
    weights = np.exp(-squares / squares.mean())
    weights /= weights.sum(axis=1, keepdims=True)
    expected = np.einsum("vs,vsd->vd", weights, anchors[near])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_an_anchor_for_each_word_loses_nothing():
    form = NearestAnchors(V, 1).fit(TABLE)
    np.testing.assert_allclose(form(np.arange(V)), TABLE, atol=1e-5)
    same = NearestAnchors(3, 2).fit(np.ones((9, 4)))  # all anchors are one
    np.testing.assert_allclose(same(np.arange(9)), np.ones((9, 4)), atol=1e-5)


@pytest.mark.parametrize(
    ("anchors", "neighbors"), [(500, 10), pytest.param(1000, 20, marks=pytest.mark.slow)]
)
def test_the_sizes_of_the_paper(anchors, neighbors):
    """500 d + 10 V and 1,000 d + 20 V, for tables of 400 columns; here of two."""
    table = RANDOM.normal(size=(1200, 2))
    form = NearestAnchors(anchors, neighbors, max_points=anchors).fit(table)
    assert form.paper_bits == 32 * (2 * anchors + 1200 * neighbors)
    rows = 1216 * 8 + 38 * 32  # lengths and starts of blocks of 32
    stored = 1200 * neighbors * (32 + 16) + rows + 32 * 2 * anchors + 32
    assert total_bits(form.storage()) == stored


def test_rejects_arguments():
    with pytest.raises(ValueError, match=r"`num_neighbors` must be an integer in \[1, 5\]"):
        NearestAnchors(5, 6)
    with pytest.raises(ValueError, match=r"`num_anchors` must be an integer in \[2, 60\]"):
        NearestAnchors(61, 2).fit(TABLE)
    with pytest.raises(ValueError, match="`weights` must be one of 'least_squares', 'kernel'"):
        NearestAnchors(5, 2, weights="equal")
