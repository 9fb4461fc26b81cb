"""The most words that fit, against a search of all numbers."""

import gc
import time
import weakref
from types import SimpleNamespace

import numpy as np
import optuna
import pytest

from kerascompact.search.fitting import Fitting
from kerascompact.search.setting import Setting
from kerascompact.search.sizes import MARGIN
from kerascompact.search.studies import Studies, storage_of
from kerascompact.search.worker import Worker

KNOWN = 3000


def fit(size, budget, **change):
    tokens = SimpleNamespace(vocabulary=range(KNOWN))
    asked = []

    def counted(setting, words):
        asked.append(words)
        return size(words)

    fitting = SimpleNamespace(corpus=SimpleNamespace(tokens=lambda rules: tokens), _bytes=counted)
    found = Fitting.most(fitting, Setting(0, 8, **change), budget)
    return (found and found.words), len(asked)


SIZES = {
    "linear": lambda words: 9000 + 6 * words,
    "steps of bits": lambda words: 9000 + 4 * words + words * words.bit_length() // 8,
    "rare jumps": lambda words: 9000 + 16 * (words // 5) + 200 * (words > 700),
    "steep end": lambda words: 9000 + words + 2 * max(words - 2900, 0) ** 2,
    "too few for the method": lambda words: (9000 + 6 * words) * (words > 150),
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("budget", [9200, 10_000, 14_321, 20_000, 26_900, 90_000])
def test_uses_all_but_a_thousandth(name, budget):
    size = SIZES[name]
    words, asked = fit(size, budget)
    fitting = [n for n in range(6, KNOWN + 1) if 0 < size(n) <= budget - MARGIN]
    if not fitting:
        assert words is None
        return
    left = budget - MARGIN - size(words)
    assert left >= 0 and (words == KNOWN or left <= budget // 1000 or words + 1 not in fitting)
    assert asked <= 18


def test_slots_and_buckets_may_have_more_ids_than_words():
    assert fit(SIZES["linear"], 90_000, stored="slots")[0] == 3333
    assert fit(SIZES["linear"], 90_000, stored="buckets")[0] > 10_000


def test_a_search_bound_by_trials_shares_them_among_budgets(tmp_path):
    """First trials wait longest where trials are few; no budget may keep them for itself."""
    begun = []

    def run(budget, until):
        begun.append(budget)
        trial = studies.ask(budget)
        trial.suggest_float("width", 0, 1)
        studies.of[budget].tell(trial, 0.5)

    names = {100: "100", 200: "200", 300: "300"}
    first = [{"width": place / 10} for place in range(9)]
    storage = storage_of("", tmp_path)
    studies = Studies(names, storage, 0, 0, lambda budget: first, tmp_path, 500)
    worker = SimpleNamespace(studies=studies, durations=[], run=run)
    worker._repeat = lambda: Worker._repeat(worker)
    Worker._trials(worker, 1e6, time.time(), 12, lambda: None)
    assert [begun.count(budget) for budget in names] == [4, 4, 4]


@pytest.mark.parametrize("error", [None, ValueError, optuna.TrialPruned])
def test_what_a_trial_has_made_is_freed_after_it(error, tmp_path):
    """A Keras model refers to itself, and would hold its training data until Python looks."""
    alive = []

    def score(trial, budget, until):
        model = SimpleNamespace(ids=np.zeros(1000))
        model.itself = model
        alive.append(weakref.ref(model.ids))
        if error is not None:
            raise error("as some trials do")
        return trial.suggest_float("width", 0, 1)

    storage = storage_of("", tmp_path)
    studies = Studies({100: "100"}, storage, 0, 0, lambda budget: [], tmp_path, 500)
    worker = SimpleNamespace(studies=studies, durations=[], _score=score, _forget=lambda _: None)
    gc.disable()
    try:
        Worker.run(worker, 100, 0.0)
    finally:
        gc.enable()
    assert len(alive) == 1 and alive[0]() is None


@pytest.mark.parametrize(
    "alone, num_dev, folds", [(False, 100, 4), (False, 2000, 1), (True, 100, 1)]
)
def test_a_dev_that_decides_alone_has_no_other_splits(alone, num_dev, folds):
    worker = SimpleNamespace(
        task=SimpleNamespace(dev_alone=alone),
        corpus=SimpleNamespace(num_dev=num_dev),
        guides=SimpleNamespace(seconds=0.1),
        seconds=1e6,
    )
    assert Worker._folds(worker) == folds


def test_one_slow_trial_does_not_end_a_search(monkeypatch, tmp_path):
    """Time is used until what a usual trial takes is no longer left."""
    clock, studies = [0.0], Studies({100: "100"}, storage_of("", tmp_path), 0, 0, lambda _: [],
                                    tmp_path, 500)  # fmt: skip
    monkeypatch.setattr(time, "time", lambda: clock[0])
    worker = SimpleNamespace(studies=studies, durations=[], _repeat=lambda: None)

    def run(budget, until):
        clock[0] += 2 if len(worker.durations) != 3 else 60
        worker.durations.append(clock[0] - sum(worker.durations))
        trial = studies.ask(budget)
        studies.of[budget].tell(trial, trial.suggest_float("width", 0, 1))

    worker.run = run
    Worker._trials(worker, 100, 0.0, None, lambda: None)
    assert len(worker.durations) == 21 and clock[0] == 100
