"""Robustness: accuracy as more words of the test texts are misspelt, drawn.

The same LSTM over a projection (which has a vector of any spelling), over `Embedding` and over a
cluster mixture (which take a misspelt word for an unknown one), each trained on texts as they are
and on texts with words misspelt.
"""

import argparse
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import results, runner
from kerascompact import datasets, layers, models
from kerascompact.core.extras import require
from kerascompact.tasks import plots
from kerascompact.tasks.classification import fit
from kerascompact.tasks.methods import METHODS, build_embedding, logit_scale
from kerascompact.text import rules
from kerascompact.text.length_batches import LengthBatches
from kerascompact.text.perturb import perturb
from kerascompact.text.vocabulary import Vocabulary

SHARES = (0.0, 0.1, 0.2, 0.4)
REPEATS = 3  # times that the test split is misspelt, each in another way
LABELS = {name: METHODS[name].abbreviation for name in ("projection", "standard", "mixture")}


class Spec(NamedTuple):
    """Everything that decides a run. `trained_on`: share of words misspelt in training."""

    dataset: str
    method: str
    trained_on: float = 0.0
    units: int = 128
    width: int = 64
    hidden: int = 256
    size: int = 5000
    clusters: int = 100
    unique: int = 500
    length: int = 32
    epochs: int = 10
    batch_size: int = 32
    learning_rate: float = 2e-3
    dropout: float = 0.5
    decay: float = 0.0
    seed: int = 0

    @property
    def label(self) -> str:
        """What a curve is called."""
        name = LABELS[self.method]
        return f"{name}, trained on misspelt words" if self.trained_on else name


RUNS = [
    Spec(dataset, method, trained_on)
    for dataset in ("trec", "clinc150")
    for method in LABELS
    for trained_on in (0.0, 0.2)
]


def misspelt_tokens(texts: Sequence[str], share: float, seed: int, length: int) -> list[list[str]]:
    """The first tokens of each text, `share` of the words among them misspelt.

    >>> misspelt_tokens(["turn it up!"], 1.0, 1, 4)
    [['tukrn', 'imt', 'uup', '!']]
    """
    random = Random(f"{seed} {share}")
    found = []
    for text in texts:
        tokens = rules.tokenize(text)[:length]
        found.append([perturb(t, random, share) if t[:1].isalpha() else t for t in tokens])
    return found


class Encoder:
    """Tokens to ids: those of a vocabulary, or a number for every spelling that is ever met."""

    def __init__(self, vocabulary: Vocabulary | None, length: int) -> None:
        self.vocabulary, self.length = vocabulary, length
        self.numbers: dict[str, int] = {"": 0}

    def __call__(self, tokens: Sequence[Sequence[str]]) -> np.ndarray:
        ids = np.zeros((len(tokens), self.length), np.int32)
        for row, words in enumerate(tokens):
            for place, word in enumerate(words):
                if self.vocabulary is not None:
                    ids[row, place] = self.vocabulary.id_of(word)
                else:
                    ids[row, place] = self.numbers.setdefault(word, len(self.numbers))
        return ids


class MisspeltBatches(LengthBatches):
    """Batches whose words are misspelt in another way in each epoch."""

    def __init__(self, versions: Sequence[np.ndarray], *arguments: Any, **options: Any) -> None:
        self.versions, self.turn = list(versions), 0
        super().__init__(versions[0], *arguments, **options)

    def on_epoch_end(self) -> None:
        super().on_epoch_end()
        self.ids = self.versions[self.turn % len(self.versions)]
        self.turn += 1


def run(spec: Spec, data: datasets.Dataset, verbose: int = 0) -> dict[str, Any]:
    """Trains one model, keeps the epoch that is best on dev (misspelt as train), misspells test."""
    keras.utils.set_random_seed(spec.seed)
    projects = spec.method == "projection"
    vocabulary = None if projects else Vocabulary.build(data.train.texts, spec.size)
    encode = Encoder(vocabulary, spec.length)
    versions = [
        encode(misspelt_tokens(data.train.texts, spec.trained_on, 1000 + epoch, spec.length))
        for epoch in range(spec.epochs if spec.trained_on else 1)
    ]
    dev = encode(misspelt_tokens(data.dev.texts, spec.trained_on, 999, spec.length))
    test = {
        share: [
            encode(misspelt_tokens(data.test.texts, share, repeat, spec.length))
            for repeat in range(REPEATS if share else 1)
        ]
        for share in SHARES
    }
    model = build(spec, vocabulary, list(encode.numbers), len(data.label_names))
    batches = MisspeltBatches(versions, data.train.labels, spec.batch_size, seed=spec.seed)
    history = fit(
        model,
        batches,
        (dev, data.dev.labels),
        epochs=spec.epochs,
        learning_rate=spec.learning_rate,
        verbose=verbose,
    )

    def accuracy(ids: np.ndarray) -> float:
        found = model.evaluate(ids, data.test.labels, 500, verbose=0, return_dict=True)
        return float(found["accuracy"])

    return {
        "spec": spec._asdict(),
        "label": spec.label,
        "dev": max(history["val_accuracy"]),
        "embedding_parameters": int(
            sum(np.prod(w.shape) for w in model.get_layer("embedding").trainable_weights)
        ),
        "accuracy": {
            f"{share:g}": round(mean(accuracy(ids) for ids in versions), 5)
            for share, versions in test.items()
        },
    }


def build(
    spec: Spec, vocabulary: Vocabulary | None, words: Sequence[str], num_classes: int
) -> keras.Model:
    """The untrained classifier of a run; `words` are all spellings that a projection will see."""
    embedding: Any
    if vocabulary is None:
        embedding = layers.ProjectionEmbedding(
            spec.width,
            (spec.hidden,),
            kernel_regularizer=keras.regularizers.L2(spec.decay) if spec.decay else None,
            mask_zero=True,
            name="embedding",
        )
        cache = layers.BitCache.from_words(words, embedding.projection)
        return models.projection_lstm(
            embedding, num_classes, spec.units, dropout=spec.dropout, inputs=cache
        )
    options: dict[str, Any] = {}
    if spec.method == "mixture":
        scale = logit_scale(spec.learning_rate)
        options = {"clusters": spec.clusters, "unique": spec.unique, "logit_scale": scale}
    embedding = build_embedding(spec.method, len(vocabulary), spec.width, **options)
    return models.lstm_classifier(embedding, num_classes, spec.units, dropout=spec.dropout)


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet, and draws all rows beside them."""
    loaded: Callable[[str], Any] = functools.cache(lambda n: datasets.load(n, arguments.data))

    def one(spec: Spec) -> dict[str, Any]:
        return run(spec, loaded(spec.dataset), arguments.verbose)

    rows = runner.benchmark(name, RUNS, arguments, one, table)
    print(f"drawn: {draw(rows, results.path(name).with_suffix('.png'))}")
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: test accuracy in percent at each share of misspelt words."""
    head = ["data set", "embedding", "parameters", "seeds", *(f"{s:.0%} misspelt" for s in SHARES)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for group in results.by_seed(list(rows)):
        first = group[0]
        cells = [first["spec"]["dataset"], first["label"], f"{first['embedding_parameters']:,}"]
        cells.append(str(len(group)))
        for share in SHARES:
            at = [{"a": row["accuracy"][f"{share:g}"]} for row in group]
            cells.append(results.percent(at, "a"))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(rows: Sequence[dict[str, Any]], path: Path) -> Path:
    """Draws a curve for each embedding, a plot for each data set.

    Dashed: trained on misspelt words.

    Raises: ImportError, without matplotlib.
    """
    sets = list(dict.fromkeys(row["spec"]["dataset"] for row in rows))
    figures = require("matplotlib.figure", "plot")
    figure = figures.Figure(figsize=(5.2 * len(sets), 4.2), layout="constrained")
    styles = dict(zip(LABELS, (("#D55E00", "D"), ("#0072B2", "o"), plots.OTHERS[0]), strict=True))
    for axes, dataset in zip(figure.subplots(1, len(sets), squeeze=False)[0], sets, strict=True):
        for group in results.by_seed([r for r in rows if r["spec"]["dataset"] == dataset]):
            spec = group[0]["spec"]
            colour, marker = styles[spec["method"]]
            heights = [100 * mean(r["accuracy"][f"{s:g}"] for r in group) for s in SHARES]
            axes.plot(
                [100 * s for s in SHARES], heights, color=colour, marker=marker,
                linestyle="--" if spec["trained_on"] else "-", label=group[0]["label"],
            )  # fmt: skip
        axes.set_xlabel("words misspelt, %")
        axes.set_ylabel("test accuracy, %")
        plots.plain(axes, dataset)
    return plots.save(figure, path)
