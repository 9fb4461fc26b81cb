"""AWD-LSTM on Penn Treebank: dense, with sparse LSTMs, and with a sparse embedding as well."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data import ptb
from benchmarks.lib import checkpoints, results, runner, stepping, streams
from kerascompact import layers, models
from kerascompact.core.extras import require
from kerascompact.models.awd_lstm import AWD_PTB
from kerascompact.optimizers import Proximal
from kerascompact.tasks import plots
from kerascompact.text.stream import stateful_batches
from kerascompact.training import NTASGD, RandomSteps, ResetStates, SparseSoftmaxCrossEntropy
from kerascompact.training.metrics import Perplexity

BINS = 10  # of a sparse embedding
STEPS_OF_TEST = 500  # tokens in a batch of the evaluation that reads the text in one stream

# A spec, a number of words and a number of streams (`None`: no state) -> a model.
Build = Callable[[Any, int, int | None], keras.Model]


class Spec(NamedTuple):
    """Everything that decides a run.

    `width` and `units` are those of the dense model. "sparse" has `factor` times the units in
    LSTMs of the same parameters; "sparse embedding" also vectors `factor` times as wide, with as
    many entries as those of the dense model. `epochs`, then up to `finetune` more of averaged SGD.
    `strength` multiplies every share that is dropped: smaller models need less of it.
    `random_steps`: whether batches have random lengths, and rates of their length, as published.
    """

    kind: str
    width: int = 400
    units: int = 1150
    factor: float = 1.5
    train_tokens: int | None = None
    epochs: int = 500
    finetune: int = 500
    strength: float = 1.0
    rate: float = 30.0
    batch_size: int = 20
    steps: int = 70
    patience: int = 5
    random_steps: bool = False
    seed: int = 0

    def folder(self, work: Path) -> Path:
        """Where its checkpoints are."""
        return work / "awd" / "-".join(map(str, self._replace(epochs=0, finetune=0)))  # may go on


KINDS = ("dense", "sparse", "sparse embedding")
SPECS = {
    # The paper's pair, and the full embedding sparse: 43 minutes an epoch on two cores.
    "awd": [Spec(kind, random_steps=True) for kind in KINDS],
    # The same at a sixth of the width, a third of the text.
    "awd_300k": [
        Spec(kind, 64, 184, 1.5, 300_000, epochs=10, finetune=2, strength=0.5, steps=35)
        for kind in KINDS
    ],
    # Small enough to train until averaging has begun, in minutes on one core.
    "awd_50k": [
        Spec(kind, 32, 96, 1.5, 50_000, 24, 8, 0.5, batch_size=10, steps=35, random_steps=True)
        for kind in KINDS
    ],
}


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
    spec: Spec, corpus: ptb.Corpus, folder: Path, verbose: int, build: Build = build
) -> tuple[keras.Model, dict[str, Any]]:
    """Trains and finetunes, or goes on with it.

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
        start = None if model is None else model.get_weights()
        # Each phase has a model of its own: Keras remembers in it at which epoch a run went on.
        model = compiled(spec, build(spec, len(corpus.words), spec.batch_size))
        if start is not None:
            model.set_weights(start)
        averaging = NTASGD(
            patience=spec.patience, from_start=again, stop=again, folder=folder_of, baseline=best
        )
        model.fit(
            train,
            epochs=epochs,
            shuffle=False,  # each stream goes on
            validation_data=dev,
            callbacks=[
                *lengths,
                ResetStates(),
                averaging,
                checkpoints.Timed(),
                keras.callbacks.CSVLogger(folder_of / "epochs.csv", append=True),
                keras.callbacks.BackupAndRestore(folder_of / "backup", delete_checkpoint=False),
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
) -> dict[str, Any]:
    """Trains, or goes on training, and returns the row; the test text is read once, at the end.

    `build` makes the model of a spec, for a number of words and of streams. `test=False` leaves the
    test text untouched.
    """
    keras.utils.set_random_seed(spec.seed)
    model, row = fit(spec, corpus, spec.folder(work), verbose, build)
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
    for place, row in enumerate(rows):
        phases = [row.get(f"{phase}_dev_by_epoch", []) for phase in ("train", "finetune")]
        spec, done = Spec(**row["spec"]), len(phases[0])
        label, colour = f"{spec.kind}, seed {spec.seed}", f"C{place}"
        axes.plot(range(1, done + 1), phases[0], color=colour, label=label)
        axes.plot(range(done + 1, done + len(phases[1]) + 1), phases[1], "--", color=colour)
    axes.set_yscale("log")
    axes.set_xlabel("epoch")
    axes.set_ylabel("dev perplexity")
    plots.plain(axes, f"AWD-LSTM, {rows[0]['spec']['train_tokens'] or 929_589:,} tokens")
    return plots.save(figure, path)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: perplexities before and after finetuning, and the step on a phone."""
    lines = [
        "| model | k, h | tokens | epochs | seed | parameters | of embedding | dev, not finetuned "
        "| dev | test | step: bytes | of theory | us |",
        "|" + "---|" * 13,
    ]
    for row in rows:
        spec = Spec(**row["spec"])
        first = f"{row['train_dev']:.1f}" if "train_dev" in row else "-"
        lines.append(
            f"| {spec.kind} | {spec.width}, {spec.units} | {spec.train_tokens or 929_589:,} "
            f"| {len(row.get('train_dev_by_epoch', ()))} + "
            f"{len(row.get('finetune_dev_by_epoch', ()))} | {spec.seed} | {row['parameters']:,} "
            f"| {row['embedding_parameters']:,} | {first} | {row['dev_perplexity']:.1f} "
            f"| {row['test_perplexity']:.1f} | {row['step_bytes']:,} "
            f"| {row['step_bytes'] / row['step_theory']:.3f} | {row['step_microseconds']:.0f} |"
        )
    return "\n".join(lines)
