"""A table as large as Gemma 3 270M's, 262,144 x 640: scores of all words, bytes, time and memory.

Each form is made and converted in a process of its own, whose memory is measured; then all files
run in turns, one vector at a time, as a language model asks for the next token. Numbers are random.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import processes, runner
from kerascompact import export
from kerascompact.compress import ProductQuantization
from kerascompact.forms import DenseForm, Form, RowScaledForm
from kerascompact.runtime.interpreter import bare

ROWS, WIDTH, RUNS = 262_144, 640, 15
INTEGERS = {"int8, integers": "int8", "int4, integers": "int4"}  # the operator multiplies these
KINDS = (*INTEGERS, "int4 by rows", "int4 by columns", "codes of 160 x 256")


class Spec(NamedTuple):
    """What decides a row: how the table is stored, and how words are scored."""

    kind: str
    rows: int = ROWS
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet: all files are timed in turns."""
    folder = Path(arguments.work) / "large_table"
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, dict[str, Any]] = {}

    def run(spec: Spec) -> dict[str, Any]:
        if not made:
            for kind in KINDS:
                path = folder / f"{KINDS.index(kind)}.tflite"
                arguments_of = (kind, spec.rows, spec.seed, path)
                row = processes.measure_apart("benchmarks.product.large_table", *arguments_of)
                assert row is not None, f"{kind} cannot be made"
                made[kind] = row
            times = timed([folder / f"{place}.tflite" for place in range(len(KINDS))])
            for kind, one in zip(KINDS, times, strict=True):
                made[kind]["milliseconds"] = round(one, 1)
        return made[spec.kind]

    return runner.run_all(name, [Spec(kind) for kind in KINDS], run, table)


def convert(spec: Spec, path: Path) -> dict[str, Any]:
    """Writes the file of a form; its bytes, seconds, and memory beyond that of the libraries."""
    vectors = np.random.default_rng(spec.seed).normal(size=(spec.rows, WIDTH)).astype("float32")
    start = time.perf_counter()
    form = form_of(spec.kind, vectors)
    compressed = time.perf_counter() - start
    found = form(np.arange(1000)).numpy()
    error = float(np.linalg.norm(found - vectors[:1000]) / np.linalg.norm(vectors[:1000]))
    del vectors
    gc.collect()
    hidden = keras.Input((WIDTH,), name="hidden")
    model = keras.Model(hidden, form(hidden, reverse=True))
    recipe: str | export.Recipe = "float32"
    if spec.kind in INTEGERS:
        recipe = export.Recipe("integers", INTEGERS[spec.kind], "dynamic", "rows")
    gc.collect()
    processes.forget_peak()
    held = processes.memory("VmRSS")
    start = time.perf_counter()
    file = export.convert(model, recipe)
    seconds = time.perf_counter() - start
    path.write_bytes(file)
    return {
        "bytes": len(file),
        "relative_error": round(error, 4),
        "compress_seconds": round(compressed, 1),
        "convert_seconds": round(seconds, 1),
        "peak_bytes": processes.memory("VmHWM"),
        "held_bytes": held,
    }


def form_of(kind: str, vectors: np.ndarray) -> Form:
    """The form of a table in one of `KINDS`."""
    if kind.startswith("codes"):
        return ProductQuantization(160, 256, library="faiss").fit(vectors)
    if kind == "int4 by columns":
        sizes = dict(zip(("input_dim", "output_dim"), vectors.shape, strict=True))
        return DenseForm.from_arrays({"table": vectors}, **sizes).stored_as("int4")
    return RowScaledForm.from_table(vectors, kind[:4])


def timed(paths: Sequence[Path]) -> list[float]:
    """Median milliseconds of each file, which take turns, on one thread."""
    files = [bare(str(path)) for path in paths]
    vector = np.random.default_rng(1).normal(size=(1, WIDTH)).astype("float32")
    seconds: list[list[float]] = [[] for _ in files]
    for file in files:
        file.allocate_tensors()
        file.set_tensor(file.get_input_details()[0]["index"], vector)
        file.invoke()
    for _ in range(RUNS):
        for file, times in zip(files, seconds, strict=True):
            start = time.perf_counter()
            file.invoke()
            times.append(time.perf_counter() - start)
    return [1e3 * float(np.median(times)) for times in seconds]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each form."""
    heads = ["stored as", "file MB", "relative error", "ms a token", "compress s", "convert s"]
    heads += ["memory to convert, MB", "of it new, float32 tables"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        cells = [row["spec"]["kind"], f"{row['bytes'] / 1e6:.1f}", f"{row['relative_error']:.3f}"]
        cells += [f"{row['milliseconds']:.1f}", f"{row['compress_seconds']:.0f}"]
        cells += [f"{row['convert_seconds']:.0f}", f"{row['peak_bytes'] / 1e6:,.0f}"]
        new = row["peak_bytes"] - row["held_bytes"]
        cells.append(f"{new / (4 * WIDTH * row['spec']['rows']):.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    which, rows, seed, out = sys.argv[1:]
    print(json.dumps(convert(Spec(which, int(rows), int(seed)), Path(out))))
