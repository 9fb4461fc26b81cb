"""Word similarity of skip-grams, Table 1 of the NP-SG paper: Spearman's correlation with people.

Settings differ from the paper's, see RESULTS.md. Rows are in `results/word_similarity.jsonl`, those
of 3 M tokens of the text in `word_similarity_part.jsonl`; the trained embeddings stay in the folder
`--work`, for `projection_transfer` and `kerascompact neighbours`.
"""

import argparse
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import keras
import numpy as np

from benchmarks.data import wikipedia, word_similarity
from benchmarks.data.word_similarity import OTHERS, PAPER, Judged
from benchmarks.lib import results, runner
from benchmarks.projections import skip_gram_runs
from benchmarks.projections.skip_gram_runs import Spec, hidden_units
from kerascompact.core.extras import require
from kerascompact.training.neighbours import NearestWords

# With `log k` off the logits an epoch does more than three without (2 M words). In the paper's
# loss, without the shift, the cosine loss has a shared direction to fight.
SG = Spec("sg", learning_rate=2e-2, shared_noise=256, shift=True, output=0.005, epochs=5)
NP_SG = Spec(
    "np_sg",
    shortest=3,
    longest=6,
    misspelt=0.4,
    by_word=True,
    batch_size=8192,
    chunk=62_500,  # in larger ones a step has fewer words, and trials were worse
    learning_rate=3e-3,
    context_rate=5e-3,
    shift=True,
    output=0.005,
    epochs=5,
)
_1M = NP_SG._replace(hidden=hidden_units(1_000_000))
_PLAIN = _1M._replace(shortest=1, longest=3, cosine_weight=0.0, misspelt=0.0)
RUNS = {
    "SG": SG,
    "NP-SG 1M": _1M,
    "NP-SG 1M, no cosine loss": _1M._replace(cosine_weight=0.0),
    "NP-SG 2M": NP_SG._replace(hidden=hidden_units(2_000_000)),
    "NP-SG 1M, nothing misspelt": _1M._replace(misspelt=0.0),
    "NP-SG 1M, shorter n-grams": _1M._replace(shortest=1, longest=3),
    "NP-SG 1M, shorter n-grams, no cosine loss, nothing misspelt": _PLAIN,
    "NP-SG 1M, whitened, shorter n-grams, no cosine loss, nothing misspelt": _PLAIN._replace(
        whitening=0.05  # the best of three on the part, on the seven sets that are not the paper's
    ),
    "NP-SG 1M, no shift": _1M._replace(shift=False),
    "NP-SG 1M, no shift, no cosine loss": _1M._replace(shift=False, cosine_weight=0.0),
    "NP-SG 4M": NP_SG._replace(hidden=hidden_units(4_000_000)),
}
# `word_similarity_dev`: settings to choose among, by the sets that are not the paper's.
_SG_TRIALS: list[dict[str, Any]] = [{"learning_rate": 5e-3}, {}]
_NP_TRIALS: list[dict[str, Any]] = [
    {"learning_rate": 1e-3},
    {},
    {"learning_rate": 1e-2},
    {"context_rate": 1e-3},
    {"context_rate": 2e-2},
    {"context_rate": 2e-2, "batch_size": 4096},
    {"whitening": 0.05},
    {"whitening": 0.2},
    {"whitening": 1.0},
]
DEV = {
    f"{spec.method} {number}": spec._replace(
        **{"epochs": 2, "misspelt": 0.0, "shortest": 1, "longest": 3, **changes}
    )
    for spec, trials in ((SG, _SG_TRIALS), (_1M, _NP_TRIALS))
    for number, changes in enumerate(trials)
}
_WHITENED = RUNS["NP-SG 1M, whitened, shorter n-grams, no cosine loss, nothing misspelt"]
_MORE: list[dict[str, Any]] = [  # on the part alone
    {"epochs": 15},
    {"epochs": 30},
    {"epochs": 15, "hidden": hidden_units(2_000_000)},
    {"epochs": 15, "hidden": hidden_units(4_000_000)},
    {"whitening": 0.2},
    {"whitening": 1.0},
    {"normalization": "layer"},
    {"normalization": "l2"},
    {"cosine_weight": 0.01},
]
PART = {
    name: spec._replace(tokens=3_000_000)
    for name, spec in [
        *RUNS.items(),
        *((str(changes), _WHITENED._replace(**changes)) for changes in _MORE),
    ]
}
# What tables call a run by: the nearest of these.
NAMED = RUNS | {
    f"NP-SG {millions}M, whitened, shorter n-grams, no cosine loss, nothing misspelt": (
        _WHITENED._replace(hidden=hidden_units(millions * 1_000_000))
    )
    for millions in (2, 4)
}
BENCHMARKS: dict[str, dict[str, Spec]] = {
    "word_similarity": RUNS,
    "word_similarity_part": PART,
    "word_similarity_dev": DEV,
    # Two to four hours of a core; a run that is killed goes on after its last whole epoch
    "word_similarity_long": {
        "SG": SG,
        "NP-SG 1M": _WHITENED._replace(epochs=30),
        "NP-SG 2M": _WHITENED._replace(epochs=30, hidden=hidden_units(2_000_000)),
        "NP-SG 4M": _WHITENED._replace(epochs=30, hidden=hidden_units(4_000_000)),
    },
}
FREQUENT = tuple(name for name in PAPER if name != "RW-STANFORD")
# Table 2 of the paper, in its order.
WORDS = ("king", "kingg", "woman", "wwoamn", "city", "ciity", "time", "tinme", "zero", "zzero")


def correlations(
    judged: Mapping[str, Judged], vectors: Callable[[Sequence[str]], np.ndarray]
) -> dict[str, float]:
    """Spearman's correlation of cosines with people's scores, for each set with three pairs.

    Args:
        judged: The sets.
        vectors: Gives a vector for each of a list of words.
    """
    stats = require("scipy.stats", "compress")
    found = {}
    for name, pairs in judged.items():
        if len(pairs.scores) < 3:
            continue
        sides = [vectors(side).astype(np.float64) for side in (pairs.first, pairs.second)]
        lengths = [np.linalg.norm(side, axis=1) for side in sides]
        cosines = np.sum(sides[0] * sides[1], axis=1) / np.maximum(lengths[0] * lengths[1], 1e-12)
        found[name] = round(float(stats.spearmanr(cosines, pairs.scores).statistic), 4)
    return found


def known_pairs(judged: Mapping[str, Judged], words: Sequence[str]) -> dict[str, Judged]:
    """The pairs of which both words are among `words`.

    >>> pairs = Judged("a", ["x", "y"], ["y", "z"], np.array([1.0, 2.0]))
    >>> known_pairs({"a": pairs}, ["x", "y"])["a"].first
    ['x']
    """
    known, found = set(words), {}
    for name, pairs in judged.items():
        there = [a in known and b in known for a, b in zip(pairs.first, pairs.second, strict=True)]
        first, second = (
            [word for word, wanted in zip(side, there, strict=True) if wanted]
            for side in (pairs.first, pairs.second)
        )
        found[name] = Judged(name, first, second, pairs.scores[there])
    return found


def vectors_of(
    layer: keras.layers.Layer, words: Sequence[str]
) -> Callable[[Sequence[str]], np.ndarray]:
    """A function from a list of words to their vectors; a table has those of `words` only."""
    if not isinstance(layer, keras.layers.Embedding):
        return layer.vectors
    number = {word: id for id, word in enumerate(words)}
    table = np.asarray(layer.embeddings)
    return lambda wanted: table[[number[word] for word in wanted]]


def nearest(
    vectors: Callable[[Sequence[str]], np.ndarray],
    words: Sequence[str],
    asked: Sequence[str] = WORDS,
) -> dict[str, list[str]]:
    """For each word asked for, the nearest of the 20,000 most frequent ones."""
    frequent = words[:20_000]
    found = NearestWords(frequent, vectors(frequent)).of(asked, vectors(asked))
    return {word: [near for near, _ in ones] for word, ones in zip(asked, found, strict=True)}


def run(
    spec: Spec, corpus: wikipedia.Words, judged: Mapping[str, Judged], work: Path, verbose: int = 0
) -> dict[str, Any]:
    """Trains, or goes on, and measures: a row with correlations and neighbours.

    `known`: correlations on pairs of the text's words, the same for every method; `all`: on all
    pairs, which only a projection has.
    """
    layer, measured = skip_gram_runs.train(spec, corpus, work, verbose)
    vectors = vectors_of(layer, corpus.words)
    of_known = known_pairs(judged, corpus.words)
    projects = not isinstance(layer, keras.layers.Embedding)
    asked = [word for word in WORDS if projects or word in set(corpus.words)]
    return {
        "spec": spec._asdict(),
        "parameters": int(sum(np.prod(weight.shape) for weight in layer.trainable_weights)),
        "text_tokens": corpus.tokens,
        "text_words": len(corpus.words),
        **measured,
        "pairs": {name: len(pairs.scores) for name, pairs in judged.items()},
        "known_pairs": {name: len(pairs.scores) for name, pairs in of_known.items()},
        "known": correlations(of_known, vectors),
        "all": correlations(judged, vectors) if projects else None,
        "neighbours": nearest(vectors, corpus.words, asked),
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs, or goes on with, every run of `BENCHMARKS[name]`."""
    judged = word_similarity.load(arguments.data)

    @functools.cache
    def corpus(num_words: int, tokens: int | None) -> wikipedia.Words:
        return wikipedia.load(arguments.data, num_words, tokens)

    def one(spec: Spec) -> dict[str, Any]:
        text = corpus(spec.num_words, spec.tokens)
        return run(spec, text, judged, Path(arguments.work), arguments.verbose)

    return runner.benchmark(name, BENCHMARKS[name].values(), arguments, one, table)


def label(spec: Mapping[str, Any]) -> str:
    """What a run is called, whatever its seed and epochs: one of `NAMED`, and how it differs."""
    same = {"seed": spec["seed"], "epochs": spec["epochs"], "tokens": spec["tokens"]}
    differences = {}
    for name, known in NAMED.items():
        wanted = known._replace(**same)._asdict()
        differences[name] = [
            f"{k}={v}" for k, v in spec.items() if v != wanted.get(k) and k != "method"
        ]
        if known.method != spec["method"]:
            differences[name] += [""] * 99
    nearest = min(differences, key=lambda name: len(differences[name]))
    return ", ".join([nearest, *differences[nearest]])


def average(row: Mapping[str, Any], names: Sequence[str], kind: str = "known") -> float:
    """The mean correlation over sets."""
    return mean(row[kind][name] for name in names)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: correlations of the paper's sets, the mean of the frequent, and of the other seven.

    The lines "all pairs" are of all pairs of a set, the others of those the text's words cover.
    "cosine" is the mean of the cosines of words in a batch, in the last epoch.
    """
    head = ["embedding", "parameters", "epochs", "seeds", "cosine"]
    head += [*PAPER, "frequent", "other seven"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for group in results.by_seed(list(rows)):
        spec = group[0]["spec"]
        for kind in ("known", "all"):
            if group[0][kind] is None:
                continue
            name = label(spec) + (", all pairs" if kind == "all" else "")
            cells = [name, f"{group[0]['parameters']:,}", str(spec["epochs"]), str(len(group))]
            cells += [f"{mean(row['mean_cosine'] for row in group):.3f}"]
            cells += [f"{mean(row[kind][n] for row in group):.3f}" for n in PAPER]
            cells += [
                f"{mean(average(row, names, kind) for row in group):.3f}"
                for names in (FREQUENT, OTHERS)
            ]
            lines.append("| " + " | ".join(cells) + " |")
    if rows:
        counts = [f"{rows[0]['known_pairs'][n]} of {rows[0]['pairs'][n]}" for n in PAPER]
        lines.append("| pairs covered | | | | | " + " | ".join(counts) + " | | |")
    return "\n".join(lines)


def neighbour_table(rows: Mapping[str, dict[str, Any]]) -> str:
    """Markdown: nearest words of the paper's Table 2, a column for each run, by its name."""
    lines = ["| word | " + " | ".join(rows) + " |", "|" + "---|" * (1 + len(rows))]
    for word in WORDS:
        cells = [", ".join(row["neighbours"].get(word, ["-"])) for row in rows.values()]
        lines.append("| " + " | ".join([word, *cells]) + " |")
    return "\n".join(lines)
