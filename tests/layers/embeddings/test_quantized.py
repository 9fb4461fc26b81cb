"""Rounded rows against the nearest of their values, and a limit that training moves."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding
from graphs import tensors_with_rows
from kerascompact.core.storage import total_bits
from kerascompact.forms import PackedTableForm
from kerascompact.layers import QuantizedEmbedding
from kerascompact.optimizers import LazyAdam

EVERY = np.arange(20)


def built(bits=4, scale="row", **overrides):
    layer = QuantizedEmbedding(20, 4, bits, scale=scale, **overrides)
    layer(EVERY)
    return layer


def nearest(table, limits, bits):
    """Each entry's nearest of the 2^b numbers evenly from -limit to limit, row by row."""
    found = np.empty(table.shape)
    for row, limit in enumerate(np.broadcast_to(limits, len(table))):
        values = np.linspace(-limit, limit, 2**bits)
        for column, x in enumerate(table[row]):
            found[row, column] = values[np.abs(x - values).argmin()]
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", ["row", "table"])
def test_keeps_the_embedding_contract(scale, monkeypatch):
    example = {**QuantizedEmbedding.EXAMPLE, "scale": scale}
    monkeypatch.setattr(QuantizedEmbedding, "EXAMPLE", example)
    check_embedding(QuantizedEmbedding, xla=False)  # test_fake_quantize compiles


@pytest.mark.parametrize("bits", range(1, 9))
def test_rows_are_rounded_to_their_own_values(bits):
    layer = built(bits)
    table = layer.table.numpy()
    expected = nearest(table, np.abs(table).max(axis=1), bits)
    for training in (False, True):
        # float32 against float64, of numbers up to 0.1
        np.testing.assert_allclose(layer(EVERY, training=training), expected, atol=1e-7)


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_one_scale_serves_the_table(bits):
    layer = built(bits, "table")
    table = layer.table.numpy()
    assert float(layer.limit.numpy()) == np.abs(table).max()
    expected = nearest(table, np.abs(table).max(), bits)
    np.testing.assert_allclose(layer(EVERY), expected, atol=1e-7)


@pytest.mark.few(6)
@pytest.mark.parametrize("scale", ["row", "table"])
@pytest.mark.parametrize("bits", range(1, 9))
def test_the_form_gives_the_same_bits(bits, scale):
    layer = built(bits, scale)
    layer.table.assign(np.random.default_rng(0).normal(size=(20, 4)))  # the table's limit is old
    form = layer.to_form()
    assert isinstance(form, PackedTableForm)
    np.testing.assert_array_equal(form(EVERY), layer(EVERY, training=False))
    scales = 20 if scale == "row" else 1
    assert total_bits(form.storage()) == form.paper_bits == 20 * 4 * bits + 32 * scales


def test_the_limit_grows_with_the_rows_that_training_meets():
    layer = built(4, "table")
    table = np.zeros((20, 4), np.float32)
    table[3, 1], table[5, 2], table[7, 0] = -2.0, 3.0, 9.0
    layer.table.assign(table)
    layer(EVERY, training=False)
    assert float(layer.limit.numpy()) < 0.1  # inference changes nothing
    layer(np.array([1, 3]), training=True)
    assert float(layer.limit.numpy()) == 2.0
    layer(np.array([[5], [0]]), training=True)
    assert float(layer.limit.numpy()) == 3.0
    layer(np.array([3]), training=True)
    assert float(layer.limit.numpy()) == 3.0  # it does not shrink
    # the row that no batch has met is cut off, in the layer as in the form
    assert float(layer(np.array(7))[0]) == float(layer.to_form()(np.array(7))[0])
    assert float(layer(np.array(7))[0]) == pytest.approx(3.0, rel=1e-6)
    layer.reset_limit()
    assert float(layer(np.array(7))[0]) == 9.0


def test_the_batch_that_meets_a_large_row_is_not_cut_off():
    layer = built(8, "table")
    layer.table.assign(np.full((20, 4), 5.0))
    np.testing.assert_allclose(layer(np.array([2]), training=True), [[5.0] * 4])


def test_gradients_pass_within_the_limit_only():
    layer = built(2, "table")
    layer.table.assign(np.tile([[-0.5, 0.01, 0.05, 0.5]], (20, 1)))
    layer.limit.assign(0.1)
    weights = np.array([[1.0, 2.0, 3.0, 4.0]])
    for training, expected in ((False, [0.0, 2.0, 3.0, 0.0]), (True, weights[0])):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weights * layer(np.array([6, 6]), training=training))
        gradient = tape.gradient(loss, layer.table.value)
        assert gradient.indices.numpy().tolist() == [6]  # one row for both places
        np.testing.assert_allclose(gradient.values, [2 * np.array(expected)])


def test_gradient_of_a_row_scale_passes_unchanged():
    layer = built(1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(EVERY, training=True) * tf.range(4.0))
    gradient = tf.convert_to_tensor(tape.gradient(loss, layer.table.value))
    np.testing.assert_array_equal(gradient, np.tile(np.arange(4.0), (20, 1)))


@pytest.mark.parametrize("bits, printed", [(8, 75), (6, 81), (4, 88)])
def test_bits_saved_in_table_4(bits, printed):
    """KD paper, Table 4: the medium language model's input table, V = 10,000 and d = 650."""
    ours = QuantizedEmbedding(10_000, 650, bits, scale="table").paper_bits()
    # 87.5 % is printed as 88 and Python's round makes it 88, too; 32 bits of 26 million hide it
    assert abs(100 * (1 - ours / (32 * 10_000 * 650)) - printed) < 0.51


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["row", "table"])
def test_learns_with_four_bits(scale):
    keras.utils.set_random_seed(0)
    ids = np.random.default_rng(0).integers(0, 20, (400, 6)).astype(np.int32)
    labels = np.array([np.bincount(row // 10, minlength=2).argmax() for row in ids])
    layer = QuantizedEmbedding(20, 4, 4, scale=scale)
    model = keras.Sequential([keras.Input((6,), dtype="int32"), layer])
    model.add(keras.layers.GlobalAveragePooling1D())
    model.add(keras.layers.Dense(2, activation="softmax"))
    model.compile(LazyAdam(0.03), "sparse_categorical_crossentropy", jit_compile=False)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    model.fit(ids, labels, epochs=10, batch_size=40, verbose=0)
    predicted = model(ids).numpy().argmax(axis=1)
    assert np.mean(predicted == labels) > 0.95
    if scale == "table":  # training has moved the rows far beyond where they started
        assert float(layer.limit.numpy()) > 0.15


def test_a_step_makes_nothing_of_the_vocabularys_size():
    for scale in ("row", "table"):
        layer = QuantizedEmbedding(50_000, 6, 2, scale=scale)
        layer.build()
        step = tf.function(lambda ids, layer=layer: layer(ids, training=True), autograph=False)
        traced = step.get_concrete_function(tf.TensorSpec((2, 3), tf.int32))
        assert not tensors_with_rows(traced, 50_000)


def test_a_first_batch_may_build_it_under_xla():
    keras.utils.set_random_seed(0)
    layer = QuantizedEmbedding(20, 4, scale="table")
    model = keras.Sequential([layer])  # without a keras.Input
    model.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=True)
    model.fit(EVERY[None, :], np.zeros((1, 20, 4)), verbose=0)
    assert layer.limit.numpy() == np.abs(layer.table.numpy()).max() > 0


@pytest.mark.parametrize("bits", [0, 9, -1, 2.0, True, "8", None])
def test_rejects_bits(bits):
    with pytest.raises(ValueError, match=r"`bits` must be an integer in \[1, 8\]"):
        QuantizedEmbedding(20, 4, bits)


@pytest.mark.parametrize("scale", ["column", None, 1])
def test_rejects_scale(scale):
    with pytest.raises(ValueError, match="`scale` must be one of 'row', 'table'"):
        QuantizedEmbedding(20, 4, 8, scale=scale)


def test_refuses_to_freeze_a_limit_that_is_no_number():
    layer = built(4, "table")
    layer.limit.assign(np.nan)
    with pytest.raises(ValueError, match="`limit` must hold finite numbers only"):
        layer.to_form()


def test_every_row_is_within_the_limit_where_all_words_are_scored():
    layer = built(scale="table")
    beyond = np.where(EVERY[:, None] == 7, 2.0, 0.01) * np.ones((20, 4), np.float32)
    layer.table.assign(beyond)
    hidden = tf.ones((1, 4))
    layer(hidden, reverse=True)
    assert layer.limit.numpy() < 1  # of inference
    with tf.GradientTape() as tape:
        logit = layer(hidden, reverse=True, training=True)[0, 7]
    assert layer.limit.numpy() == 2
    np.testing.assert_allclose(tf.convert_to_tensor(tape.gradient(logit, layer.table.value))[7], 1)


def test_a_frozen_limit_stays():
    layer = built(scale="table")
    layer.trainable, limit = False, layer.limit.numpy()
    layer.table.assign(9 * layer.table.numpy())
    layer(EVERY, training=True)
    layer(tf.ones((1, 4)), reverse=True, training=True)
    assert layer.limit.numpy() == limit
