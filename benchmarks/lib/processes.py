"""Measurements that have a process of their own, so that its peak of memory is its own.

Linux only: what a process holds is read from `/proc`.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from benchmarks.lib import runner
from benchmarks.lib.experiments import ROOT


def measure_apart(module: str, *arguments: object) -> dict[str, Any] | None:
    """Runs `python -m module arguments...`; its last line is a row as JSON. None, if it fails."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        print(f"{' '.join(command[3:])}: {done.stderr[-300:]}", file=sys.stderr)
        return None
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def compare(
    module: str,
    name: str,
    arms: Iterable[str],
    arguments: tuple[object, ...],
    table: Callable[[list[dict[str, Any]]], str],
    key: str = "milliseconds",
    faster: str | None = None,
    left_out: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Measures every arm apart; each row is kept, and shown as the last line of a table.

    A row gets the "ratio" of its `key` to that of the first arm, or under the name `faster` how
    many times less it takes; None, if the first failed. Arms that failed, or are `left_out`, have
    no row.
    """
    rows: list[dict[str, Any]] = []
    base = None
    for number, arm in enumerate(arms):
        row = None if arm in left_out else measure_apart(module, arm, *arguments)
        if row is None:
            continue
        base = row[key] if number == 0 else base
        row["ratio" if faster is None else faster] = (
            times(row[key], base) if faster is None else base and times(base, row[key])
        )
        rows.append(runner.keep(name, row, table))
    return rows


def memory(what: str) -> int:
    """Bytes that Linux counts for this process: `VmRSS` now, or `VmHWM`, the most so far.

    >>> 1.1 * memory("VmHWM") > memory("VmRSS") > 0  # the kernel counts in batches
    True
    """
    status = Path("/proc/self/status").read_text("utf-8")
    return 1024 * int(next(line for line in status.splitlines() if what in line).split()[1])


def forget_peak() -> None:
    """Lets `memory("VmHWM")` begin anew, at what the process holds now."""
    Path("/proc/self/clear_refs").write_text("5", "utf-8")


def times(value: float, base: float | None, digits: int = 2) -> float | None:
    """`value / base`, rounded; None where what to compare with could not be measured.

    >>> times(3.0, 2.0), times(3.0, None)
    (1.5, None)
    """
    return None if base is None else round(value / base, digits)


def shown(ratio: float | None, digits: int = 2) -> str:
    """A ratio as a cell of a table."""
    return "-" if ratio is None else f"{ratio:.{digits}f}"
