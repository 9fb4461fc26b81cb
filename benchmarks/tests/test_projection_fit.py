"""A projection fitted to a small table, and trained further."""

import sys

import keras
import numpy as np
import pytest

from benchmarks.data.wikipedia import Words, encode
from benchmarks.data.word_similarity import NAMES, Judged
from benchmarks.projections import projection_fit, skip_gram_runs, word_similarity
from benchmarks.projections.projection_fit import Spec, fitted, run, table
from benchmarks.projections.word_similarity import PAPER
from kerascompact import models

fit_projection = sys.modules[models.fit_projection.__module__]  # the function has its name

WORDS = ("the", "of", "king", "queen", "city", "town", "reign", "one", "two", "three", "zero", "w")
COUNTS = np.array([400, 100, *[16] * 10])
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)
SMALL = Spec(hidden=64, epochs=2, batch_size=32, learning_rate=1e-2)


@pytest.fixture(autouse=True)
def short_epochs(monkeypatch):
    monkeypatch.setattr(fit_projection, "_STEPS", 75)


def test_a_fitted_projection_goes_on_by_skip_gram(monkeypatch, tmp_path):
    random = np.random.default_rng(0)
    texts = [[word.encode() for word in random.choice(WORDS[2:7], 20)] for _ in range(20)]
    corpus, tiny = encode(texts, 100), dict(threshold=1.0, batch_size=128, width=4, chunk=1000)
    teacher = word_similarity.SG._replace(epochs=1, **tiny)
    monkeypatch.setitem(word_similarity.RUNS, "SG", teacher)
    monkeypatch.setattr(word_similarity, "NP_SG", word_similarity.NP_SG._replace(**tiny))
    layer, _ = skip_gram_runs.train(teacher, corpus, tmp_path)
    table = np.asarray(layer.embeddings)
    began = []
    build = skip_gram_runs.build

    def built(*arguments):
        began.append(build(*arguments))
        return began[-1]

    monkeypatch.setattr(skip_gram_runs, "build", built)
    spec = SMALL._replace(tuned=1, tuning_rate=1e-12, lengths=True)
    embedding, measured = projection_fit.tuned(spec, corpus, table, tmp_path)
    assert len(measured["loss_by_epoch"]) == 1
    fit = fitted(spec, corpus.words, corpus.counts, table)
    np.testing.assert_allclose(embedding.dense[0].kernel, fit.dense[0].kernel, atol=1e-6)
    # products with contexts are what they are with the table's vectors
    contexts = np.load(teacher.folder(tmp_path) / skip_gram_runs.CONTEXTS)
    scale = np.linalg.norm(table, axis=1).mean() / 2.0
    np.testing.assert_allclose(began[0].contexts, contexts * scale, rtol=1e-4, atol=1e-8)
    changes = {"misspelt": 0.4, "cosine_weight": 0.01}
    assert projection_fit._afterwards({**spec._asdict(), **changes}) == (
        "1 epochs, cosine loss, 40% misspelt"
    )
    again, _ = projection_fit.tuned(spec, corpus, table, tmp_path)  # read, not trained
    assert len(began) == 1
    np.testing.assert_array_equal(again.vectors(["king"]), embedding.vectors(["king"]))


def test_rows_and_their_table(monkeypatch, tmp_path):
    known = keras.layers.Embedding(len(WORDS), 4)
    known.build()
    known.set_weights([TABLE])
    monkeypatch.setattr(projection_fit.skip_gram_runs, "load", lambda spec, work: known)
    pairs = (["king", "king", "city", "one", "unseen"], ["queen", "city", "town", "zero", "king"])
    judged = {name: Judged(name, *pairs, np.array([9.0, 1.0, 8.0, 5.0, 2.0])) for name in NAMES}
    corpus = Words(WORDS, COUNTS, np.zeros(0, np.int32), np.zeros(0, np.int32), 0)
    row = run(SMALL, corpus, judged, tmp_path)
    assert run(SMALL, corpus, judged, tmp_path) == row  # kept
    assert set(row["neighbours"]) == set(word_similarity.WORDS)
    assert set(row["neighbours"]["kingg"]) <= set(WORDS)
    assert row["parameters"] == 1121 * 64 + 65 * 4 + 2 * 4  # and the norm's
    assert set(PAPER) <= set(row["known"]) == set(row["all"]) == set(row["table"])
    cells = [cell.strip() for cell in table([row]).splitlines()[-1].split("|")]
    assert cells[1:7] == ["64", "1 to 3", "alike", "-", f"{row['parameters']:,}", "1"]
    assert float(cells[8]) == round(row["known"][PAPER[0]] / row["table"][PAPER[0]], 2)
