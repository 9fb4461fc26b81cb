"""`search.text_classifier` of few labels: with pre-trained vectors, and with a teacher.

Both budgets of a sample share the time of one search. "random" knows the labelled texts only;
"vectors" starts at GloVe's and WordLlama's; "teacher" also reads the texts without labels, for
which a logistic regression over the vectors of a sentence encoder answers, see
`few_labels_rivals`.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data.few_labels import COUNTS, LABELS, SETS, sample
from benchmarks.lib import results, runner
from benchmarks.lib.sentence_encoder import SentenceEncoder
from kerascompact.core.extras import require
from kerascompact.datasets.base import Split
from kerascompact.search import text_classifier

BUDGETS = (64, 256)  # KiB
ARMS = ("random", "vectors", "teacher")
VECTORS = ("glove50", "wordllama")
RIVALS = ("tfidf", "tfidf_axes", "fasttext", "static", "teacher")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "kerascompact-bench"


class Spec(NamedTuple):
    """What decides a search, but for the speed of the machine."""

    dataset: str
    labels: int
    arm: str
    minutes: float
    workers: int = 2
    seed: int = 0
    trials: int | None = None  # most of both budgets together; None: what the time allows


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet; `--labels` and `--sets` choose among the samples."""
    specs = [
        Spec(dataset, labels, arm, arguments.minutes, arguments.workers, seed, arguments.trials)
        for seed in arguments.seeds or (0, 1, 2)
        for dataset in arguments.sets or SETS
        for labels in arguments.labels or LABELS.get(dataset, COUNTS)
        for arm in ARMS
    ]

    def run(spec: Spec) -> dict[str, Any]:
        return searched(spec, arguments.data)

    return runner.run_all(name, specs, run, table)


def searched(spec: Spec, data: str | None) -> dict[str, Any]:
    """The row of a search: one entry for each budget."""
    drawn = sample(spec.dataset, spec.labels, spec.seed, data)
    options: dict[str, Any] = {} if spec.arm == "random" else {"vectors": VECTORS}
    if spec.arm == "teacher":
        teacher = taught(drawn.labelled.train, SentenceEncoder(CACHE / "minilm"))
        options |= {"teacher": teacher, "unlabelled": drawn.unlabelled}
    start = time.monotonic()
    found = text_classifier(
        drawn.labelled,
        [f"{budget}KiB" for budget in BUDGETS],
        spec.minutes,
        seed=spec.seed,
        workers=spec.workers,
        trials=spec.trials,
        verbose=False,
        **options,
    )
    files = [
        {
            "budget": best.budget,
            "bytes": len(best.file),
            "dev_accuracy": best.dev_score,
            "file_accuracy": best.test_score,
            "label": best.setting.label,
            "setting": best.setting.facts(),
        }
        for best in found.by_budget.values()
    ]
    facts = {"trials": found.facts["trials"], "unlabelled": len(options.get("unlabelled", ()))}
    return {"files": files, **facts, "total_seconds": round(time.monotonic() - start, 1)}


def taught(train: Split, encoder: SentenceEncoder) -> Callable[[list[str]], np.ndarray]:
    """A teacher: logistic regression over vectors of texts, its penalty by cross-validation."""
    fitted = regression(encoder.vectors(train.texts), train.labels)
    classes = int(train.labels.max()) + 1

    def teacher(texts: list[str]) -> np.ndarray:
        answers = np.zeros((len(texts), classes), np.float32)
        answers[:, fitted.classes_] = fitted.predict_proba(encoder.vectors(texts))
        return answers

    return teacher


def regression(features: Any, labels: np.ndarray) -> Any:
    """Logistic regression whose penalty has the smallest log loss in a cross-validation."""
    linear, selection = require("sklearn.linear_model", "bench"), "sklearn.model_selection"
    parts = max(2, min(5, int(np.bincount(labels)[np.unique(labels)].min())))
    folds = require(selection, "bench").StratifiedKFold(parts, shuffle=True, random_state=0)
    grid = {"C": [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]}
    model = linear.LogisticRegression(max_iter=300, tol=1e-3)
    search = require(selection, "bench").GridSearchCV(model, grid, scoring="neg_log_loss", cv=folds)
    one_thread = require("threadpoolctl", "bench").threadpool_limits(1)  # more are slower
    with one_thread, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that are nearly at their end
        return search.fit(features, labels).best_estimator_


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: test accuracy of each sample, mean and spread over seeds, beside rivals.

    Searches of different lengths have lines of their own. "of the way" is where the files of 64 KiB
    with a teacher are between the random start (0 %) and the teacher at full size (100 %).
    """
    heads = [f"{arm}, {budget} KiB" for budget in BUDGETS for arm in ARMS]
    heads += ["of the way", "TF-IDF", "with axes", "fastText", "vectors", "MiniLM"]
    lines = [
        f"| data set | labels | search | seeds | {' | '.join(heads)} |",
        "|" + "---|" * (4 + len(heads)),
    ]
    others = results.rows("few_labels_rivals")
    for key in dict.fromkeys(map(_key, rows)):
        of_it = [row for row in rows if _key(row) == key]
        seeds = {row["spec"]["seed"] for row in of_it}
        same = [row for row in others if row["spec"]["seed"] in seeds]
        rivals = [row for row in same if _sample(row) == _sample(of_it[0])]
        by_rival = [[row for row in rivals if row["spec"]["rival"] == name] for name in RIVALS]
        cells = [key[0], f"{key[1]:,}", _search(of_it[0]["spec"])]
        cells.append(str(len(seeds)))
        cells += [
            results.percent(files, "file_accuracy") if files else "-"
            for place in range(len(BUDGETS))
            for files in [[row["files"][place] for row in _arm(of_it, arm)] for arm in ARMS]
        ]
        cells.append(_of_the_way(of_it, by_rival[-1]))
        cells += [results.percent(found, "accuracy") if found else "-" for found in by_rival]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _sample(row: dict[str, Any]) -> tuple[str, int]:
    return row["spec"]["dataset"], row["spec"]["labels"]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return *_sample(row), *(row["spec"].get(name) for name in ("minutes", "workers", "trials"))


def _search(spec: dict[str, Any]) -> str:
    trials = spec.get("trials")
    return f"{trials} trials" if trials else f"{spec.get('minutes')} min x {spec.get('workers')}"


def _arm(rows: Sequence[dict[str, Any]], arm: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["spec"]["arm"] == arm]


def _of_the_way(rows: Sequence[dict[str, Any]], teachers: Sequence[dict[str, Any]]) -> str:
    """Mean of the teacher's arm between random start and teacher, where the teacher is better."""
    if not teachers or not all(_arm(rows, arm) for arm in ("random", "teacher")):
        return "-"
    low, found = (
        mean(row["files"][0]["file_accuracy"] for row in _arm(rows, arm))
        for arm in ("random", "teacher")
    )
    high = mean(row["accuracy"] for row in teachers)
    return f"{(found - low) / (high - low):.0%}" if high > low else "-"
