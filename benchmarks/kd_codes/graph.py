"""Nodes of citation graphs, classified with a compressed first layer: KD encoding's Table 3.

The network and its training are Kipf & Welling's (ICLR 2017): 16 hidden units, dropout 0.5, Adam
at 0.01 on all training nodes at once, at most 200 epochs, fewer if the cross entropy on dev has not
fallen for 10. Kipf & Welling watch the loss, which also holds the L2 term of the first layer: of
codes it grows while they learn, and ended most runs on Citeseer within 20 epochs. Every method
alike is evaluated with the weights of its best epoch on dev, where they take the last epoch's: for
the full table these are the same, codes still change at the end. What a method has for itself was
chosen on dev (`graph_dev`); test is read once, at the end. The paper's codes are not guided; here
both are shown, without a guide and guided by the trained full table.
"""

import argparse
import time
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from benchmarks.data import planetoid
from benchmarks.lib import results, runner
from kerascompact import layers
from kerascompact.core.storage import total_bits
from kerascompact.export.freezing import freeze
from kerascompact.forms.base import Form
from kerascompact.models import graph_network
from kerascompact.tasks.methods import METHODS

DATASETS = ("cora", "citeseer")  # PubMed's features are not whole
SEEDS = tuple(range(10))
WIDTH, CARDINALITY, CODE_LENGTH = 16, 64, 8
GUIDE = {"options": {"logit_scale": 1.0, "guidance": 10_000.0}}
# Of KD codes, by dev: without a guide the best of `TRIED`, and guided ones. Cora has rows of an
# earlier choice as well, "start x 3".
CHOSEN: dict[str, tuple[dict[str, Any], ...]] = {
    "cora": ({"options": {"logit_scale": 1.0}}, GUIDE),
    "citeseer": ({"start": 3.0, "options": {"logit_scale": 1.0, "logits_batch_norm": True}}, GUIDE),
}
TRIED: list[dict[str, Any]] = [
    {"start": start, "options": {"logit_scale": 1.0, **norms}}
    for norms, starts in (
        ({}, (1.0, 3.0)),
        ({"logits_batch_norm": True}, (1.0, 3.0)),
        ({"batch_norm": True}, (1.0,)),  # the paper's 8.22 K parameters are 8,192 and 2 * 16
        ({"batch_norm": True, "logits_batch_norm": True}, (1.0,)),
    )
    for start in starts
]
DEV_SEEDS = (100, 101)


class Spec(NamedTuple):
    """Everything that decides a run.

    `method`: "standard", "low_rank" (with `rank`) or "kd" (`options`: arguments of the embedding;
    with "guidance", a weight, the full table is trained before and guides the codes).
    `start`: deviation of the entries of the untrained table, Glorot's being 1.
    """

    dataset: str
    method: str
    rank: int = 0
    start: float = 1.0
    learning_rate: float = 0.01
    l2: float = 2.5e-4
    epochs: int = 200
    patience: int = 10
    seed: int = 0
    options: dict[str, Any] = {}

    @property
    def label(self) -> str:
        """Method and rank, in a word or two."""
        name = METHODS[self.method].abbreviation
        if "guidance" in self.options:
            return f"{name}, guided"
        if self.start != 1 and "logits_batch_norm" not in self.options:
            return f"{name}, start x {self.start:g}"
        return f"{name} {self.rank}" if self.rank else name


def specs(dataset: str) -> list[Spec]:
    """A graph's column of Table 3: full, low rank at half and a quarter of the numbers, KD.

    KD stands there without a guide, as in the paper, and with one.
    """
    return [
        Spec(dataset, "standard"),
        Spec(dataset, "low_rank", rank=7),  # floor of F d / (2 (F + d)), for both graphs
        Spec(dataset, "low_rank", rank=4),  # d / 4
        *(Spec(dataset, "kd", **chosen) for chosen in CHOSEN[dataset]),
    ]


def build_embedding(
    spec: Spec, num_features: int, table: np.ndarray | None = None
) -> keras.layers.Layer:
    """The untrained first layer of a run; `table` guides codes with the option "guidance"."""
    deviation = spec.start * (2 / (num_features + WIDTH)) ** 0.5  # Glorot & Bengio's
    if spec.method == "kd":
        # A vector is the sum of one from each codebook.
        start = keras.initializers.RandomNormal(stddev=deviation / CODE_LENGTH**0.5)
        options = dict(spec.options)
        if "guidance" in options:
            options["guidance"] = layers.PretrainedGuidance(table, options["guidance"])
        return layers.KDCodeEmbedding(
            num_features,
            WIDTH,
            CARDINALITY,
            CODE_LENGTH,
            embeddings_initializer=start,
            name="embedding",
            **options,
        )
    bound = 3**0.5 * deviation
    common: dict[str, Any] = {
        "embeddings_initializer": keras.initializers.RandomUniform(-bound, bound),
        "name": "embedding",
    }
    if spec.method == "low_rank":
        return layers.LowRankEmbedding(num_features, WIDTH, spec.rank, **common)
    return keras.layers.Embedding(num_features, WIDTH, **common)


def build(
    spec: Spec, graph: planetoid.CitationGraph, table: np.ndarray | None = None
) -> keras.Model:
    """The untrained model of a run, seeded and compiled."""
    keras.utils.set_random_seed(spec.seed)
    model = graph_network(
        build_embedding(spec, graph.features.shape[1], table),
        graph.features,
        graph.edges,
        graph.num_classes,
        l2_weight=spec.l2,
        seed=spec.seed,
    )
    model.compile(
        keras.optimizers.Adam(spec.learning_rate),
        "sparse_categorical_crossentropy",
        metrics=["accuracy", keras.metrics.SparseCategoricalCrossentropy(name="cross_entropy")],
        jit_compile=False,  # TensorFlow's own sparse product is ten times faster on CPU
    )
    return model


def one_batch(graph: planetoid.CitationGraph, nodes: np.ndarray) -> tf.data.Dataset:
    """Nodes and their labels as a data set of one batch."""
    return tf.data.Dataset.from_tensors((nodes, graph.labels[nodes]))


def train(
    spec: Spec, model: keras.Model, graph: planetoid.CitationGraph, verbose: int = 0
) -> dict[str, list[float]]:
    """Trains full-batch, keeps the weights of the best epoch on dev, returns the history."""
    stop = keras.callbacks.EarlyStopping(
        "val_cross_entropy", mode="min", patience=spec.patience, restore_best_weights=True
    )
    history = model.fit(
        # Repeated, since Keras takes six times longer to begin a data set than to take a step.
        one_batch(graph, graph.train).repeat(),
        steps_per_epoch=1,
        epochs=spec.epochs,
        validation_data=one_batch(graph, graph.dev),
        shuffle=False,
        callbacks=[stop],
        verbose=verbose,
    )
    return history.history


def run(
    spec: Spec, graph: planetoid.CitationGraph, *, test: bool = True, verbose: int = 0
) -> dict[str, Any]:
    """Trains one model and returns its row; `test=False` leaves the test nodes untouched.

    Accuracies are those of the frozen model, whose codes are hard.
    """
    start = time.perf_counter()
    table = None
    if "guidance" in spec.options:
        teacher = spec._replace(method="standard", start=1.0, options={})
        guide = build(teacher, graph)
        train(teacher, guide, graph, verbose)
        table = guide.get_layer("embedding").embeddings.numpy()
    model = build(spec, graph, table)
    history = train(spec, model, graph, verbose)
    seconds = time.perf_counter() - start
    shipped = freeze(model, "float32").model
    form = shipped.get_layer("embedding")
    assert isinstance(form, Form)
    row = {
        "spec": spec._asdict(),
        "label": spec.label,
        "epochs": len(history["loss"]),
        "best_epoch": 1 + int(np.argmin(history["val_cross_entropy"])),
        "train_accuracy": accuracy(shipped, graph, graph.train),
        "dev_accuracy": accuracy(shipped, graph, graph.dev),
        "dev_cross_entropy": min(history["val_cross_entropy"]),
        "embedding_parameters": parameters(model.get_layer("embedding")),
        "paper_bits": form.paper_bits,
        "stored_bits": total_bits(form.storage()),
        "train_seconds": round(seconds, 1),
    }
    return row | ({"test_accuracy": accuracy(shipped, graph, graph.test)} if test else {})


def accuracy(model: keras.Model, graph: planetoid.CitationGraph, nodes: np.ndarray) -> float:
    """Share of nodes whose largest output is their label."""
    outputs = model.predict(nodes, batch_size=len(nodes), verbose=0)
    return float(np.mean(np.argmax(outputs, axis=-1) == graph.labels[nodes]))


def parameters(embedding: keras.layers.Layer) -> int:
    """Embedding parameters as the paper counts them: numbers, codes left out."""
    if isinstance(embedding, layers.KDCodeEmbedding):
        return embedding.composition.num_parameters()
    return int(sum(np.prod(weight.shape) for weight in embedding.trainable_weights))


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet, graph by graph, ten seeds unless `arguments.seeds`.

    `graph_dev` tries settings of codes without a guide, and leaves test untouched.
    """
    trial = name == "graph_dev"
    found = []
    for dataset in DATASETS:
        graph = planetoid.load(dataset, arguments.data)

        def one(spec: Spec, graph: planetoid.CitationGraph = graph) -> dict[str, Any]:
            keras.backend.clear_session()  # or each run's graphs stay in memory
            return run(spec, graph, test=not trial, verbose=arguments.verbose)

        seeds = arguments.seeds or (DEV_SEEDS if trial else SEEDS)
        tried = [Spec(dataset, "kd", **one) for one in TRIED] if trial else specs(dataset)
        wanted = [spec._replace(seed=seed) for spec in tried for seed in seeds]
        found += runner.run_all(name, wanted, one, table)
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: accuracies in percent, mean and spread over the seeds, and sizes."""
    lines = [
        "| graph | first layer | seeds | dev | test | parameters | Mbit, paper | Mbit stored |",
        "|" + "---|" * 8,
    ]
    for group in sorted(results.by_seed(rows), key=lambda group: _place(group[0]["spec"])):
        first = group[0]
        label = Spec(**first["spec"]).label
        cells = [first["spec"]["dataset"], label, str(len(group))]
        cells += [results.percent(group, key) for key in ("dev_accuracy", "test_accuracy")]
        cells.append(f"{first['embedding_parameters']:,}")
        cells += [f"{first[key] / 1e6:.3f}" for key in ("paper_bits", "stored_bits")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _place(spec: dict[str, Any]) -> tuple[bool, bool, str]:
    """Where in the table: graph by graph, codes last, guided ones behind."""
    codes = spec["method"] == "kd"
    return spec["dataset"] != DATASETS[0], codes, Spec(**spec).label if codes else ""
