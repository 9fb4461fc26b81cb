"""The recipe on a made-up text of few words: both phases, a kill, and the file of a step."""

import argparse

import numpy as np
import pytest

from benchmarks.data.ptb import Corpus
from benchmarks.lib import results
from benchmarks.sparseness import awd
from benchmarks.sparseness.awd_specs import KINDS, SPECS, Spec
from kerascompact.training import NTASGD

V = 20


def text(tokens, seed):
    """Every word is one or two after the one before it."""
    steps = np.random.default_rng(seed).integers(1, 3, tokens)
    return (np.cumsum(steps) % V).astype(np.int32)


CORPUS = Corpus("letters", tuple(map(str, range(V))), text(400, 0), text(60, 1), text(63, 2), "-")
SMALL = Spec("sparse embedding", 8, 12, 2.0, None, 2, 1, 0.1, 3.0, 4, 8, 1, random_steps=True)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_have_equal_parameters(kind):
    # a tenth of the published sizes; windows are rounded to whole inputs
    sizes = [awd.build(Spec(one, 40, 114), 300, None).count_params() for one in ("dense", kind)]
    assert abs(sizes[1] / sizes[0] - 1) < 0.01


def test_trains_finetunes_goes_on_and_steps(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))
    monkeypatch.setitem(SPECS, "awd", [SMALL])
    monkeypatch.setattr(awd.ptb, "load", lambda data, tokens: CORPUS)
    awd.run(SMALL._replace(epochs=1, finetune=0), CORPUS, tmp_path, verbose=0)  # killed
    baselines = []

    def recorded(*args, baseline=None, **kwargs):
        baselines.append(baseline)
        return NTASGD(*args, baseline=baseline, **kwargs)

    monkeypatch.setattr(awd, "NTASGD", recorded)
    arguments = argparse.Namespace(data=None, seeds=None, epochs=None, work=tmp_path, verbose=0)
    (row,) = awd.benchmark("awd", arguments)
    assert len(row["train_dev_by_epoch"]) == 2 and len(row["finetune_dev_by_epoch"]) == 1
    (_, finetuning) = baselines
    assert np.exp(finetuning) == row["train_dev"] >= row["finetune_dev"]
    assert row["finetune_averaged"] and 1.9 < row["test_perplexity"] < 25
    assert row["step_tokens"] == 63 and row["step_difference"] < 1e-4
    # no loops, but windows of all segments and products with ten bins: 24 kB of graph
    assert row["step_theory"] < row["step_bytes"] < 1.02 * row["step_theory"] + 30_000
    assert "| sparse embedding | 8, 12 |" in awd.table(results.rows("awd"))
    pytest.importorskip("matplotlib")
    assert "dev perplexity" in (tmp_path / "results" / "awd.svg").read_text()
    monkeypatch.setattr(awd, "run", None)
    assert awd.benchmark("awd", arguments) == [row]
