"""Text classification of the Anchor & Transform paper, on the part of AG News that can be had.

Table 1 of [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197): Kim's CNN with the settings
of its Table 5 (d = 256, filters of 3, 4 and 5 words, 100 of each, dropout 0.5, texts of 100 tokens,
batches of 256, Adam from 5e-3), all words of the training split. Fewer epochs than its 200, the
rate falls linearly, and of the epochs of the second half the one that is best on dev is measured on
test, once: until then the penalties have made their zeros.

Some methods begin with another's trained model (`first`): with its table, compressed and trained on
for some epochs more (`tuned`), or with the words that it keeps. That model is in `--work`.
"""

import argparse
import functools
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import keras

from benchmarks.anchors import anchors_tuned
from benchmarks.anchors.anchor_methods import Statistics, compressed, embedding, optimizer_of
from benchmarks.anchors.anchors_arms import GRID, METHODS
from benchmarks.clusters.cluster_paper import SEEDS
from benchmarks.lib import results, runner
from kerascompact import datasets
from kerascompact.datasets import base
from kerascompact.tasks.classification import MODELS, TextData, best_epoch, encode, train
from kerascompact.tasks.measure import accuracy, measure, size_up

WORDNET = "open_english_wordnet"
TRAINING = ("first", "tuned", "rate", "noise_rate")  # options that no layer has
TUNING_RATE = 1e-3
STRENGTHS = ("l1_weight", "group_lasso_weight", "kl_weight", "penalty")
BYTES = ("stored_bytes", "file_bytes")


class Spec(NamedTuple):
    """Everything that decides a run. Two runs of one spec give the same row, but for times."""

    method: str  # the table's name of it
    options: dict[str, Any]
    dataset: str = "ag_news"
    model: str = "cnn"
    size: int = 33_963
    length: int = 100
    width: int = 256
    rules: str = "wordpunct"
    epochs: int = 4
    batch_size: int = 256
    learning_rate: float = 5e-3
    dropout: float = 0.5
    recipe: str = "float32"
    seed: int = 0

    @property
    def first(self) -> "Spec | None":
        """The run that this one begins with."""
        name = self.options.get("first")
        return None if name is None else self._replace(method=name, options=METHODS[name])

    def file(self, work: Path) -> Path:
        """Where its trained model is kept."""
        named = [f"{key}={value}" for key, value in sorted(self.options.items())]
        return work / ("-".join(["text", *named, *map(str, self[2:])]) + ".keras")


def specs(seeds: Iterable[int] = SEEDS, **changes: Any) -> list[Spec]:
    """Every method, seed by seed."""
    return [
        Spec(method, options, seed=seed, **changes)
        for seed in seeds
        for method, options in METHODS.items()
    ]


def grid(**changes: Any) -> list[Spec]:
    """Every method whose strength is chosen on dev, with each of a few; seed 0."""
    return [
        Spec(method, {**METHODS[method], option: value}, **changes)
        for method, (option, values) in GRID.items()
        for value in values
    ]


def build(
    spec: Spec, data: TextData, statistics: Statistics, first: keras.Model | None = None
) -> keras.Model:
    """The model that a run begins with, seeded; `first` is the trained one of `spec.first`."""
    keras.utils.set_random_seed(spec.seed)
    options = {key: value for key, value in spec.options.items() if key not in TRAINING}

    def around(layer: keras.layers.Layer) -> keras.Model:
        return MODELS[spec.model](layer, len(data.label_names), dropout=spec.dropout)

    if first is not None and options["kind"] != "selected":
        return anchors_tuned.begun(first, around, statistics, seed=spec.seed, **options)
    if first is not None:
        options["ids"] = anchors_tuned.ranked(first, options.pop("words"))
    return around(embedding(statistics, spec.width, seed=spec.seed, **options))


def trained(
    spec: Spec, data: TextData, statistics: Statistics, work: Path, verbose: int = 0
) -> tuple[keras.Model, dict[str, Any]]:
    """Trains one model; returns it and what is measured on the way."""
    facts: dict[str, Any] = {"best_epoch": 0}  # it is not trained
    first = None
    if spec.first is not None:
        first = _kept(spec.first, data, statistics, work, verbose)
        facts["first_dev_accuracy"] = accuracy(first, data.dev)
    tuned = spec.options.get("tuned", 0)
    fitted = first is not None and not tuned and spec.options["kind"] in anchors_tuned.KINDS
    if fitted and spec.file(work).exists():
        return _loaded(spec, work), facts
    model = build(spec, data, statistics, first)
    if fitted:
        return model, facts
    epochs = tuned or spec.epochs
    skipped = 0 if tuned else epochs // 2
    history = train(
        model,
        data,
        epochs=epochs,
        batch_size=spec.batch_size,
        learning_rate=spec.options.get("rate", TUNING_RATE) if tuned else spec.learning_rate,
        seed=spec.seed,
        verbose=verbose,
        optimizer=optimizer_of(spec.options["kind"], spec.options.get("noise_rate")),
        start_from_epoch=skipped,
    )
    facts["best_epoch"] = best_epoch(history["val_accuracy"], skipped)
    return compressed(model, statistics, **spec.options), facts


def _kept(
    spec: Spec, data: TextData, statistics: Statistics, work: Path, verbose: int
) -> keras.Model:
    """The trained model of a run that others begin with, made once."""
    path = spec.file(work)
    if not path.exists():
        model, _ = trained(spec, data, statistics, work, verbose)
        work.mkdir(parents=True, exist_ok=True)
        model.save(path.with_suffix(".part.keras"))
        path.with_suffix(".part.keras").rename(path)
    return _loaded(spec, work)


def _loaded(spec: Spec, work: Path) -> keras.Model:
    keras.utils.set_random_seed(spec.seed)  # the seeds of dropout are not in the file
    return keras.saving.load_model(spec.file(work))


def run(
    spec: Spec,
    data: TextData,
    statistics: Statistics,
    work: Path = Path("runs"),
    test: bool = True,
    verbose: int = 0,
) -> dict[str, Any]:
    """Trains one model and returns its row; `test=False` leaves the test split untouched.

    A row has what `measure` counts, and `embedding_parameters`: the numbers that are not zero, as
    the paper counts them, `nnz(T) + |A| d` or `n d` for `n` words.
    """
    start = time.perf_counter()
    model, facts = trained(spec, data, statistics, work, verbose)
    row: dict[str, Any] = {
        "spec": spec._asdict(),
        "label": spec.method,
        "train_rows": len(data.train.labels),
        "dev_accuracy": accuracy(model, data.dev),
        **facts,
        "train_seconds": round(time.perf_counter() - start, 1),
    }
    # Fixed length: the file sees exactly the ids that Keras was measured on.
    count = measure if test else size_up
    row |= count(model, data, spec.recipe, sequence_length=spec.length)[0]
    return row | {"embedding_parameters": int(8 * row["paper_bytes"]) // 32}


def run_all(
    wanted: Sequence[Spec],
    name: str,
    data_dir: str | None = None,
    test: bool = True,
    **options: Any,
) -> list[dict[str, Any]]:
    """Runs what has no row yet, see `runner.run_all`."""

    @functools.cache
    def loaded(*key: Any) -> tuple[TextData, Statistics]:
        dataset, *sizes = key
        data = encode(datasets.load(dataset, data_dir), *sizes)
        return data, Statistics(data, base.data_dir(data_dir) / WORDNET)

    def one(spec: Spec) -> dict[str, Any]:
        data, statistics = loaded(spec.dataset, spec.size, spec.length, spec.rules)
        return run(spec, data, statistics, test=test, **options)

    return runner.run_all(name, wanted, one, lambda rows: results.line(rows[0]))


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs, or goes on with, the benchmark; `ant_text_dev` tries strengths without test."""
    if arguments.sizes:
        raise ValueError("`--sizes` cannot count these anew: what is zero is up to the training.")
    changes = {"epochs": arguments.epochs} if arguments.epochs else {}
    work = Path(arguments.work)
    options = {"data_dir": arguments.data, "verbose": arguments.verbose, "work": work}
    if name == "ant_text_dev":
        return run_all(grid(**changes), name, test=False, **options)
    return run_all(specs(arguments.seeds or SEEDS, **changes), name, **options)


def table(rows: Sequence[dict[str, Any]], methods: Iterable[str] = METHODS) -> str:
    """Markdown: a line per method, mean and spread over seeds, accuracies in percent.

    Lines are in the order of `methods`, whatever ran first; `us` is the least of the seeds.
    """
    order = list(methods)
    lines = [
        "| embedding | strength | epochs | seeds | dev | test: soft | hard | file "
        "| parameters (M) | of full | stored KB | file KB | us |",
        "|" + "---|" * 13,
    ]
    for group in sorted(results.by_seed(rows), key=lambda one: order.index(one[0]["label"])):
        spec = group[0]["spec"]
        strengths = [f"{spec['options'][name]:g}" for name in STRENGTHS if name in spec["options"]]
        tuned = spec["options"].get("tuned")
        epochs = f"{spec['epochs']} + {tuned}" if tuned else str(spec["epochs"])
        cells = [spec["method"], *(strengths or ["-"]), epochs, str(len(group))]
        cells += [results.percent(group, f"{kind}_accuracy") for kind in results.KINDS]
        numbers = mean(row["embedding_parameters"] for row in group)
        cells += [f"{numbers / 1e6:.3f}", f"1/{spec['size'] * spec['width'] / numbers:.1f}"]
        cells += [f"{mean(r[key] for r in group) / 1000:,.0f}" for key in BYTES]
        known = [row["microseconds"] for row in group if "microseconds" in row]
        cells.append(f"{min(known):,.0f}" if known else "-")  # others ran beside trainings
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
