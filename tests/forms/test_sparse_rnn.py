"""One loop over segments against the layer it is frozen from."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export, tools
from kerascompact.forms import FrozenRNN
from kerascompact.layers import SparseGRU, SparseLSTM, SparseSimpleRNN
from kerascompact.ops.segments import num_parameters

KINDS = {"lstm": SparseLSTM, "gru": SparseGRU, "simple_rnn": SparseSimpleRNN}


def texts(batch=2, steps=5, width=7, seed=0):
    return np.random.default_rng(seed).normal(size=(batch, steps, width)).astype(np.float32)


def layer_of(kind, segments=(2, 3, 2), gamma=0.45, **options):
    keras.utils.set_random_seed(1)
    layer = KINDS[kind](sum(segments), segments, gamma, bias_initializer="normal", **options)
    layer.build((2 if options.get("stateful") else None, None, 7))
    return layer


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {"return_sequences": True},
        {"return_state": True, "go_backwards": True, "gamma": 1.0},
        {"segments": (3, 3), "return_sequences": True, "use_bias": False, "activation": "relu"},
        {"unroll": True, "return_sequences": True, "go_backwards": True},
    ],
)
def test_is_the_layer(kind, options):
    layer = layer_of(kind, **options)
    form, x = layer.to_form(), texts()
    mask = np.array([[True] * 5, [False, True, True, False, False]])
    for given in (None, mask):  # float32, added in another order
        expected, found = layer(x, mask=given), form(x, mask=given)
        for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
    assert not form.trainable_weights and form.name == layer.name


def test_resetting_before_the_product_and_zeros_for_masked_steps():
    layer = layer_of("gru", reset_after=False, return_sequences=True)
    layer.zero_output_for_mask = True
    form, x, mask = layer.to_form(), texts(), np.array([[True] * 5, [True, False] * 2 + [True]])
    np.testing.assert_allclose(form(x, mask=mask), layer(x, mask=mask), atol=1e-6)
    assert not np.any(form(x, mask=mask)[1, 1])


def test_one_step_has_no_loop_and_states_go_on():
    layer = layer_of("lstm", (2, 3), return_sequences=True, stateful=True)
    form, x = layer.to_form(), texts(steps=3)
    whole = layer(x)
    steps = [form(x[:, time : time + 1]) for time in range(3)]
    np.testing.assert_allclose(np.concatenate(steps, axis=1), whole, atol=1e-6)
    plain = layer_of("lstm", (2, 3), return_sequences=True).to_form()
    compiled = tf.function(plain, autograph=False)
    for steps, loops in ((1, 0), (5, 1)):
        step = compiled.get_concrete_function(tf.TensorSpec((1, steps, 7)))
        kinds = [operation.type for operation in step.graph.get_operations()]
        assert sum("While" in kind for kind in kinds) == loops


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_an_unrolled_one_has_no_loop_and_a_file_of_integers(kind):
    layer = KINDS[kind](6, 2, unroll=True)
    model = keras.Sequential([keras.Input((4, 7)), layer, keras.layers.Dense(2)])
    x = texts(32, 4)
    file = export.convert(model, "full_int8", representative=x)
    assert "WHILE" not in tools.inspect(file).operators
    assert export.verify(model, file, x).agreement > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_stores_the_layers_numbers_and_no_more(kind):
    layer = layer_of(kind)
    form = layer.to_form()
    bits = 8 * sum(weight.numpy().nbytes for weight in form.weights)
    assert bits == 32 * layer.count_params()
    biases = 2 if kind == "gru" else 1
    gates = {"lstm": 4, "gru": 3, "simple_rnn": 1}[kind]
    assert bits == 32 * num_parameters(7, (2, 3, 2), 0.45, gates, biases)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_one_is_the_same(kind, tmp_path):
    form = layer_of(kind).to_form()
    model = keras.Sequential([keras.Input((5, 7)), form])
    model.save(tmp_path / "form.keras")
    loaded = keras.models.load_model(tmp_path / "form.keras")
    np.testing.assert_array_equal(loaded(texts()), form(texts()))


def test_segments_of_any_order_and_windows():
    weights = []
    for length in (2, 1, 2):
        keras.utils.set_random_seed(length + len(weights))
        lstm = keras.layers.LSTM(length, bias_initializer="normal")
        lstm.build((None, None, 3))
        weights.append(lstm.get_weights())
    config = dict(kind="lstm", input_dim=7, lengths=(2, 1, 2), width=3)
    form, x = FrozenRNN.from_segments(weights, (4, 0, 1), **config), texts()
    expected = []
    for own, length, start in zip(weights, (2, 1, 2), (4, 0, 1), strict=True):
        lstm = keras.layers.LSTM(length)
        lstm.build((None, None, 3))
        lstm.set_weights(own)
        expected.append(lstm(x[..., start : start + 3]))
    np.testing.assert_allclose(form(x), np.concatenate(expected, axis=-1), atol=1e-6)


def test_rejects_windows_beyond_the_inputs_and_nan():
    weights = [[np.full((3, 4), np.nan), np.zeros((1, 4)), np.zeros(4)]]
    config = dict(kind="lstm", input_dim=7, lengths=(1,), width=3)
    with pytest.raises(ValueError, match=r"`starts` must be an integer in \[0, 4\]"):
        FrozenRNN.from_segments(weights, (5,), **config)
    with pytest.raises(ValueError, match="`kernel` must hold finite numbers"):
        FrozenRNN.from_segments(weights, (4,), **config)
    with pytest.raises(ValueError, match="`kind` must be one of 'lstm', 'gru', 'simple_rnn'"):
        FrozenRNN.from_segments(weights, (4,), **{**config, "kind": "rnn"})


@pytest.mark.few(1)
@pytest.mark.parametrize("options", [{}, {"return_sequences": True}])
def test_computes_in_float32_in_mixed_precision(options):
    layer = layer_of("lstm", **options)
    form = layer.to_form()
    config = {**form.get_config(), "dtype": "mixed_float16"}
    half = FrozenRNN.from_config(config)
    half.build((None, None, 7))
    half.set_weights(form.get_weights())
    x = texts().astype("float16")
    found = half(x)
    assert found.dtype == "float16"
    np.testing.assert_allclose(found, form(x.astype("float32")), atol=1e-3)
