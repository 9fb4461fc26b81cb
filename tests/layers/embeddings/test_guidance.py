import numpy as np
import pytest
import tensorflow as tf

from kerascompact.layers import KDCodeEmbedding, OnlineGuidance, PretrainedGuidance

V, WIDTH = 20, 4
IDS = np.array([[3, 3], [3, 8]])
COUNTS = {3: 3, 8: 1}
CLOSE = dict(rtol=1e-5, atol=1e-6)  # float32 sums in another order


def guided(guidance, **options):
    layer = KDCodeEmbedding(V, WIDTH, 4, 3, guidance=guidance, **options)
    layer(IDS)
    return layer


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def token_mean(of_id):
    return sum(COUNTS[id] * value for id, value in of_id.items()) / sum(COUNTS.values())


def test_online_loss_pulls_the_codes_vectors_and_not_the_continuous_ones():
    layer = guided(OnlineGuidance(vectors_weight=5.0, kd_probability=0.5, seed=1))
    layer.guidance.table.assign(numbers(V, WIDTH))
    with tf.GradientTape() as tape:
        layer(IDS, training=True)
        (loss,) = layer.losses
    u, f = layer.guidance.table.numpy(), layer(np.arange(V)).numpy()
    expected = 5.0 * token_mean({id: np.mean((f[id] - u[id]) ** 2) for id in COUNTS})
    np.testing.assert_allclose(loss, expected, **CLOSE)
    own, books = tape.gradient(
        loss, [layer.guidance.table.value, layer.composition.codebooks.value]
    )
    assert own is None and np.any(books)


def test_online_tokens_are_one_or_the_other_by_the_probability():
    layer = guided(OnlineGuidance(kd_probability=0.3, seed=1))
    layer.guidance.table.assign(numbers(V, WIDTH))
    tokens = layer(np.full((100, 100), 7), training=True).numpy().reshape(-1, WIDTH)
    u, f = layer.guidance.table.numpy()[7], layer(np.array([7])).numpy()[0]
    from_codes = np.isclose(tokens, f, atol=1e-6).all(axis=1)
    assert np.isclose(tokens[~from_codes], u).all()
    # 10,000 draws: a standard deviation of 0.0046
    assert abs(from_codes.mean() - 0.3) < 4 * 0.0046
    again = layer(np.full((100, 100), 7), training=True).numpy().reshape(-1, WIDTH)
    assert np.any(again != tokens)
    np.testing.assert_array_equal(layer(np.full(3, 7)), [f] * 3)  # inference: codes only


def test_a_frozen_layer_is_called_in_training_as_in_inference():
    relaxed = dict(straight_through=False, entropy_weight=1.0)
    layer = guided(OnlineGuidance(kd_probability=0.3, seed=1), **relaxed)
    layer.trainable = False
    np.testing.assert_array_equal(layer(IDS, training=True), layer(IDS))
    assert not layer.losses


def test_online_continuous_vectors_learn_from_the_task():
    layer = guided(OnlineGuidance(kd_probability=0.5, seed=0))
    with tf.GradientTape() as tape:
        task = tf.reduce_sum(layer(np.tile(IDS, (10, 1)), training=True))
    gradient = tape.gradient(task, layer.guidance.table.value)
    assert isinstance(gradient, tf.IndexedSlices)
    assert sorted(gradient.indices.numpy()) == [3, 8] and np.all(gradient.values)


def test_pretrained_loss_is_the_distance_to_the_table():
    table = numbers(V, WIDTH)
    layer = guided(PretrainedGuidance(table, vectors_weight=7.0))
    tokens = layer(IDS, training=True)
    (loss,) = layer.losses
    f = layer(np.arange(V)).numpy()
    expected = 7.0 * token_mean({id: np.mean((f[id] - table[id]) ** 2) for id in COUNTS})
    np.testing.assert_allclose(loss, expected, **CLOSE)
    np.testing.assert_allclose(tokens, f[IDS], **CLOSE)
    assert not layer.guidance.trainable_weights


def test_the_auto_encoder_is_the_papers():
    table = numbers(V, WIDTH)
    guidance = PretrainedGuidance(table, vectors_weight=100.0, logits_weight=10.0)
    layer = guided(guidance, temperature=0.5)
    layer(IDS, training=True)
    (loss,) = layer.losses
    (a, b), (c, d) = ([w.numpy() for w in dense.weights] for dense in guidance.encoder.layers)
    assert a.shape == (WIDTH, 6)  # D K / 2
    books, losses = layer.composition.codebooks.numpy(), {}
    f, pi = layer(np.arange(V)).numpy(), 10 * layer.logits.numpy().reshape(V, 3, 4)
    for id in COUNTS:
        coded = (np.tanh(table[id] @ a + b) @ c + d).reshape(3, 4)
        again = sum(books[j][k] for j, k in enumerate(coded.argmax(axis=1)))
        losses[id] = (
            100 * np.mean((f[id] - table[id]) ** 2)
            + np.mean((again - table[id]) ** 2)
            + 10 * np.mean((pi[id] - coded) ** 2)
        )
    np.testing.assert_allclose(loss, token_mean(losses), rtol=1e-4)


def test_the_logits_follow_the_auto_encoder_and_not_the_other_way():
    guidance = PretrainedGuidance(numbers(V, WIDTH), vectors_weight=1e-9, logits_weight=10.0)
    layer = guided(guidance)
    with tf.GradientTape() as tape:
        layer(IDS, training=True)
        loss = layer.losses[0]
    last = guidance.encoder.layers[-1].kernel.value
    to_logits, to_encoder = tape.gradient(loss, [layer.logits.value, last])
    assert np.any(to_logits.values) and np.any(to_encoder)  # the latter by reconstruction only


def test_guidance_is_gone_when_the_layer_ships():
    layer = guided(PretrainedGuidance(numbers(V, WIDTH), logits_weight=1.0), hidden_dim=5)
    bits = layer.paper_bits()
    assert bits == V * 3 * 2 + 32 * (3 * 4 * 5 + 5 * WIDTH + WIDTH)
    assert sum(stored.total_bits for stored in layer.to_form().storage()) == bits


def test_rejects():
    for guidance in (OnlineGuidance(), PretrainedGuidance(numbers(V, WIDTH))):
        guided(guidance)
        with pytest.raises(ValueError, match="`guidance` must be one that no other layer has"):
            guided(guidance)  # its table would be replaced, by zeros if it was given
    with pytest.raises(ValueError, match=r"`table` must have the embedding's shape \(20, 4\)"):
        guided(PretrainedGuidance(np.zeros((V, 3))))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'table'"):
        PretrainedGuidance()  # a table of zeros would draw all vectors towards 0
    with pytest.raises(ValueError, match="`table` must hold finite numbers only"):
        PretrainedGuidance(np.full((V, WIDTH), np.nan))
    with pytest.raises(ValueError, match=r"`kd_probability` must be a number in \(0, 1\]"):
        OnlineGuidance(kd_probability=0)
    with pytest.raises(ValueError, match="`vectors_weight` must be a finite number > 0"):
        OnlineGuidance(vectors_weight=-1)


@pytest.mark.parametrize("kind", ["online", "pretrained"])
def test_a_frozen_layer_stays_frozen_when_it_is_made_again(kind):
    def guide():
        table = numbers(V, WIDTH)
        return OnlineGuidance() if kind == "online" else PretrainedGuidance(table, 10.0, 1.0)

    layer = guided(guide())
    trainable = [weight.trainable for weight in layer.weights]
    layer.trainable = False
    again = KDCodeEmbedding.from_config(layer.get_config())
    again(IDS)
    for frozen in (guided(guide(), trainable=False), again):
        assert not any(weight.trainable for weight in frozen.weights)
        frozen.trainable = True
        assert [weight.trainable for weight in frozen.weights] == trainable
