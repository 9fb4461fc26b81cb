"""k-means in NumPy: its fixed point, weights, ties, and the same numbers in every run."""

import numpy as np

from kerascompact.ops.kmeans import kmeans, nearest
from kerascompact.ops.lloyd import lloyd

POINTS = np.random.default_rng(0).normal(size=(600, 2)).astype(np.float32)
WEIGHTS = np.random.default_rng(1).uniform(0, 3, 600)


def error(centroids, weights=None):
    chosen = centroids[nearest(POINTS, centroids)]
    return np.average(np.square(POINTS - chosen).sum(axis=1), weights=weights)


def test_every_centroid_is_the_weighted_mean_of_its_points():
    centroids = lloyd(POINTS, 7, WEIGHTS, iterations=200)
    codes = nearest(POINTS, centroids)
    for number in range(7):
        own = codes == number
        mean = np.average(POINTS[own], axis=0, weights=WEIGHTS[own])
        np.testing.assert_allclose(centroids[number], mean, atol=1e-6)


def test_is_about_as_good_as_the_library():
    for count in (4, 32):
        wanted = error(kmeans(POINTS, count)[1])
        assert error(lloyd(POINTS, count)) < 1.1 * wanted  # both end in some local optimum


def test_weights_pull():
    heavy = np.where(POINTS[:, 0] > 1, 100.0, 0.01)
    assert error(lloyd(POINTS, 5, heavy), heavy) < error(lloyd(POINTS, 5), heavy)


def test_two_runs_are_equal_and_seeds_are_not():
    np.testing.assert_array_equal(lloyd(POINTS, 9, seed=3), lloyd(POINTS, 9, seed=3))
    assert np.any(lloyd(POINTS, 9, seed=3) != lloyd(POINTS, 9, seed=4))


def test_fewer_distinct_points_than_centroids():
    points = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    centroids = lloyd(points, 8)
    assert centroids.shape == (8, 3)
    np.testing.assert_array_equal(centroids[nearest(points, centroids)], points)


def test_a_point_of_weight_zero_is_no_centroid():
    points = np.array([[0], [1], [9]], np.float32)
    found = lloyd(points, 2, np.array([1.0, 1.0, 0.0]))
    assert sorted(found.ravel()) == [0, 1]
