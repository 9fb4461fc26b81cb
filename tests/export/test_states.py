"""Models with their states as inputs: which inputs have steps, and what is refused."""

import keras
import numpy as np
import pytest

from export_models import answers
from kerascompact import export
from kerascompact.runtime.interpreter import Interpreter


@pytest.mark.parametrize("in_file", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_steps_of_returned_states_a_shared_layer_and_an_input_without_steps(in_file):
    """The last step gives what the model gives for the whole text."""
    keras.utils.set_random_seed(0)
    x, other = keras.Input((3, 3), name="x"), keras.Input((3, 4), name="other")
    fixed = keras.Input((5,), name="fixed")
    lstm = keras.layers.LSTM(4, return_sequences=True, return_state=True, name="lstm")
    sequence, h, c = lstm(x)
    gru = keras.layers.GRU(4, name="gru")
    both = keras.layers.Concatenate()([gru(sequence), gru(other), h, c, fixed])
    outputs = {"scores": keras.layers.Dense(2, name="last")(both), "state": h}
    model = keras.Model([x, other, fixed], outputs)
    stepping = export.with_states(model)
    if in_file:
        run = Interpreter(export.convert(stepping, "float32")).run
    else:
        run = lambda given: answers(stepping, [given[one.name] for one in stepping.inputs])  # noqa: E731
    random = np.random.default_rng(0)
    data = [random.normal(size=(1, *t.shape[1:])).astype(np.float32) for t in model.inputs]
    ends = ["gru_state_0", "gru_state_1", "lstm_state_0", "lstm_state_1"]
    assert sorted(one.name for one in stepping.inputs) == ["fixed", *ends, "other", "x"]
    found = {name: np.zeros((1, 4), np.float32) for name in ends}
    for time in range(3):
        step = {"x": data[0][:, [time]], "other": data[1][:, [time]], "fixed": data[2]}
        found = run({**step, **{name: found[name] for name in ends}})
    for name, wanted in model(data).items():
        np.testing.assert_allclose(found[name], wanted, atol=1e-5)  # kernels of another runtime


def test_each_of_several_cells_has_its_states():
    cells = [keras.layers.LSTMCell(3), keras.layers.GRUCell(4)]
    x = keras.Input((3, 2), name="x")
    model = keras.Model(x, keras.layers.RNN(cells, name="rnn")(x))
    stepping, data = export.with_states(model), np.ones((1, 3, 2), np.float32)
    found = {f"rnn_state_{number}": np.zeros((1, n)) for number, n in enumerate((3, 3, 4))}
    for time in range(3):
        given = {"x": data[:, [time]], **found}
        found = stepping([np.asarray(given[one.name]) for one in stepping.inputs])
        last = found.pop("rnn")
    np.testing.assert_allclose(last, model(data), atol=1e-6)


def test_refuses_states_and_lengths_of_the_model_and_reading_backward():
    x, state = keras.Input((6, 3), name="x"), keras.Input((4,), name="h0")
    given = keras.layers.GRU(4, name="gru")(x, initial_state=state)
    with pytest.raises(ValueError, match="start from zeros.*Received: .*'gru' has one"):
        export.with_states(keras.Model([x, state], given))
    flat = keras.layers.Flatten()(keras.layers.GRU(4, return_sequences=True)(x))
    model = keras.Model(x, keras.layers.Dense(2, name="of_all")(flat))
    with pytest.raises(ValueError, match="run on `sequence_length` steps. Received: 'of_all'"):
        export.with_states(model)
    backward = keras.Model(x, keras.layers.GRU(4, go_backwards=True)(x))
    with pytest.raises(ValueError, match="must have recurrent layers that all read forward"):
        export.with_states(backward)
