"""Fused LSTMs: what Keras computes, run after run, whatever stands in the padding."""

import keras
import numpy as np
import pytest

from export_models import answers
from kerascompact import export, tools
from kerascompact.export.lstm_fusion import fused, is_fusable
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer

V, STEPS = 30, 8
RANDOM = np.random.default_rng(0)
IDS = RANDOM.integers(1, V, (6, STEPS)).astype(np.int32)
PADDED = np.where(np.arange(STEPS) < np.array([[0], [8], [1], [3], [5], [7]]), IDS, 0)
# The same float32 products and sums in another order, over 8 steps.
CLOSE = dict(rtol=1e-4, atol=1e-5)
OP = "UNIDIRECTIONAL_SEQUENCE_LSTM"


def lstm(**config):
    return lambda: keras.layers.LSTM(10, **config)


def both(**config):
    return lambda: keras.layers.Bidirectional(keras.layers.LSTM(10, **config))


KINDS = {
    "last": lstm(),
    "sequence": lstm(return_sequences=True),
    "zeros": lstm(return_sequences=True, zero_output_for_mask=True),
    "backwards": lstm(return_sequences=True, go_backwards=True),
    "both": both(),
    "both sequences": both(return_sequences=True),
}


def reader(layer, mask=False, length=STEPS):
    ids = keras.Input((length,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(V, 12, mask_zero=mask, name="embedding")(ids)
    model = keras.Model(ids, keras.layers.Dense(7, name="out")(layer(vectors)))
    for weight in model.trainable_weights:
        weight.assign(weight.numpy() * 3)  # gates far from their middle
    return model


def outputs(data, ids, signature=None):
    file = Interpreter(data, signature=signature)
    return np.concatenate([file.run({"ids": row[None]})["out"] for row in ids])


@pytest.mark.slow  # the next has a sequence with padding
@pytest.mark.parametrize(
    ("kind", "mask"),
    [
        ("last", True),
        ("sequence", False),
        ("zeros", True),
        ("backwards", True),
        ("both", False),
        ("both sequences", True),
        ("last", False),
        ("sequence", True),
        ("both", True),
    ],
)
def test_one_operator_computes_what_keras_does(kind, mask):
    model, ids = reader(KINDS[kind](), mask), PADDED if mask else IDS
    data = export.convert(model, "float32", fused_lstm=True)
    operators = tools.inspect(data).operators
    assert operators[OP] == (2 if "both" in kind else 1) and "WHILE" not in operators
    expected = answers(model, ids)
    # Rows one after the other: none starts from the state that the row before has left.
    np.testing.assert_allclose(outputs(data, ids), expected, **CLOSE)
    if kind == "both":
        assert data == export.convert(model, "float32", fused_lstm=True)
    np.testing.assert_array_equal(answers(model, ids), expected)  # as it was


def test_cells_are_not_clipped():
    """The converter's own operator stops them at 10."""
    model = reader(keras.layers.LSTM(10, return_sequences=True), mask=True, length=15)
    layer = model.layers[2]
    bias = np.repeat([9.0, 9, 4, 0], 10)  # i, f, c, o: the cell gains 1 in every step
    layer.cell.bias.assign(bias)
    layer.cell.kernel.assign(layer.cell.kernel.numpy() / 10)
    layer.cell.recurrent_kernel.assign(np.zeros((10, 40)))
    layer.activation = layer.cell.activation = keras.activations.tanh
    ids = RANDOM.integers(1, V, (2, 15))
    ids[1, 12:] = 0
    data = export.convert(model, "float32", fused_lstm=True)
    operators = tools.inspect(data).operators
    assert operators[OP] == 1 and "WHILE" not in operators
    np.testing.assert_allclose(outputs(data, ids), answers(model, ids), **CLOSE)
    parsed = flatbuffer.parse(data)
    clips = [
        one.builtinOptions.cellClip
        for one, name in zip(
            parsed.subgraphs[0].operators, flatbuffer.operator_names(parsed), strict=True
        )
        if name == OP
    ]
    assert clips == [0.0]


@pytest.mark.slow  # `test_kernels` has kernels of int8
@pytest.mark.parametrize("kind", ["last", pytest.param("both", marks=pytest.mark.slow)])
def test_kernels_of_int8_in_fewer_bytes_than_a_loop(kind):
    model = reader(KINDS[kind](), mask=True)
    data = export.convert(model, "int8", fused_lstm=True)
    expected = answers(export.freeze(model, "int8").model, PADDED)
    np.testing.assert_allclose(outputs(data, PADDED), expected, **CLOSE)
    assert kind == "last" or len(data) < len(export.convert(model, "int8"))
    assert not [
        t
        for t in tools.inspect(data).tensors
        if t.dtype == "float32" and len(t.shape) > 1 and t.num_bytes > 280  # the head
    ]


@pytest.mark.slow  # `test_kernels` has both halves: loops, integers
def test_full_integer_needs_it():
    model = reader(keras.layers.LSTM(10))
    with pytest.raises(ValueError, match="in a model with loops.*use `fused_lstm=True`"):
        export.convert(model, "full_int8", representative=IDS)
    data = export.convert(model, "full_int8", representative=IDS, fused_lstm=True)
    found, expected = outputs(data, IDS), answers(model, IDS)
    assert np.abs(found - expected).max() < 0.05 * np.abs(expected).max()  # 8 bits
    np.testing.assert_array_equal(outputs(data, IDS[::-1]), found[::-1])  # no state remains
    with pytest.raises(ValueError, match="reads padded text backwards.*ReverseSequence in"):
        export.convert(
            reader(KINDS["both"](), mask=True), "full_int8", representative=PADDED, fused_lstm=True
        )


@pytest.mark.slow
def test_integers_of_several_models_have_lstms_in_the_first():
    plain, data = reader(keras.layers.GlobalAveragePooling1D()), {"a": IDS, "b": IDS}
    options = dict(representative=data, fused_lstm=True)
    last = reader(keras.layers.LSTM(10))
    file = export.convert({"a": last, "b": plain}, "full_int8", **options)
    expected = answers(last, IDS)
    found = outputs(file, IDS, "a")
    assert np.abs(found - expected).max() < 0.05 * np.abs(expected).max()
    with pytest.raises(ValueError, match="LSTMs in its first model alone.* Received: 'b' with"):
        export.convert({"a": plain, "b": last}, "full_int8", **options)


@pytest.mark.slow  # other lengths are fixed
def test_an_open_length():
    model = reader(keras.layers.LSTM(10), mask=True, length=None)
    data = export.convert(model, "float32", fused_lstm=True)
    for length in (1, 5):
        ids = IDS[:, :length]
        np.testing.assert_allclose(outputs(data, ids), answers(model, ids), **CLOSE)


@pytest.mark.parametrize(
    "config",
    [
        {"activation": "relu"},
        {"recurrent_activation": "hard_sigmoid"},
        {"use_bias": False},
        {"return_state": True},
        {"stateful": True},
        {"unroll": True},
    ],
)
def test_others_stay_loops(config):
    assert not is_fusable(keras.layers.LSTM(3, **config))
    assert not is_fusable(keras.layers.GRU(3))


def test_layers_are_given_back():
    model = reader(keras.layers.LSTM(4))
    layer = model.layers[2]
    with pytest.raises(KeyError, match="mine"), fused(model) as names:
        assert names == [layer.name] and "inner_loop" in layer.__dict__
        raise KeyError("mine")
    assert "inner_loop" not in layer.__dict__


def test_refuses_what_is_no_choice():
    with pytest.raises(ValueError, match="`fused_lstm` must be True or False"):
        export.convert(reader(keras.layers.LSTM(4)), fused_lstm="yes")


def test_int16_between_layers_needs_it_unrolled():
    recipe = export.Recipe("mine", "float32", "int16x8")
    with pytest.raises(ValueError, match="`fused_lstm` must be False with kernels of 'int16x8'"):
        export.convert(reader(keras.layers.LSTM(4)), recipe, representative=IDS, fused_lstm=True)
    with pytest.raises(ValueError, match="in a model with loops.*: use unroll=True, or another"):
        export.convert(reader(keras.layers.LSTM(4)), recipe, representative=IDS)


@pytest.mark.slow
def test_int16_between_layers_of_an_unrolled_lstm():
    recipe = export.Recipe("mine", "float32", "int16x8")
    model = reader(keras.layers.LSTM(4, unroll=True))
    found = outputs(export.convert(model, recipe, representative=IDS), IDS)
    expected = answers(model, IDS)
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()  # kernels of 8 bits
    masked = reader(keras.layers.GlobalAveragePooling1D(), mask=True)
    with pytest.raises(ValueError, match="comparison of ids, such as `mask_zero=True`"):
        export.convert(masked, recipe, representative=IDS)


def vectors(*shape):
    ids = keras.Input(shape, dtype="int32", name="ids")
    normal = keras.initializers.RandomNormal(seed=1)
    return ids, keras.layers.Embedding(V, 5, embeddings_initializer=normal)(ids)


@pytest.mark.slow
def test_a_loop_starts_from_zeros_beside_a_fused_lstm_of_as_many_units():
    ids, words = vectors(3, 4)
    read = keras.layers.LSTM(3)
    states = keras.ops.stack([read(words[:, one]) for one in range(3)], axis=1)
    model = keras.Model(ids, {"out": keras.layers.GRU(3)(states)})
    given = RANDOM.integers(1, V, (2, 3, 4)).astype(np.int32)
    found = outputs(export.convert(model, "float32", fused_lstm=True), given)
    np.testing.assert_allclose(found, model(given)["out"], **CLOSE)


@pytest.mark.slow  # others start at zeros
def test_a_given_state_is_where_it_starts():
    """And zeros are where a loop of as many units starts."""
    ids, words = vectors(STEPS)
    state = keras.layers.Dense(3)(words[:, 0])
    read = keras.layers.LSTM(3)(words, initial_state=[state, state])
    model = keras.Model(
        ids, {"out": read + keras.layers.LSTM(3)(words) + keras.layers.GRU(3)(words)}
    )
    data = export.convert(model, "float32", fused_lstm=True)
    np.testing.assert_allclose(outputs(data, IDS), model(IDS)["out"], **CLOSE)
    assert tools.inspect(data).operators[OP] == 1
