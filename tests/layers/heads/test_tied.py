"""Projection, bias and embedding of a tied softmax, as ordinary layers of a model."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.layers import LowRankEmbedding, WordBias, tied_softmax
from kerascompact.models import language_model
from kerascompact.runtime.interpreter import Interpreter

IDS = np.array([[1, 2, 3], [4, 5, 0]])


def model(units=6, use_bias=True):
    ids = keras.Input((None,), dtype="int32", name="ids")
    embedding = LowRankEmbedding(20, 4, 2, name="words")
    hidden = keras.layers.Dense(units, "tanh", name="states")(embedding(ids))
    made = keras.Model(ids, tied_softmax(embedding, hidden, use_bias=use_bias))
    random = np.random.default_rng(1)
    made.set_weights([random.normal(size=weight.shape) for weight in made.weights])
    return made


def test_equals_the_formula():
    made = model()
    words = made.get_layer("words")
    hidden = keras.Model(made.input, made.get_layer("states").output).predict(IDS, verbose=0)
    projected = hidden @ made.get_layer("logits_projection").kernel.numpy()
    expected = projected @ (words.u.numpy() @ words.w.numpy()).T + made.get_layer("logits").bias
    np.testing.assert_allclose(made(IDS), expected, atol=1e-5)


def test_has_only_the_layers_that_it_needs():
    names = [layer.name for layer in model(units=4, use_bias=False).layers]
    assert names == ["ids", "words", "states"]
    assert [layer.name for layer in model().layers][3:] == ["logits_projection", "logits"]


def test_lives_through_files_clones_freezing_and_conversion(tmp_path):
    made = model()
    expected = made(IDS)
    made.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(keras.models.load_model(tmp_path / "model.keras")(IDS), expected)
    frozen = export.freeze(made, "float32")
    np.testing.assert_allclose(frozen.model(IDS), expected, atol=1e-5)
    assert [layer.name for layer in frozen.model.layers] == [layer.name for layer in made.layers]
    file = frozen.convert()
    assert frozen.verify(IDS, tolerance=1e-5).agreement == 1.0
    assert Interpreter(file).outputs.keys() == {"logits"}


def test_is_a_head_of_the_language_model():
    embedding = LowRankEmbedding(20, 4, 2)
    lm = language_model(embedding, 20, 5, head=lambda hidden: tied_softmax(embedding, hidden))
    assert lm.output_shape == (None, None, 20)
    assert [layer for layer in lm.layers if layer is embedding] == [embedding]


def test_refuses_what_has_no_reverse():
    hidden = keras.Input((None, 4))
    for bad in (keras.layers.Embedding(20, 4), keras.layers.Dense(4), None):
        with pytest.raises(ValueError, match="`embedding` must be an embedding that can be called"):
            tied_softmax(bad, hidden)
    with pytest.raises(ValueError, match="`use_bias` must be True or False"):
        tied_softmax(LowRankEmbedding(20, 4, 2), hidden, use_bias=1)


def test_a_bias_from_its_config():
    copy = WordBias.from_config(WordBias(bias_initializer="ones", name="b").get_config())
    assert copy.name == "b"
    np.testing.assert_array_equal(copy(np.zeros((1, 2))), [[1.0, 1.0]])
