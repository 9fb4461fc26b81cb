"""Where a file's time goes: microseconds of each operator, for the forms that are slow on a phone.

LiteRT for Python has no profiler. A file is cut behind each of its operators in turn, the pieces
run in turns on the same texts, and an operator takes what its piece takes more than the one before.
The pieces run without XNNPACK, which would merge operators. The models are those of `phone`.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.lib import results, run_files
from benchmarks.product import phone
from kerascompact import datasets
from kerascompact.tasks.classification import encode
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.graph_edits import kind
from kerascompact.tflite.operators import OPERATORS

ARMS = ("SE", "KD", "ANT")
RECIPE = "int8"
TEXTS, ROUNDS, WARM_UP = 100, 10, 20
NAMED = 6  # operators of a table's line


def operator_times(file: bytes, ids: np.ndarray, rounds: int = ROUNDS) -> list[tuple[str, float]]:
    """Name and microseconds of each operator of a file, the median over texts and rounds.

    Args:
        file: A `.tflite` file of one graph that takes ids.
        ids: Texts `(n, L)`.
        rounds: How often each piece runs on each text.
    """
    model = flatbuffer.parse(file)
    names = [OPERATORS[kind(model, one)] for one in model.subgraphs[0].operators]
    pieces = []
    for number in range(len(names)):
        piece = run_files.interpreter(cut(file, number), plain=True)
        piece.allocate_tensors()
        pieces.append((piece, piece.get_input_details()[0]["index"]))
    seconds = np.zeros((len(names), rounds, len(ids)))
    for turn in range(-1, rounds):  # the first turn warms up
        for number, (piece, place) in enumerate(pieces):
            for row, text in enumerate(ids[:WARM_UP] if turn < 0 else ids):
                piece.set_tensor(place, text[None])
                start = time.perf_counter()
                piece.invoke()
                seconds[number, turn, row] = time.perf_counter() - start
    totals = 1e6 * np.median(seconds.reshape(len(names), -1), axis=1)
    return list(zip(names, np.diff(totals, prepend=0.0).tolist(), strict=True))


def cut(file: bytes, last: int) -> bytes:
    """The file up to operator `last`, whose outputs are the file's."""
    model = flatbuffer.parse(file)
    graph = model.subgraphs[0]
    graph.operators = graph.operators[: last + 1]
    graph.outputs = list(graph.operators[last].outputs)
    model.signatureDefs, model.metadata, model.metadataBuffer = [], [], []
    return flatbuffer.pack(model)


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Every seed that has no rows yet: its models are trained, their files are cut and timed."""
    data = encode(datasets.load(phone.DATASET, arguments.data), phone.WORDS, phone.LENGTH)
    for seed in arguments.seeds or (0,):
        if any(row["spec"]["seed"] == seed for row in results.rows(name)):
            continue
        for row, file in phone.files_of(seed, arguments.data, ARMS):
            if row["arm"] in ARMS and row["recipe"] == RECIPE:
                times = operator_times(file, data.test.ids[:TEXTS])
                rounded = [[operator, round(us, 3)] for operator, us in times]
                spec = {"arm": row["arm"], "seed": seed}
                results.append(name, {"spec": spec, "operators": rounded})
    return results.rows(name)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each form, its operators of the same name together."""
    lines = [
        "| embedding | operators | us in all | by operator |",
        "|---|---|---|---|",
    ]
    for arm in ARMS:
        found = [row["operators"] for row in rows if row["spec"]["arm"] == arm]
        if not found:
            continue
        sums: dict[str, float] = {}
        for operator, us in (one for operators in found for one in operators):
            sums[operator] = sums.get(operator, 0.0) + us / len(found)
        most = sorted(sums.items(), key=lambda item: -item[1])[:NAMED]
        shares = ", ".join(f"{operator} {us:.1f}" for operator, us in most)
        lines.append(f"| {arm} | {len(found[0])} | {sum(sums.values()):.1f} | {shares} |")
    return "\n".join(lines)
