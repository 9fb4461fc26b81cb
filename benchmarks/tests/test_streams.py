"""A trained language model around another number of streams: same weights, one text, one file."""

import functools

import keras
import numpy as np

from benchmarks.lib import streams
from kerascompact import layers, models
from kerascompact.models.language_model import ZarembaSize

V = 15
SIZE = ZarembaSize(6, 0.0, 4, 0.5, 1.0, 1, 1, 0.5, batch_size=3, layers=1)
IDS = np.random.default_rng(0).integers(0, V, 41).astype(np.int32)


def build(embedding, batch_size):
    return models.language_model(
        embedding, V, SIZE.units, num_layers=1, scale=1.0, batch_size=batch_size
    )


def model():
    keras.utils.set_random_seed(0)
    return build(layers.LowRankEmbedding(V, 6, rank=2, name="embedding"), SIZE.batch_size)


def test_the_loss_is_summed_over_the_steps_of_a_batch():
    made = streams.compiled(model(), keras.optimizers.SGD(0.0), SIZE)
    x, y = IDS[:12].reshape(3, 4), IDS[1:13].reshape(3, 4)
    found = made.evaluate(x, y, batch_size=3, verbose=0, return_dict=True)
    np.testing.assert_allclose(found["loss"], 4 * np.log(found["perplexity"]), rtol=1e-5)


def test_other_streams_have_the_same_weights_and_a_layer_of_their_own():
    made = model()
    single, free = streams.with_batch(build, made, 1), streams.with_batch(build, made, None)
    assert single.input_shape == (1, None) and free.input_shape == (None, None)
    for other in (single, free):
        assert other.get_layer("embedding") is not made.get_layer("embedding")
        for one, two in zip(made.get_weights(), other.get_weights(), strict=True):
            np.testing.assert_array_equal(one, two)


def test_perplexity_carries_the_state_through_the_text(monkeypatch):
    made = model()
    whole = streams.perplexity(build, made, IDS)
    logits = np.asarray(streams.with_batch(build, made, None)(IDS[None, :-1])[0], np.float64)
    p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    expected = np.exp(-np.mean(np.log(p[np.arange(40), IDS[1:]])))
    np.testing.assert_allclose(whole, expected, rtol=1e-5)
    monkeypatch.setattr(streams, "STEPS_OF_TEST", 7)  # the last batch has 5
    np.testing.assert_allclose(streams.perplexity(build, made, IDS), whole, rtol=1e-5)


def test_bits_and_the_file_are_those_of_the_embedding_as_it_ships():
    made = model()
    assert streams.size_up(made) == dict.fromkeys(("paper_bits", "stored_bits"), 32 * 2 * (V + 6))
    row = streams.ship(functools.partial(build), made, IDS, 4)
    assert row["recipe"] == "float32" and row["windows"] == 10 and row["argmax_agreement"] == 1.0
