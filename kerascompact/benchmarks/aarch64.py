"""One file of each form on another processor: aarch64, under qemu's user emulation.

`export/aarch64/root.sh` makes a Debian arm64 root with LiteRT's aarch64 build. Each file runs
there and here, on the same rows: hashes must be the same to the bit, classes the same, and numbers
up to float32 sums in another order. The emulation tells nothing of speed.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kerascompact import export
from kerascompact.benchmarks import results
from kerascompact.benchmarks.every_form import HASHES, ROOT, Case, cases

TOLERANCE = 1e-5  # of probabilities: a rounding of 2**-24 in each of some hundred terms


def compare(made: dict[tuple[str, str], Case], python: Sequence[str]) -> list[dict[str, Any]]:
    """Runs every file here and by another Python, and compares.

    Args:
        made: From `cases`.
        python: The command that runs the other one.

    Returns: A row for each file.

    Raises: ValueError, if a hash or a class differs, or a probability by more than float32 can.
    """
    with tempfile.TemporaryDirectory() as folder:
        for number, (file, rows) in enumerate(made.values()):
            Path(folder, f"{number}.tflite").write_bytes(file)
            np.save(Path(folder, f"{number}.npy"), rows)
        facts = _run(python, folder, f"{folder}/there")
        _run([sys.executable], folder, f"{folder}/here")
        found = []
        for number, ((form, recipe), (file, rows)) in enumerate(made.items()):
            here, there = (np.load(f"{folder}/{side}/{number}.npy") for side in ("here", "there"))
            kinds = _kinds(file)
            row = {
                "form": form,
                "forms": kinds,
                "recipe": recipe,
                "file_bytes": len(file),
                "rows": len(rows),
            }
            found.append({**row, **facts, **_difference(here, there, form in HASHES)})
    return found


def _kinds(file: bytes) -> list[str]:
    """The classes of the forms in a file, as its metadata name them."""
    return [facts["form"] for facts in export.read_metadata(file).get("embeddings", [])]


def _run(python: Sequence[str], folder: str, out: str) -> dict[str, Any]:
    script = Path(__file__).with_name("aarch64_inside.py")
    done = subprocess.run([*python, script, folder, out], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"{python[0]} failed: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _difference(here: np.ndarray, there: np.ndarray, exact: bool) -> dict[str, Any]:
    difference = float(np.max(np.abs(here.astype(np.float64) - there)))
    agreement = float(np.mean(here.argmax(-1) == there.argmax(-1)))
    if exact:
        agreement = float(np.mean(here == there))
    if not (agreement == 1 and difference <= (0 if exact else TOLERANCE)):  # NaN fails, too
        raise ValueError(
            f"Two processors disagree: {agreement:.2%} are the same, the largest difference is "
            f"{difference}."
        )
    return {"agreement": agreement, "largest_difference": difference, "hash": exact}


def benchmark(name: str, arguments: Any) -> list[dict[str, Any]]:
    """Makes the root in `--work` if it is not there, compares, and writes all rows anew."""
    root = Path(arguments.work).absolute() / "aarch64"
    if not (root / "python").exists():
        script = str(ROOT / "export" / "aarch64" / "root.sh")
        subprocess.run(["env", f"PYTHON={sys.executable}", "bash", script, str(root)], check=True)
    rows = compare(cases(), [str(root / "python")])
    results.rewrite(name, rows)
    return rows


def table(found: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per file."""
    head = "| form | recipe | file B | rows | agree | largest difference |"
    lines = [head, "|" + "---|" * 6]
    for row in found:
        compared = "every number" if row["hash"] else "class"
        lines.append(
            f"| {row['form']} | {row['recipe']} | {row['file_bytes']:,} | {row['rows']} "
            f"| {100 * row['agreement']:.0f} % ({compared}) | {row['largest_difference']:.1e} |"
        )
    return "\n".join(lines)
