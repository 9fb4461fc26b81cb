"""Budgets of bytes: `"64KiB"`, `"64KB"` or a number."""

import re
from collections.abc import Sequence
from decimal import Decimal
from numbers import Integral

from kerascompact.core import checks

UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "KIB": 1024, "MIB": 1024**2}
_BUDGET = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)
_EXPECTED = 'bytes as "64KiB" (65,536), "64KB" (64,000), "1.5MiB" or an integer >= 1'


def in_bytes(budget: int | str) -> int:
    """Reads a budget.

    Args:
        budget: Bytes, or a number with a unit: `B`, `KB` and `MB` are powers of 1,000, `KiB` and
            `MiB` of 1,024; capital or small letters.

    Returns: Bytes, rounded down.

    Raises: ValueError, if it is no such text or below 1.

    >>> in_bytes("64KiB"), in_bytes("64KB"), in_bytes(70_000)
    (65536, 64000, 70000)
    """
    if not isinstance(budget, str):
        good = isinstance(budget, Integral) and not isinstance(budget, bool) and budget >= 1
        return int(budget) if good else checks.fail("budget", _EXPECTED, budget)
    found = _BUDGET.fullmatch(budget)
    if found is None or found[2].upper() not in UNITS:
        checks.fail("budget", _EXPECTED, budget)
    size = int(Decimal(found[1]) * UNITS[found[2].upper()])  # 64.1 KB are 64,100, not one less
    if size < 1:
        checks.fail("budget", _EXPECTED, budget)
    return size


def several(budget: int | str | Sequence[int | str]) -> tuple[int, ...]:
    """Reads one budget or several, smallest first, each once.

    Args:
        budget: A budget, several in a text with commas, or a list of them.

    Raises: ValueError, if one is no budget, or there is none.

    >>> several("64KiB, 16KiB")
    (16384, 65536)
    """
    if isinstance(budget, str):
        budget = budget.split(",")
    elif not isinstance(budget, Sequence):
        budget = [budget]
    if not budget:
        checks.fail("budget", _EXPECTED, budget)
    return tuple(sorted({in_bytes(one) for one in budget}))


def shown(size: int) -> str:
    """A budget in its largest whole unit, as folders and tables name it.

    >>> shown(65536), shown(64000), shown(1234)
    ('64KiB', '64KB', '1234B')
    """
    for unit in ("MiB", "MB", "KiB", "KB"):
        if size % UNITS[unit.upper()] == 0:
            return f"{size // UNITS[unit.upper()]}{unit}"
    return f"{size}B"
