"""One run of a language model: train with an embedding, pick the epoch on dev, read test once."""

import functools
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data import ptb
from benchmarks.lib import checkpoints, streams
from kerascompact import compress, layers, models
from kerascompact.forms.base import Form
from kerascompact.models.language_model import SIZES
from kerascompact.optimizers import LazyAdam, LazySGD
from kerascompact.tasks.methods import METHODS
from kerascompact.text.characters import character_codes
from kerascompact.text.stream import stateful_batches
from kerascompact.training import EpochDecay

K = D = 32
HIDDEN = 300
GUIDANCE = {"small": (0.1, 0.5), "medium": (1000.0, 0.3), "large": (1000.0, 0.3)}  # paper's code
# Of the trained table. The paper's code has 1000: its gradient is most of what is clipped, and the
# network then learns slowly (small, dev perplexity after 4 epochs: 145 with 1000, 131 with 100).
PRETRAINED_WEIGHT = 100.0

# Kinds of codes, as tables call them: guided by a table, online; random; of the trained table; ...
KINDS = {
    "pdg": "PDG",
    "odg": "ODG",
    "random": "random",
    "pretrained": "pretrained",
    "characters": "characters",
    "uniform": "uniform",
}


class Spec(NamedTuple):
    """Everything that decides a run.

    `method`: "standard", "low_rank", "kd", "kd_odg", "kd_pdg", "kd_random", "kd_pretrained",
    "kd_characters", "quantized", "product" (`budget`: the ratio of a low rank, the bits of a
    number, the centroids of a product quantizer) or "low_rank_uniform", whose factors both start
    as a table does. `code_rate`: Adam's for code logits, in the first epochs; the paper's code
    has 0.01.
    """

    method: str
    size: str = "small"
    budget: float = 0
    train_tokens: int | None = None
    epochs: int = 15
    hold: int = 4
    decay: float = 0.5
    seed: int = 0
    code_rate: float = 0.01

    @property
    def label(self) -> str:
        """Method and budget, in a word or two."""
        known = METHODS.get(self.method)
        if known is None:
            codes, _, kind = self.method.rpartition("_")
            text = f"{METHODS[codes].abbreviation} {KINDS[kind]}" if codes else "PQ"
        else:
            text = known.abbreviation
        return f"{text} {self.budget:g}" if self.budget else text

    @property
    def teacher(self) -> "Spec":
        """The run whose trained table this one starts from."""
        return self._replace(method="standard", budget=0, code_rate=0.01)

    def folder(self, work: Path) -> Path:
        """Where its checkpoints are."""
        return work / "-".join(str(value) for value in self._replace(epochs=0))  # may go on


def rank_of(spec: Spec, vocabulary: int) -> int:
    """The paper's low rank: a share `budget` of the full table's parameters."""
    return layers.LowRankEmbedding.rank_for(vocabulary, units(spec), spec.budget)


def units(spec: Spec) -> int:
    """Width of embedding and LSTMs."""
    return SIZES[spec.size].units


def build_embedding(spec: Spec, corpus: ptb.Corpus, work: Path) -> keras.layers.Layer:
    """The untrained embedding of a run; guided ones read the teacher's table."""
    size, vocabulary = SIZES[spec.size], len(corpus.words)
    start = keras.initializers.RandomUniform(-size.scale, size.scale)
    common: dict[str, Any] = {"name": "embedding", "embeddings_initializer": start}
    if spec.method in ("standard", "product"):
        return keras.layers.Embedding(vocabulary, size.units, **common)
    if spec.method == "low_rank":
        return layers.LowRankEmbedding(
            vocabulary, size.units, rank_of(spec, vocabulary), name="embedding"
        )
    if spec.method == "low_rank_uniform":
        rank = rank_of(spec, vocabulary)
        return layers.LowRankEmbedding(
            vocabulary, size.units, rank, kernel_initializer=start.clone(), **common
        )
    if spec.method == "quantized":
        return layers.QuantizedEmbedding(vocabulary, size.units, int(spec.budget), **common)
    options: dict[str, Any] = {}
    if spec.method == "kd_odg":
        weight, probability = GUIDANCE[spec.size]
        options["guidance"] = layers.OnlineGuidance(weight, probability, seed=spec.seed)
    elif spec.method == "kd_pdg":
        options["guidance"] = layers.PretrainedGuidance(
            teachers_table(spec, work), PRETRAINED_WEIGHT
        )
    elif spec.method == "kd_random":
        options["codes"] = "random"
    elif spec.method == "kd_pretrained":
        form = compress.KDCodes(K, D, seed=spec.seed).fit(teachers_table(spec, work))
        options["codes"] = compress.codes_of(form)
    cardinality, length = K, D
    if spec.method == "kd_characters":
        options["codes"], letters = character_codes(corpus.words, 10)
        cardinality, length = len(letters), 10
    if "codes" not in options:
        options |= {"logits_batch_norm": True, "logit_scale": 1.0}
    return layers.KDCodeEmbedding(
        vocabulary,
        size.units,
        cardinality,
        length,
        hidden_dim=HIDDEN,
        composition="mean",
        batch_norm=True,
        seed=spec.seed,
        **common,
        **options,
    )


def build(
    spec: Spec, corpus: ptb.Corpus, embedding: keras.layers.Layer, batch_size: int | None
) -> keras.Model:
    """Zaremba's model of the spec's size around an embedding."""
    size = SIZES[spec.size]
    return models.language_model(
        embedding,
        len(corpus.words),
        size.units,
        num_layers=size.layers,
        dropout=size.dropout,
        scale=size.scale,
        batch_size=batch_size,
        unroll=size.steps if (batch_size or 1) > 1 else None,
    )


def compiled(spec: Spec, model: keras.Model, steps_per_epoch: int) -> keras.Model:
    """SGD for the network; code logits by Adam at a hundredth of its rate, as the paper's code."""
    size = SIZES[spec.size]

    def rate(start: float) -> EpochDecay:
        return EpochDecay(start, spec.decay, spec.hold, steps_per_epoch)

    of_network = LazySGD(rate(1.0), global_clipnorm=size.clip)
    optimizers = keras.optimizers.OptimizerMap(
        of_network, {".*/logits": LazyAdam(rate(spec.code_rate))}
    )
    return streams.compiled(model, keras.optimizers.MultiOptimizer(optimizers), size)


def run(spec: Spec, corpus: ptb.Corpus, work: Path, verbose: int = 2) -> dict[str, Any]:
    """Trains, or goes on training, and returns the row; the test text is read once, at the end."""
    keras.utils.set_random_seed(spec.seed)
    size, folder = SIZES[spec.size], spec.folder(work)
    train = stateful_batches(corpus.train, size.batch_size, size.steps).cache()
    dev = stateful_batches(corpus.dev, size.batch_size, size.steps).cache()
    around = functools.partial(build, spec, corpus)
    model = around(build_embedding(spec, corpus, work), size.batch_size)
    compiled(spec, model, int(train.cardinality()))
    best = folder / "best.weights.h5"
    row: dict[str, Any] = {"spec": spec._asdict(), "label": spec.label}
    if spec.method == "product":
        teachers_table(spec, work)  # an error that names it, if it is not there
        model.load_weights(spec.teacher.folder(work) / "best.weights.h5")
        form = compress.ProductQuantization(units(spec) // 2, int(spec.budget), seed=spec.seed)
        model = compress.compress_model(model, form)
        row["dev_perplexity"] = streams.perplexity(around, model, corpus.dev)
    else:
        row |= checkpoints.fit(model, train, dev, folder, spec.epochs, verbose)
        model.load_weights(best)
    embedding = model.get_layer("embedding")
    if spec.method == "standard":
        np.save(folder / "table.npy", embedding.embeddings.numpy())
    row |= {
        "test_perplexity": streams.perplexity(around, model, corpus.test),
        "embedding_parameters": _parameters(spec, embedding),
        **streams.size_up(model),
    }
    return row | streams.ship(around, model, corpus.test, size.steps)


def teachers_table(spec: Spec, work: Path) -> np.ndarray:
    """The trained table of the full embedding, from its run."""
    path = spec.teacher.folder(work) / "table.npy"
    if not path.exists():
        raise ValueError(f"`spec` needs the table of its teacher's run, {path}: run 'SE' first.")
    return np.load(path, allow_pickle=False)


def _parameters(spec: Spec, embedding: keras.layers.Layer) -> int:
    if isinstance(embedding, layers.KDCodeEmbedding):
        return embedding.composition.num_parameters()
    if isinstance(embedding, Form):
        return 0
    return int(sum(np.prod(weight.shape) for weight in embedding.trainable_weights))
