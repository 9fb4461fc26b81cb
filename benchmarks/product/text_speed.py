"""From the bytes of a text to its class: our runtime, MediaPipe, fastText and a file of Keras.

Every arm classifies one text at a time in a process of its own, on one thread; all take turns. What
is timed is a call from Python, from the UTF-8 bytes of a text to the name of its class.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import runner
from benchmarks.lib.experiments import ROOT
from benchmarks.product import fasttext_files, other_exporters
from kerascompact import datasets, export, models
from kerascompact.core.extras import require
from kerascompact.optimizers import LazyAdam
from kerascompact.text import Vocabulary

SETS = {"clinc150": 32, "trec": 32}  # words of a text
WORDS, WIDTH, EPOCHS, BATCH, TEXTS = 4000, 32, 10, 64, 500
ROUNDS, CALLS = 40, 50  # turns of an arm, and its calls in a turn
FAST = fasttext_files.Setting(WIDTH, 1, WORDS)
CHILD = Path(__file__).with_name("text_speed_child.py")
OTHERS = "KERASCOMPACT_OTHERS"  # path of the Python that has MediaPipe, if not .venv-others

# Name of an arm -> how the child runs it, and its file.
ARMS = {
    "ours, ids": ("ours", "ids/model"),
    "ours, text in": ("ours", "text"),
    "ours, ids, bare": ("plain", "ids/model"),
    "ours, from ids to class": ("ids", "ids/model"),
    "MediaPipe": ("mediapipe", "mediapipe"),
    "fastText": ("fasttext", "model.bin"),
    "fastText, quantized": ("fasttext", "model.ftz"),
    "Keras, float32": ("plain", "float32"),
}


class Spec(NamedTuple):
    """What decides a row."""

    dataset: str
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    specs = [Spec(dataset) for dataset in arguments.sets or SETS]

    def run(spec: Spec) -> dict[str, Any]:
        folder = Path(arguments.work) / "text_speed" / spec.dataset
        folder.mkdir(parents=True, exist_ok=True)
        return compared(spec, datasets.load(spec.dataset, arguments.data), folder)

    return runner.run_all(name, specs, run, table)


def compared(spec: Spec, loaded: datasets.Dataset, folder: Path) -> dict[str, Any]:
    """The row of a data set: bytes, accuracy and microseconds of each arm that can run here."""
    write_files(spec, loaded, folder)
    test = [
        (text.replace("\n", " "), loaded.label_names[int(label)])  # fastText reads one line
        for text, label in zip(loaded.test.texts, loaded.test.labels, strict=True)
        if text.strip()
    ][:: max(1, len(loaded.test.texts) // TEXTS)]
    (folder / "texts.json").write_text(json.dumps([text for text, _ in test]), "utf-8")
    with contextlib.ExitStack() as stack:
        children = {}
        for arm, (way, file) in ARMS.items():
            if way != "mediapipe":
                children[arm] = stack.enter_context(child(sys.executable, way, folder, file))
            elif python := python_with_mediapipe():
                children[arm] = stack.enter_context(child(python, way, folder, file))
            else:
                print(f"MediaPipe is left out: no {OTHERS}, and no .venv-others", flush=True)
        answers = {arm: call("answers") for arm, call in children.items()}
        seconds: dict[str, list[float]] = {arm: [] for arm in children}
        for _ in range(ROUNDS):
            for arm, call in children.items():
                seconds[arm] += call("run", CALLS)
    wanted = [label for _, label in test]
    return {
        "texts": len(test),
        "arms": {
            arm: {
                "bytes": sum(path.stat().st_size for path in files_of(folder, ARMS[arm][1])),
                "accuracy": float(np.mean([a == b for a, b in zip(found, wanted, strict=True)])),
                "microseconds": round(1e6 * float(np.median(seconds[arm])), 1),
            }
            for arm, found in answers.items()
        },
    }


def write_files(spec: Spec, loaded: datasets.Dataset, folder: Path) -> None:
    """Trains a mean of word vectors for each tokenizer, and writes the files of all arms."""
    labels, length = loaded.label_names, SETS[spec.dataset]
    (folder / "labels.json").write_text(json.dumps(labels), "utf-8")
    for rules in ("wordpunct", "mediapipe"):
        words = Vocabulary.build(loaded.train.texts, size=WORDS, rules=rules)
        keras.utils.set_random_seed(spec.seed)
        embedding = keras.layers.Embedding(len(words), WIDTH, mask_zero=True)
        model = models.mean_classifier(embedding, len(labels), dropout=0.4, sequence_length=length)
        model.compile(LazyAdam(3e-3), "sparse_categorical_crossentropy")
        rows = words.encode_all(loaded.train.texts, length)
        truth = np.asarray(loaded.train.labels)
        model.fit(rows, truth, epochs=EPOCHS, batch_size=BATCH, verbose=0)
        frozen = export.freeze(model, "int8")
        options: dict[str, Any] = {"labels": labels, "vocabulary": words}
        if rules == "mediapipe":
            export.save(frozen, folder / "mediapipe.tflite", mediapipe=True, **options)
            continue
        (folder / "ids").mkdir(exist_ok=True)
        export.save(frozen, folder / "ids" / "model.tflite", **options)
        export.save(frozen, folder / "text.tflite", labels=labels, text=words)
        (folder / "float32.tflite").write_bytes(other_exporters.by_keras(model))
        (folder / "words.json").write_text(json.dumps(["", None, *words.words]), "utf-8")
    fasttext = require("fasttext", "bench")
    lines = [
        f"__label__{int(label)} {' '.join(text.split())}\n"
        for text, label in zip(loaded.train.texts, loaded.train.labels, strict=True)
    ]
    (folder / "train.txt").write_text("".join(lines), "utf-8")
    made = fasttext.train_supervised(
        str(folder / "train.txt"),
        dim=WIDTH,
        epoch=FAST.epochs,
        lr=FAST.rate,
        seed=spec.seed,
        thread=12,  # its default; with fewer than 11, 0.9.3 leaves vectors as memory was
        verbose=0,
    )
    made.save_model(str(folder / "model.bin"))
    made.quantize(input=str(folder / "train.txt"), cutoff=WORDS, retrain=True, qnorm=True)
    made.save_model(str(folder / "model.ftz"))


def files_of(folder: Path, name: str) -> list[Path]:
    """The files that an arm reads, without lists of labels."""
    path = folder / name
    if path.suffix in (".bin", ".ftz"):
        return [path]
    beside = {"ids/model": folder / "ids" / "vocabulary.txt", "float32": folder / "words.json"}
    return [folder / f"{name}.tflite", *([beside[name]] if name in beside else [])]


def python_with_mediapipe() -> str | None:
    """Path of a Python that can import MediaPipe; `None` if there is none."""
    for path in (sys.executable, os.environ.get(OTHERS), ROOT / ".venv-others" / "bin" / "python"):
        command = [str(path), "-c", "import mediapipe.tasks.python.text"]
        with contextlib.suppress(OSError):
            if path and subprocess.run(command, capture_output=True).returncode == 0:
                return str(path)
    return None


@contextlib.contextmanager
def child(python: str, way: str, folder: Path, file: str) -> Iterator[Any]:
    """Starts the process of an arm and gives a function that sends it a command."""
    process = subprocess.Popen(
        [python, str(CHILD), way, str(folder), file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )

    def call(*command: Any) -> list[Any]:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        for line in process.stdout:  # libraries print, too
            if line.startswith("answer "):
                return json.loads(line.removeprefix("answer "))
        raise RuntimeError(f"{way}: its process ended with the status {process.wait()}.")

    try:
        yield call
    finally:
        process.kill()
        process.communicate()


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each set and arm."""
    lines = ["| data set | arm | file B | test | us a text | to ours |", "|" + "---|" * 6]
    for row in rows:
        ours = row["arms"]["ours, ids"]["microseconds"]
        for arm in ARMS:
            if arm not in row["arms"]:
                continue
            one = row["arms"][arm]
            lines.append(
                f"| {row['spec']['dataset']} | {arm} | {one['bytes']:,} "
                f"| {100 * one['accuracy']:.2f} | {one['microseconds']:.1f} "
                f"| {one['microseconds'] / ours:.2f} |"
            )
    return "\n".join(lines)
