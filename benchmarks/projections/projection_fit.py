"""How much of a table's word similarity a projection can hold: fitted to the vectors themselves.

What `word_similarity` trains by skip-gram is here given: the network learns the directions of the
table's vectors by least squares, frequent words more often: a sign of what its hidden units can
hold, no bound. A run may then go on by skip-gram, against the table's contexts. Run
`word_similarity` before, with the same `--work`.
"""

import argparse
import functools
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data import wikipedia, word_similarity
from benchmarks.data.word_similarity import OTHERS, Judged
from benchmarks.lib import results, runner
from benchmarks.projections import skip_gram_runs
from benchmarks.projections import word_similarity as similarity
from benchmarks.projections.skip_gram_runs import hidden_units
from kerascompact import layers, models
from kerascompact.layers.embeddings.projection import EPSILON

TABLE = "SG"
MEASURED = "measured.json"  # in the folder of a fit


class Spec(NamedTuple):
    """Everything that decides a run. Words are drawn in proportion to `count ** power`.

    `lengths`: whether the vectors keep their lengths, relative to their mean. `fit_misspelt`: share
    of words that are misspelt in the fit. `tuned`: epochs of skip-gram afterwards, with the table's
    contexts, at `tuning_rate`, with a share of `misspelt` words and the cosine loss. `tokens` cuts
    the text.
    """

    hidden: int = hidden_units(1_000_000)
    shortest: int = 1
    longest: int = 3
    normalization: str = "batch"
    epochs: int = 10
    batch_size: int = 512
    learning_rate: float = 2e-3
    power: float = 0.5
    lengths: bool = False
    tuned: int = 0
    tuning_rate: float = 3e-4
    misspelt: float = 0.0
    cosine_weight: float = 0.0
    own_spelling: bool = False
    variants: int = 4
    fit_misspelt: float = 0.0
    whitening: bool = False
    tokens: int | None = None
    seed: int = 0


BEGUN = Spec(tuned=2)  # the best of a million numbers, on the other seven sets too
SPECS = (
    Spec(),
    Spec(shortest=3, longest=6),
    Spec(lengths=True),
    Spec(hidden=hidden_units(2_000_000)),
    Spec(hidden=hidden_units(4_000_000)),
    BEGUN,
    Spec(tuned=2, cosine_weight=0.01),
    Spec(tuned=2, misspelt=0.4),
)


def fitted(
    spec: Spec,
    words: Sequence[str],
    counts: np.ndarray,
    table: np.ndarray,
    verbose: int = 0,
    held_out: Sequence[str] = (),
) -> layers.ProjectionEmbedding:
    """A projection whose vectors are near those of the table `(V, d)`, by a factor of each."""
    keras.utils.set_random_seed(spec.seed)
    embedding = layers.ProjectionEmbedding(
        table.shape[1],
        (spec.hidden,),
        ngrams=(spec.shortest, spec.longest),
        normalization=spec.normalization,
        kernel_initializer=keras.initializers.GlorotUniform(seed=spec.seed),
        whitening=spec.whitening,
        name="embedding",
    )
    models.fit_projection(
        embedding,
        words,
        table,
        counts,
        lengths=spec.lengths,
        power=spec.power,
        epochs=spec.epochs,
        batch_size=spec.batch_size,
        learning_rate=spec.learning_rate,
        misspelt=spec.fit_misspelt,
        held_out=held_out,
        seed=spec.seed,
        verbose=verbose,
    )
    return embedding


def teacher(spec: Spec) -> skip_gram_runs.Spec:
    """The run of skip-gram whose table a run fits."""
    return similarity.RUNS[TABLE]._replace(tokens=spec.tokens)


def tuned(
    spec: Spec,
    corpus: wikipedia.Words,
    table: np.ndarray,
    work: Path,
    verbose: int = 0,
    held_out: Sequence[str] = (),
) -> tuple[layers.ProjectionEmbedding, dict[str, Any]]:
    """A fitted projection, trained further by skip-gram, and what its epochs measured.

    It goes on against the table's contexts, scaled as the vectors are in the mean.
    """

    def begin(model: models.SkipGram) -> None:
        embedding, _ = kept(spec, corpus, table, work, verbose, held_out)
        model.embedding.set_weights(embedding.get_weights())
        contexts = np.load(teacher(spec).folder(work) / skip_gram_runs.CONTEXTS)
        length = np.mean(np.linalg.norm(table, axis=1))
        model.contexts.assign(contexts * (length / table.shape[1] ** 0.5))

    return skip_gram_runs.train(training(spec), corpus, work, verbose, begin)


def training(spec: Spec) -> skip_gram_runs.Spec:
    """The run of skip-gram that goes on with a fitted projection."""
    return similarity.NP_SG._replace(
        hidden=spec.hidden,
        shortest=spec.shortest,
        longest=spec.longest,
        normalization=spec.normalization,
        learning_rate=spec.tuning_rate,
        context_rate=0.0,
        misspelt=spec.misspelt,
        own_spelling=spec.own_spelling,
        variants=spec.variants,
        cosine_weight=spec.cosine_weight,
        epochs=spec.tuned,
        whitening=EPSILON if spec.whitening else 0.0,
        tokens=spec.tokens,
        begun=begun(spec),
        seed=spec.seed,
    )


def begun(spec: Spec) -> str:
    """The settings of the fit that are not as usual, for the name of the folder of what follows.

    >>> begun(Spec(epochs=20, fit_misspelt=0.4)), begun(Spec(tuned=2))
    ('epochs=20;fit_misspelt=0.4', 'table')
    """
    of_fit = ("epochs", "batch_size", "learning_rate", "power", "lengths", "fit_misspelt")
    values, usual = spec._asdict(), Spec()._asdict()
    parts = [f"{name}={values[name]}" for name in of_fit if values[name] != usual[name]]
    return ";".join(parts) or "table"


def kept(
    spec: Spec,
    corpus: wikipedia.Words,
    table: np.ndarray,
    work: Path,
    verbose: int = 0,
    held_out: Sequence[str] = (),
) -> tuple[layers.ProjectionEmbedding, dict[str, Any]]:
    """The projection that a run fits, whatever follows; fitted once, and kept in `work`."""
    usual = Spec()
    of_tuning = ("tuned", "tuning_rate", "misspelt", "cosine_weight", "own_spelling", "variants")
    of_fit = training(spec._replace(**{name: getattr(usual, name) for name in of_tuning}))
    name = of_fit.folder(Path()).name.removeprefix("skip_gram")
    folder = work / f"fit{name},held_out={len(held_out)}"
    if not (folder / skip_gram_runs.TRAINED).exists():
        start = time.process_time()
        embedding = fitted(spec, corpus.words, corpus.counts, table, verbose, held_out)
        folder.mkdir(parents=True, exist_ok=True)
        seconds = round(time.process_time() - start, 1)
        (folder / MEASURED).write_text(json.dumps({"cpu_seconds": seconds}), "utf-8")
        skip_gram_runs.save(embedding, corpus.words, folder)
    saved = keras.saving.load_model(folder / skip_gram_runs.TRAINED).get_layer("embedding")
    return saved, json.loads((folder / MEASURED).read_text("utf-8"))


def run(
    spec: Spec, corpus: wikipedia.Words, judged: Mapping[str, Judged], work: Path, verbose: int = 0
) -> dict[str, Any]:
    """Fits, and measures as `word_similarity` does; `table` has the table's own correlations."""
    layer = skip_gram_runs.load(teacher(spec), work)
    known = similarity.known_pairs(judged, corpus.words)
    make = tuned if spec.tuned else kept
    embedding, measured = make(spec, corpus, np.asarray(layer.embeddings), work, verbose)
    return {
        "spec": spec._asdict(),
        "parameters": int(sum(np.prod(weight.shape) for weight in embedding.trainable_weights)),
        **measured,
        "known": similarity.correlations(known, embedding.vectors),
        "all": similarity.correlations(judged, embedding.vectors),
        "table": similarity.correlations(known, similarity.vectors_of(layer, corpus.words)),
        "neighbours": similarity.nearest(embedding.vectors, corpus.words),
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    judged = word_similarity.load(arguments.data)

    @functools.cache
    def corpus() -> wikipedia.Words:
        return wikipedia.load(arguments.data, similarity.RUNS[TABLE].num_words)

    def one(spec: Spec) -> dict[str, Any]:
        return run(spec, corpus(), judged, Path(arguments.work), arguments.verbose)

    return runner.benchmark(name, SPECS, arguments, one, table)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: mean correlations, and the share of the table's own on the frequent sets."""
    lines = [
        "| hidden units | n-grams | lengths | skip-gram afterwards | parameters | seeds | frequent "
        "| of the table's | other seven |",
        "|" + "---|" * 9,
    ]
    for group in results.by_seed(list(rows)):
        spec = group[0]["spec"]
        frequent, others, own = (
            mean(similarity.average(row, names, kind) for row in group)
            for names, kind in (
                (similarity.FREQUENT, "known"),
                (OTHERS, "known"),
                (similarity.FREQUENT, "table"),
            )
        )
        cells = [f"{spec['hidden']:,}", f"{spec['shortest']} to {spec['longest']}"]
        cells += ["the table's" if spec["lengths"] else "alike", _afterwards(spec)]
        cells += [f"{group[0]['parameters']:,}", str(len(group)), f"{frequent:.3f}"]
        cells += [f"{frequent / own:.2f}", f"{others:.3f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _afterwards(spec: Mapping[str, Any]) -> str:
    """The epochs of skip-gram, and with what."""
    if not spec["tuned"]:
        return "-"
    with_cosines = ", cosine loss" if spec["cosine_weight"] else ""
    misspelt = f", {spec['misspelt']:.0%} misspelt" if spec["misspelt"] else ""
    return f"{spec['tuned']} epochs{with_cosines}{misspelt}"
