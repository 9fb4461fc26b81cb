"""`search.compact` on a language model of Penn Treebank, beside one method by hand for all tables.

A model with an LSTM of 200 units reads windows of 35 words. `compact` measures losses on dev; the
perplexity of what it picks is read on test, as are those of int8, 4 bits, low rank and product
quantization of both tables, each at its largest setting whose file is within the same bytes.
"""

import argparse
import math
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data import ptb
from benchmarks.lib import runner
from kerascompact.search.parts import Candidate, settings_of
from kerascompact.search.plan import Plan
from kerascompact.training import Backup

WORDS, EPOCHS, BATCH, UNITS = 35, 4, 32, 200
SHARES = (4, 8, 16, 32)
HANDS = {"int8": "8 bits", "4 bits": "4 bits, columns", "SVD": "SVD", "PQ": "PQ"}


class Spec(NamedTuple):
    """What decides a row: one over the share of the model's bytes, and epochs of fine-tuning."""

    share: int
    epochs: int = 0
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet, all on one trained model for each seed."""
    seeds = arguments.seeds or (0,)
    specs = [Spec(share, tuned, seed) for seed in seeds for tuned in (0, 1) for share in SHARES]

    corpus = ptb.load(arguments.data)
    plans: dict[int, Plan] = {}  # of each seed: what is measured once serves all shares

    def run(spec: Spec) -> dict[str, Any]:
        if spec.seed not in plans:
            model = trained(corpus, spec.seed, Path(arguments.work))
            plans[spec.seed] = Plan.of(model, windows(corpus.dev), seed=spec.seed)
        return compared(spec, plans[spec.seed], corpus)

    return runner.run_all(name, specs, run, table)


def windows(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Words and the next ones, `(windows, 35)` each.

    >>> [one[:, :2].tolist() for one in windows(np.arange(71))]
    [[[0, 1], [35, 36]], [[1, 2], [36, 37]]]
    """
    count = (len(tokens) - 1) // WORDS
    shape = count, WORDS
    return tokens[: count * WORDS].reshape(shape), tokens[1 : count * WORDS + 1].reshape(shape)


def trained(corpus: ptb.Corpus, seed: int, work: Path) -> keras.Model:
    """The model, trained once and kept."""
    path = work / f"compact-{seed}.keras"
    if path.exists():
        return keras.models.load_model(path)
    keras.utils.set_random_seed(seed)
    ids = keras.Input((WORDS,), dtype="int32")
    vectors = keras.layers.Embedding(len(corpus.words), UNITS, name="words")(ids)
    states = keras.layers.Dropout(0.3)(vectors)
    states = keras.layers.LSTM(UNITS, return_sequences=True, name="lstm")(states)
    states = keras.layers.Dropout(0.3)(states)
    model = keras.Model(ids, keras.layers.Dense(len(corpus.words), name="next")(states))
    x, y = windows(corpus.train)
    rate = keras.optimizers.schedules.PolynomialDecay(3e-3, EPOCHS * -(-len(x) // BATCH), 0.0)
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    work.mkdir(parents=True, exist_ok=True)
    backup = Backup(work / f"compact-{seed}")
    model.fit(
        x,
        y,
        batch_size=BATCH,
        epochs=EPOCHS,
        initial_epoch=backup.epoch,
        validation_data=windows(corpus.dev),
        callbacks=[backup],
        verbose=2,
    )
    model.save(path)
    shutil.rmtree(backup.directory.parent)
    return model


def compared(spec: Spec, plan: Plan, corpus: ptb.Corpus) -> dict[str, Any]:
    """The row: perplexities on test and bytes of files."""
    model = plan.model
    whole = 4 * model.count_params()
    budget = whole // spec.share
    found = plan.within(budget, epochs=spec.epochs)
    row: dict[str, Any] = {
        "whole_bytes": whole,
        "whole_perplexity": perplexity(model, model, corpus.test),
        "budget": budget,
        "bytes": len(found.file),
        "perplexity": perplexity(model, found.model, corpus.test),
        "chosen": {choice.part: choice.chosen for choice in found.choices},
    }
    hands = {}
    if not spec.epochs:
        for name, pick in by_hand(plan, budget):
            hands[name] = {
                "bytes": len(pick[2]),
                "perplexity": perplexity(model, pick[1].model, corpus.test),
            }
    return row | {"hands": hands}


def perplexity(model: keras.Model, copy: keras.Model, tokens: np.ndarray) -> float:
    """`exp` of the mean cross-entropy on windows; a copy is compiled with the model's loss."""
    if copy is not model:
        copy.compile("sgd", model.loss)
    return math.exp(copy.evaluate(*windows(tokens), verbose=0, batch_size=64))


def by_hand(plan: Plan, budget: int) -> Iterator[tuple[str, Any]]:
    """Each method on both tables, with int8 kernels, at its largest setting that fits, if any."""
    settings = [settings_of(part, 0, None) for part in plan.parts]
    for name, prefix in HANDS.items():
        exact = name in ("int8", "4 bits")
        names = [one for one in settings[0] if (one == prefix if exact else one.startswith(prefix))]
        best = None
        for one in names:
            pick = [Candidate(one, every[one](), 0, 0.0) for every in settings]
            made = plan.built((*pick, Candidate("int8", None, 0, 0.0)))
            if len(made[2]) <= budget and (best is None or len(made[2]) > len(best[2])):
                best = made
        if best is not None:
            yield name, best


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: perplexities on test at each share of the bytes."""
    heads = ["share", "budget B", "epochs", "seed", "file B", "compact", *HANDS, "chosen"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        spec, hands = row["spec"], row["hands"]
        cells = [f"1/{spec['share']}", f"{row['budget']:,}", str(spec["epochs"]), str(spec["seed"])]
        cells += [f"{row['bytes']:,}", f"{row['perplexity']:.2f}"]
        cells += [f"{hands[name]['perplexity']:.2f}" if name in hands else "-" for name in HANDS]
        cells.append("; ".join(f"{part}: {way}" for part, way in row["chosen"].items()))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
