"""Studies of a search: one for each budget, in an Optuna storage that processes share."""

import json
import logging
import math
import os
import secrets
import warnings
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import optuna
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from kerascompact.core import checks
from kerascompact.search.evidence import Known, estimates
from kerascompact.search.locks import entire_lines, hold, is_held
from kerascompact.search.runs import Ranked, Run, run_of

JOURNAL, WORKERS = "journal.log", "workers"
STARTUP = 10  # trials of a study before the sampler learns from them
LENT = 3  # best settings of a budget that others try
WARMUP = 3  # tenths of a training that no trial is stopped in
LONGEST = timedelta(hours=1)  # of a trial of a process that cannot be asked
DONE = (TrialState.COMPLETE,)
OPEN = (TrialState.COMPLETE, TrialState.RUNNING, TrialState.WAITING)


def storage_of(address: str, folder: Path) -> optuna.storages.BaseStorage:
    """Opens the storage of a search: of an address, such as `sqlite:///search.db`, or the journal
    in its folder; an address without `://` is the path of a shared journal.

    Raises: ValueError, if a database cannot be opened; OSError.
    """
    if "://" in address:
        try:
            return optuna.storages.get_storage(address)
        except (SQLAlchemyError, ImportError, ValueError) as error:
            expected = f"a database that can be opened ({str(error).splitlines()[0]})"
            checks.fail("storage", expected, address.partition("://")[0] + "://...")
    path = Path(address) if address else folder / JOURNAL
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = JournalFileSymlinkLock(str(path))
    entire_lines(path, lock)
    return optuna.storages.JournalStorage(JournalFileBackend(str(path), lock))


def absolute(address: str) -> str:
    """The address of a storage with its path from the root: a search goes on in any folder.

    >>> absolute("sqlite:////a/b.db"), absolute("redis://host"), absolute("b.log")[-6:]
    ('sqlite:////a/b.db', 'redis://host', '/b.log')
    """
    scheme, is_url, path = address.partition(":///")
    if is_url and scheme.startswith("sqlite") and path and not path.startswith((":", "file:")):
        return f"{scheme}:///{Path(path).absolute()}"
    return str(Path(address).absolute()) if address and "://" not in address else address


class Studies:
    """Trials of all budgets of a search.

    Args:
        names: Name of the study of each budget.
        storage: Optuna storage.
        seed: Seed of the sampler.
        number: Number of this process among those of the search, which draw other settings.
        defaults: From a budget to the parameters of its first trials.
        folder: Folder of the search, where this process says that it lives.
        rows: Number of dev rows.

    Attributes:
        worker: Name of this process in the trials that it runs.
    """

    def __init__(
        self,
        names: dict[int, str],
        storage: optuna.storages.BaseStorage,
        seed: int,
        number: int,
        defaults: Callable[[int], Sequence[dict[str, Any]]],
        folder: Path,
        rows: int,
    ) -> None:
        quiet()
        self.rows = rows
        self.folder = folder / WORKERS
        self.of: dict[int, optuna.Study] = {}
        for place, (budget, name) in enumerate(names.items()):
            pruner = optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=WARMUP)
            study = optuna.create_study(
                storage=storage,
                pruner=pruner,
                study_name=name,
                direction="maximize",
                load_if_exists=True,
            )
            begun = len(study.get_trials(deepcopy=False, states=OPEN[:2]))
            study.sampler = optuna.samplers.TPESampler(
                n_startup_trials=STARTUP,
                multivariate=True,
                group=True,
                constant_liar=True,
                # with `begun`, a search that goes on draws other settings
                seed=(seed * 1009 + number * 8191 + place * 31 + begun * 127) % 2**32,
            )
            if not study.get_trials(deepcopy=False):
                for parameters in defaults(budget):
                    study.enqueue_trial(parameters, skip_if_exists=True)
            self.of[budget] = study
        self.worker = f"{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(3)}"
        self._lock: int | None = None

    def work(self) -> None:
        """Tells other processes that this one lives, for as long as it does."""
        if self._lock is None:
            self._lock = hold(self.folder / f"{self.worker}.lock")

    def rest(self) -> None:
        """Tells other processes that this one runs no trial any more."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def ask(self, budget: int) -> optuna.Trial:
        """The next trial of a budget, marked as run by this process."""
        trial = self.of[budget].ask()
        trial.set_user_attr("worker", self.worker)
        return trial

    def by_trials(self) -> list[int]:
        """Budgets, that with the fewest trials first."""
        counts = {
            budget: len(study.get_trials(deepcopy=False, states=OPEN[:2]))
            for budget, study in self.of.items()
        }
        return sorted(counts, key=lambda budget: (counts[budget], budget))

    def count(self) -> int:
        """Number of trials that were begun and did not fail."""
        states = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING)
        return sum(
            len(study.get_trials(deepcopy=False, states=states)) for study in self.of.values()
        )

    def errors(self, budget: int) -> list[str]:
        """Why trials of a budget could not be run, the latest last."""
        failed = self.of[budget].get_trials(deepcopy=False, states=(TrialState.FAIL,))
        return [trial.user_attrs["error"] for trial in failed if "error" in trial.user_attrs]

    def waiting(self, budget: int) -> int:
        """Number of trials that are set and not begun."""
        return len(self.of[budget].get_trials(deepcopy=False, states=(TrialState.WAITING,)))

    def runs(self) -> list[Run]:
        """All finished trainings of all budgets whose files fit."""
        return [
            run_of(budget, trial)
            for budget, study in self.of.items()
            for trial in study.get_trials(deepcopy=False, states=DONE)
            if "setting" in trial.user_attrs and trial.user_attrs["bytes"] <= budget
        ]

    def lend(self, budget: int) -> bool:
        """Sets one of the best settings of other budgets that this one has not tried, if any."""
        tried = {_key(trial) for trial in self.of[budget].get_trials(deepcopy=False)}
        others = [
            (one.expected.mean, trial.params)
            for other, study in self.of.items()
            if other != budget
            for one in self.ranking(other)[:LENT]
            for trial in [study.get_trials(deepcopy=False)[one.number]]
            if _key(trial) not in tried
        ]
        if not others:
            return False
        parameters = max(others, key=lambda one: one[0])[1]
        self.of[budget].enqueue_trial(parameters, skip_if_exists=True)
        return True

    def repeat(self, budget: int, most: int) -> bool:
        """Sets another training of the setting that may be the best of a budget.

        That is the one with the largest expected score plus its spread: of the good ones, the one
        that least is known of.

        Args:
            budget: Bytes.
            most: Most trainings of a setting.

        Returns: Whether there is one to set.
        """
        study = self.of[budget]
        begun: dict[int, int] = {}
        for trial in study.get_trials(deepcopy=False, states=OPEN):
            first = trial.user_attrs.get("repeat_of", trial.number)
            begun[first] = begun.get(first, 0) + 1

        def promise(one: Ranked) -> float:
            open_ones = begun[one.number] - one.expected.trainings
            shrunk = one.expected.spread / math.sqrt(1 + max(open_ones, 0))
            return one.expected.mean + shrunk

        found = [one for one in self.ranking(budget) if begun.get(one.number, most) < most]
        if not found:
            return False
        number = max(found, key=promise).number
        parameters = study.get_trials(deepcopy=False)[number].params
        attributes = {"repeat_of": number, "repeat": begun[number]}
        study.enqueue_trial(parameters, user_attrs=attributes)
        return True

    def ranking(self, budget: int) -> list[Ranked]:
        """Settings of a budget's study with their trainings, the best expected score first."""
        found: dict[tuple[int, int], list[Run]] = {}
        for run in self.runs():
            found.setdefault((run.budget, run.of), []).append(run)
        trials = {of: study.get_trials(deepcopy=False) for of, study in self.of.items()}
        known = [
            Known(of, _key(trials[of][number]), [(run.fold, run.score) for run in runs])
            for (of, number), runs in found.items()
        ]
        ranked = [
            Ranked(number, runs, expected)
            for ((of, number), runs), expected in zip(
                found.items(), estimates(known, self.rows), strict=True
            )
            if of == budget
        ]
        return sorted(ranked, key=lambda one: one.order)

    def bury(self) -> int:
        """Fails the trials of processes that died, and sets them again; returns their number."""
        count = 0
        for study in self.of.values():
            for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                if self._lives(trial):
                    continue
                try:
                    study.tell(trial.number, state=TrialState.FAIL)
                except (ValueError, RuntimeError):  # another process was faster
                    continue
                kept = {k: v for k, v in trial.user_attrs.items() if k in ("repeat_of", "repeat")}
                drawn = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
                study.enqueue_trial(drawn, user_attrs={**kept, "again": trial.number})
                count += 1
        return count

    def _lives(self, trial: FrozenTrial) -> bool:
        """Whether the process of a trial lives; of another folder's processes nothing is known,
        so they have an hour."""
        worker = trial.user_attrs.get("worker")
        if worker == self.worker:
            return True
        path = self.folder / f"{worker}.lock"
        if worker is not None and path.exists():
            return is_held(path)
        return trial.datetime_start is None or datetime.now() - trial.datetime_start < LONGEST


def _key(trial: FrozenTrial) -> str:
    parameters = trial.params or trial.system_attrs.get("fixed_params", {})
    return json.dumps(parameters, sort_keys=True)


def quiet() -> None:
    """Silences what Optuna logs of every trial, and its warnings of what is experimental."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.getLogger("optuna").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
