"""What pre-training a projection brings, section 4.2 of the NP-SG paper.

TREC and MRDA through an LSTM of 256, Penn Treebank as a language model; from scratch, from the
projection that `word_similarity` trained (in the same folder `--work`), with that one frozen, and
from the one that `projection_fit` began at the vectors of a table. A language model also with a
table of its own in place of a projection.
"""

import argparse
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data import ptb
from benchmarks.lib import checkpoints, results, runner, streams
from benchmarks.projections import projection_fit, skip_gram_runs
from benchmarks.projections import word_similarity as pretraining
from kerascompact import datasets, layers, models
from kerascompact.models.language_model import ZarembaSize
from kerascompact.optimizers import LazyAdam
from kerascompact.tasks.classification import Coded, fit
from kerascompact.text import rules
from kerascompact.text.length_batches import LengthBatches
from kerascompact.text.stream import stateful_batches

PRETRAINED = "NP-SG 1M"
ON_PART = "NP-SG 1M, whitened, shorter n-grams, no cosine loss, nothing misspelt"
STARTS = ("none", "tuned", "frozen", "table")
OF_LANGUAGE = ("embedding", "none", "tuned", "frozen")
NAMES = {
    "none": "from scratch",
    "tuned": "pre-trained",
    "frozen": "pre-trained, frozen",
    "table": "pre-trained from a table",
    "embedding": "none, a table",
}
LANGUAGE = ZarembaSize(200, 0.0, 20, 0.1, 3.0, 6, 3, 0.5, layers=1)


class Spec(NamedTuple):
    """Everything that decides a run.

    `start`: "none", a projection from scratch; "tuned", the pre-trained one, trained further;
    "frozen", the pre-trained one as it is; "table", the one that began at a table, whose n-grams
    are shorter, trained further; "embedding", no projection but a table. `hidden` is that of the
    pre-trained one. `train_rows` are texts of a classification set, or tokens of Penn Treebank.
    `buckets`: lengths by which texts are batched. Batch normalization takes the statistics of such
    a batch: 1 where a text's length says much of its label, as in MRDA, whose backchannels are all
    but all short. `tokens`: of a part of the text, on which the projection of `ON_PART` was trained
    for `part_epochs` epochs. `paired`: the pre-trained projection is the one of the run's own seed,
    not that of seed 0 for all, so that the spread is that of both trainings.
    """

    dataset: str
    start: str
    units: int = 256
    hidden: int = skip_gram_runs.hidden_units(1_000_000)
    width: int = skip_gram_runs.WIDTH
    length: int = 40
    epochs: int = 10
    batch_size: int = 32
    learning_rate: float = 1e-3
    dropout: float = 0.5
    buckets: int = 6
    train_rows: int | None = None
    tokens: int | None = None
    part_epochs: int = 0
    paired: bool = False
    seed: int = 0


def _of(starts: Sequence[str] = STARTS, **options: Any) -> list[Spec]:
    return [Spec(start=start, **options) for start in starts]


_MRDA: dict[str, Any] = {"dataset": "mrda", "batch_size": 128, "epochs": 2, "buckets": 1}
_PTB: dict[str, Any] = {"dataset": "ptb", "units": 200, "learning_rate": 2e-3, "dropout": 0.0}
_LANGUAGE = _PTB | {"epochs": 6, "train_rows": 300_000, "part_epochs": 30, "paired": True}
BENCHMARKS = {
    # TREC, a third of MRDA and a third of Penn Treebank
    "projection_transfer": [
        *_of(dataset="trec"),
        *_of(**_MRDA, train_rows=25_000),
        *_of(**_PTB, epochs=6, train_rows=300_000),
    ],
    # how a table and a projection from scratch are trained best: five trials each, dev alone
    "projection_language_dev": [
        spec._replace(learning_rate=rate, dropout=dropout)
        for spec in _of(OF_LANGUAGE[:2], **_LANGUAGE)
        for rate, dropout in ((2e-3, 0.0), (2e-3, 0.25), (5e-3, 0.0), (5e-3, 0.25), (5e-3, 0.5))
    ],
    # after so many epochs of `word_similarity_part`
    "projection_transfer_part": _of(
        OF_LANGUAGE, **_PTB, epochs=2, train_rows=300_000, tokens=3_000_000, part_epochs=15
    ),
    # after `word_similarity_long`, whose bits are whitened: those from scratch here, too
    "projection_transfer_long": [
        *_of(STARTS[:3], dataset="trec", part_epochs=30),
        *_of(STARTS[:3], **_MRDA, train_rows=25_000, part_epochs=30),
        *_of(OF_LANGUAGE[:1], **_LANGUAGE | {"learning_rate": 5e-3, "dropout": 0.25}),
        *_of(OF_LANGUAGE[1:], **_LANGUAGE),
    ],
    # after `word_similarity_long` with the same seeds
    "projection_transfer_whole": _of(STARTS[:3], **_MRDA, part_epochs=30, paired=True),
}


class WordData(NamedTuple):
    """A classification set as ids of all its words, whatever split they are in, 0 for padding."""

    words: list[str]
    label_names: tuple[str, ...]
    train: Coded
    dev: Coded
    test: Coded


def encode(dataset: datasets.Dataset, length: int, token_rules: str = "wordpunct") -> WordData:
    """Numbers every word: a projection has bits of words that the training split lacks, too."""
    numbers: dict[str, int] = {"": 0}
    splits = []
    for split in (dataset.train, dataset.dev, dataset.test):
        ids = np.zeros((len(split.texts), length), np.int32)
        for row, text in enumerate(split.texts):
            tokens = rules.tokenize(text, token_rules)[:length]
            ids[row, : len(tokens)] = [numbers.setdefault(t, len(numbers)) for t in tokens]
        splits.append(Coded(ids, np.asarray(split.labels, np.int32)))
    return WordData(list(numbers), tuple(dataset.label_names), *splits)


def pretraining_of(spec: Spec) -> skip_gram_runs.Spec:
    """The run whose projection a run starts from, or whose like it trains from scratch."""
    known = pretraining.RUNS[PRETRAINED]
    if spec.tokens:
        known = pretraining.RUNS[ON_PART]._replace(tokens=spec.tokens, epochs=spec.part_epochs)
    elif spec.part_epochs:
        known = pretraining.BENCHMARKS["word_similarity_long"][PRETRAINED]
        known = known._replace(epochs=spec.part_epochs, seed=spec.seed if spec.paired else 0)
    if spec.start == "table":
        known = projection_fit.training(projection_fit.BEGUN)
    return known._replace(hidden=spec.hidden, width=spec.width)


def projection(spec: Spec, work: Path, words: Sequence[str] = ()) -> layers.ProjectionEmbedding:
    """The projection that a run starts from; one from scratch may whiten the bits of `words`.

    Raises: ValueError, if it is to be pre-trained, and is not in the folder.
    """
    mask_zero = spec.dataset != "ptb"
    of_pretraining = pretraining_of(spec)
    start = keras.initializers.GlorotUniform(seed=spec.seed)
    layer = layers.ProjectionEmbedding(
        spec.width,
        (spec.hidden,),
        ngrams=(of_pretraining.shortest, of_pretraining.longest),
        normalization=of_pretraining.normalization,
        kernel_initializer=start,
        mask_zero=mask_zero,
        whitening=of_pretraining.whitening > 0,
        name="embedding",
    )
    layer.build((None, layer.projection.num_bits))
    if spec.start == "none" and layer.whitening:
        layer.adapt(words, epsilon=of_pretraining.whitening)
    elif spec.start != "none":
        trained = skip_gram_runs.load(of_pretraining, work)
        layer.set_weights(trained.get_weights())
    layer.trainable = spec.start != "frozen"
    return layer


def classify(spec: Spec, data: WordData, work: Path, verbose: int = 0) -> dict[str, Any]:
    """Trains one classifier, keeps the epoch that is best on dev, reads test once."""
    keras.utils.set_random_seed(spec.seed)
    embedding = projection(spec, work, data.words)
    cache = layers.BitCache.from_words(data.words, embedding.projection)
    model = models.projection_lstm(
        embedding, len(data.label_names), spec.units, dropout=spec.dropout, inputs=cache
    )
    batches = LengthBatches(
        data.train.ids, data.train.labels, spec.batch_size, spec.buckets, seed=spec.seed
    )
    history = fit(
        model,
        batches,
        (data.dev.ids, data.dev.labels),
        epochs=spec.epochs,
        learning_rate=spec.learning_rate,
        verbose=verbose,
    )
    test = model.evaluate(*data.test, batch_size=500, verbose=0, return_dict=True)
    return {
        "train_rows": len(data.train.labels),
        "dev": max(history["val_accuracy"]),
        "dev_by_epoch": [round(value, 4) for value in history["val_accuracy"]],
        "test": test["accuracy"],
    }


def build_language(
    corpus: ptb.Corpus, spec: Spec, embedding: keras.layers.Layer, batch_size: int | None
) -> keras.Model:
    """One LSTM over the vectors of the words so far, by a projection or a table."""
    vectors = embedding
    if not isinstance(embedding, keras.layers.Embedding):
        cache = layers.BitCache.from_words(corpus.words, embedding.projection)
        vectors = _Projected(cache, embedding)
    return models.language_model(
        vectors,
        len(corpus.words),
        spec.units,
        num_layers=LANGUAGE.layers,
        dropout=spec.dropout,
        scale=LANGUAGE.scale,
        batch_size=batch_size,
        unroll=LANGUAGE.steps if (batch_size or 1) > 1 else None,
    )


class _Projected:
    """Bits and projection as one function of ids."""

    def __init__(self, cache: layers.BitCache, embedding: keras.layers.Layer) -> None:
        self.cache, self.embedding = cache, embedding

    def __call__(self, ids: Any) -> Any:
        return self.embedding(self.cache(ids))


def of_language(spec: Spec, words: Sequence[str], work: Path) -> keras.layers.Layer:
    """The table of words or the projection of a language model."""
    if spec.start != "embedding":
        return projection(spec, work, words)
    start = keras.initializers.RandomUniform(-LANGUAGE.scale, LANGUAGE.scale, seed=spec.seed)
    return keras.layers.Embedding(
        len(words), spec.width, embeddings_initializer=start, name="embedding"
    )


def language(
    spec: Spec, corpus: ptb.Corpus, work: Path, verbose: int = 0, test: bool = True
) -> dict[str, Any]:
    """Trains a language model, or goes on, picks the epoch on dev, reads `test` once or not."""
    keras.utils.set_random_seed(spec.seed)
    embedding = of_language(spec, corpus.words, work)
    folder = work / ",".join(["transfer", *map(str, spec._replace(epochs=0))])  # may go on
    train = stateful_batches(corpus.train, LANGUAGE.batch_size, LANGUAGE.steps).cache()
    dev = stateful_batches(corpus.dev, LANGUAGE.batch_size, LANGUAGE.steps).cache()
    build = functools.partial(build_language, corpus, spec)
    model = build(embedding, LANGUAGE.batch_size)
    rate = keras.optimizers.schedules.PolynomialDecay(
        spec.learning_rate, spec.epochs * int(train.cardinality()), 0.0
    )
    streams.compiled(model, LazyAdam(rate, global_clipnorm=5.0), LANGUAGE._replace(steps=1))
    row = checkpoints.fit(model, train, dev, folder, spec.epochs, verbose)
    model.load_weights(folder / "best.weights.h5")
    found = {
        "train_rows": len(corpus.train),
        "dev": row["dev_perplexity"],
        "dev_by_epoch": row["dev_by_epoch"],
    }
    return found | ({"test": streams.perplexity(build, model, corpus.test)} if test else {})


def run(spec: Spec, data: Callable[[Spec], Any], work: Path, verbose: int = 0) -> dict[str, Any]:
    """The row of a spec; `data` gives its set."""
    measure = language if spec.dataset == "ptb" else classify
    return {"spec": spec._asdict(), **measure(spec, data(spec), work, verbose)}


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet; run `word_similarity` before, with the same `--work`."""

    @functools.cache
    def loaded(dataset: str, length: int, rows: int | None) -> Any:
        if dataset == "ptb":
            return ptb.load(arguments.data, rows)
        options = {"train_rows": rows} if rows else {}
        return encode(datasets.load(dataset, arguments.data, **options), length)

    def one(spec: Spec) -> dict[str, Any]:
        data, work = loaded(spec.dataset, spec.length, spec.train_rows), Path(arguments.work)
        if name == "projection_language_dev":
            return {"spec": spec._asdict(), **language(spec, data, work, arguments.verbose, False)}
        return run(spec, lambda _: data, work, arguments.verbose)

    return runner.benchmark(name, BENCHMARKS[name], arguments, one, table)


def _dev_table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: perplexity on dev of each rate and dropout."""
    lines = ["| model | rate | dropout | dev | by epoch |", "|" + "---|" * 5]
    for row in rows:
        spec, by_epoch = row["spec"], ", ".join(f"{one:.0f}" for one in row["dev_by_epoch"])
        name, rate, dropout = (spec[key] for key in ("start", "learning_rate", "dropout"))
        lines.append(f"| {NAMES[name]} | {rate:g} | {dropout:g} | {row['dev']:.2f} | {by_epoch} |")
    return "\n".join(lines)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: accuracy in percent, or perplexity for Penn Treebank, and the gain on test."""
    if "test" not in rows[0]:
        return _dev_table(rows)
    lines = [
        "| data set | train | projection | epochs | seeds | dev | test | gain |",
        "|" + "---|" * 8,
    ]
    groups = results.by_seed(list(rows))
    scratch = {
        _task(group): mean(row["test"] for row in group)
        for group in groups
        if group[0]["spec"]["start"] == "none"
    }
    for group in groups:
        spec, test = group[0]["spec"], mean(row["test"] for row in group)
        scale = 1 if spec["dataset"] == "ptb" else 100
        base = scratch.get(_task(group))
        cells = [spec["dataset"], f"{group[0]['train_rows']:,}", NAMES[spec["start"]]]
        cells += [str(spec["epochs"]), str(len(group))]
        for key in ("dev", "test"):
            average, deviation = results.spread(group, key)
            cells.append(f"{scale * average:.2f}")
            cells[-1] += f" ± {scale * deviation:.2f}" if len(group) > 1 else ""
        if base is None or spec["start"] == "none":
            cells.append("-")
        else:
            cells.append(f"{scale * (test - base):+.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _task(group: Sequence[dict[str, Any]]) -> tuple[Any, ...]:
    """What models are compared on; a table may be trained with other settings."""
    other = ("start", "seed", "learning_rate", "dropout")
    return tuple(value for key, value in group[0]["spec"].items() if key not in other)
