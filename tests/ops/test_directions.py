import numpy as np
import pytest

from kerascompact.ops.directions import most_directions, spread_directions


@pytest.mark.parametrize("width, count", [(1, 2), (2, 3), (2, 1024), (3, 200), (8, 64), (9, 1100)])
def test_each_is_nearest_to_itself(width, count):
    vectors = np.random.default_rng(0).normal(size=(count, width))
    vectors[: count // 2] *= 100
    vectors[0] = vectors[-1] if width > 2 else vectors[0]  # the same direction twice
    unit = spread_directions(vectors)
    assert most_directions(width, count) == count
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(np.argmax(unit @ unit.T, axis=1), np.arange(count))


def test_they_are_pushed_apart():
    """Random directions leave a nearest pair; in eight dimensions 16 can be at right angles."""
    vectors = np.random.default_rng(1).normal(size=(16, 8))
    cosines = spread_directions(vectors) @ spread_directions(vectors).T - 2 * np.eye(16)
    before = (vectors - vectors.mean(axis=0)) / np.linalg.norm(
        vectors - vectors.mean(axis=0), axis=1, keepdims=True
    )
    assert cosines.max() < 0.3 < (before @ before.T - 2 * np.eye(16)).max()


def test_a_line_has_two_directions():
    assert most_directions(1, 9) == 2 and most_directions(3, 5000) == 1024
