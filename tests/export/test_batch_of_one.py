"""Sums of a batch of one: files, and Keras beside them, add as in the batches of a training."""

import keras
import numpy as np
import pytest
from keras import ops

from kerascompact import export
from kerascompact.runtime.interpreter import Interpreter

RNG = np.random.default_rng(0)


def pooled(length, units, over):
    """A model that masks by adding numbers `(batch, length, 1)`, and texts for it."""
    keras.utils.set_random_seed(3)
    ids = keras.Input((length,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(20, units)(ids)
    padding = over * ops.cast(ops.equal(ids, 0), "float32")[..., None]
    shares = ops.softmax(keras.layers.Dense(1)(vectors) + padding, axis=1)
    both = [ops.sum(shares * vectors, axis=1), ops.max(vectors + padding, axis=1)]
    model = keras.Model(ids, keras.layers.Concatenate(name="out")(both))
    texts = RNG.integers(1, 20, (6, length)) * (np.arange(length) < np.arange(1, 7)[:, None])
    return model, texts.astype("int32")


def test_a_constant_is_added_as_in_training():  # by Keras along the last axis, with d = L
    vectors = keras.Input((4, 4), name="vectors")
    constant = ops.reshape(ops.arange(4, dtype="float32"), (1, 4, 1))
    model = keras.Model(vectors, keras.layers.Identity(name="out")(ops.add(vectors, constant)))
    x = RNG.normal(size=(3, 4, 4)).astype("float32")
    file = Interpreter(export.convert(model, "float32"))
    found = np.concatenate([file.run({"vectors": row[None]})["out"] for row in x])
    np.testing.assert_allclose(found, model(x), atol=1e-6)


@pytest.mark.parametrize("length", [4, 7])  # as many words as units, and more
def test_a_mask_that_is_added_at_a_batch_of_one(length):
    model, texts = pooled(length, 4, -1e9)
    wanted = np.asarray(model(texts))
    frozen = export.freeze(model, "float32")
    data = frozen.convert()
    found = np.concatenate([Interpreter(data).run({"ids": row[None]})["out"] for row in texts])
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert export.verify(frozen, data, texts).largest_difference < 1e-6
