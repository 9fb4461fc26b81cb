import numpy as np
import pytest

from kerascompact.ops.pursuit import pursue

RANDOM = np.random.default_rng(0)


def test_pursuit_is_that_of_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    points, anchors = RANDOM.normal(size=(40, 8)), RANDOM.normal(size=(20, 8))
    anchors /= np.linalg.norm(anchors, axis=1, keepdims=True)
    gram, products = anchors @ anchors.T, anchors @ points.T
    each = RANDOM.integers(0, 9, 40)
    found = pursue(points, anchors, each).toarray()
    for count in range(1, 9):
        theirs = linear_model.orthogonal_mp_gram(gram, products, n_nonzero_coefs=count).T
        np.testing.assert_allclose(pursue(points, anchors, count).toarray(), theirs, atol=1e-9)
        np.testing.assert_allclose(found[each == count], theirs[each == count], atol=1e-9)
    assert not found[each == 0].any()
    twice = pursue(3 * anchors[:5], np.concatenate([anchors[:5], anchors[:5]]), 3)
    assert twice.count_nonzero() == 5  # nothing is left for a second one
