"""Starts at the model of all words: axes by scikit-learn, logits, what a training begins at."""

import keras
import numpy as np
import pytest
from sklearn.decomposition import PCA

from kerascompact.search import training
from kerascompact.search.building import build
from kerascompact.search.setting import Setting
from kerascompact.search.starts import Start, start_at
from kerascompact.search.task import Task
from kerascompact.search.tokens import Tokens
from kerascompact.search.training import words_of
from kerascompact.search.worker import Worker
from kerascompact.text import Vocabulary
from tiny_task import dataset

RANDOM = np.random.default_rng(0)
EVERY = Vocabulary([f"w{number}" for number in range(30)])
TABLE = RANDOM.normal(size=(32, 6)) * [5, 4, 3, 2, 1, 1]
TOKENS = Tokens(EVERY, np.zeros((0, 1), np.int32), np.ones(32))
FEW = Vocabulary(["w7", "w2", "w29"])
ROWS = TABLE[[0, 1, 9, 4, 31]]
WHOLE = Start(TABLE, RANDOM.normal(size=(6, 3)), RANDOM.normal(size=3))


def start_table(setting, vocabulary, tokens, table, seed=0):
    return start_at(setting, vocabulary, tokens, Start(table), seed).table


def test_narrow_tables_have_the_principal_axes():
    found = start_table(Setting(5, 2), FEW, TOKENS, TABLE)
    wanted = PCA(2).fit(ROWS)
    apart = found - found.mean(axis=0)
    centred = wanted.transform(ROWS)
    np.testing.assert_allclose(np.abs(apart), np.abs(centred), atol=1e-5)
    assert found.dtype == np.float32


def test_wide_tables_keep_all_distances_and_draw_the_rest():
    found = start_table(Setting(5, 9), FEW, TOKENS, TABLE, seed=1)
    own, drawn = found[:, :5], found[:, 5:]  # five rows span five axes at most
    distances = [np.linalg.norm(rows[:, None] - rows[None], axis=2) for rows in (own, ROWS)]
    np.testing.assert_allclose(*distances, atol=1e-4)
    assert drawn.shape == (5, 4) and 0.4 < drawn.std() / own.std() < 1.6
    assert not np.array_equal(found, start_table(Setting(5, 9), FEW, TOKENS, TABLE, seed=2))


def test_a_weighted_mean_starts_with_equal_weights():
    found = start_table(Setting(5, 3, model="weighted"), FEW, TOKENS, TABLE)
    np.testing.assert_array_equal(found[:, :2], start_table(Setting(5, 2), FEW, TOKENS, TABLE))
    assert not found[:, 2].any()


@pytest.mark.parametrize("model", ["mean", "weighted", "mean_and_max", "cnn"])
def test_logits_of_means_are_those_of_the_model(model):
    setting = Setting(5, 8, model=model, units=4, filter_sizes=(1,), dropout=0.0)
    start = start_at(setting, FEW, TOKENS, WHOLE)
    made = build(setting._replace(options=(("weights", start.table),)), 5, 3)
    start.set_head(made, setting)
    ids = np.array([[2, 3, 4, 4], [3, 1, 0, 0]])
    means = np.stack([ROWS[[2, 3, 4, 4]].mean(axis=0), ROWS[[3, 1]].mean(axis=0)])
    wanted = keras.ops.softmax(means @ WHOLE.kernel + WHOLE.bias)
    found = made.predict_on_batch(ids)
    assert np.allclose(found, wanted, atol=1e-5) == (model in ("mean", "weighted"))


def test_axes_that_are_left_out_move_the_bias():
    far = ROWS + 100 * np.linalg.svd(ROWS - ROWS.mean(axis=0))[2][-1]  # the same for every word
    whole = Start(np.zeros_like(TABLE), WHOLE.kernel, WHOLE.bias)
    whole.table[[0, 1, 9, 4, 31]] = far
    start = start_at(Setting(5, 5), FEW, TOKENS, whole)
    found = start.table[2:] @ start.kernel + start.bias
    np.testing.assert_allclose(found, far[2:] @ WHOLE.kernel + WHOLE.bias, atol=1e-2)


class BegunError(Exception):
    """Ends a training before its first step, which would have to be traced."""


class First(keras.callbacks.Callback):
    """Keeps the table that a training begins with, and ends it."""

    def on_train_begin(self, logs=None):
        self.kernel = self.model.layers[-1].kernel.numpy()
        self.table = self.model.get_layer("embedding").embeddings.numpy()
        raise BegunError


@pytest.mark.few(1)
@pytest.mark.parametrize("stored", ["slots", "fingerprints"])
def test_a_training_begins_there(stored, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "LEAST", 100)
    data = dataset(60)
    texts = [*data.train.texts, *data.dev.texts]
    labels = np.concatenate([data.train.labels, data.dev.labels])
    names = tuple(data.label_names)
    Task("tiny", (32_000,), names, len(data.train.texts), "accuracy", 0, False, "", "").save(
        tmp_path, texts, labels
    )
    worker, first = Worker(tmp_path), First()
    setting = Setting(12, 4, stored=stored, start="full", epochs=1)
    settings = worker.guides.settings
    settings["words"] = settings["words"]._replace(epochs=1)
    whole = worker.guides.whole(setting.rules)
    tokens = worker.corpus.tokens(setting.rules)
    vocabulary = words_of(worker.corpus, setting, whole.table)
    with pytest.raises(BegunError):
        worker.train(setting, vocabulary, 0, 0, first)
    wanted = start_at(setting, vocabulary, tokens, whole, worker.task.seed)
    np.testing.assert_array_equal(first.table, wanted.table)
    np.testing.assert_array_equal(first.kernel, wanted.kernel)
    with pytest.raises(BegunError):
        worker.train(setting._replace(start="random"), vocabulary, 0, 0, first)
    assert np.abs(first.table).max() <= 0.1
