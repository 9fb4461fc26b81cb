"""Models of strings, ids and bits become the same model of bits."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export
from kerascompact.layers import BitCache, MaskedMean, ProjectionEmbedding
from kerascompact.models import mean_classifier, projection_lstm, sgnn, with_bit_input

SMALL = dict(num_projections=4, projection_dim=8, max_word_bytes=12)
WORDS = ["", "king", "queen", "up"]
IDS = np.array([[1, 2, 0], [3, 0, 0]])


def embedding(**options):
    return ProjectionEmbedding(4, (6,), **{"mask_zero": True, **SMALL, **options})


# with the second, "up" has no n-gram, and is padding
@pytest.mark.parametrize("settings", [{}, {"ngrams": (3, 4), "boundaries": False}])
def test_all_inputs_give_one_model(settings):
    shared = embedding(**settings)
    cache = BitCache.from_words(WORDS, shared.projection)
    bits = np.asarray(cache.lookup(IDS))
    strings = tf.gather(tf.constant(WORDS), IDS)
    for inputs, given in ((cache, IDS), ("words", strings), ("bits", bits)):
        model = projection_lstm(shared, 2, 3, inputs=inputs)
        for one in (model, export.freeze(model, "float32").model):  # trained and frozen
            made = with_bit_input(one)
            assert made.input.dtype == "uint8" and made.input_shape == (None, None, 32)
            assert made.name == model.name and len(made.layers) <= len(one.layers)
            np.testing.assert_allclose(made(bits), one(given), atol=1e-6)


def test_sequential_models():
    shared = embedding()
    cache = BitCache.from_words(WORDS, shared.projection)
    inputs = keras.Input((3,), dtype="int32")
    model = keras.Sequential([inputs, cache, shared, MaskedMean()])
    made = with_bit_input(model)
    assert made.input_shape == (None, 3, 32)
    np.testing.assert_allclose(made(np.asarray(cache.lookup(IDS))), model(IDS), atol=1e-6)


def test_texts_whose_words_are_together():
    model = sgnn(embedding(together=True, mask_zero=False), 2)
    made = with_bit_input(model)
    bits = np.eye(3, 32, dtype=np.uint8)
    assert made.input_shape == (None, 32)
    np.testing.assert_array_equal(made(bits), model(bits))


def twice():
    shared, bits = embedding(), keras.Input((None, 32), dtype="uint8")
    return keras.Model(bits, keras.layers.Add()([shared(bits), shared(bits)]))


def two_inputs():
    x, y = (keras.Input((None, 32), dtype="uint8") for _ in range(2))
    return keras.Model([x, y], [embedding()(x), keras.layers.Flatten()(y)])


def subclassed():
    class Other(keras.Model):
        def call(self, x):
            return x

    return Other()


@pytest.mark.parametrize(
    "make",
    [twice, two_inputs, subclassed, lambda: mean_classifier(keras.layers.Embedding(9, 2), 3)],
)
def test_refuses_other_models(make):
    with pytest.raises(ValueError, match="`model` must be a functional or Sequential model of one"):
        with_bit_input(make())


def test_refuses_words_in_paragraphs():
    bits = keras.Input((2, None, 32), dtype="uint8")
    model = keras.Model(bits, embedding(mask_zero=False)(bits))
    with pytest.raises(ValueError, match="`model` must be one whose words are \\(batch, length"):
        with_bit_input(model)
