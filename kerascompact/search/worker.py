"""Worker of a search: draws settings, trains them, keeps the best models.

`python -m kerascompact.search.worker FOLDER NUMBER SECONDS BEGUN MOST` is one of its processes,
and ends when its standard input is closed.
"""

import functools
import gc
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import keras
import numpy as np
import optuna

from kerascompact.search.corpus import WHOLE
from kerascompact.search.fidelity import usual_epochs
from kerascompact.search.first_trials import first_trials
from kerascompact.search.fitting import Fitting
from kerascompact.search.guides import Guides
from kerascompact.search.processes import end_with_parent
from kerascompact.search.runs import Run
from kerascompact.search.setting import Setting
from kerascompact.search.sizes import Sizes
from kerascompact.search.space import Facts, suggest
from kerascompact.search.starts import start_at
from kerascompact.search.studies import Studies, storage_of
from kerascompact.search.task import Task
from kerascompact.search.training import Trained, Words, train
from kerascompact.search.watch import Watch
from kerascompact.tasks.folder import save_model
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.training.scores import is_multi_label

WORDS = "vocabulary.txt"
MODELS = "models"  # folder of the models that are kept
KEPT = 4  # models of each budget
FIRST = 0.6  # share of the time before the best settings are trained again
LENT = 4  # one trial in so many has the settings of another budget's best
FOLDS = 4  # most splits into train and dev; each has guides of its own
FOR_GUIDES = 0.25  # share of the time that guides of further splits may take
SMALL = 2_000  # rows of dev; with fewer, repeats have other rows as dev
REPEATS = 8  # trainings of a setting, the first one included


class Worker:
    """Runs trials of a search until its time is over.

    Args:
        folder: Folder of the search.
        number: Number of this process among those of the search.

    Attributes:
        studies: The trials of all its processes.
    """

    def __init__(self, folder: Path, number: int = 0) -> None:
        self.folder = folder
        self.task = Task.load(folder)
        self.corpus = self.task.corpus(folder)
        tokens = int((self.corpus.tokens(self.corpus.rules).ids[: self.task.num_train] > 0).sum())
        self.epochs = usual_epochs(tokens)
        seed, metric = self.task.seed, self.task.metric
        self.guides = Guides(self.corpus, folder, self.epochs, metric, seed, self.task.distil)
        self.facts = Facts(
            len(self.task.label_names),
            self.corpus.sequence_length,
            self.epochs,
            self.task.num_train,
            self.task.distil,
            self.corpus.rules,
            "vectors" in self.guides.given,
            self.task.distil and self.guides.unlabelled,
            self.guides.few,
        )
        several = is_multi_label(self.corpus.labels)
        length = self.corpus.sequence_length
        sizes = Sizes(self.task.label_names, length, folder, several)
        self.fitting = Fitting(self.corpus, sizes, self.guides.whole)
        names = {budget: self.task.study(budget) for budget in self.task.budgets}
        storage = storage_of(self.task.storage, folder)
        first = functools.partial(first_trials, facts=self.facts)
        num_dev = self.corpus.num_dev
        if self.facts.unlabelled:  # half of a score is of texts that teachers answer
            num_dev *= 2
        self.studies = Studies(names, storage, seed, number, first, folder, num_dev)
        self.seconds = 0.0  # of the search
        self.durations: list[float] = []  # of trials that ended

    def work(
        self,
        seconds: float,
        begun: float | None = None,
        most: int | None = None,
        told: Callable[[], object] = lambda: None,
    ) -> None:
        """Runs trials.

        Args:
            seconds: Time of the search.
            begun: When it began, by `time.time`. Default: now.
            most: Most trials of the search, of all processes.
            told: Called before each trial.
        """
        begun = time.time() if begun is None else begun
        self.seconds = seconds
        self.studies.work()
        try:
            self._trials(seconds, begun, most, told)
        finally:
            self.studies.rest()

    def _trials(
        self, seconds: float, begun: float, most: int | None, told: Callable[[], object]
    ) -> None:
        while True:
            told()
            self.studies.bury()
            passed, done = time.time() - begun, self.studies.count()
            share = max(passed / seconds, done / most if most else 0.0)
            # A trial that comes too late is lost, as is time that no trial is begun in.
            if share >= 1 or passed + statistics.median(self.durations or [0]) > seconds:
                return
            budget = self.studies.by_trials()[0]
            lends = not self.studies.waiting(budget) and done % LENT == 0
            if not (lends and self.studies.lend(budget)) and share > FIRST:
                budget = self._repeat() or budget
            self.run(budget, begun + seconds)

    def _repeat(self) -> int | None:
        """The next budget, with another training of one of its best settings."""
        for budget in self.studies.by_trials():
            if self.studies.waiting(budget) or self.studies.repeat(budget, REPEATS):
                return budget
        return None

    def run(self, budget: int, until: float) -> None:
        """Runs the next trial of a budget; one that cannot be run fails, with its cause."""
        trial, study = self.studies.ask(budget), self.studies.of[budget]
        start = time.time()
        try:
            value = self._score(trial, budget, until)
        except optuna.TrialPruned:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        except ValueError as error:
            trial.set_user_attr("error", str(error))
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            self.durations.append(time.time() - start)
            study.tell(trial, value)
            self._forget(budget)
        gc.collect()  # a model refers to itself, and to the ids that it was trained on

    def _score(self, trial: optuna.Trial, budget: int, until: float) -> float:
        start = time.time()
        fit = functools.partial(self.fitting.most, budget=budget)
        setting = suggest(trial, budget, self.facts, fit)
        if setting is None:
            raise ValueError(f"It does not fit {budget:,} bytes with any width.")
        repeat = trial.user_attrs.get("repeat", 0)
        fold = repeat % self._folds()
        trial.set_user_attr("fold", fold)
        setting, vocabulary = self.fitting.words(setting, budget, fold)
        trial.set_user_attr("setting", setting.facts())
        trial.set_user_attr("bytes", self.fitting.bytes(setting, vocabulary))
        watch = Watch(trial, self.task.metric, until, prunes=not repeat)
        found = self.train(setting, vocabulary, fold, repeat, watch, held=self.held(fold))
        if watch.late:
            raise optuna.TrialPruned
        self.keep(found, budget, trial.number)
        trial.set_user_attr("dev", found.score)
        trial.set_user_attr("picked", found.picked)
        trial.set_user_attr("seconds", round(time.time() - start, 2))
        if found.agreement is None:
            return found.score
        return (found.score + found.agreement) / 2

    def _folds(self) -> int:
        """Splits of a small dev that trainings take turns in: as many as there is time for.

        One if dev decides alone: repeats of a setting then differ in their seeds.
        """
        if self.task.dev_alone or self.corpus.num_dev >= SMALL:
            return 1
        return min(FOLDS, 1 + int(FOR_GUIDES * self.seconds / max(self.guides.seconds, 0.1)))

    def held(self, fold: int) -> np.ndarray | None:
        """What the teachers say of texts without a label that a trial holds out, if any."""
        return self.guides.held(fold) if self.facts.unlabelled else None

    def train(
        self,
        setting: Setting,
        vocabulary: Words,
        fold: int,
        repeat: int,
        *callbacks: keras.callbacks.Callback,
        held: np.ndarray | None = None,
        picked: Sequence[int] = (),
    ) -> Trained:
        """Trains a setting on the corpus; each repeat has a seed of its own."""
        seed, start = (self.task.seed + 7919 * repeat) % 2**32, None
        if setting.start != "random" and isinstance(vocabulary, Vocabulary):
            tokens = self.corpus.tokens(setting.rules)
            whole = self.guides.whole(setting.rules, 0 if fold == WHOLE else fold, setting.start)
            start = start_at(setting, vocabulary, tokens, whole, seed)
        return train(
            setting,
            self.corpus,
            vocabulary,
            seed=seed,
            fold=fold,
            metric=self.task.metric,
            soft=self.guides.soft(self.guides.teachers, fold) if setting.soft else None,
            start=start,
            held=held,
            callbacks=callbacks,
            picked=picked,
        )

    def place(self, run: Run) -> Path:
        """Folder of the model of a finished training."""
        return self.folder / MODELS / f"{run.budget}-{run.number}"

    def keep(self, found: Trained, budget: int, number: int) -> None:
        """Writes a model and its vocabulary."""
        folder = self.folder / MODELS / f"{budget}-{number}"
        save_model(found.model, folder / "model.keras")
        found.vocabulary.save(folder / WORDS)

    def _forget(self, budget: int) -> None:
        """Removes models of a budget that will not be its best any more."""
        ranking = self.studies.ranking(budget)
        for one in ranking[KEPT:]:
            for run in one.runs:
                shutil.rmtree(self.place(run), ignore_errors=True)


def main(argv: list[str]) -> int:
    """One process of a search; `MOST` of 0 is no bound of its trials."""
    folder, number, seconds, begun, most = argv
    end_with_parent()
    worker = Worker(Path(folder), int(number))
    gc.freeze()  # what is loaded stays: collections after each trial need not look at it
    worker.work(float(seconds), float(begun), int(most) or None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
