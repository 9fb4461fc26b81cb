"""Sparse recurrent layers in files: one loop, built-in operators, Keras' outputs."""

import keras
import numpy as np
import pytest

from kerascompact import export, models, tools
from kerascompact.forms import FrozenRNN
from kerascompact.layers import SparseGRU, SparseLSTM, SparseSimpleRNN
from kerascompact.runtime.interpreter import Interpreter

IDS = np.array([[3, 1, 4, 5, 0]], np.int32)


def tagger(layer, **embedding):
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), dtype="int32", name="ids")
    hidden = layer(keras.layers.Embedding(9, 8, name="embedding", **embedding)(ids))
    return keras.Model(ids, keras.layers.Dense(3, name="tags")(hidden))


def is_frozen_as(model):
    frozen = export.freeze(model, "float32").model
    kinds = [type(one) for one in frozen._flatten_layers()]
    assert FrozenRNN in kinds and not {SparseLSTM, SparseGRU, SparseSimpleRNN} & {*kinds}
    np.testing.assert_allclose(frozen(IDS), model(IDS), atol=1e-6)


def test_both_directions_are_frozen():
    is_frozen_as(tagger(keras.layers.Bidirectional(SparseGRU(4, 2)), mask_zero=True))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: SparseLSTM(6, 3, 0.5, return_sequences=True), marks=pytest.mark.slow),
        pytest.param(lambda: SparseLSTM(6), marks=pytest.mark.slow),
        pytest.param(
            lambda: keras.layers.Bidirectional(SparseLSTM(5, 2, 0.5, return_sequences=True)),
            marks=pytest.mark.slow,
        ),
        pytest.param(lambda: keras.layers.Bidirectional(SparseGRU(4, 2)), marks=pytest.mark.slow),
        lambda: SparseSimpleRNN(6, 3, 0.5, return_sequences=True),
    ],
)
def test_convert_uses_one_loop_for_all_segments(make):
    model = tagger(make(), mask_zero=True)
    is_frozen_as(model)
    file = export.convert(model, "float32", sequence_length=5)
    found = Interpreter(file).run({"ids": IDS})["tags"]
    np.testing.assert_allclose(found, model(IDS), atol=1e-5)  # kernels of another runtime
    loops = tools.inspect(file).operators.get("WHILE", 0)
    assert loops == (2 if isinstance(model.layers[2], keras.layers.Bidirectional) else 1)


def test_a_language_model_steps_through_a_text_with_its_states():
    keras.utils.set_random_seed(0)
    ids = keras.Input(batch_shape=(1, None), dtype="int32", name="ids")
    hidden = keras.layers.Embedding(9, 8, name="embedding")(ids)
    hidden = SparseLSTM(6, 2, 0.5, return_sequences=True, stateful=True, name="sparse")(hidden)
    hidden = keras.layers.GRU(4, return_sequences=True, stateful=True, name="gru")(hidden)
    model = keras.Model(ids, keras.layers.Dense(9, name="logits")(hidden))
    expected = model(IDS)[0]
    stepping = export.with_states(model)
    file = Interpreter(export.convert(stepping, "float32"))
    states = {name: np.zeros((1, 4 if "gru" in name else 6), np.float32) for name in file.inputs}
    assert sorted(file.inputs) == ["gru_state_0", "ids", "sparse_state_0", "sparse_state_1"]
    for time, logits in enumerate(expected):
        outputs = file.run({**states, "ids": IDS[:, time : time + 1]})
        np.testing.assert_allclose(outputs.pop("logits")[0, 0], logits, atol=1e-5)
        states = outputs


@pytest.mark.slow
def test_steps_with_kernels_of_int8():
    """Rounded as the frozen model is, and carried from one word to the next."""
    model = tagger(keras.layers.LSTM(16, return_sequences=True))
    stepping = export.with_states(model)
    file = Interpreter(export.convert(stepping, "int8"))
    assert "DEQUANTIZE" in tools.inspect(file.data).operators
    expected = export.freeze(model, "int8").model(IDS)[0]
    states = {name: np.zeros((1, 16), np.float32) for name in file.inputs if name != "ids"}
    for time, tags in enumerate(expected):
        outputs = file.run({**states, "ids": IDS[:, time : time + 1]})
        np.testing.assert_allclose(outputs.pop("tags")[0, 0], tags, atol=1e-5)
        states = outputs


@pytest.mark.slow  # a language model steps above, in a file
def test_a_sequential_model_steps():
    model = stack()
    stepping = export.with_states(model)
    _, *names = (one.name for one in stepping.inputs)
    states = {name: np.zeros((1, 6), np.float32) for name in names}
    for time in range(IDS.shape[1]):
        states = stepping([IDS[:, time : time + 1], *(states[name] for name in names)])
        states = {name: np.asarray(one) for name, one in states.items()}
        outputs = states.pop("sparse")[:, 0]
        np.testing.assert_allclose(outputs, model(IDS)[:, time], atol=1e-6)


def stack():
    embedding = keras.layers.Embedding(9, 8)
    sparse = SparseLSTM(6, 2, 0.5, return_sequences=True, name="sparse")
    return keras.Sequential([keras.Input((None,), dtype="int32", name="ids"), embedding, sparse])


@pytest.mark.slow
def test_a_sequential_model_steps_through_several_texts():
    """One step of a sparse layer has no loop, so that its file takes any number of texts."""
    model = stack()
    data = export.convert(export.with_states(model), "float32", batch_size=None)
    file = Interpreter(data)
    texts = np.concatenate([IDS, IDS[:, ::-1], IDS + 1])
    states = {name: np.zeros((3, 6), np.float32) for name in file.inputs if name != "ids"}
    for time in range(IDS.shape[1]):
        states = file.run({**states, "ids": texts[:, time : time + 1]})
        outputs = states.pop("sparse")[:, 0]
        np.testing.assert_allclose(outputs, model(texts)[:, time], atol=1e-5)


def test_refuses_models_that_cannot_be_stepped():
    backward = tagger(keras.layers.Bidirectional(keras.layers.LSTM(2, return_sequences=True)))
    none = models.mean_classifier(keras.layers.Embedding(9, 4), 3)
    for model in (backward, none):
        with pytest.raises(ValueError, match="must have recurrent layers that all read"):
            export.with_states(model)
    with pytest.raises(ValueError, match="`model` must be a functional or Sequential model"):
        export.with_states(keras.Sequential([keras.layers.LSTM(2)]))
