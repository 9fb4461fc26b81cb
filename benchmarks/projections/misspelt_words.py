"""How often the word that is meant is near its misspelling: Table 2 of the NP-SG paper, counted.

1,500 words are misspelt as no run has seen them; the nearest of the 20,000 most frequent words
should be the right one. Runs are skip-grams from scratch (`skip_gram_runs`) and projections that
begin at the table's vectors (`projection_fit`), of 3 M tokens of the text; correlations of word
similarity beside it say what misspelt words in training cost.
"""

import argparse
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import wikipedia, word_similarity
from benchmarks.data.word_similarity import OTHERS, Judged
from benchmarks.lib import results, runner
from benchmarks.projections import projection_fit, skip_gram_runs
from benchmarks.projections import word_similarity as similarity
from kerascompact.text.perturb import misspellings

TOKENS = 3_000_000
AMONG, ASKED, BETWEEN = 20_000, 1_500, (200, 10_000)  # ranks by frequency of the words asked for
VARIANTS = 4  # of a word, that skip-grams are trained on
_2M = skip_gram_runs.hidden_units(2_000_000)
_SHORT = similarity.RUNS["NP-SG 1M, shorter n-grams"]
_FIT = projection_fit.Spec(tokens=TOKENS)
SPECS = (
    *(
        spec._replace(tokens=TOKENS)
        for spec in (
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
)

SHOWN = (SPECS[1], SPECS[6])  # of Table 2


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


def retrieval(
    vectors: Callable[[Sequence[str]], np.ndarray],
    words: Sequence[str],
    meant: Sequence[str],
    spelt: Sequence[str],
) -> dict[str, float]:
    """Shares of misspellings whose word is the nearest of `words`, and among the nearest ten."""
    table, asked = (_unit(vectors(side)) for side in (words, spelt))
    number = {word: place for place, word in enumerate(words)}
    cosines = asked @ table.T
    own = cosines[np.arange(len(meant)), [number[word] for word in meant]]
    nearer = np.sum(cosines > own[:, None], axis=1)
    return {
        name: round(float(np.mean(nearer < top)), 4) for name, top in (("first", 1), ("ten", 10))
    }


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def run(
    spec: Any,
    corpus: wikipedia.Words,
    judged: Mapping[str, Judged],
    misspelt: tuple[list[str], list[str]],
    work: Path,
    verbose: int = 0,
) -> dict[str, Any]:
    """Trains, or reads what is trained, and measures."""
    if isinstance(spec, projection_fit.Spec):
        table, _ = skip_gram_runs.train(projection_fit.teacher(spec), corpus, work, verbose)
        vectors = np.asarray(table.embeddings)
        layer, measured = projection_fit.trained(spec, corpus, vectors, work, verbose, misspelt[1])
    else:
        layer, measured = skip_gram_runs.train(spec, corpus, work, verbose)
    known = similarity.known_pairs(judged, corpus.words)
    return {
        "spec": spec._asdict(),
        "parameters": int(sum(np.prod(weight.shape) for weight in layer.trainable_weights)),
        **measured,
        "asked": len(misspelt[0]),
        "retrieval": retrieval(layer.vectors, corpus.words[:AMONG], *misspelt),
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
    parts.append(f"n-grams of {spec['shortest']} to {spec['longest']}")
    parts += ["whitened"] if spec["whitening"] else []
    parts += ["cosine loss"] if spec["cosine_weight"] else []
    if begun and spec["tuned"]:
        parts.append(f"{spec['tuned']} epochs of skip-gram")
    return ", ".join(parts)


def misspelt_in_training(spec: Mapping[str, Any]) -> str:
    """The share of misspelt words in training, and how they are drawn."""
    parts = [f"{spec['fit_misspelt']:.0%}, anew"] if spec.get("fit_misspelt") else []
    if spec["misspelt"]:
        each = "pair" if spec["own_spelling"] else "word of a step"
        parts.append(f"{spec['misspelt']:.0%}, of {spec['variants']} each, by {each}")
    return "; ".join(parts) or "-"


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: shares of misspelt words that find their word, and what it costs on the sets."""
    head = ["training", "misspelt in training", "parameters", "epochs", "seeds"]
    head += ["first", "among ten", "frequent", "other seven"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for group in results.by_seed(list(rows)):
        spec = group[0]["spec"]
        cells = [label(spec), misspelt_in_training(spec), f"{group[0]['parameters']:,}"]
        cells += [str(spec["epochs"]), str(len(group))]
        cells += [
            f"{np.mean([row['retrieval'][key] for row in group]):.3f}" for key in ("first", "ten")
        ]
        cells += [
            f"{np.mean([similarity.average(row, names) for row in group]):.3f}"
            for names in (similarity.FREQUENT, OTHERS)
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def neighbours(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: the paper's Table 2, a column for each of some runs of a million numbers."""
    shown = {
        f"{label(row['spec'])}; misspelt: {misspelt_in_training(row['spec'])}": row
        for row in rows
        if row["spec"] in [spec._asdict() for spec in SHOWN]
    }
    return similarity.neighbour_table(shown)
