"""Unseen misspellings: which, how they are counted, and runs of both kinds on a made-up text."""

import json
import sys

import numpy as np
import pytest

from benchmarks.data.wikipedia import encode
from benchmarks.data.word_similarity import NAMES, Judged
from benchmarks.projections import misspelt_words, projection_fit, skip_gram_runs, word_similarity
from benchmarks.projections.skip_gram_runs import Spec
from kerascompact import models
from kerascompact.text.perturb import misspellings

WORDS = [
    f"{first}{second}{third}"
    for first in ("ba", "ce", "di", "fo")
    for second in ("gu", "ha", "je")
    for third in ("ki", "lo", "mu", "na")
]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(misspelt_words, "ASKED", 20)
    monkeypatch.setattr(misspelt_words, "BETWEEN", (4, 40))
    fit = sys.modules[models.fit_projection.__module__]  # the function has its name
    monkeypatch.setattr(fit, "_STEPS", 40)


def test_misspellings_are_unseen_and_of_words_between_the_ranks():
    right, wrong = misspelt_words.unseen(WORDS)
    assert len(right) == len(set(right)) == len(wrong) == 20
    assert set(right) <= set(WORDS[4:40]) and right != WORDS[4:24]
    seen = set(WORDS).union(*misspellings(WORDS, misspelt_words.VARIANTS, seed=0))
    assert not seen & set(wrong)
    lengths = [len(b) - len(a) for a, b in zip(right, wrong, strict=True)]
    assert set(lengths) == {0, 1}  # swapped, inserted or typed twice
    assert misspelt_words.unseen(WORDS) == (right, wrong)
    assert misspelt_words.unseen(WORDS, seed=1)[1] != wrong


def test_retrieval_by_hand():
    angles = dict(zip(WORDS, np.linspace(0, 6, len(WORDS)), strict=True))
    # the first is nearest to its word, the second to its neighbour, the third far away
    angles |= {"x": angles[WORDS[7]] + 0.01, "y": angles[WORDS[9]] + 0.1, "z": angles[WORDS[30]]}

    def vectors(words):
        return 3 * np.array([(np.cos(angles[word]), np.sin(angles[word])) for word in words])

    meant = [WORDS[7], WORDS[9], WORDS[20]]
    right = misspelt_words.find(vectors, WORDS, meant, meant)
    found = misspelt_words.find(vectors, WORDS, meant, ["x", "y", "z"])
    assert found.shares() == {"first": 0.3333, "ten": 0.6667}
    assert right.shares() == {"first": 1.0, "ten": 1.0}
    near = [{*range(2, 7), *range(8, 13)}, {*range(4, 9), *range(10, 15)}]
    assert [set(row) for row in right.nearest(10)[:2]] == near
    # of "y" and "z" the nearest ten are 5 to 15 but 9, and 25 to 35 but one of the two
    assert right.shared(right.nearest(10)) == 1.0
    assert found.shared(right.nearest(10)) == pytest.approx((10 + 9 + 1) / 30, abs=0.04)


TINY = dict(threshold=1.0, batch_size=256, width=8, shared_noise=16, output=0.1, epochs=1)
FIT = projection_fit.Spec(hidden=32, epochs=2, batch_size=64, fit_misspelt=0.4, tokens=9000)
SCRATCH = Spec("np_sg", hidden=16, misspelt=0.4, own_spelling=True, variants=2, **TINY)


def test_runs_of_both_kinds(monkeypatch, tmp_path):
    random = np.random.default_rng(0)
    texts = [[w.encode() for w in random.choice(WORDS, 20)] for _ in range(60)]
    corpus = encode(texts, 100)
    pairs = (WORDS[:4], WORDS[4:8], np.array([9.0, 1.0, 8.0, 5.0]))
    judged = {name: Judged(name, *pairs) for name in NAMES}
    table = Spec("sg", **TINY)
    monkeypatch.setitem(word_similarity.RUNS, "SG", table)
    monkeypatch.setattr(misspelt_words, "TABLE", projection_fit.teacher(FIT))
    monkeypatch.setattr(misspelt_words, "KIN", 11)
    wrong = misspelt_words.unseen(corpus.words)
    rows = [
        misspelt_words.run(spec, corpus, judged, wrong, tmp_path)
        for spec in (SCRATCH, FIT, FIT._replace(fit_misspelt=0.0), SCRATCH._replace(epochs=0))
    ]
    assert (projection_fit.teacher(FIT).folder(tmp_path) / skip_gram_runs.TRAINED).exists()
    assert all(0 <= share <= 1 for row in rows for share in row["meaning"].values())
    assert all(0 <= row["retrieval"]["first"] <= row["retrieval"]["ten"] <= 1 for row in rows)
    assert rows[1]["asked"] == 20 and rows[1]["retrieval"] != rows[2]["retrieval"]
    assert json.loads(json.dumps(rows)) == rows
    lines = misspelt_words.table(rows).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    lines = lines[2:]
    assert lines[0].startswith(
        "| skip-gram from scratch, n-grams of 1 to 3, cosine loss | 40%, of 2 each, by pair |"
    )
    assert lines[1].startswith("| from a table's vectors, n-grams of 1 to 3 | 40%, anew |")
    assert "n-grams of 1 to 3 | - |" in lines[2]
    assert lines[3].startswith("| not trained, n-grams of 1 to 3 | - |")


def test_every_run_has_a_name_of_its_own():
    names = [
        (misspelt_words.label(s), misspelt_words.misspelt_in_training(s), s["hidden"], s["epochs"])
        for s in (spec._asdict() for spec in misspelt_words.SPECS)
    ]
    assert len(set(names)) == len(names)
    assert all(spec.tokens == misspelt_words.TOKENS for spec in misspelt_words.SPECS)
    tuned = FIT._replace(tuned=2)._asdict()
    assert misspelt_words.label(tuned).endswith("n-grams of 1 to 3, epochs of skip-gram: 2")
