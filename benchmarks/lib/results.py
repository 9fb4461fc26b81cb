"""Rows of results: one JSON object per line and run, appended as runs end."""

import fcntl
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks.lib import experiments
from kerascompact.core.files import write_bytes

KINDS = ("dev", "soft", "hard", "file")  # accuracies of a row


def path(name: str) -> Path:
    """The file of an experiment's rows, see `experiments.rows_path`."""
    return experiments.rows_path(name)


def append(name: str, row: dict[str, Any]) -> None:
    """Adds a row; several processes may do so at once."""
    path(name).parent.mkdir(parents=True, exist_ok=True)
    with path(name).open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(row, sort_keys=True) + "\n")


def rewrite(name: str, found: Sequence[dict[str, Any]]) -> None:
    """Replaces all rows of a benchmark."""
    lines = [json.dumps(row, sort_keys=True) + "\n" for row in found]
    write_bytes(path(name), "".join(lines).encode())


def rows(name: str) -> list[dict[str, Any]]:
    """All rows of a benchmark, oldest first; none, if it never ran."""
    if not path(name).exists():
        return []
    return [json.loads(line) for line in path(name).read_text("utf-8").splitlines()]


def find(name: str, spec: dict[str, Any]) -> dict[str, Any] | None:
    """The newest row of a spec."""
    wanted = json.loads(json.dumps(spec))  # tuples and numbers as JSON has them
    found = [row for row in rows(name) if row["spec"] == wanted]
    return found[-1] if found else None


def spread(group: Sequence[dict[str, Any]], key: str) -> tuple[float, float]:
    """Mean and standard deviation (n - 1) of a number over seeds; deviation 0 for one seed.

    >>> spread([{"a": 1.0}, {"a": 3.0}], "a")
    (2.0, 1.4142135623730951)
    """
    values = [row[key] for row in group]
    return mean(values), stdev(values) if len(values) > 1 else 0.0


def percent(group: Sequence[dict[str, Any]], key: str) -> str:
    """Mean and spread of a share over seeds, in percent; one seed has no spread; "-" for none.

    >>> percent([{"a": 0.5}, {"a": 0.52}], "a")
    '51.00 ± 1.41'
    """
    if group[0].get(key) is None:
        return "-"
    average, deviation = spread(group, key)
    return f"{100 * average:.2f}" + (f" ± {100 * deviation:.2f}" if len(group) > 1 else "")


def number(group: Sequence[dict[str, Any]], key: str, style: str = ".2f") -> str:
    """Mean over the seeds that have it, and spread of more than one; "-" for none.

    >>> number([{"a": 1.0}, {"a": 3.0}, {}], "a")
    '2.00 ± 1.41'
    """
    known = [row for row in group if key in row]
    if not known:
        return "-"
    average, deviation = spread(known, key)
    return format(average, style) + (f" ± {deviation:{style}}" if len(known) > 1 else "")


def by_seed(found: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Groups rows whose specs differ in nothing but the seed, in order of first appearance."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        spec = {key: value for key, value in row["spec"].items() if key != "seed"}
        groups.setdefault(json.dumps(spec, sort_keys=True), []).append(row)
    return list(groups.values())


def line(row: dict[str, Any]) -> str:
    """A run in one line, for the terminal."""
    text = f"{row['spec']['dataset']} {row['label']} seed {row['spec']['seed']}"
    text += f": dev {row['dev_accuracy']:.4f} (epoch {row['best_epoch']})"
    if "file_accuracy" in row:
        soft = "" if row["soft_accuracy"] is None else f" soft {row['soft_accuracy']:.4f}"
        text += f" test{soft} hard {row['hard_accuracy']:.4f} file {row['file_accuracy']:.4f}"
        text += f", {row['file_bytes']} B"
    return text + f", {row['train_seconds']:.0f} s"


def table(found: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per configuration, mean and spread over its seeds, accuracies in percent."""
    head = (
        "| model | seeds | dev | soft | hard | file | model MB, paper | embedding B, paper "
        "| stored B | file B | us |"
    )
    lines = [head, "|" + "---|" * 11]
    for group in by_seed(found):
        first = group[0]
        cells = [first["label"], str(len(group))]
        cells += [percent(group, f"{kind}_accuracy") for kind in KINDS]
        cells.append(f"{first['model_mb']:.3f}")
        cells += [f"{first[key]:,.0f}" for key in ("paper_bytes", "stored_bytes", "file_bytes")]
        cells.append(f"{spread(group, 'microseconds')[0]:.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
