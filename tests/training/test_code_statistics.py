"""Collisions and changes against loops, and what a training logs."""

import collections
import time

import keras
import numpy as np
import pytest

from kerascompact.layers import ClusterEmbedding, CompositionalCodeEmbedding, DPQEmbedding
from kerascompact.training import CodeStatistics
from kerascompact.training.code_statistics import code_collisions, codes_changed

IDS = np.random.default_rng(0).integers(0, 20, (12, 4))


@pytest.mark.parametrize("high", [2, 4, 300, 70_000])
@pytest.mark.parametrize("length", [1, 3])
def test_collisions_against_a_loop(high, length):
    codes = np.random.default_rng(0).integers(0, high, (50, length))
    codes[40:] = codes[:10]
    times = collections.Counter(map(tuple, codes.tolist()))
    expected = sum(count for count in times.values() if count > 1) / 50
    assert code_collisions(codes) == expected >= 0.4
    assert code_collisions(np.arange(50)[:, None]) == 0


def test_changes_against_a_loop():
    random = np.random.default_rng(0)
    before, after = random.integers(0, 3, (2, 50, 4))
    entries = sum(
        b != a for x, y in zip(before, after, strict=True) for b, a in zip(x, y, strict=True)
    )
    words = sum(tuple(x) != tuple(y) for x, y in zip(before, after, strict=True))
    assert codes_changed(before, after) == (entries / 200, words / 50)
    assert codes_changed(before, before) == (0, 0)


class Scripted(keras.layers.Layer):
    """Codes that the test knows: another set each time they are read."""

    def __init__(self, script):
        super().__init__()
        self.script = iter(script)

    def codes(self):
        return np.array(next(self.script))

    def call(self, x):
        return x


def train(layers, epochs=1):
    model = keras.Sequential([keras.Input((4,), dtype="int32"), *layers])
    model.compile("sgd", "mse", run_eagerly=True)
    statistics = CodeStatistics()
    zeros = np.zeros(model(IDS).shape)
    history = model.fit(IDS, zeros, epochs=epochs, verbose=0, callbacks=[statistics]).history
    return statistics, history


def test_logs_what_each_epoch_has_changed():
    script = [[[0, 300], [1, 1]], [[0, 300], [1, 2]], [[1, 2], [1, 2]], [[1, 2], [1, 2]]]
    statistics, history = train([Scripted(script), keras.layers.Embedding(20, 2)], epochs=3)
    expected = {
        "code_collisions": [0.0, 1.0, 1.0],
        "codes_changed": [0.25, 0.5, 0.0],
        "words_changed": [0.5, 0.5, 0.0],
    }
    assert statistics.history == expected
    assert {name: history[name] for name in expected} == expected


@pytest.mark.few(1)
@pytest.mark.parametrize("layer", [DPQEmbedding, CompositionalCodeEmbedding])
def test_reads_the_codes_of_layers(layer):
    embedding = layer(**layer.EXAMPLE)
    statistics, history = train([embedding], epochs=2)
    assert set(statistics.history) == {"code_collisions", "codes_changed", "words_changed"}
    assert statistics.history["code_collisions"][-1] == code_collisions(embedding.codes())
    assert history["words_changed"] == statistics.history["words_changed"]


def test_names_the_layers_where_there_are_several():
    ids = keras.Input((4,), dtype="int32")
    layers = [DPQEmbedding(**DPQEmbedding.EXAMPLE, name=name) for name in ("one", "two")]
    inner = keras.Model(ids, layers[1](ids))  # wherever it sits
    model = keras.Model(ids, keras.layers.Concatenate()([layers[0](ids), inner(ids)]))
    model.compile("sgd", "mse", run_eagerly=True)
    statistics = CodeStatistics()
    model.fit(IDS, np.zeros((12, 4, 12)), verbose=0, callbacks=[statistics])
    numbers = ("code_collisions", "codes_changed", "words_changed")
    assert set(statistics.history) == {f"{name}/{of}" for name in ("one", "two") for of in numbers}


def test_goes_on_where_fit_is_called_again():
    coded = Scripted([[[0, 1]]] * 9)
    layers = [keras.Input((4,), dtype="int32"), coded, keras.layers.Embedding(20, 6)]
    model = keras.Sequential(layers)
    model.compile("sgd", "mse", run_eagerly=True)
    statistics = CodeStatistics()
    for _ in range(2):
        model.fit(IDS, np.zeros((12, 4, 6)), verbose=0, callbacks=[statistics])
    assert len(statistics.history["codes_changed"]) == 2


def test_begins_with_the_codes_that_a_later_callback_restores():
    coded = Scripted([[[9, 9]], [[0, 1]], [[0, 2]]])
    model = keras.Sequential(
        [keras.Input((4,), dtype="int32"), coded, keras.layers.Embedding(20, 6)]
    )
    model.compile("sgd", "mse", run_eagerly=True)
    statistics = CodeStatistics()
    restoring = keras.callbacks.LambdaCallback(on_train_begin=lambda logs: coded.codes())
    model.fit(IDS, np.zeros((12, 4, 6)), verbose=0, callbacks=[statistics, restoring])
    assert statistics.history["codes_changed"] == [0.5]


def test_refuses_a_model_without_codes():
    with pytest.raises(ValueError, match="must be used with a model that has coded embeddings"):
        train([ClusterEmbedding(20, 2, 3)])


def test_takes_the_papers_largest_vocabulary():
    codes = np.random.default_rng(0).integers(0, 32, (268_000, 32), dtype=np.int32)
    codes[1000:1500] = codes[:500]
    start = time.process_time()
    assert code_collisions(codes) == pytest.approx(1000 / 268_000)
    assert codes_changed(codes, codes + 1) == (1, 1)
    assert time.process_time() - start < 20  # it takes one
