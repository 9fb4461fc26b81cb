"""Short texts, learned by heart or nearly."""

import argparse

import numpy as np
import pytest

from benchmarks.data.ptb import Corpus
from benchmarks.lib import results
from benchmarks.sparseness import memorisation
from benchmarks.sparseness.memorisation import KINDS, SPECS, Spec
from kerascompact.training import EpochDecay

TEXT = np.tile(np.random.default_rng(0).permutation(31)[:12], 8)[:90].astype(np.int32)
CORPUS = Corpus("letters", tuple(map(str, range(31))), TEXT, TEXT, TEXT, "made up")
SMALL = Spec("dense", 2, width=20, units=32, tokens=80, epochs=2, rate=1.0, batch_size=2, steps=5)


@pytest.mark.parametrize("kind", KINDS)
def test_models_of_a_part_have_equal_parameters(kind):
    for part in (2, 3):  # a tenth of the paper's 400 and 1150
        spec, dense = Spec(kind, part, 40, 114), Spec("dense", part, 40, 114)
        model, other = (memorisation.build(one, 300, None) for one in (spec, dense))
        units = sum(layer.units for layer in model.layers if hasattr(layer, "units"))
        assert units == (114 // part) * 2 + 40 // part or kind != "dense"
        # windows and, at the third, widths are rounded to whole inputs
        assert model.count_params() == pytest.approx(other.count_params(), rel=0.02)


def test_words_are_those_of_the_cut_in_the_order_of_frequency():
    ids, words = memorisation.text(SMALL, CORPUS)
    assert len(ids) == 80 and words == len(np.unique(TEXT[:80]))
    counts = np.bincount(ids)
    assert (np.diff(counts) <= 0).all() and counts[0] > counts[-1]
    pairs = set(zip(ids.tolist(), TEXT[:80].tolist(), strict=True))
    assert len(pairs) == words


def test_the_rate_rises_and_then_is_that_of_the_schedule():
    schedule = EpochDecay(10.0, 0.5, 1, 4)
    rates = [float(memorisation.WarmUp(schedule, 5)(step)) for step in range(9)]
    assert rates == pytest.approx([2, 4, 6, 8, 5, 5, 5, 5, 2.5])  # 4 of 5 parts of 10, then 5
    cold = [float(memorisation.WarmUp(schedule, 0)(step)) for step in range(9)]
    assert cold == [float(schedule(step)) for step in range(9)]


@pytest.mark.slow
def test_a_killed_run_goes_on_and_recites(tmp_path):
    spec = SMALL._replace(kind="sparse embedding", epochs=1)
    memorisation.run(spec, CORPUS, tmp_path, verbose=0)
    row = memorisation.run(spec._replace(epochs=4), CORPUS, tmp_path, verbose=0)
    assert len(row["by_epoch"]) == 4 and len(row["segments"]) == 3
    assert row["accuracy"] == pytest.approx(max(row["by_epoch"]), abs=1e-4)
    assert row["perplexity"] < row["words"] == 12  # better than a guess


def test_the_benchmark_keeps_rows(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))
    monkeypatch.setitem(SPECS, "memorisation", [SMALL._replace(kind="sparse")])
    monkeypatch.setattr(memorisation.ptb, "load", lambda data: CORPUS)
    arguments = argparse.Namespace(data=None, seeds=None, epochs=1, work=str(tmp_path), verbose=0)
    rows = memorisation.benchmark("memorisation", arguments)
    monkeypatch.setattr(memorisation, "run", None)
    assert memorisation.benchmark("memorisation", arguments) == rows == results.rows("memorisation")
    assert "| sparse | 10 | 1 | 32 |" in memorisation.table(rows)
