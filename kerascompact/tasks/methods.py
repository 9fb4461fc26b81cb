"""The embeddings of a benchmark by name, and what trains them."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from kerascompact import layers
from kerascompact.core import checks
from kerascompact.initializers import CommonCode
from kerascompact.optimizers import LazyAdam, Proximal
from kerascompact.text.vocabulary import NUM_RESERVED

CODED: dict[str, Callable[..., keras.layers.Layer]] = {
    "kd": layers.KDCodeEmbedding,
    "dpq": layers.DPQEmbedding,
    "compositional": layers.CompositionalCodeEmbedding,
}

VARIATIONAL: dict[str, Callable[..., keras.layers.Layer]] = {
    "vvd": layers.VariationalVocabularyEmbedding,
    "sparse_vd": layers.SparseVariationalEmbedding,
    "sparse_vd_voc": layers.SparseVariationalVocabularyEmbedding,
}

SHORT = {
    "standard": "SE",
    "cluster": "CE",
    "adjustment": "CAE",
    "mixture": "ME",
    "low_rank": "LR",
    "quantized": "QE",
    "kd": "KD",
    "dpq": "DPQ",
    "compositional": "CC",
    "selected": "VS",
    "group_lasso": "GL",
    "vvd": "VVD",
    "sparse_vd": "SVD",
    "sparse_vd_voc": "SVDV",
    "tensor_train": "TT",
    "hashed": "HE",
    "predefined_sparse": "PS",
    "projection": "NP",
}

METHODS = tuple(SHORT)


def build_embedding(
    method: str,
    input_dim: int,
    width: int,
    clusters: int = 50,
    unique: int = 300,
    adjustment: int = 1,
    scale: float | None = None,
    **options: Any,
) -> Callable[[Any], Any]:
    """An embedding by its method's name, for ids from a `Vocabulary`, padding masked.

    `width` is the paper's `m`: the cluster's width in "adjustment", whose output has `adjustment`
    columns more; `scale` is the clusters' `logit_scale`. "standard" is the stock
    `keras.layers.Embedding`, which starts at U(-`start`, `start`); "low_rank" takes `ratio`, its
    share of that one's parameters; codes ("kd", "dpq", "compositional") take `cardinality` and
    `code_length`, "kd" a `margin` of the common code that all words start with, "quantized" `bits`,
    "group_lasso" `group_lasso_weight`, "vvd", "sparse_vd" and "sparse_vd_voc" `kl_weight`,
    "tensor_train" `ratio`, "hashed" `buckets`, "predefined_sparse" `density`; "selected" and
    "hashed" have vectors for the `unique` first words. "projection" takes
    a `vocabulary`, whose words' bits it looks up, and `hidden` units; it is no layer but a function
    of two (`BitCache`, `ProjectionEmbedding`).

    >>> build_embedding("mixture", 1000, 8)(np.array([3])).shape
    TensorShape([1, 8])
    """
    checks.choice("method", method, METHODS)
    options = {"mask_zero": True, "name": "embedding", **options}
    if method == "standard":
        bound = options.pop("start", 0.1)  # as the compact layers
        start = keras.initializers.RandomUniform(-bound, bound)
        return keras.layers.Embedding(input_dim, width, embeddings_initializer=start, **options)
    if "margin" in options:
        margin = options.pop("margin")
        options["logits_initializer"] = CommonCode(options["cardinality"], margin)
    if method in CODED:
        return CODED[method](input_dim, width, **options)
    if method in VARIATIONAL:
        return VARIATIONAL[method](input_dim, width, **options)
    if method == "selected":
        chosen = np.arange(NUM_RESERVED, NUM_RESERVED + unique)
        return layers.SelectedEmbedding(input_dim, width, chosen, **options)
    if method == "group_lasso":
        return layers.GroupLassoEmbedding(input_dim, width, **options)
    if method == "tensor_train":
        rank = layers.TensorTrainEmbedding.rank_for(input_dim, width, options.pop("ratio"))
        return layers.TensorTrainEmbedding(input_dim, width, rank, **options)
    if method == "hashed":
        options |= dict(num_frequent=unique, num_reserved=NUM_RESERVED)
        return layers.HashEmbedding(input_dim, width, options.pop("buckets"), **options)
    if method == "projection":
        vocabulary, hidden = options.pop("vocabulary"), options.pop("hidden")
        projected = layers.ProjectionEmbedding(width, (hidden,), **options)
        cache = layers.BitCache.from_vocabulary(vocabulary, projected.projection, name="bits")
        return lambda ids: projected(cache(ids))
    if method == "predefined_sparse":
        return layers.PredefinedSparseEmbedding(input_dim, width, **options)
    if method == "quantized":
        return layers.QuantizedEmbedding(input_dim, width, **options)
    if method == "low_rank":
        rank = layers.LowRankEmbedding.rank_for(input_dim, width, options.pop("ratio"))
        return layers.LowRankEmbedding(input_dim, width, rank, **options)
    if scale is not None:
        options["logit_scale"] = scale
    if method == "cluster":
        return layers.ClusterEmbedding(input_dim, width, clusters, **options)
    if method == "adjustment":
        return layers.ClusterAdjustmentEmbedding(
            input_dim, width + adjustment, clusters, adjustment_dim=adjustment, **options
        )
    return layers.MixtureEmbedding(
        input_dim, width, clusters, unique, num_reserved=NUM_RESERVED, **options
    )


def optimizer_of(method: str) -> Callable[..., keras.optimizers.Optimizer]:
    """What makes the optimizer that `train` takes: with proximal steps, if the method needs them.

    >>> type(optimizer_of("group_lasso")(0.01)).__name__
    'ProximalAdam'
    """
    if method != "group_lasso":
        return LazyAdam
    return lambda *arguments, **options: Proximal(LazyAdam(*arguments, **options))


def logit_scale(learning_rate: float) -> float:
    """The scale at which cluster logits move by 0.05 per step, see `ClusterEmbedding`.

    On CLINC150's dev split it gave 0.909; 0.02, 0.1 and 0.3 gave 0.901, 0.907 and 0.904 (one seed
    each).

    >>> logit_scale(0.01)
    5.0
    """
    return 0.05 / learning_rate
