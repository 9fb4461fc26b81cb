"""Memorisation: how much of a text a language model can learn by heart, at equal size.

The first tokens of Penn Treebank and the words in them; dense models and sparse ones of the same
number of parameters, without any regularization, until the text is known or the epochs are over.
"""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data import ptb
from benchmarks.lib import checkpoints, runner
from kerascompact import layers, models
from kerascompact.models.awd_lstm import NO_DROPOUTS
from kerascompact.text.stream import stateful_batches
from kerascompact.training import EpochDecay, SparseSoftmaxCrossEntropy
from kerascompact.training.metrics import Perplexity

BINS = 10  # of a sparse embedding, as in the paper


class Spec(NamedTuple):
    """Everything that decides a run.

    `kind`: "dense", "sparse" (recurrent layers) or "sparse embedding" (and recurrent layers).
    `width` and `units` are those of the model that is reduced, the paper's 400 and 1150. Dense
    models have a `part`-th of both; sparse ones have the same parameters, and the units whole;
    with a sparse embedding the width is whole, too, and the embedding has a `part`-th of it.
    `warm_up`: epochs in which the rate rises from zero to that of the schedule.
    """

    kind: str
    part: int = 2
    width: int = 30
    units: int = 160
    tokens: int = 20_000
    epochs: int = 150
    rate: float = 5.0
    decay: float = 0.97
    batch_size: int = 20
    steps: int = 20
    clip: float = 0.25
    warm_up: int = 0
    seed: int = 0

    def folder(self, work: Path) -> Path:
        """Where its checkpoints are."""
        return work / "memorisation" / "-".join(map(str, self._replace(epochs=0)))  # may go on

    @property
    def embedding_width(self) -> int:
        """Width of the vectors."""
        return self.width if self.kind == "sparse embedding" else self.width // self.part


WARM_UP = 5  # epochs; at rate 10 a model may never leave the most frequent word without it
KINDS = ("dense", "sparse", "sparse embedding")
SPECS = {
    "memorisation": [  # rates as in the paper, of which it takes the better
        Spec("dense", part=1),
        *(Spec(kind, 2, rate=rate) for rate in (5.0, 10.0) for kind in KINDS),
        # Twice the updates, at the better rate of each, which falls half as fast.
        Spec("dense", 2, epochs=300, decay=0.985),
        Spec("sparse", 2, epochs=300, rate=10.0, decay=0.985),
    ],
    # Both blocks of the paper's table, rates that rise first; 80 minutes a seed on a core.
    "memorisation_warm": [
        Spec(kind, part, rate=rate, warm_up=WARM_UP)
        for part in (2, 3)
        for kind in KINDS
        for rate in (5.0, 10.0)
    ],
    # Four times the updates, at rates that fall a quarter as fast: the better rate of each model
    # above; an hour and more each on a core that others use.
    "memorisation_long": [
        Spec(kind, part, epochs=600, rate=rate, decay=0.9924, warm_up=WARM_UP)
        for kind, part, rate in (
            ("dense", 3, 5.0),
            ("sparse embedding", 3, 10.0),
            ("sparse", 3, 5.0),
            ("dense", 2, 5.0),
            ("sparse embedding", 2, 10.0),
            ("sparse", 2, 10.0),
        )
    ],
    # The paper's sizes, text and training: table 4; days on two cores.
    "memorisation_paper": [
        Spec(kind, part, 400, 1150, 929_589, batch_size=20, steps=70)
        for part, kind in ((1, "dense"), *((part, kind) for part in (2, 3) for kind in KINDS))
    ],
}


class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule that rises from zero over its first steps: `min((s + 1) / steps, 1) rate(s)`."""

    def __init__(self, rate: keras.optimizers.schedules.LearningRateSchedule, steps: int) -> None:
        super().__init__()
        self.rate, self.steps = rate, steps

    def __call__(self, step: Any) -> Any:
        done = (keras.ops.cast(step, "float32") + 1) / max(self.steps, 1)
        return keras.ops.minimum(done, 1.0) * self.rate(step)


def text(spec: Spec, corpus: ptb.Corpus) -> tuple[np.ndarray, int]:
    """The first tokens as ids of the words in them, most frequent first; and how many words."""
    ids = corpus.train[: spec.tokens]
    order = [word for word, _ in Counter(ids.tolist()).most_common()]
    number = np.zeros(max(order) + 1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return number[ids], len(order)


def build(spec: Spec, num_words: int, batch_size: int | None) -> keras.Model:
    """The model of a spec: three layers, tied, nothing dropped."""
    width = spec.embedding_width
    dense = spec.width // spec.part, spec.units // spec.part
    start = keras.initializers.RandomUniform(-0.1, 0.1)
    sparse = spec.kind == "sparse embedding"
    embedding = layers.PredefinedSparseEmbedding(
        num_words,
        width,
        1 / spec.part if sparse else 1.0,
        bins=BINS if sparse else 1,
        embeddings_initializer=start,
        name="embedding",
    )
    sizes = None if spec.kind == "dense" else models.sparse_sizes(dense, width, spec.units)
    return models.awd_lstm(
        embedding,
        num_words,
        dense[1],
        sizes=sizes,
        dropouts=NO_DROPOUTS,
        activation_weight=0.0,
        change_weight=0.0,
        batch_size=batch_size,
    )


def run(spec: Spec, corpus: ptb.Corpus, work: Path, verbose: int = 2) -> dict[str, Any]:
    """Trains, or goes on training, and returns the row.

    After each epoch the model reads the text once more, and is asked for every next word.
    """
    keras.utils.set_random_seed(spec.seed)
    ids, num_words = text(spec, corpus)
    batches = stateful_batches(ids, spec.batch_size, spec.steps).cache()
    model = build(spec, num_words, spec.batch_size)
    # rate r, r decay, r decay^2, ...
    number = int(batches.cardinality())
    rate = WarmUp(EpochDecay(spec.rate, spec.decay, 1, number), spec.warm_up * number)
    model.compile(
        keras.optimizers.SGD(rate, momentum=0.9, global_clipnorm=spec.clip),
        SparseSoftmaxCrossEntropy(),
        metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy"), Perplexity()],
        jit_compile=True,  # sparse layers, which are many small ones, are twice as fast
    )
    folder = spec.folder(work)
    found = checkpoints.fit(model, batches, batches, folder, spec.epochs, verbose)
    recited = [float(row["val_accuracy"]) for row in checkpoints.logged(folder / "epochs.csv")]
    embedding = model.get_layer("embedding")
    return {
        "spec": spec._asdict(),
        "words": num_words,
        "parameters": model.count_params(),
        "embedding_parameters": embedding.num_entries,
        "segments": [
            [len(layer.lengths), round(layer.gamma, 3)]
            for layer in model.layers
            if isinstance(layer, layers.SparseLSTM)
        ],
        "accuracy": max(recited),
        "best_epoch": 1 + recited.index(max(recited)),
        "by_epoch": [round(value, 4) for value in recited],
        "perplexity": found["dev_perplexity"],
        "seconds_per_epoch": found["seconds_per_epoch"],
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row in `results/<name>.jsonl` yet.

    A run that was killed goes on at its last whole epoch, kept in the folder `arguments.work`;
    `arguments.epochs` cuts every run, to try a command.
    """

    def one(spec: Spec) -> dict[str, Any]:
        return run(spec, ptb.load(arguments.data), Path(arguments.work), arguments.verbose)

    seeds = (0, 1, 2) if name == "memorisation_warm" else (0,)
    return runner.benchmark(name, SPECS[name], arguments, one, table, seeds)


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: how much of the text each model recites."""
    lines = [
        "| model | k | density | h | parameters | of embedding | N, gamma | tokens | rate | epochs "
        "| seed | recited % | best epoch |",
        "|" + "---|" * 13,
    ]
    for row in rows:
        spec = Spec(**row["spec"])
        dense, wide = spec.kind == "dense", spec.kind == "sparse embedding"
        density = f"1/{spec.part}" if wide and spec.part > 1 else "1"
        segments = ", ".join(f"{number} {gamma:g}" for number, gamma in row["segments"])
        lines.append(
            f"| {spec.kind} | {spec.embedding_width} | {density} "
            f"| {spec.units // spec.part if dense else spec.units} | {row['parameters']:,} "
            f"| {row['embedding_parameters']:,} | {segments or '-'} | {spec.tokens:,} "
            f"| {spec.rate:g} | {spec.epochs} | {spec.seed} | {100 * row['accuracy']:.2f} "
            f"| {row['best_epoch']} |"
        )
    return "\n".join(lines)
