"""One trained model of each form as a phone has it, beside what Keras users have without this.

CLINC150's intents by the mean of the words' vectors, every arm of the same width and words and
trained alike; dev picks the epoch, test is read once a file. All files of a seed are timed in
turns, each in a process of its own without TensorFlow.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.anchors import anchor_methods
from benchmarks.lib import results, run_files
from benchmarks.product.other_exporters import ROUTES
from kerascompact import datasets, export, layers, models
from kerascompact.export.recipe import RECIPES
from kerascompact.initializers import HalfNormal
from kerascompact.optimizers import LazyAdam
from kerascompact.size import summary
from kerascompact.tasks.classification import TextData, encode, train
from kerascompact.tasks.measure import accuracy
from kerascompact.tasks.methods import build_embedding, logit_scale
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.passes import kernels
from kerascompact.tools.bench import bench

DATASET, WORDS, WIDTH, LENGTH = "clinc150", 4000, 32, 32
RULES, MAX_BYTES = "wordpunct", 192  # of the arm that takes text
RATE, BATCH, DROPOUT, EPOCHS = 1e-2, 128, 0.4, 15
RUNS = 1000
CALIBRATION = 500  # rows of train, spread over it, that static recipes of others take ranges from
PLAIN = "Keras `Embedding`"


class Arm(NamedTuple):
    """An embedding, the recipes that it is stored by, and the rate at which it is trained."""

    method: str
    options: dict[str, Any]
    recipes: tuple[str, ...] = ("int8",)
    rate: float = RATE


CLUSTERS = {"clusters": 100, "unique": 500, "logit_scale": logit_scale(RATE)}
CODES = {"cardinality": 16, "code_length": 16, "batch_norm": True}
ANCHORS = {"num_anchors": 50, "l1_weight": 0.1, "orthogonality_weight": 1e-3}
ARMS = {
    "SE": Arm("standard", {}, ("float32", "int8", "int4")),
    "ME": Arm("mixture", CLUSTERS, ("int8", "int4")),
    "KD": Arm("kd", CODES),
    "ANT": Arm("anchors", ANCHORS),
    "PS": Arm("predefined_sparse", {"density": 0.5}),
    "LR": Arm("low_rank", {"ratio": 0.25}),
    "TT": Arm("tensor_train", {"ratio": 0.1}),
    "HE": Arm("hashed", {"buckets": 500, "unique": 500}),
    "NP, text in": Arm(
        "projection", {"hidden": 64, "normalization": "batch", "dropout": 0.3}, rate=2e-3
    ),
}


def trained(
    arm: Arm,
    data: TextData,
    seed: int,
    guide: np.ndarray | None = None,
    epochs: int | None = None,
) -> keras.Model:
    """The trained model of an arm; `guide` is the plain table that codes learn from (PDG)."""
    epochs = EPOCHS if epochs is None else epochs
    keras.utils.set_random_seed(seed)
    options: dict[str, Any] = dict(arm.options)
    size, optimizer, first = len(data.vocabulary), LazyAdam, 0
    if arm.method == "anchors":
        options |= {"mask_zero": True, "name": "embedding", "seed": seed}
        options.setdefault("embeddings_initializer", HalfNormal())  # as in the committed rows
        embedding: Any = layers.AnchorTransformEmbedding(size, WIDTH, **options)
        optimizer, first = anchor_methods.optimizer_of("anchors"), epochs // 2
    else:
        if arm.method == "kd" and guide is not None:
            options["guidance"] = layers.PretrainedGuidance(guide, 1000.0)
        if arm.method == "projection":
            options["vocabulary"] = data.vocabulary
        if arm.method == "standard":
            options["start"] = 0.01  # words that are seldom met stay near zero
        embedding = build_embedding(arm.method, size, WIDTH, **options)
    model = models.mean_classifier(
        embedding, len(data.label_names), dropout=DROPOUT, sequence_length=LENGTH
    )
    train(
        model,
        data,
        epochs=epochs,
        batch_size=BATCH,
        learning_rate=arm.rate,
        seed=seed,
        optimizer=optimizer,
        start_from_epoch=min(first, epochs - 1),
    )
    return model


def rest_bits(frozen: keras.Model, recipe: str) -> int:
    """Bits that a recipe stores of all layers but the embedding: kernels as it says.

    >>> dense = keras.Sequential([keras.Input((100,)), keras.layers.Dense(3)])
    >>> rest_bits(dense, "float32"), rest_bits(dense, "int8")  # int8, 3 scales, 3 numbers
    (9696, 2592)
    """
    bits = 0
    for row in summary(frozen).layers:
        if row.layer == "embedding" or row.kind == "BitCache":
            continue
        for weight in frozen.get_layer(row.layer).weights:
            count = int(np.prod(weight.shape))
            axis = kernels.axis_of_scales(weight.shape)
            narrow = RECIPES[recipe].kernels == "int8" and axis is not None
            bits += 8 * count + 32 * weight.shape[axis] if narrow else 32 * count
    return bits


def ours(
    model: keras.Model, data: TextData, recipe: str, texts: Sequence[str] | None
) -> tuple[dict[str, Any], bytes]:
    """A model's file, with `texts` one that takes text, and what it stores and answers.

    Raises: ValueError, if file and Keras disagree on a row that is no tie.
    """
    given: dict[str, Any] = {"vocabulary": data.vocabulary, "sequence_length": LENGTH}
    if texts is not None:
        given = {"text": RULES, "max_bytes": MAX_BYTES, "sequence_length": LENGTH}
    file = export.convert(model, recipe, labels=data.label_names, names=False, **given)
    rows = data.test.ids if texts is None else texts
    tested = export.verify(model, file, rows, data.test.labels)
    paper = next(row.paper_bits for row in summary(model).layers if row.layer == "embedding")
    frozen = export.freeze(model, recipe).model
    stored = next(row.stored_bits for row in summary(frozen).layers if row.layer == "embedding")
    return {
        "paper_bits": paper,
        "stored_bits": stored,
        "rest_bits": rest_bits(frozen, recipe),
        "file_accuracy": tested.file_accuracy,
        "agreement": tested.agreement,
        "ties": tested.ties,
    }, file


def theirs(model: keras.Model, file: bytes, data: TextData) -> dict[str, Any]:
    """What a file of another exporter stores, its largest array being the table, and answers."""
    buffers = flatbuffer.parse(file).buffers  # some exporters put what these hold behind the model
    held = sorted(max(one.size, 0 if one.data is None else len(one.data)) for one in buffers)
    answers = run_files.interpreted(file, data.test.ids).argmax(axis=-1)
    wanted = model.predict(data.test.ids, batch_size=500, verbose=0).argmax(axis=-1)
    return {
        "paper_bits": 32 * WORDS * WIDTH,
        "stored_bits": 8 * held[-1],
        "rest_bits": 8 * held[-2] + 32 * len(data.label_names),
        "file_accuracy": float(np.mean(answers == data.test.labels)),
        "agreement": float(np.mean(answers == wanted)),
    }


def files_of(
    seed: int, data_dir: str | None, arms: Sequence[str]
) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Trains some arms; each file with its row, but for time and memory."""
    loaded = datasets.load(DATASET, data_dir)
    data = encode(loaded, WORDS, LENGTH)
    guide = None
    for name in arms:
        arm, own, texts = ARMS[name], data, None
        if arm.method == "projection":  # its file hashes every word, those of no id as well
            own, texts = encode(loaded, None, LENGTH, every_split=True), loaded.test.texts
        model = trained(arm, own, seed, guide)
        facts = {
            "keras_accuracy": accuracy(model, own.test),
            "dev_accuracy": accuracy(model, own.dev),
        }
        for recipe in arm.recipes:
            row, file = ours(model, own, recipe, texts)
            yield {"arm": name, "recipe": recipe, **facts, **row}, file
        if arm.method == "standard":
            guide = model.get_layer("embedding").embeddings.numpy()
            rows = own.train.ids[:: max(1, len(own.train.ids) // CALIBRATION)][:CALIBRATION]
            for route, convert in ROUTES.items():
                try:
                    file = convert(model, rows)
                except ImportError as error:
                    print(f"{route} is left out. {error}", flush=True)
                    continue
                yield {"arm": PLAIN, "recipe": route, **facts, **theirs(model, file, own)}, file


def timed(files: Sequence[bytes], texts: Sequence[str]) -> list[dict[str, Any]]:
    """Microseconds and memory of files that take turns on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.tflite" for number in range(len(files))]
        for path, file in zip(paths, files, strict=True):
            path.write_bytes(file)
        found = bench(*paths, runs=RUNS, sequence_length=LENGTH, num_ids=WORDS, texts=texts)
    return [
        {
            "file_bytes": one.num_bytes,
            "microseconds": round(one.p50_us, 1),
            "resident_bytes": one.resident,
        }
        for one in found
    ]


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Every seed that has no rows yet: its arms are trained and timed together.

    A seed whose routes of others have changed since trains the dense arm again, for the rows that
    are missing; those of routes that are no more are dropped.
    """
    for seed in arguments.seeds or (0,):
        spec = {"dataset": DATASET, "words": WORDS, "width": WIDTH, "length": LENGTH, "seed": seed}
        spec |= {"rate": RATE, "batch": BATCH, "dropout": DROPOUT, "epochs": EPOCHS}
        known = {(row["arm"], row["recipe"]) for row in results.rows(name) if row["spec"] == spec}
        if {(PLAIN, route) for route in ROUTES} <= known:
            continue
        arms = ["SE"] if known else list(ARMS)
        made = files_of(seed, arguments.data, arms)
        new = [(row, file) for row, file in made if (row["arm"], row["recipe"]) not in known]
        if not new:
            continue
        texts = datasets.load(DATASET, arguments.data).test.texts[:100]
        times = timed([file for _, file in new], texts)
        for (row, _), measured in zip(new, times, strict=True):
            results.append(name, {"spec": spec, **row, **measured})
        kept = [r for r in results.rows(name) if r["arm"] != PLAIN or r["recipe"] in ROUTES]
        results.rewrite(name, kept)
    return results.rows(name)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each file, the mean over seeds."""
    lines = [
        "| embedding | recipe | paper bits | stored bits | rest bits | file B | overhead B "
        "| Keras | file | us | resident KiB |",
        "|" + "---|" * 11,
    ]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["arm"], row["recipe"]), []).append(row)
    for (arm, recipe), group in sorted(groups.items(), key=lambda item: item[0][0] == PLAIN):
        sizes = {key: mean(row[key] for row in group) for key in _MEANS}
        stored = (sizes["stored_bits"] + sizes["rest_bits"]) / 8
        numbers = [sizes[key] for key in ("paper_bits", "stored_bits", "rest_bits", "file_bytes")]
        cells = [arm, recipe, *(f"{number:,.0f}" for number in numbers)]
        cells.append(f"{sizes['file_bytes'] - stored:,.0f}")
        cells += [results.percent(group, f"{kind}_accuracy") for kind in ("keras", "file")]
        cells += [f"{sizes['microseconds']:.1f}", f"{sizes['resident_bytes'] / 1024:,.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


_MEANS = (
    "paper_bits",
    "stored_bits",
    "rest_bits",
    "file_bytes",
    "microseconds",
    "resident_bytes",
)
