"""Tables of two to four bits a number, without fine-tuning: product codes beside integers.

A plain table and a low-rank one, trained for the phone's table of forms (`phone`), and a table of
normal numbers, each stored by every recipe: the relative error of the vectors, the accuracy of the
file and its bytes. All files of a model are timed in turns.
"""

import argparse
from collections.abc import Sequence
from statistics import mean
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.clusters.cluster_paper import SEEDS
from benchmarks.lib import results, runner
from benchmarks.lib.text_runs import loader
from benchmarks.product import phone
from kerascompact import export
from kerascompact.compress import ProductCodes, compress_model
from kerascompact.core.storage import total_bits
from kerascompact.tasks.classification import TextData

RECIPES = ("float32", "int8", "int4", "codes4", "codes3", "codes2")
VALUES = "16 values"  # codes of four bits, each of one number
NORMAL = "normal numbers"


class Spec(NamedTuple):
    """Everything that decides a run; the name of an arm of `phone`, or `NORMAL`."""

    arm: str
    dataset: str = phone.DATASET
    words: int = phone.WORDS
    width: int = phone.WIDTH
    length: int = phone.LENGTH
    epochs: int = phone.EPOCHS
    seed: int = 0


RUNS = [Spec(NORMAL), Spec("SE"), Spec("LR")]


def run(spec: Spec, data: TextData | None) -> dict[str, Any]:
    """Stores one table in every way; a row of errors, bytes, accuracies and microseconds."""
    if data is None:
        table = np.random.default_rng(spec.seed).normal(size=(spec.words, spec.width))
        layer = keras.layers.Embedding(spec.words, spec.width, name="embedding")
        model = keras.Sequential([keras.Input((spec.length,), dtype="int32"), layer])
        layer.embeddings.assign(table)
    else:
        model = phone.trained(phone.ARMS[spec.arm], data, spec.seed, epochs=spec.epochs)
    names = [*RECIPES] if spec.arm == "LR" else [*RECIPES, VALUES]
    wanted = _vectors(model, spec)
    made = {name: _stored(model, name, wanted, spec, data) for name in names}
    if data is not None:
        times = phone.timed([file for _, file in made.values()], ())
        for (row, _), measured in zip(made.values(), times, strict=True):
            row["microseconds"] = measured["microseconds"]
    return {"spec": spec._asdict(), "files": {name: row for name, (row, _) in made.items()}}


def _stored(
    model: keras.Model, name: str, wanted: np.ndarray, spec: Spec, data: TextData | None
) -> tuple[dict[str, Any], bytes]:
    """A row of one way to store the table, and the file."""
    recipe = name
    if name == VALUES:
        model, recipe = compress_model(model, ProductCodes(4, group=1)), "int8"
    frozen = export.freeze(model, recipe)
    found = _vectors(frozen.model, spec)
    row: dict[str, Any] = {
        "relative_error": float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted)),
        "stored_bytes": -(-total_bits(frozen.model.get_layer("embedding").storage()) // 8),
    }
    if data is None:
        return row, b""
    given = {"vocabulary": data.vocabulary, "sequence_length": spec.length, "names": False}
    file = frozen.convert(labels=data.label_names, **given)
    tested = frozen.verify(data.test.ids, data.test.labels)
    row |= {"test": tested.file_accuracy, "agreement": tested.agreement, "bytes": len(file)}
    return row, file


def _vectors(model: keras.Model, spec: Spec) -> np.ndarray:
    """The vectors of all words."""
    layer = model.get_layer("embedding")
    return keras.ops.convert_to_numpy(layer(np.arange(layer.input_dim)))


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    load = loader(arguments.data)

    def one(spec: Spec) -> dict[str, Any]:
        drawn = spec.arm == NORMAL
        return run(spec, None if drawn else load(spec.dataset, spec.words, spec.length))

    return runner.benchmark(name, RUNS, arguments, one, table, SEEDS)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each file, means over seeds, and the loss to float32."""
    lines = [
        "| table | file | seeds | relative error | table B | file B | test | to float32 | us |",
        "|" + "---|" * 9,
    ]
    for group in results.by_seed(list(rows)):
        for name in group[0]["files"]:
            found = [row["files"][name] for row in group]
            cells = [group[0]["spec"]["arm"], name, str(len(group))]
            cells.append(f"{mean(one['relative_error'] for one in found):.3f}")
            cells.append(f"{mean(one['stored_bytes'] for one in found):,.0f}")
            if "test" in found[0]:
                best = mean(row["files"]["float32"]["test"] for row in group)
                cells.append(f"{mean(one['bytes'] for one in found):,.0f}")
                cells.append(results.percent(found, "test"))
                cells.append(f"{100 * (mean(one['test'] for one in found) - best):+.2f}")
                cells.append(f"{mean(one['microseconds'] for one in found):.1f}")
            else:
                cells += ["-"] * 4
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
