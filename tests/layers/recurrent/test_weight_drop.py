import json

import keras
import numpy as np
import pytest

from kerascompact.layers import WeightDropGRU, WeightDropLSTM, WeightDropSimpleRNN

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def lstm(x, kernel, recurrent, bias):
    h = c = np.zeros((len(x), recurrent.shape[0]))
    for step in range(x.shape[1]):
        i, f, g, o = np.split(x[:, step] @ kernel + h @ recurrent + bias, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h


def test_a_training_step_has_one_mask_on_the_recurrent_kernel(monkeypatch):
    layer = WeightDropLSTM(6, weight_dropout=0.4, bias_initializer="normal")
    layer.build(X.shape)
    seen, dropout = [], keras.random.dropout
    monkeypatch.setattr(
        keras.random, "dropout", lambda *a, **k: seen.append(dropout(*a, **k)) or seen[-1]
    )
    found = layer(X, training=True)
    (dropped,) = seen
    kernel, recurrent, bias = layer.get_weights()
    kept = dropped.numpy() != 0
    np.testing.assert_allclose(dropped.numpy()[kept], recurrent[kept] / 0.6, rtol=1e-6)
    assert 0.2 < 1 - kept.mean() < 0.6  # 144 draws
    np.testing.assert_allclose(found, lstm(X, kernel, dropped.numpy(), bias), atol=1e-6)
    np.testing.assert_allclose(layer(X), lstm(X, kernel, recurrent, bias), atol=1e-6)
    assert len(seen) == 1  # none outside of training


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [WeightDropLSTM, WeightDropGRU, WeightDropSimpleRNN])
def test_gradients_reach_what_was_kept_and_steps_differ(kind):
    keras.utils.set_random_seed(0)
    layer = kind(4, weight_dropout=0.5)
    model = keras.Sequential([keras.Input(X.shape[1:]), layer])
    model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=True)
    before = layer.cell.recurrent_kernel.numpy()
    model.train_on_batch(X, np.ones((3, 4)))
    first = layer.cell.recurrent_kernel.numpy()
    moved = before != first
    assert 0.2 < moved.mean() < 0.8
    model.train_on_batch(X, np.ones((3, 4)))
    assert np.any(moved != (first != layer.cell.recurrent_kernel.numpy()))


def test_config():
    for kind in (WeightDropLSTM, WeightDropGRU, WeightDropSimpleRNN):
        layer = kind(4, weight_dropout=0.5, seed=3, return_sequences=True)
        again = kind.from_config(json.loads(json.dumps(layer.get_config())))
        assert again.get_config() == layer.get_config() and again.weight_dropout == 0.5
        assert again.cell.seed == 3  # Keras leaves that of a SimpleRNN out
    for rate in (1.0, -0.1):
        with pytest.raises(ValueError, match="`weight_dropout` must be"):
            WeightDropGRU(4, weight_dropout=rate)
