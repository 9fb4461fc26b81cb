"""Tables that start at the model of all words: axes by scikit-learn, what a training begins at."""

import keras
import numpy as np
import pytest
from sklearn.decomposition import PCA

from kerascompact.search.setting import Setting
from kerascompact.search.starts import start_table
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


class First(keras.callbacks.Callback):
    """Keeps the table that a training begins with, and ends it."""

    def on_train_begin(self, logs=None):
        self.table = self.model.get_layer("embedding").embeddings.numpy()
        self.model.stop_training = True


@pytest.mark.parametrize("stored", ["slots", "fingerprints"])
def test_a_training_begins_there(stored, tmp_path):
    data = dataset()
    texts = [*data.train.texts, *data.dev.texts]
    labels = np.concatenate([data.train.labels, data.dev.labels])
    names = tuple(data.label_names)
    Task("tiny", (32_000,), names, len(data.train.texts), "accuracy", 0, False, "", "").save(
        tmp_path, texts, labels
    )
    worker, first = Worker(tmp_path), First()
    setting = Setting(12, 4, stored=stored, start="full", epochs=1)
    table = worker.guides.table(setting.rules)
    tokens = worker.corpus.tokens(setting.rules)
    vocabulary = words_of(worker.corpus, setting, table)
    worker.train(setting, vocabulary, 0, 0, first)
    np.testing.assert_array_equal(
        first.table, start_table(setting, vocabulary, tokens, table, worker.task.seed)
    )
    worker.train(setting._replace(start="random"), vocabulary, 0, 0, first)
    assert np.abs(first.table).max() <= 0.1
