"""How often the word that is meant is near its misspelling: Table 2 of the NP-SG paper, counted.

1,500 words are misspelt as no run has seen them; the nearest of the 20,000 most frequent words
should be the right one, and the others near by their meaning. Runs are skip-grams from scratch
(`skip_gram_runs`) and projections that begin at the table's vectors (`projection_fit`), of 3 M
tokens of the text; correlations of word similarity say what misspelt words in training cost.
"""

import argparse
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import wikipedia, word_similarity
from benchmarks.data.word_similarity import OTHERS, Judged
from benchmarks.lib import results, runner
from benchmarks.projections import projection_fit, skip_gram_runs
from benchmarks.projections import word_similarity as similarity
from kerascompact.text.perturb import misspellings

TOKENS = 3_000_000
AMONG, ASKED, BETWEEN = 20_000, 1_500, (200, 10_000)  # ranks by frequency of the words asked for
KIN = 100  # words nearest to a word in the skip-gram's table, which has learnt no spelling
VARIANTS = 4  # of a word, that skip-grams are trained on
_2M = skip_gram_runs.hidden_units(2_000_000)
_SHORT = similarity.RUNS["NP-SG 1M, shorter n-grams"]
_FIT = projection_fit.Spec(tokens=TOKENS)
TABLE = projection_fit.teacher(_FIT)
SPECS: tuple[Any, ...] = (
    *(
        spec._replace(tokens=TOKENS)
        for spec in (
            _SHORT._replace(epochs=0),  # what the spelling alone says
            similarity.RUNS["NP-SG 1M"],
            _SHORT,
            _SHORT._replace(own_spelling=True),
            _SHORT._replace(misspelt=0.0, cosine_weight=0.0, whitening=0.2),
        )
    ),
    _FIT,
    _FIT._replace(fit_misspelt=0.2),
    _FIT._replace(fit_misspelt=0.4),
    _FIT._replace(fit_misspelt=0.4, shortest=3, longest=6),
    _FIT._replace(fit_misspelt=0.4, whitening=True),
    _FIT._replace(fit_misspelt=0.4, hidden=_2M, epochs=20),
    _FIT._replace(fit_misspelt=0.4, tuned=1, misspelt=0.4),
    _FIT._replace(fit_misspelt=0.4, tuned=1, misspelt=0.4, own_spelling=True),
    _FIT._replace(fit_misspelt=0.4, hidden=_2M, epochs=20, tuned=1, misspelt=0.4),
)

SHOWN = (SPECS[2], SPECS[13])  # of Table 2


def unseen(words: Sequence[str], seed: int = 99) -> tuple[list[str], list[str]]:
    """Words, and a misspelling of each that no run is trained on and that is no word itself.

    Args:
        words: All words of the text, the most frequent first.
        seed: Seed of the misspellings.
    """
    long = [word for word in words[slice(*BETWEEN)] if len(word) >= 4]  # any kind of misspelling
    order = np.random.default_rng(5).permutation(len(long))
    meant = [long[place] for place in order]
    seen = set(words).union(*misspellings(words, VARIANTS, seed=0))
    found = [
        (word, wrong)
        for word, wrong in zip(meant, misspellings(meant, seed=seed)[0], strict=True)
        if wrong not in seen
    ]
    right, wrong = zip(*found[:ASKED], strict=True)
    return list(right), list(wrong)


class Found(NamedTuple):
    """Places of words meant `(n,)`, and cosines `(n, V)` of what is asked with all `V` words."""

    own: np.ndarray
    cosines: np.ndarray

    def shares(self) -> dict[str, float]:
        """How often the word that is meant is the nearest, and among the nearest ten."""
        own = self.cosines[np.arange(len(self.own)), self.own]
        nearer = np.sum(self.cosines > own[:, None], axis=1)
        return {name: _mean(nearer < top) for name, top in (("first", 1), ("ten", 10))}

    def nearest(self, top: int) -> np.ndarray:
        """Places `(n, top)` of the nearest words but the one that is meant, in any order."""
        cosines = self.cosines.copy()
        cosines[np.arange(len(self.own)), self.own] = -2
        return np.argpartition(-cosines, top, axis=1)[:, :top]

    def shared(self, kin: np.ndarray) -> float:
        """How many of the nearest ten words are among the `kin` `(n, ...)` of the word meant."""
        return _mean(np.any(self.nearest(10)[:, :, None] == kin[:, None], axis=2))


def find(
    vectors: Callable[[Sequence[str]], np.ndarray],
    words: Sequence[str],
    meant: Sequence[str],
    asked: Sequence[str],
) -> Found:
    """Compares words as they are asked for with `words`, among which are those meant."""
    number = {word: place for place, word in enumerate(words)}
    cosines = _unit(vectors(asked)) @ _unit(vectors(words)).T
    return Found(np.array([number[word] for word in meant]), cosines)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _mean(values: np.ndarray) -> float:
    return round(float(np.mean(values)), 4)


def run(
    spec: Any,
    corpus: wikipedia.Words,
    judged: Mapping[str, Judged],
    misspelt: tuple[list[str], list[str]],
    work: Path,
    verbose: int = 0,
) -> dict[str, Any]:
    """Trains, or reads what is trained, and measures; `epochs=0` is an untrained projection."""
    table, _ = skip_gram_runs.train(TABLE, corpus, work, verbose)
    if isinstance(spec, projection_fit.Spec):
        vectors = np.asarray(table.embeddings)
        make = projection_fit.tuned if spec.tuned else projection_fit.kept
        layer, measured = make(spec, corpus, vectors, work, verbose, misspelt[1])
    elif spec.epochs:
        layer, measured = skip_gram_runs.train(spec, corpus, work, verbose)
    else:
        layer, measured = skip_gram_runs.build_embedding(spec, len(corpus.words)), {}
        layer.build()
    words, meant = corpus.words[:AMONG], misspelt[0]
    kin = find(similarity.vectors_of(table, corpus.words), words, meant, meant).nearest(KIN)
    asked = {"right": meant, "misspelt": misspelt[1]}
    found = {name: find(layer.vectors, words, meant, spelt) for name, spelt in asked.items()}
    known = similarity.known_pairs(judged, corpus.words)
    return {
        "spec": spec._asdict(),
        "parameters": int(sum(np.prod(weight.shape) for weight in layer.trainable_weights)),
        **measured,
        "asked": len(meant),
        "retrieval": found["misspelt"].shares(),
        "meaning": {name: one.shared(kin) for name, one in found.items()},
        "known": similarity.correlations(known, layer.vectors),
        "neighbours": similarity.nearest(layer.vectors, corpus.words),
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet; trained skip-grams stay in `--work`, also for `projection_fit`."""
    judged = word_similarity.load(arguments.data)

    @functools.cache
    def corpus() -> wikipedia.Words:
        return wikipedia.load(arguments.data, similarity.SG.num_words, TOKENS)

    @functools.cache
    def misspelt() -> tuple[list[str], list[str]]:
        return unseen(corpus().words)

    def one(spec: Any) -> dict[str, Any]:
        return run(spec, corpus(), judged, misspelt(), Path(arguments.work), arguments.verbose)

    return runner.benchmark(name, SPECS, arguments, one, table)


def label(spec: Mapping[str, Any]) -> str:
    """How a run is trained, and on which misspelt words."""
    begun = "method" not in spec
    parts = ["from a table's vectors" if begun else "skip-gram from scratch"]
    parts = parts if spec["epochs"] else ["not trained"]
    parts.append(f"n-grams of {spec['shortest']} to {spec['longest']}")
    parts += ["whitened"] if spec["whitening"] else []
    parts += ["cosine loss"] if spec["cosine_weight"] and spec["epochs"] else []
    if begun and spec["tuned"]:
        parts.append(f"epochs of skip-gram: {spec['tuned']}")
    return ", ".join(parts)


def misspelt_in_training(spec: Mapping[str, Any]) -> str:
    """The share of misspelt words in training, and how they are drawn."""
    parts = [f"{spec['fit_misspelt']:.0%}, anew"] if spec.get("fit_misspelt") else []
    if spec["misspelt"] and spec["epochs"]:
        each = "pair" if spec["own_spelling"] else "word of a step"
        parts.append(f"{spec['misspelt']:.0%}, of {spec['variants']} each, by {each}")
    return "; ".join(parts) or "-"


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: shares of misspelt words that find their word, and what it costs on the sets.

    "meaning": of the ten words nearest to a misspelling, and to the word spelt right, how many are
    among the 100 nearest of that word in the skip-gram's table.
    """
    head = ["training", "misspelt in training", "parameters", "epochs", "seeds"]
    head += ["first", "among ten", "meaning, misspelt", "meaning, spelt right"]
    head += ["frequent", "other seven"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for group in results.by_seed(list(rows)):
        spec = group[0]["spec"]
        cells = [label(spec), misspelt_in_training(spec), f"{group[0]['parameters']:,}"]
        cells += [str(spec["epochs"]), str(len(group))]
        for kind, keys in (("retrieval", ("first", "ten")), ("meaning", ("misspelt", "right"))):
            cells += [f"{np.mean([row[kind][key] for row in group]):.3f}" for key in keys]
        cells += [
            f"{np.mean([similarity.average(row, names) for row in group]):.3f}"
            for names in (similarity.FREQUENT, OTHERS)
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def neighbours(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: the paper's Table 2, a column for each run of `SHOWN`."""
    shown = {
        f"{label(row['spec'])}, {row['parameters']:,} numbers": row
        for row in rows
        if row["spec"] in [spec._asdict() for spec in SHOWN]
    }
    return similarity.neighbour_table(shown)
