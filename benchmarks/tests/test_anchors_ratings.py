"""Ratings: measures against NumPy loops, budgets that are kept, a run of a few steps."""

import argparse
import math

import numpy as np
import pytest

from benchmarks.anchors import anchors_ratings
from benchmarks.anchors.anchors_ratings import SEEDS, SIZES, TRIALS, Spec, ndcg, picks, rmse
from benchmarks.data import ratings
from benchmarks.lib import results

SMALL = ratings.synthetic(60, 40, 4, 12, test=0.2)


def test_measures_are_their_formulas():
    split = ratings.Rated(np.array([0, 0, 0, 1]), np.arange(4), np.array([5.0, 1.0, 3.0, 2.0]))
    guess = np.array([2.0, 4.0, 3.0, 9.0])  # user 0 gets the items in the order 1, 2, 0
    assert rmse(guess, split) == pytest.approx(math.sqrt((9 + 9 + 0 + 49) / 4))
    gained = (2**1 - 1) / math.log2(2) + (2**3 - 1) / math.log2(3) + (2**5 - 1) / math.log2(4)
    best = (2**5 - 1) / math.log2(2) + (2**3 - 1) / math.log2(3) + (2**1 - 1) / math.log2(4)
    assert ndcg(guess, split) == pytest.approx((gained / best + 1) / 2)


@pytest.mark.parametrize(
    ("method", "smaller"), [("standard", 1), *((name, 4) for name in ("anchors", "hashed"))]
)
def test_a_run_keeps_its_budget(method, smaller, monkeypatch):
    monkeypatch.setattr(anchors_ratings, "ROWS_PER_ANCHOR", {4: 20})
    spec = Spec(method, smaller, TRIALS[method][-1], 2e-2, epochs=2)
    row = anchors_ratings.run(spec, SMALL)
    assert row["full"] == 100 * anchors_ratings.WIDTH
    assert 0 < row["numbers"] <= row["full"] / smaller
    assert 0 < row["test_rmse"] < 3 and 0 < row["test_ndcg"] <= 1
    assert row["stored_bits"] >= 32 * row["numbers"] or method == "anchors"
    again = anchors_ratings.run(spec, SMALL, test=False)
    assert again["dev_rmse"] == row["dev_rmse"] and "test_rmse" not in again


def test_every_method_has_as_many_trials_and_the_best_on_dev_is_taken(tmp_path, monkeypatch):
    trials = {}
    for spec in anchors_ratings.TRIED:
        trials[spec.method, spec.smaller] = trials.get((spec.method, spec.smaller), 0) + 1
    assert set(trials.values()) == {8}
    assert {smaller for method, smaller in trials if method != "standard"} == set(SIZES)
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))

    def run(spec, data, test, verbose):
        error = 1 + spec.learning_rate
        return {
            "spec": spec._asdict(), "numbers": 9, "stored_bits": 9, "full": 9, "dev_rmse": error,
            **({"test_rmse": error, "test_ndcg": 0.5} if test else {}),
        }  # fmt: skip

    monkeypatch.setattr(anchors_ratings, "run", run)
    arguments = argparse.Namespace(seeds=None, verbose=0)
    rows = anchors_ratings.benchmark("ant_ratings", arguments)
    assert len(rows) == 7 * len(SEEDS) and {r["spec"]["learning_rate"] for r in rows} == {5e-3}


def test_committed_rows_are_of_the_picks():
    wanted = [
        spec._replace(seed=s) for s in SEEDS for spec in picks(results.rows("ant_ratings_dev"))
    ]
    found = [results.find("ant_ratings", spec._asdict()) for spec in wanted]
    assert None not in found and len(found) == len(results.rows("ant_ratings"))
