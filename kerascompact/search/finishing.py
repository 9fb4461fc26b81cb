"""End of a search: the best setting of each budget becomes a verified file."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import keras
import numpy as np

from kerascompact import export
from kerascompact.datasets.base import Split
from kerascompact.runtime.classifier import TextClassifier
from kerascompact.search.corpus import ALL, WHOLE
from kerascompact.search.runs import Ranked, Run
from kerascompact.search.setting import Setting
from kerascompact.search.training import Trained, Words
from kerascompact.search.worker import WORDS, Worker
from kerascompact.tasks.folder import load_model, load_words
from kerascompact.text.rules import WHITE_SPACE
from kerascompact.training.scores import score

CHECKED = 300  # texts of dev that the file is verified on
MOST_DIFFERING = 0.01  # of these texts, whose ids are not those of the training
MOST_TRIED = 5  # settings, if their files should turn out too large or wrong


@dataclass
class Best:
    """The best file of a budget.

    Args:
        budget: Bytes that the file may have.
        setting: Its setting.
        file: The bytes of the file, which takes text.
        model: The trained Keras model.
        vocabulary: Its vocabulary.
        dev_score: Mean dev score over its trainings, in [0, 1].
        dev_scores: Dev score of each.
        test_score: Test score of the file; `None` without a test split.

    Example:
    >>> from kerascompact.text import Vocabulary
    >>> Best(9, Setting(5, 2), b"1234567", None, Vocabulary(["a"]), 0.5, (0.5,)).used
    0.7777777777777778
    """

    budget: int
    setting: Setting
    file: bytes = field(repr=False)
    model: keras.Model = field(repr=False)
    vocabulary: Words
    dev_score: float
    dev_scores: tuple[float, ...]
    test_score: float | None = None

    @property
    def used(self) -> float:
        """Share of the budget that the file takes."""
        return len(self.file) / self.budget


def finish(worker: Worker, budget: int, refit: bool) -> Best:
    """Makes the file of a budget: of the best setting whose file fits.

    Args:
        worker: A worker of the search.
        budget: Bytes.
        refit: Whether to train the setting again on train and dev together.

    Raises: ValueError, if no setting was trained.
    """
    fewer = worker.task.num_train > worker.task.used[0]
    cause = _no_training(worker, budget)
    for _, runs, _ in ranked(worker, budget)[:MOST_TRIED]:
        run = best_of(runs)
        found = _again(worker, run, refit) if refit or fewer else _kept(worker, run)
        file = converted(worker, found)
        if len(file) > budget:
            cause = f"No file of at most {budget:,} bytes: the last one tried has {len(file):,}."
            continue
        try:
            _verify(worker, found, file)
        except ValueError as error:  # such as an unknown pair with the fingerprint of a known one
            cause = str(error)
            continue
        scores = tuple(one.dev for one in runs)
        mean = float(np.mean(scores))
        return Best(budget, run.setting, file, found.model, found.vocabulary, mean, scores)
    raise ValueError(cause)


def _no_training(worker: Worker, budget: int) -> str:
    """Why there is no file."""
    found = f"No setting of a file of at most {budget:,} bytes could be trained in time."
    errors = worker.studies.errors(budget)
    return (
        f"{found} Of {len(errors):,} settings that failed, the last: {errors[-1]}"
        if errors
        else found
    )


def best_of(runs: Sequence[Run]) -> Run:
    """The best training on the split as given: those on other splits have seen rows of dev.

    >>> scores = (0, 0.8), (1, 0.9), (0, 0.85)
    >>> runs = [Run(9, 0, Setting(5, 2), 9, one, 0, 0, fold, 1.0, one) for fold, one in scores]
    >>> best_of(runs).score
    0.85
    """
    return max((one for one in runs if one.fold == 0), key=lambda one: one.score)


def ranked(worker: Worker, budget: int) -> list[Ranked]:
    """Settings of all budgets up to one, the best expected score first."""
    found = [
        one
        for smaller in worker.task.budgets
        if smaller <= budget
        for one in worker.studies.ranking(smaller)
    ]
    return sorted(found, key=lambda one: one.order)


def converted(worker: Worker, found: Trained) -> bytes:
    """The file of a trained setting."""
    options = worker.fitting.sizes.options(found.setting)
    return export.convert(found.model, found.setting.recipe, text=found.vocabulary, **options)


def _kept(worker: Worker, run: Run) -> Trained:
    """The model of a run, or the same training again, if another machine ran it."""
    folder = worker.place(run)
    if (folder / "model.keras").exists():
        vocabulary = load_words(folder / WORDS)
        return Trained(run.setting, load_model(folder / "model.keras"), vocabulary, run.dev)
    _, vocabulary = worker.fitting.words(run.setting, run.budget, run.fold)
    held = worker.held(run.fold)
    return worker.train(run.setting, vocabulary, run.fold, run.repeat, held=held)


def _again(worker: Worker, run: Run, refit: bool) -> Trained:
    fold = ALL if refit else WHOLE
    setting, vocabulary = worker.fitting.words(run.setting, run.budget, fold if refit else 0)
    # Rows of dev that are trained on say nothing of when to stop: the trial knows.
    return worker.train(setting, vocabulary, fold, 0, picked=run.picked if refit else ())


def _verify(worker: Worker, found: Trained, file: bytes) -> None:
    """Compares the file with the models, and its ids with those of the training, on texts of dev.

    Raises: ValueError, if they disagree.
    """
    _, dev = worker.corpus.rows()
    rows = dev[:: max(1, len(dev) // CHECKED)]  # evenly spread
    texts = [worker.corpus.texts[row] for row in rows]
    trained_on = worker.corpus.encode(found.vocabulary)[rows]
    read = found.vocabulary.encode_all(texts, trained_on.shape[1])
    if np.any(trained_on != read, axis=1).mean() > MOST_DIFFERING:
        raise ValueError("The training and the file read words in different ways.")
    labels = worker.corpus.labels[rows]
    export.verify(found.model, file, texts, labels, vocabulary=found.vocabulary)


def score_of(file: bytes, split: Split, metric: str) -> float:
    """Score of a file on texts, each read by the file; a text without a token has no answer."""
    classifier = TextClassifier(file)
    outputs = np.full((len(split.texts), len(classifier.labels)), np.nan, np.float32)
    read = [row for row, text in enumerate(split.texts) if text.strip(WHITE_SPACE)]
    found = classifier.predict_many([split.texts[row] for row in read])
    outputs[read] = [prediction.probabilities for prediction in found]
    return score(outputs, split.labels, metric)
