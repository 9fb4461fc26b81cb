"""AWD-LSTM on Penn Treebank: dense, with sparse LSTMs, and with a sparse embedding as well."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from benchmarks.data import ptb
from benchmarks.lib import checkpoints, results, runner, stepping, streams
from benchmarks.sparseness.awd_specs import KINDS, SPECS, Spec
from kerascompact import layers, models
from kerascompact.core.extras import require
from kerascompact.models.awd_lstm import AWD_PTB
from kerascompact.optimizers import Proximal
from kerascompact.tasks import plots
from kerascompact.text.stream import stateful_batches
from kerascompact.training import (
    NTASGD,
    Backup,
    RandomSteps,
    ResetStates,
    SparseSoftmaxCrossEntropy,
)
from kerascompact.training.metrics import Perplexity

BINS = 10  # of a sparse embedding
STEPS_OF_TEST = 500  # tokens in a batch of the evaluation that reads the text in one stream

# A spec, a number of words and a number of streams (`None`: no state) -> a model.
Build = Callable[[Spec, int, int | None], keras.Model]


def build(spec: Spec, num_words: int, batch_size: int | None) -> keras.Model:
    """The model of a spec: tied, with the published regularization."""
    sparse_table = spec.kind == "sparse embedding"
    width = round(spec.width * spec.factor) if sparse_table else spec.width
    embedding = layers.PredefinedSparseEmbedding(
        num_words,
        width,
        spec.width / width,
        bins=BINS if sparse_table else 1,
        embeddings_initializer=keras.initializers.RandomUniform(-0.1, 0.1),
        name="embedding",
    )
    return around(spec, embedding, batch_size)


def around(spec: Spec, embedding: keras.layers.Layer, batch_size: int | None) -> keras.Model:
    """The LSTMs of a spec around any embedding."""
    sizes = None
    if spec.kind != "dense":
        units = round(spec.units * spec.factor)
        sizes = models.sparse_sizes((spec.width, spec.units), embedding.output_dim, units)
    dropouts = models.Dropouts(*(spec.strength * share for share in AWD_PTB.dropouts))
    return models.awd_lstm(
        embedding,
        embedding.input_dim,
        spec.units,
        sizes=sizes,
        dropouts=dropouts,
        batch_size=batch_size,
    )


def compiled(spec: Spec, model: keras.Model) -> keras.Model:
    """SGD at a constant rate, its gradient clipped, with the proximal steps of penalties."""
    size = AWD_PTB
    optimizer: Any = keras.optimizers.SGD(
        spec.rate, global_clipnorm=size.clip, weight_decay=size.weight_decay
    )
    if isinstance(model.get_layer("embedding"), layers.AnchorTransformEmbedding):
        optimizer = Proximal(optimizer)
    model.compile(optimizer, SparseSoftmaxCrossEntropy(), metrics=[Perplexity()], jit_compile=False)
    return model


def fit(
    spec: Spec,
    corpus: ptb.Corpus,
    folder: Path,
    verbose: int,
    build: Build = build,
    start: list[np.ndarray] | None = None,
) -> tuple[keras.Model, dict[str, Any]]:
    """Trains and finetunes, or goes on with it; `start` has the weights to begin with.

    Returns: The model with the best weights of both, and what the epochs measured.
    """
    train, lengths = _batches(spec, corpus.train)
    dev = stateful_batches(corpus.dev, spec.batch_size, spec.steps).cache()
    found: dict[str, Any] = {}
    model = None
    best: float | None = None
    for phase, epochs in (("train", spec.epochs), ("finetune", spec.finetune)):
        if not epochs:
            continue
        again, folder_of = phase == "finetune", folder / phase
        folder_of.mkdir(parents=True, exist_ok=True)
        start = start if model is None else model.get_weights()
        # Each phase has a model of its own, whose optimizer has made no step.
        model = compiled(spec, build(spec, len(corpus.words), spec.batch_size))
        if start is not None:
            model.set_weights(start)
        averaging = NTASGD(
            patience=spec.patience, from_start=again, stop=again, folder=folder_of, baseline=best
        )
        backup = Backup(folder_of / "backup")
        model.fit(
            train,
            epochs=epochs,
            initial_epoch=backup.epoch,
            shuffle=False,  # each stream goes on
            validation_data=dev,
            callbacks=[
                *lengths,
                ResetStates(),
                averaging,
                checkpoints.Timed(),
                keras.callbacks.CSVLogger(folder_of / "epochs.csv", append=True),
                backup,
            ],
            verbose=verbose,
        )
        by_epoch = np.exp(averaging.history)
        found[f"{phase}_dev_by_epoch"] = [round(float(value), 2) for value in by_epoch]
        best = averaging.best  # of the weights that `fit` returns: in finetuning, maybe those given
        found[f"{phase}_dev"] = float(np.exp(best))
        found[f"{phase}_averaged"] = averaging.averaging
    return model, found


def _batches(spec: Spec, ids: np.ndarray) -> tuple[Any, list[RandomSteps]]:
    """The batches of training, and the callback that draws their lengths, if they are random."""
    if not spec.random_steps:
        return stateful_batches(ids, spec.batch_size, spec.steps).cache(), []
    random = RandomSteps(ids, spec.batch_size, spec.steps, seed=spec.seed)
    return random.batches, [random]


def run(
    spec: Spec,
    corpus: ptb.Corpus,
    work: Path,
    verbose: int = 2,
    build: Build = build,
    test: bool = True,
    start: list[np.ndarray] | None = None,
) -> dict[str, Any]:
    """Trains, or goes on training, and returns the row; the test text is read once, at the end.

    `build` makes the model of a spec, for a number of words and of streams. `test=False` leaves the
    test text untouched. `start` has the weights to begin with.
    """
    keras.utils.set_random_seed(spec.seed)
    model, row = fit(spec, corpus, spec.folder(work), verbose, build, start)
    single = build(spec, len(corpus.words), 1)
    single.set_weights(model.get_weights())
    single.compile(loss=SparseSoftmaxCrossEntropy(), metrics=[Perplexity()])
    texts = {"dev": corpus.dev, "test": corpus.test}
    for name, ids in list(texts.items())[: 1 + test]:
        batches = stateful_batches(ids, 1, STEPS_OF_TEST)
        seen = single.evaluate(batches, callbacks=[ResetStates()], verbose=0, return_dict=True)
        row[f"{name}_perplexity"] = float(seen["perplexity"])
    embedding = model.get_layer("embedding")
    numbers = getattr(embedding, "num_entries", None)
    return {
        "spec": spec._asdict(),
        "parameters": model.count_params(),
        "embedding_parameters": streams.numbers(model) if numbers is None else numbers,
        **row,
        **(stepping.measure(single, corpus.test) if test else {}),
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row in `results/<name>.jsonl` yet.

    A run that was killed goes on at its last whole epoch, kept in the folder `arguments.work`;
    `arguments.epochs` cuts both of its phases, to try a command.
    """

    def one(spec: Spec) -> dict[str, Any]:
        corpus = ptb.load(arguments.data, spec.train_tokens)
        return run(spec, corpus, Path(arguments.work), arguments.verbose)

    specs, cut = SPECS[name], arguments.epochs
    if cut:
        specs = [spec._replace(finetune=min(cut, spec.finetune)) for spec in specs]
    found = runner.benchmark(name, specs, arguments, one, table)
    draw(found, results.path(name).with_suffix(".svg"))
    return found


def draw(rows: Sequence[dict[str, Any]], path: Path) -> Path | None:
    """Dev perplexity by epoch, finetuning dashed; `None` without matplotlib."""
    try:
        figure = require("matplotlib.figure", "plot").Figure((6.4, 4.2), layout="constrained")
    except ImportError:
        return None
    axes = figure.subplots()
    for row in sorted(rows, key=lambda row: row["spec"]["seed"]):
        phases = [row.get(f"{phase}_dev_by_epoch", []) for phase in ("train", "finetune")]
        spec, done = Spec(**row["spec"]), len(phases[0])
        label, colour = spec.kind if spec.seed == 0 else None, f"C{KINDS.index(spec.kind)}"
        axes.plot(range(1, done + 1), phases[0], color=colour, label=label)
        axes.plot(range(done + 1, done + len(phases[1]) + 1), phases[1], "--", color=colour)
    axes.set_yscale("log")
    axes.set_xlabel("epoch")
    axes.set_ylabel("dev perplexity")
    plots.plain(axes, f"AWD-LSTM, {rows[0]['spec']['train_tokens'] or 929_589:,} tokens")
    return plots.save(figure, path)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: perplexities before and after finetuning over seeds, and the step on a phone."""
    lines = [
        "| model | k, h | tokens | epochs | seeds | parameters | of embedding | dev, not finetuned "
        "| dev | test | step: bytes | of theory | us |",
        "|" + "---|" * 13,
    ]
    for group in results.by_seed(rows):
        row, spec = group[0], Spec(**group[0]["spec"])
        means = []
        for key in ("train_dev", "dev_perplexity", "test_perplexity"):
            average, deviation = results.spread(group, key) if key in row else (0, 0)
            means.append(f"{average:.1f}" + (f" ± {deviation:.1f}" if len(group) > 1 else ""))
        first, *others = means if "train_dev" in row else ["-", *means[1:]]
        lines.append(
            f"| {spec.kind} | {spec.width}, {spec.units} | {spec.train_tokens or 929_589:,} "
            f"| {len(row.get('train_dev_by_epoch', ()))} + "
            f"{len(row.get('finetune_dev_by_epoch', ()))} | {len(group)} | {row['parameters']:,} "
            f"| {row['embedding_parameters']:,} | {first} | {' | '.join(others)} "
            f"| {row['step_bytes']:,} | {row['step_bytes'] / row['step_theory']:.3f} "
            f"| {row['step_microseconds']:.0f} |"
        )
    return "\n".join(lines)
