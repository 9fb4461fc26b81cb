"""Live models that look up in forms for a while, and are given back."""

import copy
import threading

import keras
import numpy as np
import pytest

from export_models import Subclassed
from kerascompact.export.embedding_forms import as_form
from kerascompact.export.lending import lent
from kerascompact.export.recipe import resolve
from kerascompact.layers import LowRankEmbedding

IDS = np.array([[1, 2, 3, 4]])


class Closure(keras.Model):
    """Reaches its embedding through a function."""

    def __init__(self, embedding):
        super().__init__()
        self.kept, self.look = [embedding], lambda ids: embedding(ids)

    def call(self, ids):
        return keras.ops.mean(self.look(ids), axis=1)


def made(kind=Subclassed, layer=None):
    layer = layer or LowRankEmbedding(9, 4, rank=2)
    model = kind(layer)
    model(IDS)
    return model, layer, as_form(layer, resolve("int8_tables"))


@pytest.mark.parametrize("kind", [Subclassed, Closure])
def test_why_it_is_no_copy(kind):
    model, _, _ = made(kind)
    for another in (copy.deepcopy, lambda model: type(model).from_config(model.get_config())):
        with pytest.raises(NotImplementedError, match="must override `get_config"):
            another(model)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [Subclassed, Closure])
@pytest.mark.parametrize("stock", [False, True])
def test_looks_up_in_the_form_and_is_given_back(kind, stock):
    model, layer, form = made(kind, keras.layers.Embedding(9, 4) if stock else None)
    before = model.predict(IDS, verbose=0)
    with lent(model, [(layer, form)]):
        np.testing.assert_array_equal(layer(IDS), form(IDS))
        assert np.abs(model.predict(IDS, verbose=0) - before).max() > 0
    assert "call" not in vars(layer)
    np.testing.assert_array_equal(model.predict(IDS, verbose=0), before)


def test_one_block_inside_another():
    model, layer, form = made()
    other = as_form(layer, resolve("float32"))
    with lent(model, [(layer, form)]):
        with lent(model, [(layer, other)]):
            np.testing.assert_array_equal(layer(IDS), other(IDS))
        np.testing.assert_array_equal(layer(IDS), form(IDS))
    assert "call" not in vars(layer)


def test_a_layer_that_has_a_call_of_its_own_keeps_it():
    model, layer, form = made()
    layer.call = own = lambda inputs, training=None, reverse=False: keras.ops.zeros((1, 4, 4))
    with pytest.raises(KeyError, match="mine"), lent(model, [(layer, form)]):
        raise KeyError("mine")
    assert layer.call is own


def test_refuses_to_train_and_trains_afterwards():
    model, layer, form = made()
    model.compile("sgd", "mse", run_eagerly=True)
    target = np.ones((1, *model(IDS).shape[1:]))
    with lent(model, [(layer, form)]):
        for train in (model.fit, model.train_on_batch):
            with pytest.raises(ValueError, match="must not train while it is lent"):
                train(IDS, target)
    before = layer.get_weights()
    model.train_on_batch(IDS, target)
    assert any(np.any(old != new) for old, new in zip(before, layer.get_weights(), strict=True))


def test_a_callback_may_lend_the_model_that_trains():
    model, layer, form = made()
    model.compile("sgd", "mse", jit_compile=False)
    found = []

    class Export(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            with lent(model, [(layer, form)]):
                found.append(layer(IDS))

    target = np.ones((4, *model(IDS).shape[1:]))
    model.fit(np.repeat(IDS, 4, 0), target, batch_size=1, verbose=0, callbacks=[Export()])
    assert len(found) == 4
    for vectors in found:
        np.testing.assert_array_equal(vectors, form(IDS))
    assert np.abs(layer(IDS) - found[0]).max() > 1e-4  # trained on


def test_other_threads_wait():
    model, layer, form = made()
    entered = threading.Event()

    def enter():
        with lent(model, [(layer, form)]):
            entered.set()

    thread = threading.Thread(target=enter)
    with lent(model, [(layer, form)]):
        thread.start()
        assert not entered.wait(0.2)
    thread.join(10)
    assert entered.is_set() and "call" not in vars(layer)
