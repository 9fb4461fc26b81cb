"""Do trained model, frozen model and file agree, for the models behind the other tables?

Each model of CLINC150 and TREC, seed 0, is made again from the spec of its committed row, and
`export.verify` compares it in three pairs on test rows. Trained for `EPOCHS` epochs on at most
`TRAIN_ROWS` texts: freezing and conversion are compared, not accuracies. Left out are models of
minutes and hours (AG News, IMDB, language models, graphs, taggers, word vectors), and forms of
random numbers, which are not trained.
"""

import argparse
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import results, runner, text_runs
from benchmarks.product import aware, phone, text_in
from kerascompact import datasets, export
from kerascompact.datasets.base import Dataset, Split
from kerascompact.export.verification.verifier import compare
from kerascompact.tasks.classification import TextData, encode, encode_by, train
from kerascompact.text.vocabulary import Vocabulary

EPOCHS, TRAIN_ROWS, TEST_ROWS = 5, 10_000, 1000
BY_RUNS, SETS = ("clinc150", "trec", "kd_text"), ("clinc150", "trec")
PAIRS = ("trained_frozen", "frozen_file", "trained_file")


class Made(NamedTuple):
    """A trained model, and what its file is made from and compared on."""

    model: keras.Model
    options: dict[str, Any]
    rows: Any
    labels: np.ndarray
    vocabulary: Any = None


class Case(NamedTuple):
    """A model of a benchmark, the recipes of its files, and how it is made."""

    of: str
    label: str
    recipes: tuple[str, ...]
    make: Callable[[], Made]


@functools.lru_cache(maxsize=1)
def loaded(name: str, data_dir: str | None) -> Dataset:
    """Some texts of each split, evenly spread, since a split may be sorted by its labels."""
    whole = datasets.load(name, data_dir)
    return dataclasses.replace(
        whole,
        train=spread(whole.train, TRAIN_ROWS),
        dev=spread(whole.dev, TEST_ROWS),
        test=spread(whole.test, TEST_ROWS),
    )


def spread(split: Split, count: int) -> Split:
    """At most so many rows of a split, at equal distances.

    >>> spread(Split(["a", "b", "c", "d", "e"], np.arange(5)), 2).texts
    ['a', 'd']
    """
    step = max(1, -(-len(split.texts) // count))
    return Split(split.texts[::step], split.labels[::step])


@functools.lru_cache(maxsize=1)
def encoded(name: str, size: int, length: int, rules: str, data_dir: str | None) -> TextData:
    """The same as ids of the vocabulary of the whole training split, as in the committed rows."""
    texts = datasets.load(name, data_dir).train.texts
    vocabulary = Vocabulary.build(texts, size=size, rules=rules)
    return encode_by(vocabulary, loaded(name, data_dir), length)


def of_ids(model: keras.Model, data: TextData) -> Made:
    """A model whose file takes ids."""
    options = {"vocabulary": data.vocabulary, "sequence_length": data.test.ids.shape[1]}
    return Made(model, options, *data.test)


def of_runs(data_dir: str | None) -> Iterator[Case]:
    """Cluster embeddings, KD codes and low rank, each in the recipe of its row."""
    for name in BY_RUNS:
        for row in results.rows(name):
            spec = text_runs.Spec(**row["spec"])._replace(epochs=EPOCHS)

            def make(spec: text_runs.Spec = spec) -> Made:
                data = encoded(spec.dataset, spec.size, spec.length, spec.rules, data_dir)
                return of_ids(text_runs.trained(spec, data)[0], data)

            if spec.seed == 0 and spec.dataset in SETS:
                label = f"{spec.dataset}, {row['label']}" if name == "kd_text" else row["label"]
                yield Case(name, label, (spec.recipe,), make)


def of_phone(data_dir: str | None) -> Iterator[Case]:
    """A model of each form, one of them with text in."""
    for name, arm in phone.ARMS.items():

        def make(arm: phone.Arm = arm) -> Made:
            if arm.method != "projection":
                data = encoded(phone.DATASET, phone.WORDS, phone.LENGTH, phone.RULES, data_dir)
                return of_ids(phone.trained(arm, data, 0, epochs=EPOCHS), data)
            texts = loaded(phone.DATASET, data_dir)
            data = encode(texts, None, phone.LENGTH, every_split=True)
            model = phone.trained(arm, data, 0, epochs=EPOCHS)
            options = {"text": phone.RULES, "max_bytes": phone.MAX_BYTES}
            options |= {"sequence_length": phone.LENGTH}
            return Made(model, options, texts.test.texts, data.test.labels)

        yield Case("phone", name, arm.recipes, make)


def of_aware(data_dir: str | None) -> Iterator[Case]:
    """Tables of 4 bits, rounded after training and trained as rounded."""
    for row in results.rows("aware"):
        spec = aware.Spec(**{**row["spec"], "epochs": EPOCHS})

        def make(spec: aware.Spec = spec, tuned: bool = False) -> Made:
            data = encoded(spec.dataset, spec.size, spec.length, "wordpunct", data_dir)
            model = aware.trained(spec, data)
            if tuned:
                model = export.quantization_aware(model, "int4_tables")
                train(model, data, epochs=1, learning_rate=spec.tuning_rate)
            return of_ids(model, data)

        if spec.seed == 0:
            yield Case("aware", spec.label, aware.RECIPES, make)
            label = f"{spec.label}, fine-tuned"
            yield Case("aware", label, ("int4_tables",), functools.partial(make, tuned=True))


def of_text(data_dir: str | None) -> Iterator[Case]:
    """Files that take text."""
    for row in results.rows("text_in"):
        kind, name = row["spec"]["kind"], row["spec"]["dataset"]

        def make(kind: str = kind, name: str = name) -> Made:
            data, (size, length) = loaded(name, data_dir), text_in.SETS[name]
            model, vocabulary = text_in.trained(kind, data, size, length, EPOCHS)
            known = kind == "vocabulary"
            options: dict[str, Any] = {"text": vocabulary if known else text_in.RULES}
            options["max_words" if kind == "sgnn" else "sequence_length"] = length
            options["max_bytes"] = text_in.MAX_BYTES
            labels = np.asarray(data.test.labels)
            return Made(
                model, options, list(data.test.texts), labels, vocabulary if known else None
            )

        yield Case("text_in", f"{name}, {kind}", (row["spec"]["recipe"],), make)


def measure(made: Made, recipe: str) -> dict[str, Any]:
    """A row: the three pairs, accuracies, and the `error` of a pair past its limits, or `None`."""
    file = export.convert(made.model, recipe, **made.options)
    report = compare(made.model, file, made.rows, made.labels, vocabulary=made.vocabulary)
    error = None
    try:
        report.check()
    except ValueError as found:
        error = str(found)
    facts = report.facts()
    del facts["microseconds"]
    count = facts.pop("examples")
    return {**facts, "rows": count, "error": error}


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Every case that has no row yet, and all rows."""
    for cases in (of_phone, of_runs, of_aware, of_text):
        for case in cases(arguments.data):
            base: dict[str, Any] = {"of": case.of, "label": case.label, "seed": 0, "epochs": EPOCHS}
            base |= {"train_rows": TRAIN_ROWS, "test_rows": TEST_ROWS}
            made = functools.cache(case.make)

            def one(spec: dict[str, Any], made: Callable[[], Made] = made) -> dict[str, Any]:
                return measure(made(), spec["recipe"])

            specs = [{**base, "recipe": recipe} for recipe in case.recipes]
            runner.run_all(name, specs, one, table)
            keras.backend.clear_session()
    return results.rows(name)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each file; agreement and largest difference of each pair."""
    lines = [
        "| rows of | model | recipe | test rows | trained - frozen, before rounding "
        "| frozen - file | trained - file | within limits |",
        "|" + "---|" * 8,
    ]
    for row in rows:
        spec = row["spec"]
        cells = [spec["of"], spec["label"], spec["recipe"], f"{row['rows']:,}"]
        for pair in PAIRS:
            found = row[pair]
            ties = f" ({found['ties']} ties)" if found["ties"] else ""
            cells.append(f"{100 * found['agreement']:.2f} %{ties}, {found['largest']:.1e}")
        cells.append("yes" if row["error"] is None else row["error"])
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
