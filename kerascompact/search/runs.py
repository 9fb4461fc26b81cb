"""Runs: finished trainings, as the storage of a search holds them."""

from typing import NamedTuple

from optuna.trial import FrozenTrial

from kerascompact.search.evidence import Estimate
from kerascompact.search.setting import Setting


class Run(NamedTuple):
    """One finished training of a setting.

    Args:
        budget: Budget of its study.
        number: Number of the trial in the study.
        setting: The setting.
        bytes: Size of its file.
        score: What settings are compared by: `dev`; with texts without a label, the mean of `dev`
            and of the share of those held out that have the teachers' answer.
        of: Number of the trial that it repeats; its own, if none.
        repeat: Number among the trainings of its setting.
        fold: Rows that were dev, see `Corpus.rows`.
        seconds: What it took.
        dev: Dev score of its frozen model.
        picked: Epochs that were best on dev, see `Trained`; none in folders of older searches.
    """

    budget: int
    number: int
    setting: Setting
    bytes: int
    score: float
    of: int
    repeat: int
    fold: int
    seconds: float
    dev: float
    picked: tuple[int, ...] = ()


class Ranked(NamedTuple):
    """A setting with its trainings, and what is expected of it."""

    number: int
    runs: list[Run]
    expected: Estimate

    @property
    def order(self) -> tuple[float, int, int]:
        """Key that sorts the best expected score first, of equal ones the smaller file; estimates
        of equal scores differ in their last bits."""
        return -round(self.expected.mean, 9), self.runs[0].bytes, self.number


def run_of(budget: int, trial: FrozenTrial) -> Run:
    """A finished trial as a `Run`."""
    facts = trial.user_attrs
    value = float(trial.value if trial.value is not None else float("nan"))
    return Run(
        budget,
        trial.number,
        Setting.of(facts["setting"]),
        facts["bytes"],
        value,
        facts.get("repeat_of", trial.number),
        facts.get("repeat", 0),
        facts.get("fold", 0),
        facts["seconds"],
        facts.get("dev", value),
        tuple(facts.get("picked", ())),
    )


def tenths(done: int, epochs: int) -> range:
    """Tenths of a training that the last of `done` epochs has ended.

    >>> list(tenths(2, 5)), list(tenths(4, 20)), list(tenths(3, 20))
    ([3, 4], [2], [])
    """
    return range(10 * (done - 1) // epochs + 1, 10 * done // epochs + 1)
