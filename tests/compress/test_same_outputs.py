"""Models in which something beside the tables reads the ids of tokens."""

import keras
import numpy as np
import pytest

from kerascompact import layers
from kerascompact.compress.vocabulary import with_rows


@pytest.mark.parametrize(
    "second",
    [
        lambda ids: keras.layers.Embedding(6, 3)(ids),  # a table with room for more
        lambda ids: keras.layers.Embedding(3, 3)(ids % 3),
        lambda ids: keras.ops.cast(ids != 3, "float32")[..., None],
        lambda ids: layers.LowRankEmbedding(5, 3, rank=2)(ids),
    ],
)
def test_what_else_reads_the_ids_is_refused(second):
    ids = keras.Input((4,), dtype="int32")
    model = keras.Model(ids, keras.layers.Embedding(5, 3)(ids) + second(ids))
    with pytest.raises(ValueError, match="`model` must read the ids of tokens by the tables that"):
        with_rows(model, np.array([0, 3, 4]), 5)


def test_a_second_reader_of_padding_alone_is_none():
    ids = keras.Input((4,), dtype="int32")
    mask = keras.ops.cast(ids != 0, "float32")[..., None]
    model = keras.Model(ids, keras.ops.log_softmax(keras.layers.Dense(5)(mask)))
    table = keras.layers.Embedding(5, 3)
    model = keras.Model(ids, [table(ids) * mask, model(ids)])
    small = with_rows(model, np.array([0, 3, 4]), 5)
    new = np.array([[1, 2, 0, 0]])
    np.testing.assert_allclose(small(new)[0], model(np.array([[3, 4, 0, 0]]))[0], rtol=1e-6)


def test_a_mask_before_a_tied_head_is_no_input_of_ids():
    ids, mask = (keras.Input((4,), dtype="int32", name=name) for name in ("ids", "mask"))
    table = keras.layers.ReversibleEmbedding(5, 3)
    states = table(ids) + keras.ops.cast(keras.ops.cumsum(mask, axis=1), "float32")[..., None]
    model = keras.Model([ids, mask], table(states, reverse=True))
    kept, given, ones = np.array([0, 3, 4]), np.array([[1, 2, 0, 1]]), np.ones((1, 4), int)
    wanted = np.asarray(model([kept[given], ones]))[..., kept]
    np.testing.assert_allclose(with_rows(model, kept, 5)([given, ones]), wanted, rtol=1e-6)
