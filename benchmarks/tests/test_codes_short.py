"""The benchmark of codes in a short training, on a few made-up questions; slow: on CLINC150."""

import argparse
from statistics import mean

import pytest

from benchmarks.kd_codes import codes_short
from benchmarks.lib import results
from kerascompact import datasets
from kerascompact.tasks.classification import encode
from made_up_questions import DATA

SMALL = {"size": 20, "length": 6, "width": 8, "epochs": 4, "batch_size": 16, "learning_rate": 0.03}
CODES = {"cardinality": 4, "code_length": 4}


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(codes_short.datasets, "load", lambda *_: DATA)
    whole = codes_short.spec_of

    def spec_of(arm):
        spec = whole(arm)
        options = {**spec.options, **{key: CODES[key] for key in CODES if key in spec.options}}
        return spec._replace(options=options, **{**SMALL, "epochs": 4 if spec.epochs else 0})

    monkeypatch.setattr(codes_short, "spec_of", spec_of)


def arguments(**changes):
    given = dict(data=None, seeds=None, epochs=None, verbose=0)
    return argparse.Namespace(**{**given, **changes})


def test_every_arm_has_a_row_and_its_line():
    rows = codes_short.benchmark("codes_short", arguments(seeds=[0]))
    lines = codes_short.table(rows[::-1]).splitlines()
    assert [line.split(" | ")[0][2:] for line in lines[2:]] == [*codes_short.ARMS]
    found = {row["label"]: row for row in rows}
    codes = 18 * 4 * 2  # V D log2 K
    assert found["DPQ-SX"]["paper_bits"] == codes + 32 * 4 * 8
    assert found["KD"]["paper_bits"] == codes + 32 * 4 * 4 * 8
    assert found["PQ, not trained on"]["train_seconds"] < found["SE"]["train_seconds"]
    assert found["PQ, not trained on"]["test_accuracy"] > 0.7  # of the trained table
    assert found["DPQ-VQ, begun at PQ"]["test_accuracy"] > 0.7, "by chance 0.5"


def test_rates_are_tried_on_dev_alone(monkeypatch):
    monkeypatch.setattr(codes_short, "ARMS", {key: codes_short.ARMS[key] for key in ("SE", "KD")})
    rows = codes_short.benchmark("codes_short_dev", arguments(epochs=1))
    rates = [row["spec"]["learning_rate"] for row in rows]
    assert rates == [0.01, 0.03] * 2
    assert not any("test_accuracy" in row for row in rows)


def test_committed_rows_have_the_order(monkeypatch):
    """Codes of `DPQEmbedding` as it starts today, beside its former normalization."""
    monkeypatch.delenv("KERASCOMPACT_RESULTS")
    rows = results.rows("codes_short")
    arms = {
        arm: [r["test_accuracy"] for r in rows if r["label"] == arm] for arm in codes_short.ARMS
    }
    assert all(len(found) == 3 for found in arms.values())
    assert mean(arms["DPQ-SX"]) > mean(arms["DPQ-SX, one norm"]) + 0.03
    assert mean(arms["SE"]) > mean(arms["DPQ-VQ"]) > mean(arms["DPQ-SX"])


@pytest.mark.slow
def test_sx_uses_its_keys_and_trains_in_15_epochs(monkeypatch, real_data):
    monkeypatch.undo()
    data = encode(datasets.load("clinc150", real_data), 1900, 32)
    found = {
        arm: codes_short.run(codes_short.spec_of(arm), data, test=False)["dev_accuracy"]
        for arm in ("DPQ-SX", "DPQ-SX, one norm")
    }
    assert found["DPQ-SX"] > 0.82 and found["DPQ-SX"] > found["DPQ-SX, one norm"] + 0.03
