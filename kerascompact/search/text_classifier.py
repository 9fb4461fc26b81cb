"""Search for the best text classifiers within budgets of bytes."""

import math
import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kerascompact import datasets
from kerascompact.core import checks
from kerascompact.datasets.base import Dataset, DataWarning
from kerascompact.search import budget as budgets
from kerascompact.search.beyond_labels import Beyond, Teacher, Vectors, is_answers, vectors_of
from kerascompact.search.display import Display
from kerascompact.search.fidelity import rows_in_time
from kerascompact.search.finishing import MOST_TRIED, finish, score_of
from kerascompact.search.found import Found, importances
from kerascompact.search.preparing import folder_of, held_out, prepare
from kerascompact.search.processes import Processes
from kerascompact.search.studies import storage_of
from kerascompact.search.task import TASK
from kerascompact.search.worker import SMALL, Worker
from kerascompact.text import inputs
from kerascompact.training.scores import METRICS

MOST_MINUTES = 60 * 24 * 365
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
    vectors: Vectors | Sequence[Vectors] | None = None,
    teacher: Teacher | None = None,
    unlabelled: Sequence[str] = (),
    distil: bool | None = None,
    refit: bool | None = None,
    workers: int | None = None,
    trials: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    storage: str = "",
    verbose: bool = True,
    dev_alone: bool = False,
) -> Found:
    """Searches for the file that classifies texts best within a budget of bytes.

    It draws settings whose files fit (token rules, words, width, method, model, recipe, rates),
    trains them on train, compares them on dev, trains the best again, and turns the best of each
    budget into a verified `.tflite` file that takes text. `file bytes <= budget`, always. The test
    split, if there is one, is read once, at the end.

    Args:
        data: A `Dataset`, or texts and labels, of which a tenth becomes dev; of fewer than 2,000,
            200 of them, or three tenths.
        budget: Bytes of the entire file, with words, labels and graph: 65536, "64KiB", "64KB"; or
            several, "16KiB,64KiB" or a list.
        minutes: Time of the search, in minutes. Reading vectors and the test split, and what the
            teacher takes to answer, are not counted.
        seed: Seed of all that is drawn. Which trials the time allows differs from run to run.
        metric: "accuracy", "macro_f1" or "micro_f1". Default: accuracy; micro_f1 if a text may have
            several labels.
        vectors: Pre-trained vectors of words, worth having where labels are few: `WordVectors`, the
            path of their file, or the name of an installed package, see `WordVectors.installed`;
            or several, "glove50,wordllama" or a list, which then stand side by side. Words that no
            text has are known as well. Takes scikit-learn.
        teacher: A model whose answers the small ones learn from: a function from a list of texts
            to probabilities `(texts, classes)`, in the order of the labels; a Keras model of texts;
            a `TextClassifier` or the path of its file; or the answers themselves, for the texts of
            train, of dev, and `unlabelled`. It should not have seen dev, and be better than what
            the labels alone teach: a weak one does harm. Not with several labels.
        unlabelled: Further texts, whose words are counted, and on which teachers, the given one and
            models of all words, give soft labels. One of these teachers learns from them which
            words occur together (latent semantic analysis), worth most with few labels.
        distil: Whether trials may learn from soft labels, of the teacher and of models of all
            words. Default: with `vectors`, `teacher` or `unlabelled`, or fewer than 4,000 texts to
            train on; with more texts and nothing else, soft labels brought nothing on dev. Never
            where a text may have several labels.
        refit: Whether the chosen setting is trained again on train and dev together. Default: if
            dev has fewer than 2,000 rows and does not decide alone.
        workers: Processes that train at once, each with one thread. Default: one for each core, at
            most 4. 1: in this process.
        trials: Most trials of all budgets together. With one worker, a seed and enough minutes,
            the search is the same each time.
        folder: Where trials are kept, to go on with after a break. Default: a temporary folder.
        resume: Whether to go on with the search in `folder`: of the same data, split by the same
            seed, with the same vectors, and a teacher that gives the same answers on some texts.
        storage: Address of an Optuna storage that several machines share, such as
            `postgresql://...`, or the path of a shared journal. Default: a journal in `folder`, or
            what the search to resume has.
        verbose: Whether to show progress.
        dev_alone: Whether settings are compared on dev alone, which is never trained on, for a dev
            of other texts than train, such as those of the app. Else, if dev has fewer than 2,000
            rows, the best settings are trained again with other rows of train and dev as dev.

    Returns: The files and what was tried, see `Found`.

    Warns: DataWarning, of what `datasets.problems` finds, such as texts of dev that are in train;
        UserWarning, if no training ended in time, so that one goes on beyond it.

    Raises: ValueError, if an argument is out of its range, a budget is too small (with the smallest
        possible size and what it consists of), or no setting could be trained; OSError.

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
    checks.number("minutes", minutes, above=0, up_to=MOST_MINUTES)
    checks.seed(seed)
    workers = min(os.cpu_count() or 1, MOST_WORKERS) if workers is None else workers
    checks.integer_in("workers", workers, 1)
    if trials is not None:
        checks.integer_in("trials", trials, 1)
    dataset = data if isinstance(data, Dataset) else held_out(data, seed)
    for name, part in (("train", dataset.train), ("dev", dataset.dev)):
        if not len(part.texts):
            checks.fail("data", f"a dataset with rows in {name}", dataset.name)
    metric = metric or ("micro_f1" if dataset.multi_label else "accuracy")
    checks.choice("metric", metric, METRICS)
    for name, value in (("distil", distil), ("refit", refit), ("dev_alone", dev_alone)):
        if value is not None:
            checks.boolean(name, value)
    if refit and dev_alone:
        checks.fail("refit", "False or None with `dev_alone`: dev is not trained on", refit)
    more = tuple(inputs.unicode("unlabelled", inputs.strings("unlabelled", unlabelled)))
    beyond = Beyond(vectors_of(vectors), teacher, more)
    if teacher is not None and (dataset.multi_label or distil is False):
        expected = "None if a text may have several labels, or with `distil=False`"
        checks.fail("teacher", expected, teacher)
    if teacher is not None and dataset is not data and is_answers(teacher):
        expected = "a model or a function, or `data` a Dataset: which texts are dev is drawn here"
        checks.fail("teacher", expected, type(teacher))
    with folder_of(folder, resume) as place:
        seconds = 60 * minutes
        used = rows_in_time(dataset.train.texts, seconds * workers, len(sizes))
        if storage and not resume:
            storage_of(storage, place)  # an error before the search is written
        task = prepare(
            dataset, beyond, place, resume, budgets=sizes, metric=metric, seed=seed, distil=distil,
            storage=storage, used=used, dev_alone=dev_alone,
        )  # fmt: skip
        begun = time.time()
        worker = Worker(place)
        problems = datasets.problems(dataset, worker.corpus.rules)
        for problem in problems:
            warnings.warn(problem, DataWarning, stacklevel=2)
        try:
            _check_budgets(worker, sizes)
        except ValueError:
            if not resume:
                (place / TASK).unlink()  # no search has begun
            raise
        share = SHARE if task.used[0] >= task.num_train else SHARE_OF_FEWER
        _search(worker, place, workers, seconds * share, begun, trials, verbose)
        _train_one(worker, sizes[0])
        small = len(dataset.dev.texts) < SMALL and not task.dev_alone
        bests = [finish(worker, size, small if refit is None else refit) for size in sizes]
        facts = {
            "data": task.name,
            "metric": metric,
            "labels": task.label_names,
            "sequence_length": worker.corpus.sequence_length,
            "minutes": minutes,
            "workers": workers,
            "seed": seed,
            "vectors": task.vectors,
            "warnings": problems,
            "seconds": round(time.time() - begun, 1),
            "trials": {budgets.shown(k): _states(one) for k, one in worker.studies.of.items()},
        }
        if dataset.test.texts:
            for best in bests:
                best.test_score = score_of(best.file, dataset.test, metric)
        return Found(bests, worker.studies.runs(), importances(worker.studies), facts)


def _check_budgets(worker: Worker, sizes: tuple[int, ...]) -> None:
    """Refuses budgets that not even a few words of two numbers fit."""
    least, parts = worker.fitting.smallest()
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


def _train_one(worker: Worker, budget: int) -> None:
    """Trains one setting, whatever it takes, if no training has ended: late is better than none."""
    if worker.studies.ranking(budget):
        return
    warnings.warn("No training ended in time: one goes on now. Allow more minutes.", stacklevel=3)
    worker.studies.bury()
    for _ in range(MOST_TRIED):  # some do not fit
        worker.run(budget, math.inf)
        if worker.studies.ranking(budget):
            return


def _states(study: Any) -> dict[str, int]:
    """Number of trials in each state."""
    counts: dict[str, int] = {}
    for trial in study.get_trials(deepcopy=False):
        name = trial.state.name.lower()
        counts[name] = counts.get(name, 0) + 1
    return counts
