"""Found: the files of a search, and what it tried."""

import contextlib
import json
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
from rich import box
from rich.table import Table

from kerascompact import export
from kerascompact.core import checks, files
from kerascompact.search import budget as budgets
from kerascompact.search.corpus import ids_of_a_text
from kerascompact.search.finishing import Best
from kerascompact.search.picture import draw
from kerascompact.search.runs import Run
from kerascompact.search.studies import DONE, Studies
from kerascompact.tasks import folder as names

WHY = 5  # settings that are named
LEAST = 8  # trials of a budget that say something of its settings
TRIALS, FRONTIER = "trials.jsonl", "frontier.png"

# Parameters that the search draws as a multiple of a usual value -> that number of the setting.
MULTIPLES = {
    "width": "width",
    "epochs": "epochs",
    "learning_rate": "learning_rate",
    "rate_from_start": "learning_rate",
    "tuning_rate": "tuning_rate",
}


class Found:
    """What a search found.

    Args:
        bests: The best file of each budget, smallest first.
        trials: Every finished training.
        why: The settings that mattered, with their shares, see `importances`.
        facts: What the search was about: data, metric, labels, seconds, warnings.

    Attributes:
        best: The best file of the largest budget, see `finishing.Best`.
        by_budget: The best file of each budget, by its name, such as "64KiB".

    Raises: ValueError, if there is no file.
    """

    def __init__(
        self,
        bests: Sequence[Best],
        trials: Sequence[Run],
        why: Sequence[tuple[str, float, Any]],
        facts: dict[str, Any],
    ) -> None:
        if not bests:
            checks.fail("bests", "a list of at least one file", bests)
        self.best = bests[-1]
        self.by_budget = {budgets.shown(one.budget): one for one in bests}
        self.trials, self.facts = list(trials), dict(facts)
        self.importances = list(why)

    @property
    def frontier(self) -> list[Run]:
        """Trainings that no smaller file beats, smallest first."""
        found: list[Run] = []
        for run in sorted(self.trials, key=lambda one: (one.bytes, -one.dev)):
            if not found or run.dev > found[-1].dev:
                found.append(run)
        return found

    @property
    def why(self) -> str:
        """The five settings that mattered most, with the value of the best training."""
        return "\n".join(
            f"{name.replace('_', ' ')}: {share:.0%} of the differences; best at {_shown(value)}"
            for name, share, value in self.importances[:WHY]
        )

    def table(self) -> Table:
        """The files as a table for the terminal."""
        metric = self.facts["metric"].replace("_", " ")
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("budget", no_wrap=True)
        for head in ("file B", "used", f"dev {metric}", f"test {metric}"):
            table.add_column(head, justify="right", no_wrap=True)
        table.add_column("chosen on dev")
        for name, best in self.by_budget.items():
            test = "-" if best.test_score is None else f"{100 * best.test_score:.2f}"
            row = [name, f"{len(best.file):,}", f"{best.used:.1%}", f"{100 * best.dev_score:.2f}"]
            table.add_row(*row, test, best.setting.label)
        return table

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draws dev scores over bytes, every training in grey, and writes a picture.

        Args:
            path: The picture, `.png`, `.svg` or `.pdf`.

        Returns: The path.

        Raises: ImportError, without matplotlib; ValueError, for another ending.
        """
        title = f"{self.facts['data']}: {len(self.trials)} trainings, chosen on dev"
        return draw(self.trials, self.frontier, list(self.by_budget.values()), path, title)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Writes all files: of one budget into the folder, of several into one each by its name.

        Each has `model.tflite`, `model.keras`, `vocabulary.txt`, `labels.txt` and `report.json`;
        the folder has `trials.jsonl`, and `frontier.png` if matplotlib is installed.

        Args:
            folder: Folder, made if it does not exist.

        Returns: The folder.

        Raises: OSError, if a file cannot be written.
        """
        folder = Path(folder)
        for name, best in self.by_budget.items():
            self._save(folder / name if len(self.by_budget) > 1 else folder, best)
        lines = [{**run._asdict(), "setting": run.setting.facts()} for run in self.trials]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        files.write_bytes(folder / TRIALS, text.encode())
        with contextlib.suppress(ImportError):
            self.plot(folder / FRONTIER)
        return folder

    def _save(self, folder: Path, best: Best) -> None:
        names.save_model(best.model, folder / names.MODEL)
        best.vocabulary.save(folder / names.VOCABULARY)
        names.write_labels(self.facts["labels"], folder / names.LABELS)
        report = {
            **{key: value for key, value in self.facts.items() if key != "labels"},
            "sequence_length": ids_of_a_text(self.facts["sequence_length"], best.setting.rules),
            "budget": best.budget,
            "recipe": best.setting.recipe,
            "file_bytes": len(best.file),
            "dev_score": best.dev_score,
            "dev_scores": list(best.dev_scores),
            "test_score": best.test_score,
            "chosen": best.setting.label,
            "setting": best.setting.facts(),
            "why": [[name, share, value] for name, share, value in self.importances[:WHY]],
        }
        text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
        files.write_bytes(folder / names.REPORT, text.encode())
        export.save(best.file, folder / names.FILE)

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{name}: {len(best.file):,} B, dev {100 * best.dev_score:.2f}"
            for name, best in self.by_budget.items()
        )
        return f"Found({sizes}; {len(self.trials)} trainings)"


def importances(studies: Studies) -> list[tuple[str, float, Any]]:
    """Settings with their shares of the differences of dev scores, the largest first, and the value
    that was best; none with few trials.

    Reference: PED-ANOVA, [Watanabe et al., IJCAI 2023](https://arxiv.org/abs/2304.10255).
    """
    shares: dict[str, list[float]] = {}
    for study in studies.of.values():
        done = study.get_trials(deepcopy=False, states=DONE)
        if sum("repeat_of" not in trial.user_attrs for trial in done) < LEAST:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of parameters with few trials
                found = optuna.importance.get_param_importances(
                    study,
                    evaluator=optuna.importance.PedAnovaImportanceEvaluator(),
                    normalize=False,
                )
        except (ValueError, RuntimeError):
            continue
        total = sum(found.values())
        for name, share in found.items() if total else ():  # 0: all trials are alike
            shares.setdefault(name, []).append(share / total)
    trials = [
        trial
        for budget, study in studies.of.items()
        for trial in study.get_trials(deepcopy=False, states=DONE)
        if trial.user_attrs.get("bytes", 0) <= budget
    ]
    if not shares or not trials:
        return []
    best = max(trials, key=lambda trial: trial.value or 0.0)
    total = sum(sum(share) for share in shares.values()) or 1.0
    found = {name: sum(share) / total for name, share in shares.items()}
    order = sorted(found, key=lambda name: -found[name])
    return [(name, found[name], _value(best, name)) for name in order]


def _value(trial: optuna.trial.FrozenTrial, name: str) -> Any:
    """What a trial had of a setting: a number itself, where the search draws it as a multiple."""
    if name in MULTIPLES and "setting" in trial.user_attrs:
        return trial.user_attrs["setting"][MULTIPLES[name]]
    return trial.params.get(name)


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
