"""Search for the best text classifiers within budgets of bytes."""

import contextlib
import dataclasses
import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kerascompact import datasets
from kerascompact.core import checks
from kerascompact.datasets.base import Dataset, DataWarning
from kerascompact.search import budget as budgets
from kerascompact.search.display import Display
from kerascompact.search.fidelity import rows_in_time
from kerascompact.search.finishing import finish, score_of
from kerascompact.search.found import Found, importances
from kerascompact.search.processes import Processes
from kerascompact.search.task import TASK, Task, digest_of
from kerascompact.search.worker import SMALL, Worker
from kerascompact.training.scores import METRICS

MOST_WORKERS = 4  # by default
SHARE = 0.9  # of the time for trials; the rest makes the files
SHARE_OF_FEWER = 0.65  # where trials train on a part of the rows, and the files on more


def text_classifier(
    data: Dataset | tuple[Sequence[str], Sequence[Any]],
    budget: int | str | Sequence[int | str],
    minutes: float = 10,
    *,
    seed: int = 0,
    metric: str | None = None,
    unlabelled: Sequence[str] = (),
    distil: bool = True,
    refit: bool | None = None,
    workers: int | None = None,
    trials: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    storage: str = "",
    verbose: bool = True,
) -> Found:
    """Searches for the file that classifies texts best within a budget of bytes.

    It draws settings whose files fit (token rules, words, width, method, model, recipe, rates),
    trains them on train, compares them on dev, trains the best again, and turns the best of each
    budget into a verified `.tflite` file that takes text. `file bytes <= budget`, always. The test
    split, if there is one, is read once, at the end.

    Args:
        data: A `Dataset`, or texts and labels, of which a tenth becomes dev.
        budget: Bytes of the entire file, with words, labels and graph: 65536, "64KiB", "64KB"; or
            several, "16KiB,64KiB" or a list.
        minutes: Time of the search, in minutes. Reading the test split is not counted.
        seed: Seed of all that is drawn. Which trials the time allows differs from run to run.
        metric: "accuracy", "macro_f1" or "micro_f1". Default: accuracy; micro_f1 if a text may have
            several labels.
        unlabelled: Further texts, on which teachers give soft labels.
        distil: Whether trials may learn from the soft labels of models of all words.
        refit: Whether the chosen setting is trained again on train and dev together. Default: if
            dev has fewer than 2,000 rows.
        workers: Processes that train at once, each with one thread. Default: one for each core, at
            most 4. 1: in this process.
        trials: Most trials of all budgets together. With one worker, a seed and enough minutes,
            the search is the same each time.
        folder: Where trials are kept, to go on with after a break. Default: a temporary folder.
        resume: Whether to go on with the search in `folder`.
        storage: Address of an Optuna storage that several machines share, such as
            `postgresql://...`, or the path of a shared journal. Default: a journal in `folder`.
        verbose: Whether to show progress.

    Returns: The files and what was tried, see `Found`.

    Warns: DataWarning, of what `datasets.problems` finds, such as texts of dev that are in train.

    Raises: ValueError, if an argument is out of its range, a budget is too small (with the smallest
        possible size and what it consists of), or no training ended in time; OSError.

    Example:
    >>> said = ["turn it up", "louder now", "turn it down", "be quiet"]
    >>> texts = [f"{text}, {number}" for number in range(20) for text in said]
    >>> labels = ["louder", "louder", "softer", "softer"] * 20
    >>> found = text_classifier((texts, labels), "24KiB", trials=1, workers=1, verbose=False)
    >>> len(found.best.file) <= 24 * 1024
    True

    Reference: [Akiba et al., KDD 2019](https://arxiv.org/abs/1907.10902), the engine; the budget in
    bytes is that of fastText's `autotuneModelSize`.
    """
    sizes = budgets.several(budget)
    checks.number("minutes", minutes, above=0)
    checks.integer_in("seed", seed, 0)
    workers = min(os.cpu_count() or 1, MOST_WORKERS) if workers is None else workers
    checks.integer_in("workers", workers, 1)
    if trials is not None:
        checks.integer_in("trials", trials, 1)
    dataset = data if isinstance(data, Dataset) else datasets.from_texts(*_pair(data), seed=seed)
    metric = metric or ("micro_f1" if dataset.multi_label else "accuracy")
    checks.choice("metric", metric, METRICS)
    begun = time.time()
    with _folder(folder, resume) as place:
        seconds = 60 * minutes
        used = rows_in_time(dataset.train.texts, seconds * workers, len(sizes))
        task = _task(dataset, sizes, metric, seed, distil, storage, unlabelled, place, resume, used)
        worker = Worker(place)
        problems = datasets.problems(dataset, worker.corpus.rules)
        for problem in problems:
            warnings.warn(problem, DataWarning, stacklevel=2)
        _check_budgets(worker, sizes)
        share = SHARE if used[0] >= task.num_train else SHARE_OF_FEWER
        _search(worker, place, workers, seconds * share, begun, trials, verbose)
        small = len(dataset.dev.texts) < SMALL
        bests = [finish(worker, size, small if refit is None else refit) for size in sizes]
        facts = {
            "data": task.name,
            "metric": metric,
            "labels": task.label_names,
            "sequence_length": worker.corpus.sequence_length,
            "minutes": minutes,
            "workers": workers,
            "seed": seed,
            "warnings": problems,
            "seconds": round(time.time() - begun, 1),
            "trials": {budgets.shown(k): _states(one) for k, one in worker.studies.of.items()},
        }
        if dataset.test.texts:
            for best in bests:
                best.test_score = score_of(best.file, dataset.test, metric)
        return Found(bests, worker.studies.runs(), importances(worker.studies), facts)


def _pair(data: Any) -> tuple[Any, Any]:
    if not isinstance(data, tuple) or len(data) != 2:
        checks.fail("data", "a Dataset, or a tuple of texts and labels", type(data))
    return data


@contextlib.contextmanager
def _folder(folder: str | os.PathLike[str] | None, resume: bool) -> Iterator[Path]:
    """The folder of a search: a new one, or one to go on with."""
    if folder is None:
        if resume:
            checks.fail("folder", "the folder of the search to resume", folder)
        with tempfile.TemporaryDirectory(prefix="kerascompact-search-") as made:
            yield Path(made)
        return
    path = Path(folder)
    if (path / TASK).exists() and not resume:
        raise ValueError(
            f"{path} holds a search already. Go on with it (`resume=True`, --resume), name another "
            "folder, or remove it."
        )
    if resume and not (path / TASK).exists():
        raise ValueError(f"{path} holds no search to resume: there is no {TASK}.")
    path.mkdir(parents=True, exist_ok=True)
    yield path


def _task(
    dataset: Dataset,
    sizes: tuple[int, ...],
    metric: str,
    seed: int,
    distil: bool,
    storage: str,
    unlabelled: Sequence[str],
    folder: Path,
    resume: bool,
    used: tuple[int, int],
) -> Task:
    """Writes the task, or checks that it is the one in the folder."""
    texts = [*dataset.train.texts, *dataset.dev.texts, *unlabelled]
    labels = np.concatenate([dataset.train.labels, dataset.dev.labels])
    num_train = len(dataset.train.texts)
    digest = digest_of(texts, labels, num_train)
    names = tuple(dataset.label_names)
    distil = distil and not dataset.multi_label
    task = Task(dataset.name, sizes, names, num_train, metric, seed, distil, storage, digest, used)
    if resume:
        before = Task.load(folder)
        if (before.digest, before.metric) != (digest, metric):
            raise ValueError(
                f"{folder} holds a search of {before.name!r} by {before.metric}, not of this data: "
                f"its fingerprint is {before.digest}. Received: {dataset.name!r} by {metric}, "
                f"{digest}."
            )
        task = dataclasses.replace(task, used=before.used)
    task.save(folder, texts, labels)
    return task


def _check_budgets(worker: Worker, sizes: tuple[int, ...]) -> None:
    """Refuses budgets that not even a few words of two numbers fit."""
    least, parts = worker.smallest()
    for size in sizes:
        if size < least:
            shown = ", ".join(f"{name} {part:,}" for name, part in parts.items())
            classes = len(worker.task.label_names)
            raise ValueError(
                f"`budget` must be at least {least:,} bytes for these {classes} classes: {shown}. "
                f"Received: {size:,} bytes."
            )


def _search(
    worker: Worker,
    folder: Path,
    workers: int,
    seconds: float,
    begun: float,
    trials: int | None,
    verbose: bool,
) -> None:
    """Runs trials until the time is over, or until Ctrl-C, which keeps what there is."""
    with Display(worker.studies, seconds, begun, verbose) as display:
        try:
            if workers == 1:
                worker.work(seconds, begun, trials, display.renew)
                return
            with Processes(folder, workers, seconds, begun, trials) as processes:
                while processes.alive() and time.time() < begun + 1.2 * seconds:
                    display.renew()
                    time.sleep(0.5)
        except KeyboardInterrupt:
            if not worker.studies.runs():
                raise
            warnings.warn("Interrupted: the best so far is made into files.", stacklevel=3)


def _states(study: Any) -> dict[str, int]:
    """Number of trials in each state."""
    counts: dict[str, int] = {}
    for trial in study.get_trials(deepcopy=False):
        name = trial.state.name.lower()
        counts[name] = counts.get(name, 0) + 1
    return counts
