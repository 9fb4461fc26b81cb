"""A projection fitted to a small table."""

import keras
import numpy as np
import pytest

from kerascompact.benchmarks import projection_fit
from kerascompact.benchmarks.projection_fit import Drawn, Spec, fitted, run, table
from kerascompact.benchmarks.word_similarity import PAPER
from kerascompact.datasets.wikipedia import Words
from kerascompact.datasets.word_similarity import NAMES, Judged

WORDS = ("the", "of", "king", "queen", "city", "town", "reign", "one", "two", "three", "zero", "w")
COUNTS = np.array([400, 100, *[16] * 10])
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)
SMALL = Spec(hidden=64, epochs=2, batch_size=32, learning_rate=1e-2)


@pytest.fixture(autouse=True)
def short_epochs(monkeypatch):
    monkeypatch.setattr(projection_fit, "STEPS", 75)


def test_vectors_get_the_directions_of_the_table():
    vectors = fitted(SMALL, WORDS, COUNTS, TABLE).vectors(WORDS)
    cosines = np.sum(vectors * TABLE, axis=1) / np.linalg.norm(vectors, axis=1)
    assert np.all(cosines / np.linalg.norm(TABLE, axis=1) > 0.9)


def test_words_are_drawn_by_a_power_of_their_counts():
    shares = np.cumsum(COUNTS**0.5)
    drawn = Drawn(SMALL._replace(batch_size=20_000), shares / shares[-1], TABLE)
    ids, vectors = drawn[3]
    assert ids.dtype == np.int32 and len(drawn) == 75
    np.testing.assert_array_equal(vectors, TABLE[ids])
    found = np.bincount(ids, minlength=len(WORDS)) / len(ids)
    np.testing.assert_allclose(found, COUNTS**0.5 / shares[-1], atol=0.02)  # 5 deviations
    np.testing.assert_array_equal(ids, drawn[3][0])
    assert np.any(ids != drawn[4][0])
    drawn.on_epoch_end()
    assert np.any(ids != drawn[3][0])


def test_rows_and_their_table(monkeypatch):
    known = keras.layers.Embedding(len(WORDS), 4)
    known.build()
    known.set_weights([TABLE])
    monkeypatch.setattr(projection_fit.skip_gram_runs, "load", lambda spec, work: known)
    pairs = (["king", "king", "city", "one", "unseen"], ["queen", "city", "town", "zero", "king"])
    judged = {name: Judged(name, *pairs, np.array([9.0, 1.0, 8.0, 5.0, 2.0])) for name in NAMES}
    corpus = Words(WORDS, COUNTS, np.zeros(0, np.int32), np.zeros(0, np.int32), 0)
    row = run(SMALL, corpus, judged, None)
    assert row["parameters"] == 1121 * 64 + 65 * 4 + 2 * 4  # and the norm's
    assert set(PAPER) <= set(row["known"]) == set(row["all"]) == set(row["table"])
    cells = [cell.strip() for cell in table([row]).splitlines()[-1].split("|")]
    assert cells[1:5] == ["64", "3 to 6", f"{row['parameters']:,}", "1"]
    assert float(cells[6]) == round(row["known"][PAPER[0]] / row["table"][PAPER[0]], 2)
