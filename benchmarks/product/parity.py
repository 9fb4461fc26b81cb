"""One file of each form where else it runs: other runtimes, another processor, a browser.

Each file runs there and here, on the same rows: hashes must be the same to the bit, classes the
same, and numbers up to float32 sums in another order. Recipes that round what lies between layers
are compared, too; there classes may differ, and the rows say how many.

- `runtimes`: the interpreter without XNNPACK, with two threads, and the CompiledModel;
- `aarch64`: LiteRT's build for Arm, in the Debian root of `aarch64/root.sh`, under qemu's
  user emulation, which tells nothing of speed;
- `browser`: LiteRT's build for browsers in headless Chromium, by `export/web/forms.mjs`.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib import results, run_files
from benchmarks.product.example_forms import APPROXIMATE, HASHES, ROOT, Case, cases
from kerascompact import tflite

TOLERANCE = 1e-5  # of probabilities: a rounding of 2**-24 in each of some hundred terms
SCRIPT = run_files.__file__
ROUNDED = 0.05  # of probabilities that are rounded to 1 / 256, or whose logits are
WAYS = (("plain", 1), ("classic", 2), ("plain", 2), ("compiled", 1), ("compiled", 2))

Command = Sequence[str]  # with `{}` for the folder of files and that of outputs


def commands(name: str, work: Path) -> list[Command]:
    """What runs the files of a benchmark; for "aarch64", the root in `work` is made if need be."""
    if name == "runtimes":
        return [(sys.executable, SCRIPT, "{}", "{}", way, str(n)) for way, n in WAYS]
    if name == "browser":
        return [("node", str(ROOT / "export" / "web" / "forms.mjs"), "{}", "{}")]
    root = work.absolute() / "aarch64"
    if not (root / "python").exists():
        script = str(Path(__file__).parent / "aarch64" / "root.sh")
        subprocess.run(["env", f"PYTHON={sys.executable}", "bash", script, str(root)], check=True)
    return [(str(root / "python"), SCRIPT, "{}", "{}")]


def compare(
    made: dict[tuple[str, str], Case], elsewhere: Sequence[Command]
) -> list[dict[str, Any]]:
    """Runs every file here and by other commands, and compares.

    Args:
        made: From `cases`.
        elsewhere: From `commands`.

    Returns: A row for each file and command.

    Raises: ValueError, if a hash or a class differs, or a probability by more than float32 can.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (file, rows) in enumerate(made.values()):
            Path(folder, f"{number}.tflite").write_bytes(file)
            np.save(Path(folder, f"{number}.npy"), rows)
        _run((sys.executable, SCRIPT, "{}", "{}"), folder, f"{folder}/here")
        for command in elsewhere:
            facts = _run(command, folder, f"{folder}/there")
            for number, ((form, recipe), (file, rows)) in enumerate(made.items()):
                here, there = (
                    np.load(f"{folder}/{side}/{number}.npy") for side in ("here", "there")
                )
                row = {
                    "form": form,
                    "forms": _kinds(file),
                    "recipe": recipe,
                    "file_bytes": len(file),
                    "rows": len(rows),
                }
                found.append({**row, **facts, **_difference(form, recipe, here, there)})
    return found


def _kinds(file: bytes) -> list[str]:
    """The classes of the forms in a file, as its metadata name them."""
    return [facts["form"] for facts in tflite.read_metadata(file).get("embeddings", [])]


def _run(command: Command, folder: str, out: str) -> dict[str, Any]:
    folders = iter((folder, out))
    filled = [next(folders) if part == "{}" else part for part in command]
    done = subprocess.run(filled, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"{command[0]} failed: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _difference(form: str, recipe: str, here: np.ndarray, there: np.ndarray) -> dict[str, Any]:
    exact, rounded = form in HASHES, recipe in APPROXIMATE
    difference = float(np.max(np.abs(here.astype(np.float64) - there)))
    agreement = float(np.mean(here.argmax(-1) == there.argmax(-1)))
    if exact:
        agreement = float(np.mean(here == there))
    bound = 0 if exact else ROUNDED if rounded else TOLERANCE
    if not (difference <= bound and (agreement == 1 or rounded)):  # NaN fails, too
        raise ValueError(
            f"The file of {form!r} by {recipe!r} gives something else there: {agreement:.2%} are "
            f"the same, the largest difference is {difference}."
        )
    return {
        "agreement": agreement,
        "largest_difference": difference,
        "hash": exact,
        "rounded": rounded,
    }


def benchmark(name: str, arguments: Any) -> list[dict[str, Any]]:
    """Compares, and writes all rows anew."""
    rows = compare(cases(), commands(name, Path(arguments.work)))
    results.rewrite(name, rows)
    return rows


def table(found: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per file, or per place if there are several."""
    places = list(dict.fromkeys(row["where"] for row in found))
    if len(places) == 1:
        lines = ["| form | recipe | file B | rows | agree | largest difference |", "|" + "---|" * 6]
        for row in found:
            compared = "every number" if row["hash"] else "class"
            lines.append(
                f"| {row['form']} | {row['recipe']} | {row['file_bytes']:,} | {row['rows']} "
                f"| {100 * row['agreement']:.0f} % ({compared}) | {row['largest_difference']:.1e} |"
            )
        return "\n".join(lines)
    lines = ["| where | files | rows | same class or hash | largest difference |", "|" + "---|" * 5]
    for place in places:
        for rounded in (False, True):
            group = [row for row in found if (row["where"], row["rounded"]) == (place, rounded)]
            if group:
                rows = sum(row["rows"] for row in group)
                same = sum(row["rows"] * row["agreement"] for row in group) / rows
                largest = max(row["largest_difference"] for row in group)
                name = f"{place}, rounded between layers" if rounded else place
                line = f"| {name} | {len(group)} | {rows:,} | {100 * same:.1f} % | {largest:.1e} |"
                lines.append(line)
    return "\n".join(lines)
