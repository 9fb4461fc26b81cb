"""Softmax cross entropy: the formula, its gradient, types, extremes."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.cross_entropy import sparse_cross_entropy

BOTH = pytest.mark.parametrize("jit_compile", [True, False])


def by_formula(labels, logits, upstream):
    """Losses and gradient in float64, from probabilities instead of from `log sum exp`."""
    logits = np.asarray(logits, float)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    one_hot = np.eye(logits.shape[-1])[labels]
    losses = -np.log((probabilities * one_hot).sum(axis=-1))
    return losses, (probabilities - one_hot) * upstream[..., None]


def by_ours(labels, logits, upstream, jit_compile):
    logits = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        losses = sparse_cross_entropy(tf.constant(labels), logits, jit_compile)
    return losses, tape.gradient(losses, logits, tf.constant(upstream, tf.float32))


def example(shape=(3, 5), words=11, scale=3.0):
    random = np.random.default_rng(0)
    logits = scale * random.normal(size=(*shape, words)).astype("float32")
    return random.integers(0, words, shape), logits, random.normal(size=shape)


@pytest.mark.few(2)
@BOTH
@pytest.mark.parametrize("shape", [(3, 5), (7,), (), (0,)])
def test_equals_the_formula(shape, jit_compile):
    labels, logits, upstream = example(shape)
    losses, gradient = by_ours(labels, logits, upstream, jit_compile)
    expected = by_formula(labels, logits, upstream)
    np.testing.assert_allclose(losses, expected[0], atol=1e-6)  # float32 against float64
    np.testing.assert_allclose(gradient, expected[1], atol=1e-6)


@pytest.mark.few(2)
@BOTH
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64])
def test_computes_in_float32_and_gives_the_gradient_in_the_type_of_the_logits(dtype, jit_compile):
    labels, logits, upstream = example()
    logits = tf.cast(logits, dtype)
    losses, gradient = by_ours(labels, logits, upstream, jit_compile)
    assert losses.dtype == tf.float32 and gradient.dtype == dtype
    expected = by_formula(labels, tf.cast(logits, tf.float64).numpy(), upstream)
    np.testing.assert_allclose(losses, expected[0], atol=1e-6)
    # The gradient is rounded once, to the 8 bits of a bfloat16 or better.
    np.testing.assert_allclose(tf.cast(gradient, tf.float64), expected[1], rtol=2**-8, atol=1e-6)


@BOTH
def test_large_and_infinite_logits_stay_finite(jit_compile):
    logits = np.array([[3e4, -3e4, 0], [0, -np.inf, 1]], "float32")
    losses, gradient = by_ours(np.array([0, 2]), logits, np.ones(2), jit_compile)
    np.testing.assert_allclose(losses, [0, np.log(1 + np.exp(-1))], atol=1e-6)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("label", [-1, 11])
def test_a_label_that_names_no_word_is_nan_compiled(label):
    labels, logits, upstream = example()
    labels[1, 2] = label
    losses, gradient = by_ours(labels, logits, upstream, True)
    assert np.argwhere(np.isnan(losses)).tolist() == [[1, 2]]
    assert np.isnan(gradient[1, 2]).all() and np.isnan(gradient).sum() == 11


@pytest.mark.parametrize("outer_jit", [True, False])
def test_inside_a_graph_of_unknown_shape(outer_jit):
    labels, logits, upstream = example()
    spec = [tf.TensorSpec([None, None], tf.int64), tf.TensorSpec([None, None, 11])]

    @tf.function(jit_compile=outer_jit, input_signature=spec, autograph=False)
    def gradient(labels, logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = sparse_cross_entropy(labels, logits)
        return tape.gradient(losses, logits)

    ones = np.ones(labels.shape)
    expected = by_formula(labels, logits, ones)[1]
    np.testing.assert_allclose(gradient(labels, logits), expected, atol=1e-6)
    if not outer_jit:  # which would compile again
        np.testing.assert_allclose(gradient(labels[:2], logits[:2]), expected[:2], atol=1e-6)


def test_second_derivatives_are_those_of_the_plain_operation():
    labels, logits, _ = example((4,), 5)
    direction, products = np.random.default_rng(1).normal(size=logits.shape), []
    for jit_compile in (True, False):
        x = tf.constant(logits)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                loss = tf.reduce_sum(sparse_cross_entropy(labels, x, jit_compile))
            first = inner.gradient(loss, x)
        products.append(outer.gradient(first, x, tf.constant(direction, tf.float32)))
    np.testing.assert_allclose(*products, atol=1e-6)
