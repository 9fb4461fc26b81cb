"""Measurements that have a process of their own, so that its peak of memory is its own.

Linux only: what a process holds is read from `/proc`.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def measure_apart(module: str, *arguments: object) -> dict[str, Any] | None:
    """Runs `python -m module arguments...`; its last line is a row as JSON. None, if it fails."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{' '.join(command[3:])}: {done.stderr[-300:]}", file=sys.stderr)
        return None
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def memory(what: str) -> int:
    """Bytes that Linux counts for this process: `VmRSS` now, or `VmHWM`, the most so far.

    >>> memory("VmHWM") >= memory("VmRSS") > 0
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
