"""`tools.shrink` on files whose models are lost, beside litert-quantizer.

MediaPipe's average-word classifier (10,003 words of 16 numbers, 256 words a text) trained on IMDB,
as Keras exports it, with MediaPipe's metadata; and KerasHub's DistilBERT with random numbers, a
small one and one of the published size. Answers are compared with those of the file before: on the
test rows of IMDB, else on random ids.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import results, runner
from benchmarks.product.other_exporters import by_keras, quantized
from kerascompact import datasets, tools
from kerascompact.core.extras import require
from kerascompact.export import mediapipe_tasks
from kerascompact.text import Vocabulary
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.associated_files import associated_files, with_files
from kerascompact.tools.bench import bench
from kerascompact.tools.differences import differences
from kerascompact.tools.random_inputs import given_inputs, random_inputs

AVERAGE, SMALL, LARGE = "average word", "DistilBERT, 8,000 x 64", "DistilBERT, 30,522 x 768"
WORDS, WIDTH, LENGTH = 10_003, 16, 256
EPOCHS, BATCH, RUNS = 5, 128, 500
OURS = {
    "int8": {},
    "int4": {},
    "codes": {},
    "codes of 2": {"numbers_per_code": 2},
}
THEIRS = {
    "litert-quantizer, dynamic": "dynamic_wi8_afp32",
    "litert-quantizer, static": "static_wi8_ai8",
}
ROUTES = {AVERAGE: (*OURS, *THEIRS), SMALL: ("int8", "int4", "codes"), LARGE: ("int8", "int4")}


class Spec(NamedTuple):
    """What decides a row."""

    file: str
    route: str
    seed: int = 0


class Given(NamedTuple):
    """A file, rows to choose numbers by, and rows to compare on; `None`: random ids."""

    file: bytes
    train: np.ndarray | None
    test: np.ndarray | None


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet; the random models have one seed."""
    specs = [
        Spec(file, route, seed)
        for seed in arguments.seeds or (0, 1, 2)
        for file in (ROUTES if seed == 0 else (AVERAGE,))
        for route in ROUTES[file]
    ]
    made: dict[tuple[str, int], Given] = {}

    def run(spec: Spec) -> dict[str, Any]:
        key = spec.file, spec.seed
        if key not in made:
            made.clear()
            made[key] = (
                average_word(arguments.data, spec.seed)
                if spec.file == AVERAGE
                else (Given(distil_bert(spec.file), None, None))
            )
        return compared(spec, made[key])

    return runner.run_all(name, specs, run, table)


def average_word(data: str | None, seed: int, epochs: int = EPOCHS) -> Given:
    """The file of a trained classifier, with MediaPipe's metadata; IMDB's rows."""
    loaded = datasets.load("imdb", data)
    words = Vocabulary.build(loaded.train.texts, size=WORDS, rules="mediapipe")
    keras.utils.set_random_seed(seed)
    ids = keras.Input((LENGTH,), batch_size=1, dtype="int32", name="ids")
    states = keras.layers.Embedding(len(words), WIDTH)(ids)
    states = keras.layers.GlobalAveragePooling1D()(states)
    states = keras.layers.Dense(WIDTH, "relu")(states)
    states = keras.layers.Dropout(0.2)(states)
    head = keras.layers.Dense(len(loaded.label_names), "softmax", name="probability")
    fitted = keras.Sequential(keras.Model(ids, head(states)).layers[1:])
    fitted.build((None, LENGTH))
    fitted.compile("adam", "sparse_categorical_crossentropy")
    rows = words.encode_all(loaded.train.texts, LENGTH)
    fitted.fit(rows, loaded.train.labels, epochs=epochs, batch_size=BATCH, verbose=0)
    model = flatbuffer.parse(by_keras(keras.Model(ids, fitted(ids))))
    mediapipe_tasks.add_metadata(model, words, labels=True)
    data_of_file = mediapipe_tasks.finish(flatbuffer.pack(model), words, loaded.label_names)
    return Given(data_of_file, rows[:2000], words.encode_all(loaded.test.texts, LENGTH))


def distil_bert(name: str) -> bytes:
    """KerasHub's backbone with random numbers, as Keras exports it."""
    hub = require("keras_hub", "hub")
    keras.utils.set_random_seed(0)
    sizes = (8000, 2, 2, 64, 128) if name == SMALL else (30_522, 6, 12, 768, 3072)
    longest = 128 if name == SMALL else 512
    return by_keras(hub.models.DistilBertBackbone(*sizes, max_sequence_length=longest))


def compared(spec: Spec, given: Given) -> dict[str, Any]:
    """The row of a route: bytes, what answers changed by, and times of both files in turns."""
    start = time.process_time()
    if spec.route in OURS:
        recipe = spec.route.partition(" ")[0]
        options: dict[str, Any] = OURS[spec.route]
        small = tools.shrink(given.file, recipe, calibrate=given.train, max_error=2, **options).data
    else:
        made = quantized(given.file, THEIRS[spec.route], given.train[:500])  # type: ignore[index]
        small = with_files(made, associated_files(given.file))
    seconds = time.process_time() - start
    model = flatbuffer.parse(given.file)
    inputs = random_inputs(model, 32) if given.test is None else given_inputs(model, given.test)
    found = differences(given.file, small, inputs, "random" if given.test is None else "test")
    return {
        "bytes_before": len(given.file),
        "bytes_after": len(small),
        "processor_seconds": round(seconds, 2),
        "outputs": [one._asdict() for one in found],
        "microseconds": timed(given.file, small, given.test),
    }


def timed(before: bytes, after: bytes, rows: np.ndarray | None) -> list[float]:
    """Median microseconds of both files, which take turns."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("before.tflite", "after.tflite")]
        for path, data in zip(paths, (before, after), strict=True):
            path.write_bytes(data)
        runs = RUNS if len(before) < 10**7 else 20
        data_of = None if rows is None else rows[:RUNS]
        return [round(one.p50_us, 1) for one in bench(*paths, runs=runs, data=data_of)]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each file and route, means over seeds."""
    lines = [
        "| file | stored by | seeds | bytes | times smaller | seconds | rows | relative error | "
        "same class % | us before, after |",
        "|" + "---|" * 10,
    ]
    for group in results.by_seed(rows):
        spec, (first, *_) = group[0]["spec"], (row["outputs"][0] for row in group)
        outputs = [row["outputs"][0] for row in group]
        before, after = (
            np.mean([row[f"bytes_{key}"] for row in group]) for key in ("before", "after")
        )
        classes = results.percent(outputs, "same_class") if spec["file"] == AVERAGE else "-"
        error = results.spread(outputs, "relative")[0]
        times = np.mean([row["microseconds"] for row in group], axis=0)
        cells = [spec["file"], spec["route"], str(len(group)), f"{before:,.0f} -> {after:,.0f}"]
        cells += [f"{before / after:.2f}", f"{max(row['processor_seconds'] for row in group):.1f}"]
        told = f"{error:.5f}" if "static" not in spec["route"] else "int8 outputs"
        cells += [f"{first['rows']:,}", told, classes]
        cells += [f"{times[0]:,.1f}, {times[1]:,.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
