"""With `mask_zero`, padding is in no statistic of a batch: as in Keras' own BatchNormalization."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.layers import DPQEmbedding, KDCodeEmbedding, OnlineGuidance, PretrainedGuidance

TABLE = np.random.default_rng(0).normal(size=(20, 4)).astype("float32")
WORDS = [[3, 4, 3]]
PADDED = [[3, 4, 3] + [0] * 13]


def kd(**options):
    return KDCodeEmbedding(20, 4, 4, 3, **options)


def dpq(**options):
    return DPQEmbedding(20, 4, 4, 2, **options)


KINDS = {
    "batch norm": lambda **o: kd(batch_norm=True, **o),
    "batch norm, hidden layer": lambda **o: kd(batch_norm=True, hidden_dim=5, **o),
    "logits batch norm": lambda **o: kd(logits_batch_norm=True, **o),
    "random codes, batch norm": lambda **o: kd(codes="random", seed=0, batch_norm=True, **o),
    "LSTM, batch norm": lambda **o: kd(composition="lstm", batch_norm=True, **o),
    "entropy": lambda **o: kd(entropy_weight=1.0, **o),
    "PDG": lambda **o: kd(guidance=PretrainedGuidance(TABLE, vectors_weight=1.0), **o),
    "PDG, auto-encoder": lambda **o: kd(
        guidance=PretrainedGuidance(TABLE, vectors_weight=1.0, logits_weight=1.0),
        batch_norm=True,
        **o,
    ),
    # Every token gets the codes' vector, so that the outputs hold no random choice.
    "ODG": lambda **o: kd(guidance=OnlineGuidance(vectors_weight=1.0, kd_probability=1.0), **o),
    "DPQ, softmax": lambda **o: dpq(method="sx", **o),
    "DPQ, nearest": lambda **o: dpq(method="vq", **o),
    "DPQ, nearest, batch norm": lambda **o: dpq(method="vq", batch_norm=True, **o),
}


def trained_on(make, ids, jit=False, **options):
    """One step's loss, word vectors, gradients and moving averages, from the same start."""
    keras.utils.set_random_seed(0)
    layer = make(**options)
    layer.build()

    def step(ids):
        with tf.GradientTape() as tape:
            vectors = layer(ids, training=True)[:, :3]
            loss = tf.reduce_sum(vectors**2) + sum(layer.losses, 0.0)
        variables = [weight.value for weight in layer.trainable_weights]
        rows = tape.gradient(loss, variables, unconnected_gradients="zero")
        return loss, vectors, [tf.convert_to_tensor(row) for row in rows]

    step = tf.function(step, jit_compile=True, autograph=False) if jit else step
    loss, vectors, gradients = step(tf.constant(ids))
    averages = [w.numpy() for w in layer.non_trainable_weights if "moving" in w.path]
    return [float(loss), vectors.numpy(), *(g.numpy() for g in gradients), *averages]


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_words_are_trained_alike_alone_and_beside_padding(kind):
    alone = trained_on(KINDS[kind], WORDS, mask_zero=True)
    beside = trained_on(KINDS[kind], PADDED, mask_zero=True)
    for one, other in zip(alone, beside, strict=True):
        # float32 sums over more rows, divided by the small deviation of two words' vectors
        np.testing.assert_allclose(other, one, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("PDG, auto-encoder", marks=pytest.mark.slow),
        "DPQ, nearest, batch norm",
    ],
)
def test_under_xla(kind):
    plain, compiled = (
        trained_on(KINDS[kind], PADDED, jit, mask_zero=True) for jit in (False, True)
    )
    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(other, one, atol=2e-5)


@pytest.mark.parametrize(
    "kind", ["batch norm", "PDG", pytest.param("DPQ, nearest", marks=pytest.mark.slow)]
)
def test_id_0_is_a_word_without_mask_zero(kind):
    alone, beside = (trained_on(KINDS[kind], ids) for ids in (WORDS, PADDED))
    assert abs(alone[0] - beside[0]) > 1e-3


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_padding_only_changes_nothing(kind):
    keras.utils.set_random_seed(0)
    layer = KINDS[kind](mask_zero=True)
    layer.build()
    before = [w.numpy() for w in layer.non_trainable_weights if "moving" in w.path]
    assert np.isfinite(layer(np.zeros((2, 3), "int32"), training=True)).all()
    np.testing.assert_array_equal(sum(layer.losses, 0.0), 0.0)
    after = [w.numpy() for w in layer.non_trainable_weights if "moving" in w.path]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(other, one)


def test_moments_are_those_of_keras_masked_batch_normalization():
    """Keras' layer on the batch's tokens with their mask, ours on unique rows with counts."""
    layer = KINDS["batch norm"](mask_zero=True)
    layer.build()
    ids = np.array([[3, 4, 3, 0, 0], [7, 0, 0, 0, 0]])
    codes = layer.codes()
    raw = layer.composition.codebooks.numpy()[np.arange(3), codes[ids]].sum(axis=2)
    norm = keras.layers.BatchNormalization()
    norm(raw, mask=ids != 0, training=True)
    layer(ids, training=True)
    ours = layer.composition.norms[0]
    # Keras adds 1e-7 to the count of words.
    np.testing.assert_allclose(ours.moving_mean, norm.moving_mean, atol=1e-6)
    np.testing.assert_allclose(ours.moving_variance, norm.moving_variance, atol=1e-6)
