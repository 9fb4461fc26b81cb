"""What the loss of a skip-gram's training is of: what is learned for good, or the text just read.

A step's loss is that of a batch before it is learned, but after its neighbours in the text were.
At the start of each epoch the same batches are read three times, from the same weights: with a rate
of 0, as training reads them, and in a mixed order.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from benchmarks.data import wikipedia
from benchmarks.lib import results, runner
from benchmarks.projections.skip_gram_runs import Spec, batches_of, build, optimizer
from benchmarks.projections.word_similarity import PART

SPEC = PART["NP-SG 1M, whitened, shorter n-grams, no cosine loss, nothing misspelt"]
SHARE = 5  # a part in so many of an epoch's batches is read three times
Batch = tuple[np.ndarray, np.ndarray]


def held(model: keras.Model, batches: Sequence[Batch]) -> float:
    """The mean loss of batches, nothing learned from them."""
    losses = []
    for words, contexts in batches:
        vectors = model(words, training=True)  # normalized by the batch, as in a step
        losses.append(float(model.compute_loss(words, contexts, vectors, training=True)))
    return float(np.mean(losses))


def learned(model: keras.Model, batches: Sequence[Batch]) -> float:
    """The mean loss of batches, each before the step that learns from it."""
    model.reset_metrics()
    for words, contexts in batches:
        found = model.train_on_batch(words, contexts, return_dict=True)
    return float(found["loss"])


def run(spec: Spec, corpus: wikipedia.Words, share: int = SHARE) -> dict[str, Any]:
    """Trains and measures: a row with a list, an entry an epoch, for each way of reading."""
    model = build(spec, corpus.words, corpus.counts)
    batches = batches_of(spec, corpus)
    model.compile(optimizer(spec, spec.epochs * len(batches)))
    model.train_on_batch(*batches[0])  # makes all variables
    variables = [*model.variables, *model.optimizer.variables]
    row: dict[str, Any] = {"spec": spec._asdict(), "rate 0": [], "in order": [], "mixed": []}
    for epoch in range(spec.epochs):
        part = [batches[step] for step in range(max(1, len(batches) // share))]
        mixed = np.random.default_rng([spec.seed, epoch]).permutation(len(part))
        start = [variable.numpy().copy() for variable in variables]
        ways = {
            "rate 0": (held, part),
            "mixed": (learned, [part[step] for step in mixed]),
            "in order": (learned, part),  # the last: training goes on from there
        }
        for name, (read, those) in ways.items():
            for variable, value in zip(variables, start, strict=True):
                variable.assign(value)
            row[name].append(round(read(model, those), 4))
        learned(model, [batches[step] for step in range(len(part), len(batches))])
        batches.on_epoch_end()
    return row


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    corpus = wikipedia.load(arguments.data, SPEC.num_words, SPEC.tokens)
    return runner.benchmark(name, [SPEC], arguments, lambda spec: run(spec, corpus), table)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: an epoch a line, mean losses over the seeds."""
    lines = [
        "| epoch | seeds | rate at its start | rate 0 | as trained | in mixed order |",
        "|" + "---|" * 6,
    ]
    for group in results.by_seed(list(rows)):
        epochs = group[0]["spec"]["epochs"]
        for epoch in range(epochs):
            means = (
                np.mean([row[way][epoch] for row in group])
                for way in ("rate 0", "in order", "mixed")
            )
            cells = [str(epoch + 1), str(len(group)), f"{1 - epoch / epochs:.0%} of the first"]
            lines.append("| " + " | ".join([*cells, *(f"{mean:.3f}" for mean in means)]) + " |")
    return "\n".join(lines)
