"""Accuracy as words are misspelt, on made-up queries."""

import argparse

import pytest

from benchmarks.projections import misspelt
from benchmarks.projections.misspelt import SHARES, Encoder, Spec, misspelt_tokens
from kerascompact.text.vocabulary import Vocabulary
from made_up_questions import DATA

SMALL = dict(
    units=8, width=8, hidden=16, size=30, clusters=4, unique=8, length=6, epochs=3,
    batch_size=16, learning_rate=0.02,
)  # fmt: skip


def test_words_are_misspelt_and_all_else_is_kept():
    text = "please turn the 3 lights off , now !"
    assert misspelt_tokens([text], 0.0, 0, 20) == [text.split()]
    (found,) = misspelt_tokens([text] * 1, 1.0, 0, 20)
    for before, after in zip(text.split(), found, strict=True):
        assert (before == after) == (not before.isalpha()) or len(before) < 3
    assert misspelt_tokens([text], 0.5, 1, 20) != misspelt_tokens([text], 0.5, 2, 20)
    assert len(misspelt_tokens([text], 0.5, 1, 4)[0]) == 4


def test_ids_of_a_vocabulary_and_of_every_spelling():
    known = Encoder(Vocabulary(["turn", "up"]), 3)
    assert known([["turn", "tturn"], ["up"]]).tolist() == [[2, 1, 0], [3, 0, 0]]
    every = Encoder(None, 3)
    assert every([["turn", "tturn"], ["up", "turn"]]).tolist() == [[1, 2, 0], [3, 1, 0]]
    assert list(every.numbers) == ["", "turn", "tturn", "up"]


def test_the_benchmark(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))
    specs = [
        Spec("trec", method, share, **SMALL)
        for method, share in (("projection", 0.2), ("standard", 0.0), ("mixture", 0.0))
    ]
    monkeypatch.setattr(misspelt, "RUNS", specs)
    monkeypatch.setattr(misspelt.datasets, "load", lambda *_: DATA)
    arguments = argparse.Namespace(
        data=None, seeds=None, epochs=None, work=str(tmp_path / "work"), verbose=0
    )
    rows = misspelt.benchmark("misspelt", arguments)
    for row in rows:
        assert list(row["accuracy"]) == [f"{share:g}" for share in SHARES]
        assert row["accuracy"]["0"] > 0.7
    assert (tmp_path / "results" / "misspelt.png").read_bytes()[:4] == b"\x89PNG"
    table = misspelt.table(rows)
    assert "| ME |" in table and "| NP, trained on misspelt words |" in table


def test_runs():
    assert len(misspelt.RUNS) == 12 and len({spec.label for spec in misspelt.RUNS}) == 6
