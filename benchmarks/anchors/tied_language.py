"""One run of a language model whose softmax is under its embedding, trained or compressed."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from benchmarks.anchors.anchors_tuned import AFTERWARDS, with_weights
from benchmarks.data import ptb
from benchmarks.lib import checkpoints, streams
from kerascompact import compress, knowledge, layers, models
from kerascompact.core import checks
from kerascompact.initializers.anchors import frequency_anchors
from kerascompact.models.language_model import SIZES as ZAREMBA
from kerascompact.optimizers import LazyAdam, LazySGD, Proximal
from kerascompact.optimizers.pending import caught_up, pending_of
from kerascompact.text.stream import stateful_batches
from kerascompact.training import EpochDecay

SIZES = {**ZAREMBA, "small, 256 units": ZAREMBA["small"]._replace(units=256)}
NEGATIVE_PAIRS = 200_000
SPARSE_VD: dict[str, Any] = {
    "sparse_vd": layers.SparseVariationalEmbedding,
    "sparse_vd_voc": layers.SparseVariationalVocabularyEmbedding,
}
NOT_COMPRESSED = ("kind", "tuned", "rate", "by_counts")  # options that a compressor does not have


class Spec(NamedTuple):
    """Everything that decides a run.

    `options`: a "kind" ("standard", "low_rank", "tensor_train", "sparse_vd", "sparse_vd_voc",
    "anchors"; "nearest" and "k_svd" of a trained full table) and its arguments; "last" is the
    threshold of one more proximal step, of anchors after training. Anchors also have "free_epochs",
    without a penalty, "frozen_epochs", in which `A` stays as it starts, a tight frame, and
    "transform_rate", the rate of Adam on `T`; a full table has "table_rate" in place of 1. With
    "tuned" a "standard" or a "k_svd" begins with the trained full table and goes on for so many
    epochs at the rate "rate"; with "by_counts" the errors of a "k_svd" are weighted by the square
    roots of counts. `method` is the table's name of it.
    """

    method: str
    options: dict[str, Any]
    size: str = "small"
    train_tokens: int | None = 300_000
    epochs: int = 4
    hold: int = 2
    decay: float = 0.5
    seed: int = 0

    @property
    def teacher(self) -> "Spec":
        """The run whose trained table is compressed."""
        return self._replace(method="SE", options={"kind": "standard"})

    def folder(self, work: Path) -> Path:
        """Where its checkpoints are, whatever benchmark it is a run of."""
        named = [f"{key}={value}" for key, value in sorted(self.options.items()) if key != "last"]
        rest = self[2:4] + self[5:]  # without epochs: it may go on
        return work / "-".join(["tied", *named, *map(str, rest)])


def related_words(corpus: ptb.Corpus, wordnet: Path) -> knowledge.Graph:
    """Words related in WordNet, or by occurring near each other more often than by chance."""
    near = knowledge.cooccurrence_graph(
        corpus.train, len(corpus.words), window=10, min_count=3, min_pmi=1.0
    )
    return knowledge.open_wordnet_graph(corpus.words, wordnet) | near


def anchors(
    spec: Spec,
    corpus: ptb.Corpus,
    wordnet: Path,
    num_anchors: int,
    related: bool = False,
    unrelated: float = 0.0,
    free_epochs: float = 0.0,
    frozen_epochs: float = 0.0,
    transform_rate: float | None = None,
    **options: Any,
) -> keras.layers.Layer:
    """Anchor & Transform: a random basis, or with `related` the most frequent words as anchors.

    Under gradient descent a step on `T` changes `E` as one on a full table would, times `A^T A`:
    anchors start with both signs and so long that this is 4, or with `ReLU(T)` 1 to 2, since a step
    then can take half of the entries from zero. The paper's positive anchors all point one way, in
    which a step is hundreds of times longer than in the others. With `frozen_epochs` they are a
    tight frame, `A^T A = 4 I` for as many anchors as the width or more, and `A A^T = 4 I` for
    fewer: while `A` is frozen, a step on `T` is 4 times one on `E`, or on its part along them.
    `transform_rate` is for `optimizer_of`.
    """
    width, count = SIZES[spec.size].units, len(corpus.words)
    start: Any = keras.initializers.RandomNormal(stddev=2 * max(num_anchors, width) ** -0.5)
    if frozen_epochs:
        start = keras.initializers.Orthogonal(2.0)
    if free_epochs:
        steps = int(free_epochs * steps_of(spec, corpus))
        weights = [0.0, options["l1_weight"]]
        options["l1_weight"] = keras.optimizers.schedules.PiecewiseConstantDecay([steps], weights)
    if related or unrelated:
        graph = related_words(corpus, wordnet)
    if related:
        ids = frequency_anchors(np.bincount(corpus.train, minlength=count), num_anchors)
        options |= {"anchor_ids": ids, "positive_pairs": graph.to_anchors(ids, itself=True)}
    if unrelated:
        pairs = min(NEGATIVE_PAIRS, count * (count - 1) // 4)
        options["negative_pairs"] = graph.negative_pairs(pairs, seed=spec.seed)
        options["negative_pairs_weight"] = unrelated
    return layers.AnchorTransformEmbedding(
        count,
        width,
        num_anchors,
        embeddings_initializer=start,
        seed=spec.seed,
        name="embedding",
        **options,
    )


def build_embedding(spec: Spec, corpus: ptb.Corpus, wordnet: Path) -> keras.layers.Layer:
    """The untrained embedding of a run; one that is compressed afterwards is a full table."""
    size, count = SIZES[spec.size], len(corpus.words)
    options = {key: value for key, value in spec.options.items() if key != "last"}
    kind = options.pop("kind")
    start = keras.initializers.RandomUniform(-size.scale, size.scale)
    common: dict[str, Any] = {"name": "embedding", "embeddings_initializer": start}
    if kind == "anchors":
        return anchors(spec, corpus, wordnet, **options)
    if kind == "low_rank":
        rank = layers.LowRankEmbedding.rank_for(count, size.units, options["ratio"])
        return layers.LowRankEmbedding(count, size.units, rank, **common)
    if kind == "tensor_train":
        rank = layers.TensorTrainEmbedding.rank_for(count, size.units, options["ratio"])
        return layers.TensorTrainEmbedding(count, size.units, rank, **common)
    if kind in SPARSE_VD:
        made = SPARSE_VD[kind]
        return made(count, size.units, seed=spec.seed, **common, **options)
    checks.choice("kind", kind, ("standard", *AFTERWARDS))
    return keras.layers.ReversibleEmbedding(count, size.units, **common)  # since Keras 3.13


def build(spec: Spec, embedding: keras.layers.Layer, batch_size: int | None) -> keras.Model:
    """Zaremba's model of the spec's size, its softmax under the embedding's vectors."""
    size = SIZES[spec.size]

    def head(hidden: Any) -> Any:
        return layers.tied_softmax(embedding, hidden, use_bias=True)

    return models.language_model(
        embedding,
        embedding.input_dim,
        size.units,
        num_layers=size.layers,
        dropout=size.dropout,
        scale=size.scale,
        head=head,
        batch_size=batch_size,
        unroll=size.steps if (batch_size or 1) > 1 else None,
    )


def optimizer_of(spec: Spec, steps_per_epoch: int) -> Any:
    """Gradient descent as Zaremba's, with the proximal step for anchors.

    The vectors of SparseVD and their variances are trained by Adam, as its authors do: the gradient
    of the divergence grows without bound as a number nears 0. For a full table and for anchors it
    was worse on dev in trials of an epoch.
    """
    size = SIZES[spec.size]
    if "tuned" in spec.options:
        return LazySGD(spec.options["rate"], global_clipnorm=size.clip)

    def rate(start: float) -> EpochDecay:
        return EpochDecay(start, spec.decay, spec.hold, steps_per_epoch)

    if spec.options["kind"] == "anchors":
        own = Proximal(keras.optimizers.SGD(rate(1.0), global_clipnorm=size.clip))
        return _by_weight(spec, own, rate, steps_per_epoch)
    of_network = LazySGD(rate(1.0), global_clipnorm=size.clip)
    if "table_rate" in spec.options:
        of_table = LazySGD(rate(spec.options["table_rate"]), global_clipnorm=size.clip)
        optimizers = keras.optimizers.OptimizerMap(of_network, {"embedding/.*": of_table})
        return keras.optimizers.MultiOptimizer(optimizers)
    if spec.options["kind"] not in SPARSE_VD:
        return of_network
    means, variances = LazyAdam(rate(2e-3)), LazyAdam(rate(1e-2))
    adam = {".*/(table|multiplier)": means, ".*log_variance": variances}
    return keras.optimizers.MultiOptimizer(keras.optimizers.OptimizerMap(of_network, adam))


def _by_weight(
    spec: Spec, own: Any, rate: Callable[[float], EpochDecay], steps_per_epoch: int
) -> Any:
    """The optimizer of anchors, `own`, with others for `T` or `A` if the options say so."""
    others: dict[str, Any] = {}
    if "transform_rate" in spec.options:
        others[".*/transform"] = Proximal(LazyAdam(rate(spec.options["transform_rate"])))
    if "frozen_epochs" in spec.options:
        steps = int(spec.options["frozen_epochs"] * steps_per_epoch)
        clip = SIZES[spec.size].clip
        later = _After(rate(1.0), steps)
        others[".*/anchors"] = keras.optimizers.SGD(later, global_clipnorm=clip)
    if not others:
        return own
    return keras.optimizers.MultiOptimizer(keras.optimizers.OptimizerMap(own, others))


class _After(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule whose first steps are 0."""

    def __init__(self, schedule: EpochDecay, steps: int) -> None:
        super().__init__()
        self.schedule, self.steps = schedule, steps

    def __call__(self, step: Any) -> Any:
        return self.schedule(step) * keras.ops.cast(step >= self.steps, "float32")

    def get_config(self) -> dict[str, Any]:
        return {"schedule": self.schedule, "steps": self.steps}


def steps_of(spec: Spec, corpus: ptb.Corpus) -> int:
    """Number of steps of an epoch."""
    size = SIZES[spec.size]
    return int(stateful_batches(corpus.train, size.batch_size, size.steps).cardinality())


def last_step(embedding: keras.layers.Layer, threshold: float) -> None:
    """Takes the proximal step of the layer's penalty once: small entries of `T` become 0."""
    pending = pending_of(embedding.transform)
    if pending is None:
        raise ValueError(f"Layer {embedding.name!r} has no penalty: `last` is not for it.")
    rows = caught_up(embedding.transform)
    embedding.transform.assign(pending.rule.prox(rows, tf.constant(threshold), None))


def run(
    spec: Spec, corpus: ptb.Corpus, work: Path, wordnet: Path, test: bool = True, verbose: int = 2
) -> dict[str, Any]:
    """Trains, or goes on training, or compresses what has been; returns the row.

    `test=False` leaves the test text untouched. `embedding_parameters` are the numbers that are not
    zero, as the paper counts them, `nnz(T) + |A| d`.
    """
    keras.utils.set_random_seed(spec.seed)
    size, kind = SIZES[spec.size], spec.options["kind"]
    around = functools.partial(build, spec)
    model = around(build_embedding(spec, corpus, wordnet), size.batch_size)
    row: dict[str, Any] = {
        "spec": spec._asdict(),
        "label": spec.method,
        "words": len(corpus.words),
    }
    tuned, small = spec.options.get("tuned"), None
    if kind in AFTERWARDS or tuned:
        path = spec.teacher.folder(work) / "best.weights.h5"
        if not path.exists():
            raise ValueError(f"`spec` needs the trained table of {path}: run 'SE' first.")
        model.load_weights(path)
    if kind in AFTERWARDS:
        options = {key: value for key, value in spec.options.items() if key not in NOT_COMPRESSED}
        compressor = AFTERWARDS[kind](seed=spec.seed, **options)
        counts = None
        if spec.options.get("by_counts"):
            counts = np.sqrt(np.bincount(corpus.train, minlength=len(corpus.words)) + 1.0)
        small = compress.compress_model(model, compressor, counts)
    if small is not None and not tuned:
        # The same vectors as a table: its softmax is faster.
        vectors = small.get_layer("embedding")(np.arange(len(corpus.words)))
        model.get_layer("embedding").embeddings.assign(vectors)
        row["dev_perplexity"] = streams.perplexity(around, model, corpus.dev)
    else:
        if small is not None:
            form = small.get_layer("embedding")
            layer = layers.SparseAnchorEmbedding.from_form(form, l1_weight=0.0, nonnegative=False)
            model = with_weights(around(layer, size.batch_size), model)
        train = stateful_batches(corpus.train, size.batch_size, size.steps).cache()
        dev = stateful_batches(corpus.dev, size.batch_size, size.steps).cache()
        streams.compiled(model, optimizer_of(spec, steps_of(spec, corpus)), size)
        folder = spec.folder(work)
        row |= checkpoints.fit(model, train, dev, folder, tuned or spec.epochs, verbose)
        model.load_weights(folder / "best.weights.h5")
        small = model
        if "last" in spec.options:
            last_step(model.get_layer("embedding"), spec.options["last"])
            row["dev_perplexity"] = streams.perplexity(around, model, corpus.dev)
    row |= streams.size_up(small)
    row["embedding_parameters"] = row["paper_bits"] // 32
    if test:
        row["test_perplexity"] = streams.perplexity(around, model, corpus.test)
        row |= streams.ship(around, small, corpus.test, size.steps)
    return row
