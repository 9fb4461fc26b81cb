"""Codes in a short training: 15 epochs of CLINC150, all arms alike.

The mean of the words' vectors, then one layer; 1,900 words, d = 24, K = 16, D = 8: codes of four
bytes a word. Learned codes (KD, and both of DPQ's ways to choose a row) stand beside the full
table, rivals of about their size, and codes that begin at those of the trained full table: its
product quantization as it is, and trained on. DPQ by distance that starts long, and both ways with
a penalty on the vectors' squared length, show what short vectors of rare words are worth. Each arm
has the better of two rates on dev, seed 0 (`codes_short_dev`); the epoch that is best on dev is
measured on test, once.
"""

import argparse
import functools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.clusters.cluster_paper import SEEDS
from benchmarks.lib import results, runner
from kerascompact import datasets, models
from kerascompact.size import summary
from kerascompact.tasks.classification import TextData, encode, train
from kerascompact.tasks.measure import accuracy
from kerascompact.tasks.methods import build_embedding


def short(strength: float) -> dict[str, Any]:
    """The option of a layer that penalizes the squared length of its vectors, a mean over texts."""
    return {"activity_regularizer": {"class_name": "L2", "config": {"l2": strength}}}


SIZES = {"cardinality": 16, "code_length": 8}
DPQ_SX: dict[str, Any] = {"method": "dpq", "options": {"method": "sx", **SIZES}}
DPQ_VQ: dict[str, Any] = {"method": "dpq", "options": {"method": "vq", **SIZES}}
WARM: dict[str, Any] = {**DPQ_SX["options"], "temperature": 2.0}
UNIFORM = {"class_name": "RandomUniform", "config": {"minval": -1.0, "maxval": 1.0}}
LONG: dict[str, Any] = {**DPQ_VQ["options"], "embeddings_initializer": UNIFORM}
COMMON = {**SIZES, "batch_norm": True, "logit_scale": 1.0, "margin": 1.0}
HALF = {"logits_dtype": "bfloat16"}
ARMS: dict[str, dict[str, Any]] = {
    "SE": {"method": "standard", "options": {"start": 0.01}},
    "LR, rank 2": {"method": "low_rank", "options": {"ratio": 0.09}},
    "QE, 2 bits": {"method": "quantized", "options": {"bits": 2}},
    "KD": {"method": "kd", "options": SIZES},
    "KD, bfloat16": {"method": "kd", "options": {**SIZES, **HALF}},
    "KD, common start": {"method": "kd", "options": COMMON},
    "KD, common start, bfloat16": {"method": "kd", "options": {**COMMON, **HALF}},
    "DPQ-SX, one norm": {**DPQ_SX, "options": {**DPQ_SX["options"], "shared_norm": True}},
    "DPQ-SX": DPQ_SX,
    "DPQ-SX, temperature 2": {**DPQ_SX, "options": WARM},
    "DPQ-SX, temperature 2, short": {**DPQ_SX, "options": {**WARM, **short(3e-4)}},
    "DPQ-VQ": DPQ_VQ,
    "DPQ-VQ, long start": {**DPQ_VQ, "options": LONG},
    "DPQ-VQ, long start, short": {**DPQ_VQ, "options": {**LONG, **short(1e-3)}},
    "PQ, not trained on": {**DPQ_VQ, "begun": True, "epochs": 0},
    "KD, begun at codes": {"method": "kd", "options": SIZES, "begun": True},
    "DPQ-SX, begun at PQ": {**DPQ_SX, "begun": True},
    "DPQ-VQ, begun at PQ": {**DPQ_VQ, "begun": True},
}
TRIED = (0.01, 0.03)
SLOWER = (  # 0.01 by dev
    "QE, 2 bits",
    "KD",
    "KD, common start",
    "KD, common start, bfloat16",
    "DPQ-VQ, begun at PQ",
)


class Spec(NamedTuple):
    """Everything that decides a run. `begun`: whether it starts from the trained arm "SE"."""

    arm: str
    method: str
    options: dict[str, Any]
    begun: bool = False
    dataset: str = "clinc150"
    size: int = 1900
    length: int = 32
    width: int = 24
    epochs: int = 15
    batch_size: int = 128
    learning_rate: float = 0.01
    seed: int = 0


class Full(NamedTuple):
    """What a begun run starts from: the full table, and the weights of the last layer."""

    table: np.ndarray
    last: list[np.ndarray]


def spec_of(arm: str) -> Spec:
    """The run of an arm, with its rate."""
    return Spec(arm, **ARMS[arm], learning_rate=TRIED[arm not in SLOWER])


def dev_specs() -> list[Spec]:
    """Every trained arm at each rate."""
    arms = [spec_of(arm) for arm in ARMS if ARMS[arm].get("epochs") != 0]
    return [spec._replace(learning_rate=rate) for spec in arms for rate in TRIED]


def build(spec: Spec, data: TextData, **start: Any) -> keras.Model:
    """The untrained model of a run, seeded."""
    keras.utils.set_random_seed(spec.seed)
    embedding = build_embedding(
        spec.method, len(data.vocabulary), spec.width, **spec.options, **start
    )
    return models.mean_classifier(embedding, len(data.label_names))


def trained(spec: Spec, data: TextData, full: Full | None, verbose: int = 0) -> keras.Model:
    """The trained model of a run; one that is begun starts at the full table and its last layer."""
    if full is None:
        model = build(spec, data)
    else:
        model = build(spec, data, weights=full.table)
        model(np.zeros((1, spec.length), np.int32))
        model.layers[-1].set_weights(full.last)
    if spec.epochs:
        train(
            model,
            data,
            epochs=spec.epochs,
            batch_size=spec.batch_size,
            learning_rate=spec.learning_rate,
            seed=spec.seed,
            verbose=verbose,
        )
    return model


def run(
    spec: Spec, data: TextData, full: Full | None = None, test: bool = True, verbose: int = 0
) -> dict[str, Any]:
    """Trains one model and returns its row; `test=False` leaves the test split untouched."""
    begin = time.perf_counter()
    model = trained(spec, data, full, verbose)
    seconds = time.perf_counter() - begin
    bits = next(row.paper_bits for row in summary(model).layers if row.layer == "embedding")
    row = {
        "label": spec.arm,
        "dev_accuracy": accuracy(model, data.dev),
        "train_accuracy": accuracy(model, data.train),
        "paper_bits": bits,
        "train_seconds": round(seconds, 1),
    }
    return row | ({"test_accuracy": accuracy(model, data.test)} if test else {})


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs, or goes on with, the benchmark; `codes_short_dev` tries rates without test."""
    verbose, test = arguments.verbose, name == "codes_short"

    @functools.cache
    def data() -> TextData:
        spec = spec_of("SE")
        return encode(datasets.load(spec.dataset, arguments.data), spec.size, spec.length)

    @functools.cache
    def full(seed: int, epochs: int) -> Full:
        spec = spec_of("SE")._replace(seed=seed, epochs=epochs)
        model = trained(spec, data(), None, verbose)
        table = model.get_layer("embedding").embeddings.numpy()
        return Full(table, model.layers[-1].get_weights())

    def one(spec: Spec) -> dict[str, Any]:
        keras.backend.clear_session()
        epochs = spec.epochs or spec_of("SE").epochs
        return run(spec, data(), full(spec.seed, epochs) if spec.begun else None, test, verbose)

    if name == "codes_short_dev":
        return runner.benchmark(name, dev_specs(), arguments, one, table)
    return runner.benchmark(name, [spec_of(arm) for arm in ARMS], arguments, one, table, SEEDS)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per arm, mean and spread over seeds, accuracies in percent."""
    lines = [
        "| embedding | rate | seeds | train | dev | test | KB, paper | seconds |",
        "|" + "---|" * 8,
    ]
    for group in sorted(results.by_seed(rows), key=lambda group: [*ARMS].index(group[0]["label"])):
        spec = group[0]["spec"]
        cells = [group[0]["label"], f"{spec['learning_rate']:g}" if spec["epochs"] else "-"]
        cells.append(str(len(group)))
        for key in ("train_accuracy", "dev_accuracy", "test_accuracy"):
            cells.append(results.percent(group, key))
        cells.append(f"{group[0]['paper_bits'] / 8000:.1f}")
        cells.append(f"{results.spread(group, 'train_seconds')[0]:.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
