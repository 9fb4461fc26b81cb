"""Why DPQ by dot product stays behind DPQ by distance: choice and gradient crossed.

"sx" and "vq" differ in two things: what chooses a row (a dot product, normalized, or a distance)
and what reaches the query (the gradient of a softmax, or the vector's own). Here is each with each,
in the setting of `codes_short`: 15 epochs of CLINC150 at rate 0.03. Dev alone: nothing is picked.
"""

import argparse
import functools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from benchmarks.clusters.cluster_paper import SEEDS
from benchmarks.kd_codes import codes_short
from benchmarks.lib import results, runner
from kerascompact import datasets, layers, models
from kerascompact.ops.codes import chosen_rows, largest
from kerascompact.ops.straight_through import straight_through_estimate
from kerascompact.tasks.classification import TextData, encode, train
from kerascompact.tasks.measure import accuracy


class Spec(NamedTuple):
    """Everything that decides a run.

    `choice`: "dot product" or "distance"; `normalized`: whether its scores are; `gradient`:
    "softmax" or "identity"; `tied`: whether the keys are the values, as "distance" always has it.
    """

    choice: str
    normalized: bool
    gradient: str
    tied: bool = True
    rate: float = 0.03
    epochs: int = 15
    seed: int = 0


ARMS = (
    Spec("distance", False, "identity"),  # "vq"
    Spec("distance", False, "softmax"),
    Spec("distance", True, "identity"),
    Spec("dot product", True, "identity"),
    Spec("dot product", False, "identity"),
    Spec("dot product", True, "softmax"),
    Spec("dot product", True, "softmax", tied=False),  # "sx"
)


class CrossedDPQ(layers.DPQEmbedding):
    """`DPQEmbedding` with either way to choose and either gradient.

    With the identity, rows follow their queries by the loss of "vq"; so they do by distance.
    """

    def __init__(self, *sizes: int, gradient: str, tied: bool, **kwargs: Any) -> None:
        super().__init__(*sizes, **kwargs)
        self.gradient, self.tied = gradient, tied

    def build(self, input_shape: Any = None) -> None:
        super().build(input_shape)
        if self.tied:
            self.keys.trainable = self.codebooks is self.keys  # those of "sx" are not used
            self.keys = self.codebooks

    def _rows(self, queries: tf.Tensor, logits: tf.Tensor, counts: Any = None) -> tf.Tensor:
        nearest = self.rows_of(largest(logits))
        follows = self.gradient == "identity" or self.method == "vq"
        if counts is not None and follows:
            self.add_loss(self._regularizer(queries, nearest, counts))
        if self.gradient == "identity":
            return straight_through_estimate(nearest, queries)
        return chosen_rows(logits, self.codebooks.value, 1.0)


def build(spec: Spec, data: TextData, width: int) -> keras.Model:
    """The untrained model of a run, seeded."""
    keras.utils.set_random_seed(spec.seed)
    embedding = CrossedDPQ(
        len(data.vocabulary),
        width,
        *codes_short.SIZES.values(),
        method="vq" if spec.choice == "distance" else "sx",
        batch_norm=spec.normalized,
        gradient=spec.gradient,
        tied=spec.tied,
        mask_zero=True,
        name="embedding",
    )
    return models.mean_classifier(embedding, len(data.label_names))


def run(spec: Spec, data: TextData, width: int = 24, verbose: int = 0) -> dict[str, Any]:
    """Trains one model as `codes_short` does and returns its row, without test."""
    begin = time.perf_counter()
    model = build(spec, data, width)
    options: dict[str, Any] = {"learning_rate": spec.rate, "epochs": spec.epochs}
    train(model, data, batch_size=128, seed=spec.seed, verbose=verbose, **options)
    return {
        "label": f"{spec.choice}, {spec.gradient}",
        "dev_accuracy": accuracy(model, data.dev),
        "train_accuracy": accuracy(model, data.train),
        "train_seconds": round(time.perf_counter() - begin, 1),
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    setting = codes_short.spec_of("SE")

    @functools.cache
    def data() -> TextData:
        found = datasets.load(setting.dataset, arguments.data)
        return encode(found, setting.size, setting.length)

    def one(spec: Spec) -> dict[str, Any]:
        keras.backend.clear_session()
        return run(spec, data(), setting.width, arguments.verbose)

    return runner.benchmark(name, list(ARMS), arguments, one, table, SEEDS)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per choice and gradient, means and spreads over seeds, in percent."""
    lines = ["| choice by | scores normalized | gradient | keys | seeds | train | dev |"]
    lines.append("|" + "---|" * 7)
    for group in results.by_seed(rows):
        spec = group[0]["spec"]
        cells = [spec["choice"], "yes" if spec["normalized"] else "no", spec["gradient"]]
        cells += ["are the values" if spec["tied"] else "apart", str(len(group))]
        cells += [results.percent(group, f"{part}_accuracy") for part in ("train", "dev")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
