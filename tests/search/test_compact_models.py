"""Models with several tables within a budget: never worse than 4 bits for all by hand."""

import keras
import numpy as np
import pytest

from kerascompact import search
from kerascompact.search.measuring import loss_of
from kerascompact.search.parts import Candidate, parts_of, settings_of
from kerascompact.search.plan import Plan

pytestmark = pytest.mark.slow
RANDOM = np.random.default_rng(0)
V, LENGTH, ROWS = 2000, 12, 256


def zipf(*shape, size=V):
    return np.minimum(RANDOM.zipf(1.3, shape), size - 1).astype("int32")


def tagger():
    """Words and shapes of words, an LSTM in both directions, a tag for each word."""
    words, shapes = (keras.Input((LENGTH,), dtype="int32", name=n) for n in ("words", "shapes"))
    vectors = [
        keras.layers.Embedding(V, 24, mask_zero=True, name="word_table")(words),
        keras.layers.Embedding(50, 8, name="shape_table")(shapes),
    ]
    states = keras.layers.Bidirectional(keras.layers.LSTM(16, return_sequences=True), name="lstm")(
        keras.layers.Concatenate()(vectors)
    )
    model = keras.Model([words, shapes], keras.layers.Dense(12, activation="softmax")(states))
    x = [zipf(ROWS, LENGTH), zipf(ROWS, LENGTH, size=50)]
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(x, x[0] % 12, epochs=8, verbose=0)
    return model, (x, x[0] % 12), {}


def factors():
    """Matrix factorization: users and items with a bias each."""
    user, item = (keras.Input((1,), dtype="int32", name=name) for name in ("user", "item"))

    def looked_up(ids, name):
        vectors = keras.layers.Embedding(V, 16, name=name)(ids)
        return vectors, keras.layers.Embedding(V, 1, name=f"{name}_bias")(ids)

    (left, one), (right, two) = looked_up(user, "users"), looked_up(item, "items")
    dot = keras.layers.Dot(2)([left, right])
    rating = keras.layers.Add()([dot, one, two])
    model = keras.Model([user, item], keras.layers.Flatten()(rating))
    x = [zipf(ROWS * 16, 1), zipf(ROWS * 16, 1)]
    y = np.sin(x[0]) * np.cos(x[1])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    model.fit(x, y, epochs=20, batch_size=64, verbose=0)
    return model, (x, y), {}


def hub(name):
    """A backbone of KerasHub with random numbers, which its own outputs are the targets of."""
    models = pytest.importorskip("keras_hub", reason="pip install keras-hub").models
    keras.utils.set_random_seed(0)
    x = {"token_ids": zipf(32, LENGTH), "padding_mask": np.ones((32, LENGTH), "int32")}
    if name == "bert":
        model = models.BertBackbone(V, 2, 2, 32, 64, max_sequence_length=LENGTH)
        return model, ({**x, "segment_ids": np.zeros((32, LENGTH), "int32")}, None), {}
    model = models.GemmaBackbone(V, 2, 2, 1, 32, 64, 16)  # its file needs a length
    return model, (x, None), {"sequence_length": LENGTH}


MODELS = {
    "tagger": tagger,
    "factors": factors,
    "bert": lambda: hub("bert"),
    "gemma": lambda: hub("gemma"),
}


@pytest.mark.parametrize("name", MODELS)
def test_within_the_bytes_of_4_bits_it_is_never_worse(name):
    model, data, length = MODELS[name]()
    parts = parts_of(model)
    plan = Plan(model, parts, ["all"], [], options=length)
    bits = [settings_of(part, 0, None)["4 bits"]() for part in parts]
    pick = [Candidate("4 bits", form, 0, 0.0) for form in bits]
    _, frozen, file = plan.built((*pick, Candidate("int8", None, 0, 0.0)))
    x, y = data
    wanted = loss_of(model, frozen.model, x, model.predict(x, verbose=0) if y is None else y)
    small = search.compact(model, len(file), data, samples=ROWS * 16, verbose=False, **length)
    assert len(small.file) <= len(file) and small.loss <= 1.005 * wanted
