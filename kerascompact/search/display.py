"""Display of a search while it runs: trials done, the best of each budget, minutes left."""

import time
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from kerascompact.search import budget as budgets
from kerascompact.search.studies import Studies


class Display:
    """One line for each budget, renewed; as a context, it ends and shows the cursor again.

    Args:
        studies: The trials.
        seconds: Time of the search.
        begun: When it began, by `time.time`.
        verbose: Whether to show anything.
    """

    def __init__(self, studies: Studies, seconds: float, begun: float, verbose: bool) -> None:
        self.studies, self.seconds, self.begun = studies, seconds, begun
        self.live = Live(console=Console(quiet=not verbose), auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.live.stop()

    def renew(self) -> None:
        """Reads the trials and shows them."""
        self.live.update(self.lines(), refresh=True)

    def lines(self) -> Table:
        """The lines as they are now."""
        left = max(0.0, self.begun + self.seconds - time.time())
        runs = self.studies.runs()
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, title_justify="left")
        table.title = f"{len(runs)} trainings, {left / 60:.1f} minutes left"
        for head in ("budget", "trainings", "best on dev", "bytes"):
            table.add_column(head, justify="right" if head != "budget" else "left")
        for size in self.studies.of:
            own = [run for run in runs if run.budget == size]
            best = max(own, key=lambda run: run.score, default=None)
            shown = ("-", "-") if best is None else (f"{100 * best.dev:.2f}", f"{best.bytes:,}")
            table.add_row(budgets.shown(size), str(len(own)), *shown)
        return table
