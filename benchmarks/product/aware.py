"""What tables of 4 bits cost after training, and after fine-tuning that knows of the rounding.

CLINC150's intents by the mean of narrow vectors, whose few columns feel the rounding; seed by seed
the same trained model as float32, int8 and int4 files, and its int4 file after some epochs of
`export.quantization_aware`. Dev picks the epoch of both trainings; test is read once a file.
"""

import argparse
import time
from collections.abc import Sequence
from statistics import mean
from typing import Any, NamedTuple

import keras

from benchmarks.clusters.cluster_paper import SEEDS
from benchmarks.lib import results, runner
from benchmarks.lib.text_runs import loader
from kerascompact import export, models
from kerascompact.tasks.classification import TextData, train
from kerascompact.tasks.measure import accuracy
from kerascompact.tasks.methods import METHODS, build_embedding, logit_scale

RECIPES = ("float32", "int8_tables", "int4_tables")
TUNED = "int4_tables, fine-tuned"


class Spec(NamedTuple):
    """Everything that decides a run; `tuning_rate` and `tuning_epochs` are those of fine-tuning.

    The rate was chosen on dev (d = 8, seed 0): 82.1 as rounded, 82.5 after 2e-3, 82.6 after 5e-3,
    83.3 after 1e-2, 83.5 after 2e-2 (float32: 83.7). A number must move by half a step of its
    column to become another integer.
    """

    method: str
    width: int = 8
    options: dict[str, Any] = {}
    dataset: str = "clinc150"
    size: int = 3000
    length: int = 32
    epochs: int = 20
    batch_size: int = 64
    learning_rate: float = 1e-2
    dropout: float = 0.2
    tuning_rate: float = 2e-2
    tuning_epochs: int = 6
    seed: int = 0

    @property
    def label(self) -> str:
        """Method and width."""
        return f"{METHODS[self.method].abbreviation}, d = {self.width}"


MIXTURE = {"clusters": 100, "unique": 500, "logit_scale": logit_scale(1e-2)}
RUNS = [
    Spec("standard"),
    Spec("standard", 16),
    Spec("mixture", 16, MIXTURE),
    Spec("low_rank", 32, {"ratio": 0.25}),
]


def run(spec: Spec, data: TextData, verbose: int = 0) -> dict[str, Any]:
    """Trains, exports, fine-tunes and exports again; a row of accuracies and bytes of each file."""
    options = {"batch_size": spec.batch_size, "seed": spec.seed, "verbose": verbose}
    model = trained(spec, data, verbose)
    files = {recipe: _measured(model, recipe, data) for recipe in RECIPES}
    aware = export.quantization_aware(model, "int4_tables")
    start = time.perf_counter()
    train(aware, data, epochs=spec.tuning_epochs, learning_rate=spec.tuning_rate, **options)
    files[TUNED] = _measured(aware, "int4_tables", data)
    return {
        "spec": spec._asdict(),
        "label": spec.label,
        "tuning_seconds": round(time.perf_counter() - start, 1),
        "files": files,
    }


def trained(spec: Spec, data: TextData, verbose: int = 0) -> keras.Model:
    """The trained model of a run, before fine-tuning."""
    keras.utils.set_random_seed(spec.seed)
    embedding = build_embedding(spec.method, spec.size, spec.width, **spec.options)
    model = models.mean_classifier(embedding, len(data.label_names), dropout=spec.dropout)
    options = {"batch_size": spec.batch_size, "seed": spec.seed, "verbose": verbose}
    train(model, data, epochs=spec.epochs, learning_rate=spec.learning_rate, **options)
    return model


def _measured(model: keras.Model, recipe: str, data: TextData) -> dict[str, Any]:
    length = data.test.ids.shape[1]
    file = export.convert(model, recipe, labels=data.label_names, sequence_length=length)
    tested = export.verify(model, file, data.test.ids, data.test.labels)
    frozen = export.freeze(model, recipe).model
    return {
        "dev": accuracy(frozen, data.dev),
        "test": tested.file_accuracy,
        "agreement": tested.agreement,
        "bytes": len(file),
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    load = loader(arguments.data)

    def one(spec: Spec) -> dict[str, Any]:
        data = load(spec.dataset, spec.size, spec.length)
        return run(spec, data, arguments.verbose)

    return runner.benchmark(name, RUNS, arguments, one, table, SEEDS)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each file, mean and spread over seeds, and the loss to float32."""
    lines = [
        "| embedding | file | seeds | dev | test | to float32 | bytes | fine-tuning s |",
        "|" + "---|" * 8,
    ]
    for group in results.by_seed(list(rows)):
        best = mean(row["files"]["float32"]["test"] for row in group)
        for file in (*RECIPES, TUNED):
            found = [row["files"][file] for row in group]
            cells = [group[0]["label"], file, str(len(group))]
            cells += [results.percent(found, key) for key in ("dev", "test")]
            cells.append(f"{100 * (mean(one['test'] for one in found) - best):+.2f}")
            cells.append(f"{mean(one['bytes'] for one in found):,.0f}")
            seconds = mean(row["tuning_seconds"] for row in group)
            cells.append(f"{seconds:.0f}" if file == TUNED else "-")
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
