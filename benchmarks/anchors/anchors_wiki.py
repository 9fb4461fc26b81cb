"""A language model of 100,000 words: anchors, hashing and k-SVD under a sampled softmax.

In place of Table 3 of [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), whose text,
WikiText-103, is not at hand: articles of the English Wikipedia as words of `a` to `z`, one LSTM,
one table for words in and out with a bias a word, one epoch of lazy Adam over a sample of the
words. Perplexity is that of the full softmax over all 100,000, in one stream of articles that
training does not have. Words beyond the 100,000 are left out, and the list is made of all articles.
"""

import argparse
import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.anchors import anchors_tuned
from benchmarks.data import wikipedia
from benchmarks.data.ptb import Corpus
from benchmarks.lib import results, runner, streams
from kerascompact import layers, models
from kerascompact.core import checks
from kerascompact.optimizers import LazyAdam, Proximal
from kerascompact.text.stream import stateful_batches
from kerascompact.training import ResetStates, SampledSoftmaxCrossEntropy

ARTICLES = {"test": 300, "dev": 150}  # from the end
OUT_OF_VOCABULARY = 1000  # buckets of the words that are not frequent, as in the paper
CLIP = 5.0
FILE_TOKENS, FILE_STEPS = 2000, 5  # of test that the file reads, too, and at once
CHUNK = 8192  # words whose vectors are computed at once


class Spec(NamedTuple):
    """Everything that decides a run.

    `options`: a "kind" ("standard", "hashed", "anchors", "slots": anchors with a few entries a word
    in training, "k_svd" and "nearest": of the trained vectors of the run "of", by default the full
    table's) and its arguments.
    """

    method: str
    options: dict[str, Any]
    num_words: int = 100_000
    train_tokens: int | None = 5_000_000
    width: int = 128
    rate: float = 3e-3
    epochs: int = 1
    num_sampled: int = 2000
    batch_size: int = 64
    steps: int = 35
    seed: int = 0

    @property
    def teacher(self) -> "Spec":
        """The run whose trained vectors are compressed."""
        name = self.options.get("of", "SE")
        return self._replace(method=name, options=METHODS[name])

    def file(self, work: Path) -> Path:
        """Where its trained weights are kept."""
        named = [f"{key}={value}" for key, value in sorted(self.options.items())]
        return work / ("-".join(["wiki", *named, *map(str, self[2:])]) + ".weights.h5")


ANT = {"kind": "anchors", "nonnegative": False}
K_SVD = {"kind": "k_svd", "max_points": 16_384}  # fitted to the most frequent words
POST_SH = {"kind": "nearest", "weights": "kernel", "max_points": 16_384}
METHODS: dict[str, dict[str, Any]] = {
    "SE": {"kind": "standard"},
    "Hash Embed 50,000": {"kind": "hashed", "num_frequent": 50_000},
    "Hash Embed 10,000": {"kind": "hashed", "num_frequent": 10_000},
    "Post-SH 1,000": {**POST_SH, "num_anchors": 1000, "num_neighbors": 10},
    "Post-SH 500": {**POST_SH, "num_anchors": 500, "num_neighbors": 5},
    "k-SVD 1,000 of SE": {**K_SVD, "num_anchors": 1000, "num_neighbors": 10},
    "k-SVD 500 of SE": {**K_SVD, "num_anchors": 500, "num_neighbors": 5},
    "ANT 1,000": {**ANT, "num_anchors": 1000, "l1_weight": 0.1},
    "ANT 1,000, stronger": {**ANT, "num_anchors": 1000, "l1_weight": 0.3},
    "ANT 500": {**ANT, "num_anchors": 500, "l1_weight": 0.1},
    "k-SVD 1,000 of ANT 1,000": {
        **K_SVD,
        "num_anchors": 1000,
        "num_neighbors": 10,
        "of": "ANT 1,000",
    },
}
# For a choice on dev, `ant_wiki_dev`, on a part of the text: three rates, or strengths at the rate
# of the full table. Of these the best on dev leave more numbers than a full table has: those above
# are the strongest of them, and one that leaves fewer.
RATES: list[tuple[float, dict[str, float]]] = [(rate, {}) for rate in (1e-3, 3e-3, 1e-2)]
STRENGTHS = [(3e-3, {"l1_weight": weight}) for weight in (1e-2, 3e-2, 1e-1)]
TRIALS: dict[str, list[tuple[float, dict[str, float]]]] = {
    "SE": RATES,
    "Hash Embed 10,000": RATES,
    "ANT 1,000": STRENGTHS,
    "ANT 1,000, 8 slots": RATES,
}
PART = 1_000_000  # tokens
# Tried alone: a few entries a word learn much more slowly than those of all anchors.
SLOTS = {"kind": "slots", "nonnegative": False, "entries": 8, "l1_weight": 1e-3}
TRIED = {**METHODS, "ANT 1,000, 8 slots": {**SLOTS, "num_anchors": 1000}}


def corpus(data: str | None, num_words: int, train_tokens: int | None = None) -> Corpus:
    """The articles as a language model's text: the last are dev and test."""
    found = wikipedia.load(data, num_words)
    last = int(found.texts[-1]) + 1
    test = last - ARTICLES["test"]
    dev = test - ARTICLES["dev"]
    start, end = np.searchsorted(found.texts, (dev, test))
    train = found.ids[:start]
    if train_tokens is not None:
        train = train[: checks.integer_in("train_tokens", train_tokens, 2, start)]
    parts = train, found.ids[start:end], found.ids[end:]
    return Corpus("wiki_en_recent", found.words, *parts, wikipedia.ABOUT)


def build_embedding(spec: Spec, count: int) -> keras.layers.Layer:
    """The untrained embedding of a run."""
    options = dict(spec.options)
    kind = options.pop("kind")
    common: dict[str, Any] = dict(input_dim=count, output_dim=spec.width, name="embedding")
    if kind == "standard":
        return layers.Embedding(**common)
    if kind == "hashed":
        return layers.HashEmbedding(
            num_buckets=OUT_OF_VOCABULARY, num_hashes=1, importance=False, **common, **options
        )
    checks.choice("kind", kind, ("anchors", "slots"))
    # As long as those of a full table, of which 0.05 is Keras' start, whatever `T` has.
    common["transform_initializer"] = keras.initializers.RandomNormal(stddev=0.03)
    made = layers.AnchorTransformEmbedding
    if kind == "slots":
        made = layers.SparseAnchorEmbedding
    return made(seed=spec.seed, **common, **options)


def build(
    spec: Spec, count: int, embedding: keras.layers.Layer, batch_size: int | None
) -> keras.Model:
    """One LSTM, its softmax under the embedding's vectors."""
    return models.language_model(
        embedding,
        count,
        spec.width,
        num_layers=1,
        head=lambda hidden: layers.tied_softmax(embedding, hidden, use_bias=True),
        batch_size=batch_size,
        unroll=spec.steps if (batch_size or 1) > 1 else None,
    )


def train(spec: Spec, model: keras.Model, ids: np.ndarray, verbose: int) -> int:
    """Trains with a rate that falls linearly to 0; returns the bytes that training holds.

    These are the weights and what the optimizer keeps of each.
    """
    batches = stateful_batches(ids, spec.batch_size, spec.steps)
    steps = spec.epochs * int(batches.cardinality())
    schedule = keras.optimizers.schedules.PolynomialDecay(spec.rate, steps, 0.0)
    optimizer: Any = LazyAdam(schedule, global_clipnorm=CLIP)
    if spec.options["kind"] in ("anchors", "slots"):
        optimizer = Proximal(optimizer)
    loss = SampledSoftmaxCrossEntropy(spec.num_sampled, seed=spec.seed)
    model.compile(optimizer, loss, jit_compile=False)
    model.fit(
        batches, epochs=spec.epochs, shuffle=False, callbacks=[ResetStates()], verbose=verbose
    )
    variables = [*model.variables, *model.optimizer.variables]
    return sum(variable.value.dtype.size * int(np.prod(variable.shape)) for variable in variables)


def vectors(model: keras.Model) -> np.ndarray:
    """The trained vectors of all words, `(V, d)`."""
    embedding = model.get_layer("embedding")
    ids = np.arange(embedding.input_dim)
    parts = [embedding(part) for part in np.array_split(ids, max(1, len(ids) // CHUNK))]
    return np.concatenate(parts)


def as_table(spec: Spec, model: keras.Model) -> keras.Model:
    """A model of the same vectors, as a full table: its softmax is faster."""
    trained = vectors(model)
    table = layers.Embedding(*trained.shape, name="embedding")
    made = build(spec, len(trained), table, spec.batch_size)
    table.embeddings.assign(trained)
    return anchors_tuned.with_weights(made, model)


def _trained(
    spec: Spec, text: Corpus, work: Path, verbose: int
) -> tuple[keras.Model, dict[str, Any]]:
    """The model of a run, trained once, and what its training held."""
    count = len(text.words)
    if spec.options["kind"] in ("k_svd", "nearest"):
        teacher = spec.teacher
        path = teacher.file(work)
        if not path.exists():
            raise ValueError(f"`spec` needs the weights of {path}: run {teacher.method!r} first.")
        model = build(teacher, count, build_embedding(teacher, count), spec.batch_size)
        model.load_weights(path)
        counts = np.bincount(text.train, minlength=count)
        options = {key: value for key, value in spec.options.items() if key != "of"}
        options["mask_zero"] = False
        layer = anchors_tuned.embedding(vectors(model), counts, seed=spec.seed, **options)
        return anchors_tuned.with_weights(build(spec, count, layer, spec.batch_size), model), {}
    model = build(spec, count, build_embedding(spec, count), spec.batch_size)
    held = train(spec, model, text.train, verbose)
    work.mkdir(parents=True, exist_ok=True)
    model.save_weights(spec.file(work))
    return model, {"training_bytes": held}


def run(
    spec: Spec, text: Corpus, work: Path, test: bool = True, verbose: int = 0
) -> dict[str, Any]:
    """Trains, or compresses what has been trained; returns the row.

    `test=False` leaves the test articles untouched. `embedding_parameters` are the numbers that are
    not zero, as the paper counts them, `nnz(T) + |A| d`.
    """
    keras.utils.set_random_seed(spec.seed)
    around = functools.partial(build, spec, len(text.words))
    begin = time.perf_counter()
    model, facts = _trained(spec, text, work, verbose)
    row = {
        "spec": spec._asdict(),
        "label": spec.method,
        "words": len(text.words),
        "train_seconds": round(time.perf_counter() - begin, 1),
        **facts,
        **streams.size_up(model),
    }
    row["embedding_parameters"] = row["paper_bits"] // 32
    table = as_table(spec, model)
    row["dev_perplexity"] = streams.perplexity(around, table, text.dev)
    if test:
        row["test_perplexity"] = streams.perplexity(around, table, text.test)
        row |= streams.ship(around, model, text.test[:FILE_TOKENS], FILE_STEPS)
    return row


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet; `ant_wiki_dev` tries rates on a part of the text, without test.

    Trained weights are in the folder `arguments.work`.
    """
    test = name == "ant_wiki"

    @functools.cache
    def text(num_words: int, train_tokens: int | None) -> Corpus:
        return corpus(arguments.data, num_words, train_tokens)

    def one(spec: Spec) -> dict[str, Any]:
        read = text(spec.num_words, spec.train_tokens)
        return run(spec, read, Path(arguments.work), test, arguments.verbose)

    wanted = [Spec(method, options) for method, options in METHODS.items()] if test else grid()
    return runner.benchmark(name, wanted, arguments, one, table)


def grid() -> list[Spec]:
    """The trials on dev: as many for each kind, and one more of the full table on all its text."""
    trials = [
        Spec(method, {**TRIED[method], **changes}, train_tokens=PART, rate=rate)
        for method, those in TRIALS.items()
        for rate, changes in those
    ]
    return [*trials, Spec("SE", METHODS["SE"], rate=1e-3)]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per method, perplexities, numbers, and what training takes."""
    lines = [
        "| embedding | strength | seeds | dev | test | parameters (M) | of full | file B "
        "| in training (MB) | minutes |",
        "|" + "---|" * 10,
    ]
    order = list(TRIED)
    for group in sorted(results.by_seed(rows), key=lambda one: order.index(one[0]["label"])):
        first, spec = group[0], group[0]["spec"]
        numbers = results.spread(group, "embedding_parameters")[0]
        cells = [spec["method"], f"{spec['options'].get('l1_weight', 0):g}", str(len(group))]
        cells += [
            f"{results.spread(group, key)[0]:.1f}" if key in first else "-"
            for key in ("dev_perplexity", "test_perplexity")
        ]
        cells += [f"{numbers / 1e6:.3f}", f"1/{first['words'] * spec['width'] / numbers:.1f}"]
        cells.append(f"{first['file_bytes']:,}" if "file_bytes" in first else "-")
        held = first.get("training_bytes")
        cells.append("-" if held is None else f"{held / 1e6:,.0f}")
        seconds = first.get("train_seconds")
        cells.append("-" if seconds is None else f"{seconds / 60:.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
