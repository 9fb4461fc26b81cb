"""The demo: two models on CLINC150, trained, exported, verified, in one table and one picture."""

import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import keras
from rich import box
from rich.console import Console
from rich.table import Table

from kerascompact import datasets, export, models
from kerascompact.core import checks, files
from kerascompact.runtime.classifier import TextClassifier
from kerascompact.tasks.classification import (
    Coded,
    TextData,
    encode,
    train,
)
from kerascompact.tasks.measure import measure
from kerascompact.tasks.methods import METHODS, build_embedding, logit_scale
from kerascompact.tasks.plots import accuracy_against_bytes
from kerascompact.tasks.progress import TrainingProgress

VOCABULARY_SIZE, LENGTH = 3000, 32  # CLINC150's longest query has 30 tokens
EXAMPLES = (
    "how much money is in my savings account",
    "please wake me up at seven tomorrow",
    "what's the weather like in lisbon",
)


class Setting(NamedTuple):
    """One model of the demo; its numbers were chosen on the dev split. `files`: recipe -> name."""

    method: str
    files: dict[str, str]
    epochs: int = 20
    width: int = 32
    clusters: int = 100
    unique: int = 1000
    dropout: float = 0.4
    learning_rate: float = 1e-2
    batch_size: int = 64


STANDARD = Setting("standard", {"float32": "standard.tflite", "int8": "standard-int8.tflite"})
MIXTURE = Setting("mixture", {"float32": "mixture-float32.tflite", "int8": "mixture.tflite"})
SETTINGS = (STANDARD, MIXTURE)
_SMALL: dict[str, Any] = dict(epochs=1, width=8, clusters=8, unique=40)
QUICK = (STANDARD._replace(**_SMALL), MIXTURE._replace(**_SMALL))


def demo(out: str | os.PathLike[str], quick: bool = False) -> dict[str, Any]:
    """Runs the demo and writes its files into a folder.

    The files: `standard.tflite`, as plain Keras ships it, and `mixture.tflite`, int8; both in the
    other recipe, too, which tells what the clusters save and what the rounding;
    `vocabulary.txt`, `results.json`, and `accuracy_against_bytes.png` if matplotlib is there.

    Args:
        out: The folder, made if it is not there.
        quick: One epoch on a few hundred rows, to see that everything runs.

    Returns: What `results.json` holds: `rows`, one per file, and `seconds` in total.

    Raises: ValueError, if a file and Keras disagree on the argmax of any test row; OSError.
    """
    out, console, start = Path(out), Console(), time.perf_counter()
    checks.boolean("quick", quick)
    data = _data(quick)
    console.print(
        f"CLINC150: {len(data.label_names)} intents, {len(data.train.labels):,} queries to train "
        f"on, {len(data.test.labels):,} to test, {len(data.vocabulary):,} ids."
    )
    data.vocabulary.save(out / "vocabulary.txt")
    settings = QUICK if quick else SETTINGS
    rows = [row for setting in settings for row in _rows(setting, data, out)]
    for row in rows:
        row["ratio"] = rows[0]["file_bytes"] / row["file_bytes"]
    console.print(_table(rows))
    results = {"rows": rows, "seconds": round(time.perf_counter() - start, 1), "quick": quick}
    files.write_bytes(out / "results.json", (json.dumps(results, indent=2) + "\n").encode())
    try:
        title = f"CLINC150: {len(data.label_names)} intents, {len(data.test.labels):,} test queries"
        accuracy_against_bytes(rows, out / "accuracy_against_bytes.png", title)
    except ImportError as error:
        console.print(f"No picture: {error}", markup=False, soft_wrap=True)
    _examples(out / rows[-1]["file"], console)
    console.print(f"{results['seconds']:.0f} seconds. Everything is in {out}.", soft_wrap=True)
    return results


def _data(quick: bool) -> TextData:
    data = encode(datasets.load("clinc150"), 300 if quick else VOCABULARY_SIZE, LENGTH)
    if not quick:
        return data
    train_split, dev, test = (
        Coded(split.ids[:: len(split.labels) // 300], split.labels[:: len(split.labels) // 300])
        for split in (data.train, data.dev, data.test)
    )
    return data._replace(train=train_split, dev=dev, test=test)


def _rows(setting: Setting, data: TextData, out: Path) -> list[dict[str, Any]]:
    """Trains one model, exports and verifies it by each of its recipes; a row for each file."""
    keras.utils.set_random_seed(0)
    options = {name: getattr(setting, name) for name in METHODS[setting.method].options}
    if options:
        options["logit_scale"] = logit_scale(setting.learning_rate)
    embedding = build_embedding(setting.method, len(data.vocabulary), setting.width, **options)
    model = models.mean_classifier(embedding, len(data.label_names), dropout=setting.dropout)
    start = time.perf_counter()
    with TrainingProgress(f"train {METHODS[setting.method].abbreviation}") as progress:
        history = train(
            model,
            data,
            epochs=setting.epochs,
            batch_size=setting.batch_size,
            learning_rate=setting.learning_rate,
            callbacks=[progress],
        )
    facts = {name: value for name, value in setting._asdict().items() if name != "files"}
    facts["train_seconds"] = round(time.perf_counter() - start, 1)
    facts["dev_accuracy"] = max(history["val_accuracy"])
    rows = []
    for recipe, name in setting.files.items():
        row, frozen = measure(model, data, recipe, LENGTH, progress=True)
        export.save(frozen.file, out / name)
        rows.append({"file": name, **facts, **row})
    return rows


def _table(rows: list[dict[str, Any]]) -> Table:
    title = "Test split, every row through the file"
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("method", no_wrap=True)
    for head in (
        "soft\n%", "hard\n%", "file\n%", "paper\nbytes", "file\nbytes", "words\nbytes",
        "ratio", "us per\nquery",
    ):  # fmt: skip
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        accuracies = (row[f"{kind}_accuracy"] for kind in ("soft", "hard", "file"))
        table.add_row(
            f"{METHODS[row['method']].abbreviation} {row['recipe']}",
            *("-" if value is None else f"{100 * value:.2f}" for value in accuracies),
            f"{row['paper_bytes']:,.0f}",
            f"{row['file_bytes']:,}",
            f"{row['vocabulary_bytes']:,}",
            f"{row['ratio']:.1f}x",
            f"{row['microseconds']:.1f}",
        )
    return table


def _examples(file: Path, console: Console) -> None:
    """Text in, prediction out, from nothing but the written files."""
    classifier = TextClassifier(file)
    console.print(f"Predictions of {file.name}:")
    for text, prediction in zip(EXAMPLES, classifier.predict_many(EXAMPLES), strict=True):
        console.print(
            f"  {text!r} -> {prediction.label} ({prediction.probability:.2f})", markup=False
        )
