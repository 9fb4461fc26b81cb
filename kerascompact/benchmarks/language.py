"""One run of a language model: train with an embedding, pick the epoch on dev, read test once."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact import compress, layers, models
from kerascompact.core.storage import total_bits
from kerascompact.datasets import ptb
from kerascompact.export.freezing import freeze
from kerascompact.forms.base import Form
from kerascompact.optimizers import LazyAdam, LazySGD
from kerascompact.text.characters import character_codes
from kerascompact.text.stream import stateful_batches
from kerascompact.training import EpochDecay, ResetStates
from kerascompact.training.losses import SparseSoftmaxCrossEntropy
from kerascompact.training.metrics import Perplexity

K = D = 32
HIDDEN = 300
GUIDANCE = {"small": (0.1, 0.5), "medium": (1000.0, 0.3), "large": (1000.0, 0.3)}  # paper's code
STEPS_OF_TEST = 500  # tokens in a batch of the evaluation that reads the text in one stream


class Spec(NamedTuple):
    """Everything that decides a run.

    `method`: "full", "low_rank", "kd", "kd_odg", "kd_pdg", "kd_random", "kd_pretrained",
    "kd_characters", "quantized" or "product" (`budget`: the ratio of a low rank, the bits of a
    number, the centroids of a product quantizer).
    """

    method: str
    size: str = "small"
    budget: float = 0
    train_tokens: int | None = None
    epochs: int = 10
    hold: int = 4
    decay: float = 0.5
    seed: int = 0

    @property
    def label(self) -> str:
        """Method and budget, in a word or two."""
        text = self.method.replace("_", " ")
        return f"{text} {self.budget:g}" if self.budget else text

    @property
    def teacher(self) -> "Spec":
        """The run whose trained table this one starts from."""
        return self._replace(method="full", budget=0)

    def folder(self, work: Path) -> Path:
        """Where its checkpoints are."""
        return work / "-".join(str(value) for value in self._replace(epochs=0))  # may go on


def rank_of(spec: Spec, vocabulary: int) -> int:
    """The paper's low rank: a share `budget` of the full table's parameters."""
    return layers.LowRankEmbedding.rank_for(vocabulary, units(spec), spec.budget)


def units(spec: Spec) -> int:
    """Width of embedding and LSTMs."""
    return models.SIZES[spec.size].units


def build_embedding(spec: Spec, corpus: ptb.Corpus, work: Path) -> keras.layers.Layer:
    """The untrained embedding of a run; guided ones read the teacher's table."""
    size, vocabulary = models.SIZES[spec.size], len(corpus.words)
    start = keras.initializers.RandomUniform(-size.scale, size.scale)
    common: dict[str, Any] = {"name": "embedding", "embeddings_initializer": start}
    if spec.method in ("full", "product"):
        return keras.layers.Embedding(vocabulary, size.units, **common)
    if spec.method == "low_rank":
        return layers.LowRankEmbedding(
            vocabulary, size.units, rank_of(spec, vocabulary), name="embedding"
        )
    if spec.method == "quantized":
        return layers.QuantizedEmbedding(vocabulary, size.units, int(spec.budget), **common)
    options: dict[str, Any] = {}
    if spec.method == "kd_odg":
        weight, probability = GUIDANCE[spec.size]
        options["guidance"] = layers.OnlineGuidance(weight, probability, seed=spec.seed)
    elif spec.method == "kd_pdg":
        options["guidance"] = layers.PretrainedGuidance(teachers_table(spec, work))
    elif spec.method == "kd_random":
        options["codes"] = "random"
    elif spec.method == "kd_pretrained":
        form = compress.KDCodes(K, D, seed=spec.seed).fit(teachers_table(spec, work))
        options["codes"] = compress.codes_of(form)
    cardinality, length = K, D
    if spec.method == "kd_characters":
        options["codes"], letters = character_codes(corpus.words, 10)
        cardinality, length = len(letters), 10
    return layers.KDCodeEmbedding(
        vocabulary,
        size.units,
        cardinality,
        length,
        hidden_dim=HIDDEN,
        composition="mean",
        logits_batch_norm=True,
        batch_norm=True,
        logit_scale=1.0,
        seed=spec.seed,
        **common,
        **options,
    )


def build(
    spec: Spec, corpus: ptb.Corpus, embedding: keras.layers.Layer, batch_size: int
) -> keras.Model:
    """Zaremba's model of the spec's size around an embedding."""
    size = models.SIZES[spec.size]
    return models.language_model(
        embedding,
        len(corpus.words),
        size.units,
        num_layers=size.layers,
        dropout=size.dropout,
        scale=size.scale,
        batch_size=batch_size,
        unroll=size.steps if batch_size > 1 else None,
    )


def compiled(spec: Spec, model: keras.Model, steps_per_epoch: int) -> keras.Model:
    """SGD for the network; code logits by Adam at a hundredth of its rate, as the paper's code."""
    size = models.SIZES[spec.size]

    def rate(start: float) -> EpochDecay:
        return EpochDecay(start, spec.decay, spec.hold, steps_per_epoch)

    of_network = LazySGD(rate(1.0), global_clipnorm=size.clip)
    optimizers = keras.optimizers.OptimizerMap(of_network, {".*/logits": LazyAdam(rate(0.01))})
    optimizer = keras.optimizers.MultiOptimizer(optimizers)
    # The published rate of 1 belongs to a loss that is summed over the steps of a batch.
    model.compile(
        optimizer,
        SparseSoftmaxCrossEntropy(),
        loss_weights=[float(size.steps)],
        metrics=[Perplexity()],
        jit_compile=False,
    )
    return model


def run(spec: Spec, corpus: ptb.Corpus, work: Path, verbose: int = 2) -> dict[str, Any]:
    """Trains, or goes on training, and returns the row; the test text is read once, at the end."""
    keras.utils.set_random_seed(spec.seed)
    size, folder = models.SIZES[spec.size], spec.folder(work)
    train = stateful_batches(corpus.train, size.batch_size, size.steps).cache()
    dev = stateful_batches(corpus.dev, size.batch_size, size.steps).cache()
    model = build(spec, corpus, build_embedding(spec, corpus, work), size.batch_size)
    compiled(spec, model, int(train.cardinality()))
    best = folder / "best.weights.h5"
    row: dict[str, Any] = {"spec": spec._asdict(), "label": spec.label}
    if spec.method == "product":
        teachers_table(spec, work)  # an error that names it, if it is not there
        model.load_weights(spec.teacher.folder(work) / "best.weights.h5")
        form = compress.ProductQuantization(units(spec) // 2, int(spec.budget), seed=spec.seed)
        model = compress.compress_model(model, form)
        row["dev_perplexity"] = test_perplexity(spec, model, corpus, corpus.dev)
    else:
        row |= _fit(spec, model, train, dev, folder, verbose)
        model.load_weights(best)
    embedding = model.get_layer("embedding")
    if spec.method == "full":
        np.save(folder / "table.npy", embedding.embeddings.numpy())
    frozen = freeze(model)
    form = next(layer for layer in frozen.layers if isinstance(layer, Form))
    row |= {
        "test_perplexity": test_perplexity(spec, model, corpus, corpus.test),
        "embedding_parameters": _parameters(spec, embedding),
        "paper_bits": form.paper_bits or total_bits(form.storage()),
        "stored_bits": total_bits(form.storage()),
    }
    return row


def _fit(
    spec: Spec, model: keras.Model, train: Any, dev: Any, folder: Path, verbose: int
) -> dict[str, Any]:
    """Trains epoch by epoch, each kept on disk, so that a killed run goes on where it was."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "epochs.csv"
    callbacks = [
        ResetStates(),
        keras.callbacks.ModelCheckpoint(
            folder / "best.weights.h5",
            monitor="val_perplexity",
            mode="min",
            save_best_only=True,
            save_weights_only=True,
            initial_value_threshold=_best_so_far(log),
        ),
        Timed(),
        keras.callbacks.CSVLogger(log, append=True),
        keras.callbacks.BackupAndRestore(folder / "backup", delete_checkpoint=False),
    ]
    model.fit(
        train,
        epochs=spec.epochs,
        shuffle=False,  # each stream goes on
        validation_data=dev,
        callbacks=callbacks,
        verbose=verbose,
    )
    epochs = _epochs(log)
    dev_perplexity = [float(row["val_perplexity"]) for row in epochs]
    return {
        "dev_perplexity": min(dev_perplexity),
        "best_epoch": 1 + dev_perplexity.index(min(dev_perplexity)),
        "train_perplexity": float(epochs[-1]["perplexity"]),
        "dev_by_epoch": [round(value, 2) for value in dev_perplexity],
        "seconds_per_epoch": round(float(np.median([float(row["seconds"]) for row in epochs])), 1),
    }


class Timed(keras.callbacks.Callback):
    """Seconds of an epoch, dev included, in its logs."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            logs["seconds"] = time.perf_counter() - self.start


def _epochs(log: Path) -> list[dict[str, str]]:
    if not log.exists():
        return []
    head, *lines = log.read_text("utf-8").splitlines()
    return [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]


def _best_so_far(log: Path) -> float | None:
    return min((float(row["val_perplexity"]) for row in _epochs(log)), default=None)


def test_perplexity(spec: Spec, model: keras.Model, corpus: ptb.Corpus, ids: np.ndarray) -> float:
    """Perplexity of a whole text, read in one stream from its first token to its last."""
    embedding = model.get_layer("embedding")
    copy = type(embedding).from_config(embedding.get_config())
    single = build(spec, corpus, copy, 1)
    single.set_weights(model.get_weights())
    single.compile(loss=SparseSoftmaxCrossEntropy(), metrics=[Perplexity()])
    batches = stateful_batches(ids, 1, STEPS_OF_TEST)
    found = single.evaluate(batches, callbacks=[ResetStates()], verbose=0, return_dict=True)
    return float(found["perplexity"])


def teachers_table(spec: Spec, work: Path) -> np.ndarray:
    """The trained table of the full embedding, from its run."""
    path = spec.teacher.folder(work) / "table.npy"
    if not path.exists():
        raise ValueError(f"`spec` needs the table of its teacher's run, {path}: run 'full' first.")
    return np.load(path, allow_pickle=False)


def _parameters(spec: Spec, embedding: keras.layers.Layer) -> int:
    if isinstance(embedding, layers.KDCodeEmbedding):
        return embedding.composition.num_parameters()
    if isinstance(embedding, Form):
        return 0
    return int(sum(np.prod(weight.shape) for weight in embedding.trainable_weights))
