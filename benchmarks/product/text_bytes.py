"""Bytes by part and accuracy of files of 16 KiB that take text, before and after their operators
were made fewer.

A search of three minutes within one budget, one process, dev as it is given; test is read once a
file. Rows of hash 1 were made by the same lines in a checkout of 8a4fc5c, beside those of hash 2.
"""

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.lib import results, runner
from kerascompact import datasets
from kerascompact.search import text_classifier
from kerascompact.search.setting import Setting
from kerascompact.search.sizes import Sizes
from kerascompact.text.word_hashes import VERSION
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.metadata_schema import METADATA_NAME

SETS = ("clinc150", "trec")
BUDGET = 16 * 1024
PARTS = ("operators", "metadata", "kernels", "words", "vectors")


class Spec(NamedTuple):
    """What decides a search, but for the speed of the machine."""

    dataset: str
    hash: int = VERSION
    minutes: float = 3.0
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet, and gives the rows of all hashes."""
    specs = [
        Spec(dataset, seed=seed)
        for seed in arguments.seeds or (0, 1, 2)
        for dataset in arguments.sets or SETS
    ]

    def run(spec: Spec) -> dict[str, Any]:
        return searched(spec, arguments.data)

    runner.run_all(name, specs, run, table)
    return results.rows(name)


def searched(spec: Spec, data: str | None) -> dict[str, Any]:
    """The row of a search."""
    start, before = time.monotonic(), os.times()
    loaded = datasets.load(spec.dataset, data)
    found = text_classifier(
        loaded, BUDGET, spec.minutes, seed=spec.seed, workers=1, refit=False, verbose=False
    )
    (best,) = found.by_budget.values()
    used = [after - past for after, past in zip(os.times()[:4], before[:4], strict=True)]
    sizes = Sizes(loaded.label_names, found.facts["sequence_length"])
    return {
        "bytes": len(best.file),
        "parts": parts(best.file, best.setting, sizes),
        "operators": len(flatbuffer.operator_names(flatbuffer.parse(best.file))),
        "dev_accuracy": best.dev_score,
        "file_accuracy": best.test_score,
        "label": best.setting.label,
        "setting": best.setting.facts(),
        "trials": found.facts["trials"],
        "total_seconds": round(time.monotonic() - start, 1),
        "processor": round(sum(used), 1),
    }


def parts(file: bytes, setting: Setting, sizes: Sizes) -> dict[str, int]:
    """Bytes of a file by part: what is neither an array nor metadata are operators."""
    model = flatbuffer.parse(file)
    ours = [one for one in model.metadata or [] if one.name == METADATA_NAME]
    metadata = sum(len(model.buffers[one.buffer].data) for one in ours)
    arrays = {name: sizes.parts(setting)[name] for name in PARTS[2:]}
    return {"operators": len(file) - metadata - sum(arrays.values()), "metadata": metadata} | arrays


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each data set and hash, means over seeds."""
    lines = [
        "| data set | hash | seeds | operators | operators B | metadata with labels B | kernels B "
        "| words B | vectors B | file B | ids | dev | test |",
        "|" + "---|" * 13,
    ]
    groups = results.by_seed(rows)
    for group in sorted(groups, key=lambda group: _place(group[0]["spec"])):
        spec = group[0]["spec"]
        cells = [spec["dataset"], str(spec["hash"]), str(len(group))]
        cells += [f"{_mean([row['operators'] for row in group]):.0f}"]
        cells += [f"{_mean([row['parts'][part] for row in group]):,.0f}" for part in PARTS]
        cells += [f"{max(row['bytes'] for row in group):,}"]
        cells += [f"{_mean([row['setting']['words'] for row in group]):,.0f}"]
        cells += [results.percent(group, f"{kind}_accuracy") for kind in ("dev", "file")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _place(spec: dict[str, Any]) -> tuple[int, int]:
    return SETS.index(spec["dataset"]), spec["hash"]


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
