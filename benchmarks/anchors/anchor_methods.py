"""The embeddings of the Anchor & Transform paper's Table 1, built from a training split."""

import functools
from pathlib import Path
from typing import Any

import keras
import numpy as np

from kerascompact import compress, knowledge, layers
from kerascompact.core import checks
from kerascompact.initializers.anchors import (
    frequency_anchors,
    frequency_then_clusters,
    kmeans_anchors,
    tf_idf_anchors,
)
from kerascompact.optimizers import LazyAdam, LazySGD, Proximal
from kerascompact.tasks.classification import TextData
from kerascompact.tasks.methods import METHODS, build_embedding, methods_with
from kerascompact.text.inputs import PAD, UNK
from kerascompact.text.vocabulary import NUM_RESERVED

RESERVED = tuple(range(NUM_RESERVED))
WINDOW = 10
NEGATIVE_PAIRS = 200_000
PENALIZED = tuple(method.name for method in METHODS.values() if method.proximal)
VARIATIONAL = tuple(methods_with("kl_weight"))
KINDS = ("standard", "sparse_code", "selected", "low_rank", *PENALIZED, *VARIATIONAL)


class Statistics:
    """What is known of the words before training: counts, neighbours, relations; each made once.

    Args:
        data: The task; only its training split is looked at.
        wordnet: Folder of the tables of Open English WordNet.
    """

    def __init__(self, data: TextData, wordnet: Path | None = None) -> None:
        self.vocabulary, self.ids, self.wordnet = data.vocabulary, data.train.ids, wordnet

    @property
    def num_words(self) -> int:
        """`V`, the reserved ids included."""
        return len(self.vocabulary)

    @functools.cached_property
    def counts(self) -> np.ndarray:
        """Occurrences of each id."""
        return np.bincount(self.ids.ravel(), minlength=self.num_words)

    @functools.cached_property
    def neighbours(self) -> Any:
        """A row for each word: the logarithms of its counts of neighbours, of length 1."""
        found = knowledge.cooccurrence_counts(
            self.ids, self.num_words, WINDOW, min_count=2, ignore=RESERVED
        )
        found = found.astype(np.float64).log1p()
        lengths = np.sqrt(np.asarray(found.multiply(found).sum(axis=1)))
        return found.multiply(1 / np.maximum(lengths, 1e-12)).tocsr()

    @functools.cached_property
    def graph(self) -> knowledge.Graph:
        """Words related in WordNet, or by occurring near each other more often than by chance.

        Not each pair that occurs near each other once, as the paper has it: the most frequent
        words, which are the anchors, would be related to all.
        """
        if self.wordnet is None:
            checks.fail("wordnet", "the folder of Open English WordNet's tables", self.wordnet)
        words = [PAD, UNK, *self.vocabulary.words]
        near = knowledge.cooccurrence_graph(
            self.ids, self.num_words, window=WINDOW, min_count=3, min_pmi=1.0, ignore=RESERVED
        )
        return knowledge.open_wordnet_graph(words, self.wordnet) | near

    def chosen(self, by: str, count: int, seed: int = 0) -> np.ndarray:
        """`count` words: by "frequency", "tf_idf", "clusters" or "frequency_clusters"."""
        if by == "tf_idf":
            return tf_idf_anchors(self.ids, self.num_words, count, RESERVED)
        if by == "clusters":
            return kmeans_anchors(self.neighbours, count, self.counts, RESERVED, seed=seed)
        if by == "frequency_clusters":
            half = (count + 1) // 2
            return frequency_then_clusters(
                self.counts, self.neighbours, half, count, RESERVED, seed
            )
        checks.choice("by", by, ("frequency", "tf_idf", "clusters", "frequency_clusters"))
        return frequency_anchors(self.counts, count, RESERVED)


def anchors(
    statistics: Statistics,
    width: int,
    num_anchors: int | tuple[int, ...],
    by: str = "dynamic",
    related: bool = False,
    unrelated: float = 0.0,
    start: float = 0.3,
    seed: int = 0,
    **options: Any,
) -> keras.layers.Layer:
    """Anchor & Transform, whose anchors start as `N(0, start^2)`.

    The layer's own start, orthogonal anchors, is as good: 89.2 +- 0.2 and 88.9 +- 0.4 on
    CLINC150's dev, three seeds.

    Args:
        statistics: Of the training split.
        width: Of the vectors.
        num_anchors: `|A|`, or those of each set.
        by: How words are chosen as anchors, see `Statistics.chosen`; "dynamic": a random basis.
        related: Whether related words are not penalized.
        unrelated: Weight of the loss that keeps unrelated words from sharing anchors.
        start: Standard deviation of the anchors' first numbers.
        seed: Of the choices.
        **options: Those of the layer.
    """
    if by != "dynamic":
        ids = statistics.chosen(by, num_anchors, seed)  # type: ignore[arg-type]
        options["anchor_ids"] = ids
        if related:
            options["positive_pairs"] = statistics.graph.to_anchors(ids, itself=True)
    elif related:
        checks.fail("related", "False: a random basis has no words", related)
    if unrelated:
        words = np.arange(NUM_RESERVED, statistics.num_words)
        count = min(NEGATIVE_PAIRS, len(words) * (len(words) - 1) // 4)
        options["negative_pairs"] = statistics.graph.negative_pairs(count, words, seed)
        options["negative_pairs_weight"] = unrelated
    if not isinstance(num_anchors, int):
        num_anchors = list(num_anchors)  # type: ignore[assignment]
    return layers.AnchorTransformEmbedding(
        statistics.num_words,
        width,
        num_anchors,
        embeddings_initializer=keras.initializers.RandomNormal(stddev=start),
        seed=seed,
        **named(options),
    )


def embedding(
    statistics: Statistics, width: int, kind: str, seed: int = 0, **options: Any
) -> keras.layers.Layer:
    """An embedding by its kind, padding masked, named "embedding".

    Args:
        statistics: Of the training split.
        width: Of the vectors.
        kind: "sparse_code" (a full table, to be given to `compressed`), or a method: "standard",
            "selected" (`by`, `words`, or `ids`), "low_rank" (`ratio`), "anchors" (those of
            `anchors`), "group_lasso", "vvd", "sparse_vd" or "sparse_vd_voc" (those of the layer).
        seed: Of choices and draws.
        **options: As above.
    """
    checks.choice("kind", kind, KINDS)
    size = statistics.num_words
    if kind in ("standard", "sparse_code"):
        return build_embedding("standard", size, width)
    if kind == "selected":
        ids = options.get("ids")
        if ids is None:
            ids = statistics.chosen(options["by"], options["words"], seed)
        return layers.SelectedEmbedding(size, width, ids, **named({}))
    if kind == "anchors":
        return anchors(statistics, width, seed=seed, **options)
    if kind == "group_lasso":
        return layers.GroupLassoEmbedding(size, width, **named(options))
    seeded = {"seed": seed} if kind in VARIATIONAL else {}
    return build_embedding(kind, size, width, **seeded, **options)


def compressed(
    model: keras.Model, statistics: Statistics, kind: str, **options: Any
) -> keras.Model:
    """The trained model, or with "sparse_code" (`num_base`, `penalty`) its compressed copy."""
    if kind != "sparse_code":
        return model
    base = statistics.chosen("frequency", options["num_base"])
    compressor = compress.SparseCode(l1_weight=options["penalty"], base_ids=base)
    return compress.compress_model(model, compressor)


def named(options: dict[str, Any]) -> dict[str, Any]:
    """Arguments that all layers of a task share."""
    return {"mask_zero": True, "name": "embedding", **options}


def optimizer_of(kind: str, noise_rate: float | None = None) -> Any:
    """What makes the optimizer of a kind: Adam by rows, with proximal steps if there is a rule.

    The logarithms of variances get 20 times the rate: they start where few words are dropped, and
    in as few steps as here they would stay there. With `noise_rate` they are trained by gradient
    descent at that rate: a step is as large as charge and signal say, where Adam's has one size.
    """
    if kind in PENALIZED:
        return lambda rate, **options: Proximal(keras.optimizers.Adam(rate, **options))
    if kind not in VARIATIONAL:
        return LazyAdam
    return functools.partial(_of_variances, noise_rate)


def _of_variances(
    noise_rate: float | None, rate: keras.optimizers.schedules.PolynomialDecay, **options: Any
) -> keras.optimizers.Optimizer:
    config = rate.get_config()
    start = 20 * config["initial_learning_rate"] if noise_rate is None else noise_rate
    own = type(rate).from_config({**config, "initial_learning_rate": start})
    of_noise = LazyAdam(own, **options) if noise_rate is None else LazySGD(own, **options)
    rates = keras.optimizers.OptimizerMap(LazyAdam(rate, **options), {".*log_.*": of_noise})
    return keras.optimizers.MultiOptimizer(rates)
