"""Normalized adjacency, rows and products against dense NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.graph import normalized_adjacency, normalized_rows, sparse_matmul


def dense(places, values, shape):
    matrix = np.zeros(shape)
    matrix[tuple(np.transpose(places))] = values
    return matrix


def random_edges(nodes=12, edges=20):
    """Random edges with self-loops among them, and node 5 without any."""
    random = np.random.default_rng(0)
    chosen = random.choice([n for n in range(nodes) if n != 5], size=(edges, 2))
    return np.concatenate([chosen, [[3, 3], [0, 0]]])


def test_adjacency_equals_the_formula():
    edges = random_edges()
    a = np.zeros((12, 12))
    for u, v in edges:
        a[u, v] = a[v, u] = 1
    a += np.eye(12)
    root = np.diag(a.sum(axis=1) ** -0.5)
    places, values = normalized_adjacency(edges, 12)
    np.testing.assert_allclose(dense(places, values, (12, 12)), root @ a @ root, rtol=1e-6)
    assert a[3, 3] == 2 and (places[places[:, 0] == 5] == [[5, 5]]).all()
    assert places.dtype == np.int32 and values.dtype == np.float32
    assert sorted(places.tolist()) == places.tolist(), "by rows, then columns"


def test_an_edge_named_again_is_the_same_edge():
    once = normalized_adjacency(np.array([[0, 1], [1, 2]]), 3)
    again = normalized_adjacency(np.array([[0, 1], [2, 1], [1, 0], [1, 2]]), 3)
    for one, other in zip(once, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_graph_without_edges_is_the_identity():
    places, values = normalized_adjacency(np.zeros((0, 2), int), 4)
    np.testing.assert_array_equal(dense(places, values, (4, 4)), np.eye(4))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 3]], r"`edges` must lie in \[0, 3\)"),
        ([[-1, 0]], r"`edges` must lie in \[0, 3\)"),
        ([0, 1], r"`edges` must have the shape \(edges, 2\)"),
        ([[0.0, 1.0]], "`edges` must be an array of integers"),
    ],
)
def test_refuses_edges(edges, message):
    with pytest.raises(ValueError, match=message):
        normalized_adjacency(np.array(edges), 3)


@pytest.mark.parametrize("kind", ["array", "csr_matrix", "csr_array", "coo_matrix"])
def test_rows_are_divided_by_their_sums(kind):
    matrix = np.random.default_rng(0).integers(0, 3, (6, 4)).astype(np.float32)
    matrix[2] = 0
    given = matrix
    if kind != "array":
        sparse = pytest.importorskip("scipy.sparse")
        given = getattr(sparse, kind)(matrix)
    places, values = normalized_rows(given)
    expected = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(dense(places, values, (6, 4)), expected, rtol=1e-6)
    assert sorted(places.tolist()) == places.tolist()


def test_an_entry_of_several_parts_is_their_sum():
    sparse = pytest.importorskip("scipy.sparse")
    parts = ([1.0, 2.0, 1.0], [0, 0, 1], [0, 3])
    for given in (sparse.csr_matrix(parts, (1, 2)), sparse.csr_array(parts, (1, 2))):
        places, values = normalized_rows(given)
        np.testing.assert_array_equal(dense(places, values, (1, 2)), [[0.75, 0.25]])
        assert given.nnz == 3  # the user's matrix stays


def test_refuses_rows():
    with pytest.raises(ValueError, match="no negative entry. Received: -1"):
        normalized_rows(np.array([[1, -1]]))
    with pytest.raises(ValueError, match="`matrix` must hold finite numbers only"):
        normalized_rows(np.array([[1, np.nan]]))
    with pytest.raises(ValueError, match=r"shape \(N, F\). Received: \(3,\)"):
        normalized_rows(np.ones(3))


@pytest.mark.few(2)
@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_product_and_gradients_with_and_without_xla(jit_compile, dtype):
    random = np.random.default_rng(0)
    matrix = random.normal(size=(5, 4)) * (random.uniform(size=(5, 4)) < 0.4)
    matrix[3] = 0  # and a row without entries
    places = np.argwhere(matrix).astype(dtype)
    values = tf.constant(matrix[tuple(places.T)], tf.float32)
    right = tf.constant(random.normal(size=(4, 3)), tf.float32)
    upstream = random.normal(size=(5, 3)).astype(np.float32)

    @tf.function(jit_compile=jit_compile, autograph=False)
    def product(values, right):
        with tf.GradientTape() as tape:
            tape.watch([values, right])
            found = sparse_matmul(places, values, right, 5)
        gradients = tape.gradient(found, [values, right], upstream)
        return found, *map(tf.convert_to_tensor, gradients)  # a gather's gradient comes as rows

    found, of_values, of_right = product(values, right)
    close = dict(rtol=1e-5, atol=1e-6)  # float32 sums in another order
    np.testing.assert_allclose(found, matrix @ right, **close)
    np.testing.assert_allclose(of_right, matrix.T @ upstream, **close)
    expected = (upstream @ np.transpose(right))[tuple(places.T)]
    np.testing.assert_allclose(of_values, expected, **close)


def test_product_sums_in_float32():
    ones = tf.ones(4096, tf.float16)
    places = np.stack([np.zeros(4096, int), np.arange(4096)], axis=1)
    found = sparse_matmul(places, ones, tf.ones((4096, 1), tf.float16), 1)
    assert found.dtype == tf.float32 and float(found[0, 0]) == 4096
