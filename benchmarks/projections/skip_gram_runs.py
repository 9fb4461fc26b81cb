"""One run of a skip-gram, with a table or a projection: train, or go on, and keep its vectors."""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data.wikipedia import Words
from benchmarks.lib import checkpoints
from kerascompact import layers, models
from kerascompact.core.files import write_bytes
from kerascompact.optimizers import LazyAdam
from kerascompact.text.perturb import misspellings
from kerascompact.text.skip_gram_batches import SkipGramBatches
from kerascompact.training import Backup

BITS, WIDTH = 1120, 100
TRAINED, TEXT_WORDS = "embedding.keras", "words.txt"  # in a run's folder, as `neighbours` reads
CONTEXTS = "contexts.npy"  # `v'`, for runs that begin with it


class Spec(NamedTuple):
    """Everything that decides a run. Two runs of one spec give the same vectors, but for sums.

    `method`: "sg", a table, or "np_sg", a projection of `hidden` units, whose numbers are mostly
    in its layers, from a word's n-grams of `shortest` to `longest` bytes. `misspelt`: share of
    words that come misspelt, as one of `variants` misspellings of each word, drawn for all pairs of
    a word in a step or, with `own_spelling`, for each. `shift`, `by_word`,
    `chunk`: of `SkipGram` and `SkipGramBatches`. `start` and `output`: bounds of the uniform start
    of vectors in `sg`, and of contexts. `context_rate`: that of the contexts, whose rows are seldom
    met, if not `learning_rate`. `whitening`: what is added to variances of whitened bits; 0: they
    are not whitened. `tokens` cuts the text. `begun`: what the caller sets the weights to that
    training begins with, if it does.
    """

    method: str
    hidden: int = 0
    cosine_weight: float = 0.01
    misspelt: float = 0.0
    variants: int = 4
    dropout: float = 0.0
    decay: float = 0.0
    normalization: str = "batch"
    width: int = WIDTH
    shortest: int = 1
    longest: int = 3
    window: int = 5
    threshold: float = 1e-5
    negatives: int = 25
    shared_noise: int = 512
    shift: bool = False
    output: float = 1.0
    start: float = 0.005
    batch_size: int = 4096
    by_word: bool = False
    chunk: int = 1_000_000
    learning_rate: float = 1e-3
    context_rate: float = 0.0
    epochs: int = 10
    num_words: int = 100_000
    tokens: int | None = None
    begun: str = ""
    whitening: float = 0.0
    own_spelling: bool = False
    seed: int = 0

    def folder(self, work: Path) -> Path:
        """Where its checkpoints and vectors are: a folder by all that is not as usual."""
        usual = Spec("")
        parts = [
            f"{name}={value}"
            for name, value in self._asdict().items()
            if value != getattr(usual, name)
        ]
        return work / ",".join(["skip_gram", *parts])


def hidden_units(parameters: int, width: int = WIDTH) -> int:
    """Units of one hidden layer for about so many weights and biases.

    >>> hidden = hidden_units(1_000_000)
    >>> hidden, 1121 * hidden + (hidden + 1) * 100
    (819, 1000099)
    """
    return round((parameters - width) / (BITS + 1 + width))


def build_embedding(spec: Spec, num_words: int) -> keras.layers.Layer:
    """The untrained layer whose vectors a run trains."""
    if spec.method == "sg":
        start = keras.initializers.RandomUniform(-spec.start, spec.start, seed=spec.seed)
        return keras.layers.Embedding(
            num_words, spec.width, embeddings_initializer=start, name="embedding"
        )
    return layers.ProjectionEmbedding(
        spec.width,
        (spec.hidden,),
        ngrams=(spec.shortest, spec.longest),
        normalization=spec.normalization,
        dropout=spec.dropout,
        kernel_initializer=keras.initializers.GlorotUniform(seed=spec.seed),
        kernel_regularizer=keras.regularizers.L2(spec.decay) if spec.decay else None,
        whitening=spec.whitening > 0,
        name="embedding",
    )


def build(spec: Spec, words: Sequence[str], counts: np.ndarray) -> models.SkipGram:
    """The untrained model of a run; a projection reads bits from a cache of words as spelt."""
    keras.utils.set_random_seed(spec.seed)
    embedding = build_embedding(spec, len(words))
    options: dict[str, Any] = {"cosine_weight": 0.0}
    if spec.whitening:
        embedding.adapt(words, counts, epsilon=spec.whitening)
    if spec.method != "sg":
        spelt, variants = list(words), spec.variants if spec.misspelt else 0
        if variants:
            for wrong in misspellings(words, variants, seed=spec.seed):
                spelt += wrong
        options = {
            "bits": layers.BitCache.from_words(spelt, embedding.projection),
            "misspellings": variants,
            "misspelt": spec.misspelt,
            "own_spelling": spec.own_spelling,
            "cosine_weight": spec.cosine_weight,
        }
    start = keras.initializers.RandomUniform(-spec.output, spec.output, seed=spec.seed + 1)
    return models.SkipGram(
        embedding,
        len(words),
        counts=counts,
        negatives=spec.negatives,
        shared_noise=spec.shared_noise or None,
        shift=spec.shift,
        output_initializer=start,
        seed=spec.seed,
        **options,
    )


def optimizer(spec: Spec, steps: int) -> keras.optimizers.Optimizer:
    """Adam, its rate falling to zero over the steps, the gradient's norm at most 5."""

    def adam(rate: float) -> LazyAdam:
        falling = keras.optimizers.schedules.PolynomialDecay(rate, steps, 0.0)
        return LazyAdam(falling, global_clipnorm=5.0)

    if not spec.context_rate:
        return adam(spec.learning_rate)
    rates = keras.optimizers.OptimizerMap(
        adam(spec.learning_rate), {".*contexts": adam(spec.context_rate)}
    )
    return keras.optimizers.MultiOptimizer(rates)


def batches_of(spec: Spec, corpus: Words) -> SkipGramBatches:
    """The pairs that a run is trained on."""
    return SkipGramBatches(
        corpus.ids,
        corpus.counts,
        spec.batch_size,
        window=spec.window,
        threshold=spec.threshold,
        texts=corpus.texts,
        by_word=spec.by_word,
        chunk=spec.chunk,
        seed=spec.seed,
    )


class _Epochs(keras.callbacks.Callback):
    """Lets batches know the epoch, from which they draw, when a training goes on."""

    def __init__(self, batches: SkipGramBatches) -> None:
        super().__init__()
        self.batches = batches

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.batches.epoch = epoch
        self.start = time.perf_counter(), time.process_time()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            logs["seconds"] = time.perf_counter() - self.start[0]
            logs["cpu_seconds"] = time.process_time() - self.start[1]


def train(
    spec: Spec,
    corpus: Words,
    work: Path,
    verbose: int = 0,
    begin: Callable[[models.SkipGram], None] | None = None,
) -> tuple[keras.layers.Layer, dict[str, Any]]:
    """Trains a run's embedding, or goes on after its last whole epoch, or reads it if it is done.

    Args:
        spec: The run.
        corpus: Its text.
        work: Folder of all runs.
        verbose: That of `fit`.
        begin: Sets the untrained model's weights, where `spec.begun` names it.

    Returns: The layer, and what the epochs measured.
    """
    folder = spec.folder(work)
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "epochs.csv"
    if (folder / TRAINED).exists():
        return load(spec, work), _measured(log)
    model = build(spec, corpus.words, corpus.counts)
    batches = batches_of(spec, corpus)
    model.build((None,))  # what it goes on with is read into it
    backup = Backup(folder / "backup")
    if begin and not backup.epoch:
        begin(model)
    model.compile(optimizer(spec, spec.epochs * len(batches)))
    model.fit(
        batches,
        epochs=spec.epochs,
        initial_epoch=backup.epoch,
        shuffle=False,  # batches are drawn chunk by chunk
        callbacks=[
            _Epochs(batches),
            keras.callbacks.CSVLogger(log, append=True),
            backup,
        ],
        verbose=verbose,
    )
    np.save(folder / CONTEXTS, model.contexts.numpy())
    save(model.embedding, corpus.words, folder)
    shutil.rmtree(folder / "backup")
    return model.embedding, _measured(log)


def save(layer: keras.layers.Layer, words: Sequence[str], folder: Path) -> None:
    """Writes a trained layer as a model of its own, whole or not at all, and the text's words."""
    dtype = "int32" if isinstance(layer, keras.layers.Embedding) else "string"
    model = keras.Sequential([keras.Input((), dtype=dtype), layer])
    write_bytes(folder / TEXT_WORDS, ("\n".join(words) + "\n").encode())
    partial = folder / "partial.keras"
    model.save(partial)
    partial.replace(folder / TRAINED)


def load(spec: Spec, work: Path) -> keras.layers.Layer:
    """The trained embedding of a run.

    Raises: ValueError, if the run has not been done in that folder.
    """
    path = spec.folder(work) / TRAINED
    if not path.exists():
        raise ValueError(
            f"There is no {path}: run the benchmarks `word_similarity` and `projection_fit` first, "
            "or that of its list, such as `word_similarity_long`."
        )
    return keras.saving.load_model(path).get_layer("embedding")


def _measured(log: Path) -> dict[str, Any]:
    rows = checkpoints.logged(log)
    last = rows[-1]
    return {
        "loss": round(float(last["negative_sampling"]), 4),
        "mean_cosine": round(float(last["mean_cosine"]), 4),
        "loss_by_epoch": [round(float(row["negative_sampling"]), 4) for row in rows],
        "seconds_per_epoch": round(float(np.median([float(r["seconds"]) for r in rows])), 1),
        "cpu_per_epoch": round(float(np.median([float(r["cpu_seconds"]) for r in rows])), 1),
    }
