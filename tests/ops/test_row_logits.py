"""Logits against rows made in chunks: the product with the whole table, and its gradients."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.row_logits import product_logits, row_logits

V, R, D, N = 23, 3, 5, 4
CHUNKS = pytest.mark.parametrize("chunk", [1, 4, 7, V, 100])


def example():
    random = np.random.default_rng(0)
    shapes = {"hidden": (N, D), "table": (V, R), "kernel": (R, D), "upstream": (N, V)}
    return {key: random.normal(size=shape).astype("float32") for key, shape in shapes.items()}


def rows(ids, weights):
    return tf.tanh(tf.gather(weights[0], ids) @ weights[1])


def by_formula(hidden, table, kernel, upstream):
    """The chain rule over whole matrices, in float64."""
    hidden, table, kernel, upstream = map(np.float64, (hidden, table, kernel, upstream))
    embedding = np.tanh(table @ kernel)
    inside = upstream.T @ hidden * (1 - embedding**2)
    return hidden @ embedding.T, upstream @ embedding, inside @ kernel.T, table.T @ inside


def by_ours(chunk, hidden, table, kernel, upstream):
    with tf.GradientTape() as tape:
        tape.watch([hidden, table, kernel])
        logits = row_logits(hidden, rows, V, [table, kernel], chunk)
    return logits, *tape.gradient(logits, [hidden, table, kernel], upstream)


@pytest.mark.few(2)
@CHUNKS
@pytest.mark.parametrize("how", ["eager", "graph", "xla"])
def test_equals_the_formula(chunk, how):
    numbers = example()
    tensors = {key: tf.constant(value) for key, value in numbers.items()}
    function = lambda **tensors: by_ours(chunk, **tensors)  # noqa: E731
    if how != "eager":
        function = tf.function(function, jit_compile=how == "xla", autograph=False)
    for found, expected in zip(function(**tensors), by_formula(**numbers), strict=True):
        # float32 against float64; XLA's own tanh is off by 1e-6
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_any_number_of_vectors():
    numbers = example()
    weights = [tf.constant(numbers["table"]), tf.constant(numbers["kernel"])]
    signature = [tf.TensorSpec((None, D))]
    some = tf.function(
        lambda h: row_logits(h, rows, V, weights, 4), input_signature=signature, autograph=False
    )
    expected = by_formula(**numbers)[0]
    for count in (0, 1, N):
        np.testing.assert_allclose(some(numbers["hidden"][:count]), expected[:count], atol=1e-5)


def test_a_weight_that_no_row_depends_on_gets_zeros():
    hidden, unused = tf.ones((2, D)), tf.ones((3,))
    with tf.GradientTape() as tape:
        tape.watch(unused)
        logits = row_logits(hidden, lambda ids, _: tf.ones((ids.shape[0], D)), V, [unused], 5)
    np.testing.assert_array_equal(tape.gradient(logits, unused), np.zeros(3))


def test_asks_for_a_chunk_at_a_time_forward_and_backward():
    asked = []

    def recorded(ids, weights):
        asked.append(ids.numpy())
        return tf.gather(weights[0], ids)

    table = tf.ones((V, D))
    with tf.GradientTape() as tape:
        tape.watch(table)
        logits = row_logits(tf.ones((N, D)), recorded, V, [table], 6)
    tape.gradient(logits, table)
    assert len(asked) == 2 * 4 and all(len(ids) == 6 for ids in asked)
    for chunks in (asked[:4], asked[4:]):
        np.testing.assert_array_equal(np.unique(np.concatenate(chunks)), np.arange(V))


@pytest.mark.few(2)
@pytest.mark.parametrize("inner", [R, 4 * D])
@pytest.mark.parametrize("count", [1, 40])
def test_a_product_in_whichever_order(inner, count):
    """Few tokens: `V x d` is never made; many over a wide `T`: it is. Gradients are alike."""
    random = np.random.default_rng(1)
    shapes = (count, D), (inner, D), (V, inner), (count, V)
    hidden, a, t, upstream = (random.normal(size=shape).astype("float32") for shape in shapes)
    traced = tf.function(product_logits, autograph=False).get_concrete_function(
        *map(tf.constant, (hidden, a, t))
    )
    made = {tuple(out.shape) for op in traced.graph.get_operations() for out in op.outputs}
    assert ((V, D) in made) == (count > D and inner > D)
    with tf.GradientTape() as tape:
        given = [tf.constant(array) for array in (hidden, a, t)]
        tape.watch(given)
        logits = product_logits(*given)
    h, a, t, g = map(np.float64, (hidden, a, t, upstream))
    expected = (g @ t @ a, (t.T @ g.T) @ h, g.T @ h @ a.T)
    np.testing.assert_allclose(logits, h @ (t @ a).T, atol=1e-4)
    for one, other in zip(tape.gradient(logits, given, upstream), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
