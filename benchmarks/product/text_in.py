"""Text in, prediction out: CLINC150 and TREC as one file each, and 20,000 hostile texts through it.

A vocabulary inside the file (`vocabulary`, cluster mixture embedding and a mean), beside the same
model as a file of ids; and files without any: `sgnn`, the bits of a whole text, and `projection`,
the mean of the words' projections.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from benchmarks.lib import results, runner
from benchmarks.product.fuzz_texts import hostile_texts
from kerascompact import datasets, export, models, tflite
from kerascompact.core.projection import Projection
from kerascompact.datasets.base import Dataset
from kerascompact.layers import BitCache, ProjectionEmbedding
from kerascompact.optimizers import LazyAdam
from kerascompact.runtime import encoding
from kerascompact.tasks import methods
from kerascompact.text.length_batches import LengthBatches
from kerascompact.text.ngrams import projection_bits
from kerascompact.text.rules import tokenize
from kerascompact.text.vocabulary import Vocabulary

HOSTILE, TIMED, PART = 20_000, 500, 500
RULES, MAX_BYTES = "wordpunct", 256
SETS = {"clinc150": (3000, 32), "trec": (3000, 32)}  # words, length
KINDS = ("vocabulary", "sgnn", "projection")
EPOCHS = {"vocabulary": 20, "sgnn": 10, "projection": 10}
RATES, BATCH = {"vocabulary": 1e-2, "sgnn": 1e-3, "projection": 2e-3}, 128

# Runs alone, without TensorFlow: processor time of one thread, however busy the machine is.
_CHILD = """
import json, sys, time
import numpy as np
from ai_edge_litert.interpreter import Interpreter

found = {}
for name in sys.argv[2:]:
    file = Interpreter(f"{sys.argv[1]}/{name}.tflite", num_threads=1)
    rows = np.load(f"{sys.argv[1]}/{name}.npy")
    port = file.get_input_details()[0]["index"]
    file.resize_tensor_input(port, rows[:1].shape)
    file.allocate_tensors()
    times = []
    for row in rows:
        file.set_tensor(port, row[None])
        file.invoke()
        start = time.thread_time()
        for _ in range(20):
            file.invoke()
        times.append((time.thread_time() - start) / 20)
    found[name] = 1e6 * float(np.mean(times))
print(json.dumps(found))
"""


def trained(
    kind: str, loaded: Dataset, size: int, length: int, epochs: int | None = None
) -> tuple[keras.Model, Vocabulary]:
    """A trained model of ids, or of whole texts' bits, and the vocabulary that made its ids.

    A projection is trained on ids from a `BitCache` of every word there is: nothing in it belongs
    to a word, and its file takes any.
    """
    keras.utils.set_random_seed(0)
    texts, labels = loaded.train.texts, np.asarray(loaded.train.labels)
    classes = len(loaded.label_names)
    if kind == "vocabulary":
        vocabulary = Vocabulary.build(texts, size=size, rules=RULES)
        embedding: Callable[[Any], Any] = methods.build_embedding(
            "mixture",
            len(vocabulary),
            32,
            clusters=min(100, len(vocabulary) // 3),
            unique=len(vocabulary) // 3,
            logit_scale=methods.logit_scale(RATES[kind]),
        )
    else:
        everything = [*texts, *loaded.dev.texts, *loaded.test.texts]
        vocabulary = Vocabulary.build(everything, rules=RULES)
        projected = ProjectionEmbedding(
            64,
            (256,),
            normalization="batch" if kind == "projection" else None,
            dropout=0.3,
            mask_zero=kind == "projection",
            together=kind == "sgnn",
            name="embedding",
        )
    if kind == "sgnn":
        model = models.sgnn(projected, classes, dropout=0.3)
        inputs = np.stack([_whole(text, length, projected.projection) for text in texts])
    else:
        if kind == "projection":
            cache = BitCache.from_vocabulary(vocabulary, projected.projection)

            def embedding(ids: Any) -> Any:
                return projected(cache(ids))

        model = models.mean_classifier(embedding, classes, dropout=0.4)
        inputs = vocabulary.encode_all(texts, length)
    epochs = EPOCHS[kind] if epochs is None else epochs
    steps = epochs * -(-len(texts) // BATCH)
    rate = keras.optimizers.schedules.PolynomialDecay(RATES[kind], steps, 0.0)
    optimizer = LazyAdam(rate) if kind == "vocabulary" else keras.optimizers.Adam(rate)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    if kind == "sgnn":
        model.fit(inputs, labels, batch_size=BATCH, epochs=epochs, verbose=0)
    else:
        model.fit(LengthBatches(inputs, labels, BATCH, seed=0), epochs=epochs, verbose=0)
    return model, vocabulary


def _whole(text: str, length: int, projection: Projection) -> np.ndarray:
    return projection_bits(tokenize(text, RULES)[:length], projection, together=True)


def files_of(
    kind: str, model: keras.Model, vocabulary: Vocabulary, labels: Sequence[str], length: int
) -> dict[str, bytes]:
    """The file that takes text; and, of a model with a vocabulary, the one that takes ids."""
    options: dict[str, Any] = dict(labels=labels, max_bytes=MAX_BYTES)
    if kind == "vocabulary":
        options |= dict(text=vocabulary, sequence_length=length)
        ids = export.convert(model, labels=labels, vocabulary=vocabulary, sequence_length=length)
        return {"text": export.convert(model, **options), "ids": ids}
    limit: dict[str, Any] = {"max_words": length} if kind == "sgnn" else {"sequence_length": length}
    return {"text": export.convert(model, text=RULES, **options, **limit)}


def measure(
    kind: str, loaded: Dataset, size: int, length: int, epochs: int | None, hostile: int
) -> dict[str, Any]:
    """One row: accuracy of the file on the test texts, bytes, time, and the hostile texts.

    `hostile_differing`: those in which the file's outputs and Keras' differ by more than 1e-4, or
    the class does (ties apart). No run of a file may fail: its error would end the benchmark.
    """
    model, vocabulary = trained(kind, loaded, size, length, epochs)
    files = files_of(kind, model, vocabulary, loaded.label_names, length)
    words = vocabulary if kind == "vocabulary" else None
    accuracies, differing = [], 0
    for start in range(0, len(loaded.test.texts), PART):
        part = slice(start, start + PART)
        report = export.verify(
            model,
            files["text"],
            list(loaded.test.texts[part]),
            np.asarray(loaded.test.labels)[part],
            vocabulary=words,
        )
        accuracies.append((report.examples, report.keras_accuracy, report.file_accuracy))
    rows, keras_accuracy, file_accuracy = np.array(accuracies).T
    texts = hostile_texts(hostile, vocabulary.words, seed=1)
    for start in range(0, hostile, PART):
        differing += count_differing(model, files["text"], texts[start : start + PART], words)
    times = microseconds(files, loaded.test.texts[:TIMED], vocabulary, length)
    tokens = [len(tokenize(text, RULES)) for text in loaded.test.texts[:TIMED]]
    row = {
        "keras_accuracy": float(np.average(keras_accuracy, weights=rows)),
        "file_accuracy": float(np.average(file_accuracy, weights=rows)),
        "test_rows": int(rows.sum()),
        "hostile_rows": hostile,
        "hostile_differing": differing,
        "file_bytes": len(files["text"]),
        "inside_bytes": tflite.read_metadata(files["text"])["text"]["bytes"],
        "microseconds": round(times["text"], 1),
        "words_per_text": float(np.mean(tokens)),
    }
    if "ids" in files:
        row |= {
            "ids_file_bytes": len(files["ids"]),
            "vocabulary_bytes": vocabulary.num_bytes,
            "ids_microseconds": round(times["ids"], 1),
        }
    return row


def count_differing(
    model: keras.Model, file: bytes, texts: Sequence[bytes], vocabulary: Vocabulary | None
) -> int:
    """How many texts `export.verify` does not pass."""
    try:
        export.verify(model, file, texts, vocabulary=vocabulary)
    except ValueError as error:
        if "does not predict what Keras does" not in str(error):
            raise
        if len(texts) == 1:
            return 1
        middle = len(texts) // 2
        halves = (texts[:middle], texts[middle:])
        return sum(count_differing(model, file, half, vocabulary) for half in halves)
    return 0


def microseconds(
    files: dict[str, bytes], texts: Sequence[str], vocabulary: Vocabulary, length: int
) -> dict[str, float]:
    """Mean processor time of a run on each of some texts, in a process without TensorFlow."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            (Path(folder) / f"{name}.tflite").write_bytes(data)
        encoded = [encoding.encode(text, MAX_BYTES).numbers[0] for text in texts]
        np.save(f"{folder}/text.npy", np.stack(encoded))
        np.save(f"{folder}/ids.npy", vocabulary.encode_all(texts, length))
        command = [sys.executable, "-c", _CHILD, folder, *files]
        child = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(child.stdout)


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Every arm that has no row yet, and all rows."""
    specs = [
        {
            "dataset": dataset,
            "kind": kind,
            "size": size,
            "length": length,
            "seed": 0,
            "max_bytes": MAX_BYTES,
            "rules": RULES,
            "recipe": "int8_tables",
            "epochs": EPOCHS[kind] if arguments.epochs is None else arguments.epochs,
        }
        for dataset, (size, length) in SETS.items()
        for kind in KINDS
    ]

    def one(spec: dict[str, Any]) -> dict[str, Any]:
        loaded = datasets.load(spec["dataset"], arguments.data)
        sizes = (spec["size"], spec["length"])
        return measure(spec["kind"], loaded, *sizes, arguments.epochs, HOSTILE)

    runner.run_all(name, specs, one, table)
    return results.rows(name)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each file."""
    lines = [
        "| data set | model | file B, text in | of it vocabulary | file of ids + word list B "
        "| accuracy Keras | file | hostile texts | differing | us a text | us a word | us, ids |",
        "|" + "---|" * 12,
    ]
    for row in sorted(rows, key=lambda row: _place(row["spec"])):
        beside, ids = "-", "-"
        if "ids_file_bytes" in row:
            beside = f"{row['ids_file_bytes']:,} + {row['vocabulary_bytes']:,}"
            ids = f"{row['ids_microseconds']:.0f}"
        lines.append(
            f"| {row['spec']['dataset']} | {row['spec']['kind']} | {row['file_bytes']:,} "
            f"| {row['inside_bytes']:,} | {beside} | {100 * row['keras_accuracy']:.2f} "
            f"| {100 * row['file_accuracy']:.2f} | {row['hostile_rows']:,} "
            f"| {row['hostile_differing']} | {row['microseconds']:.0f} "
            f"| {row['microseconds'] / row['words_per_text']:.1f} | {ids} |"
        )
    return "\n".join(lines)


def _place(spec: dict[str, Any]) -> tuple[int, int]:
    """Where in the table: the order above, whatever ran first."""
    return list(SETS).index(spec["dataset"]), KINDS.index(spec["kind"])
