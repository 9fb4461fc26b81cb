"""The embedding methods by name: each one's layer, abbreviation, options, and what trains it.

Commands, tables and tests read `METHODS`. Keras and NumPy are imported once a layer is built.

>>> METHODS["mixture"].abbreviation, METHODS["mixture"].options
('ME', ('clusters', 'unique'))
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import keras

Build = Callable[..., Callable[[Any], Any]]  # (class, input_dim, width, **options) -> embedding


class Method(NamedTuple):
    """An embedding method.

    Args:
        name: Its name in commands, rows and code.
        abbreviation: Its name in tables and labels.
        layer: Name of its class in `kerascompact.layers`, or of Keras' own `Embedding`.
        options: Names of its own options, see `options.OPTIONS`.
        build: Makes the embedding of the class, sizes and options.
        proximal: Whether its penalty needs proximal steps.
        fixed: What `kerascompact train` sets besides, chosen on dev.
    """

    name: str
    abbreviation: str
    layer: str
    options: tuple[str, ...] = ()
    build: Build = lambda made, *sizes, **options: made(*sizes, **options)
    proximal: bool = False
    fixed: MappingProxyType[str, Any] = MappingProxyType({})

    @property
    def made(self) -> type:
        """The class of its layer.

        >>> METHODS["kd"].made.__name__
        'KDCodeEmbedding'
        """
        import keras

        from kerascompact import layers

        return getattr(keras.layers if self.layer == "Embedding" else layers, self.layer)


def _reserved() -> int:
    """Ids of a `Vocabulary` that are no words."""
    from kerascompact.text.vocabulary import NUM_RESERVED

    return NUM_RESERVED


def _standard(made: Any, input_dim: int, width: int, start: float = 0.1, **options: Any) -> Any:
    """`start`: bound of the uniform start, as the compact layers have it."""
    import keras

    bounds = keras.initializers.RandomUniform(-start, start)
    return made(input_dim, width, embeddings_initializer=bounds, **options)


def _cluster(made: Any, input_dim: int, width: int, clusters: int = 50, **options: Any) -> Any:
    return made(input_dim, width, clusters, **options)


def _adjustment(
    made: Any, input_dim: int, width: int, clusters: int = 50, adjustment: int = 1, **options: Any
) -> Any:
    """`width` is the cluster's, the paper's `m`; the output has `adjustment` columns more."""
    return made(input_dim, width + adjustment, clusters, adjustment_dim=adjustment, **options)


def _mixture(
    made: Any, input_dim: int, width: int, clusters: int = 50, unique: int = 300, **options: Any
) -> Any:
    return made(input_dim, width, clusters, unique, num_reserved=_reserved(), **options)


def _of_ratio(made: Any, input_dim: int, width: int, ratio: float, **options: Any) -> Any:
    return made(input_dim, width, made.rank_for(input_dim, width, ratio), **options)


def _kd(made: Any, input_dim: int, width: int, margin: float | None = None, **options: Any) -> Any:
    """`margin`: of the common code that all words start with."""
    from kerascompact.initializers import CommonCode

    if margin is not None:
        options["logits_initializer"] = CommonCode(options["cardinality"], margin)
    return made(input_dim, width, **options)


def _selected(made: Any, input_dim: int, width: int, unique: int = 300, **options: Any) -> Any:
    """The `unique` first words."""
    return made(input_dim, width, range(_reserved(), _reserved() + unique), **options)


def _hashed(
    made: Any, input_dim: int, width: int, buckets: int, unique: int = 300, **options: Any
) -> Any:
    options |= dict(num_frequent=unique, num_reserved=_reserved())
    return made(input_dim, width, buckets, **options)


def _anchors(made: Any, input_dim: int, width: int, anchors: int = 50, **options: Any) -> Any:
    return made(input_dim, width, anchors, **options)


def _projection(
    made: Any, input_dim: int, width: int, vocabulary: Any, hidden: int, **options: Any
) -> Any:
    """No layer but a function of two: it looks up the bits of the words of a `vocabulary`."""
    from kerascompact import layers

    projected = made(width, (hidden,), **options)
    cache = layers.BitCache.from_vocabulary(vocabulary, projected.projection, name="bits")
    return lambda ids: projected(cache(ids))


_CODES, _KL = ("cardinality", "code_length"), ("kl_weight",)
_KD_FIXED = MappingProxyType({"batch_norm": True, "margin": 3.0})  # on TREC and CLINC150
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("standard", "SE", "Embedding", build=_standard),
        Method("cluster", "CE", "ClusterEmbedding", ("clusters",), _cluster),
        Method("adjustment", "CAE", "ClusterAdjustmentEmbedding", ("clusters",), _adjustment),
        Method("mixture", "ME", "MixtureEmbedding", ("clusters", "unique"), _mixture),
        Method("low_rank", "LR", "LowRankEmbedding", ("ratio",), _of_ratio),
        Method("quantized", "QE", "QuantizedEmbedding", ("bits",)),
        Method("kd", "KD", "KDCodeEmbedding", _CODES, _kd, fixed=_KD_FIXED),
        Method("dpq", "DPQ", "DPQEmbedding", _CODES),
        Method("compositional", "CC", "CompositionalCodeEmbedding", _CODES),
        Method("selected", "VS", "SelectedEmbedding", ("unique",), _selected),
        Method("group_lasso", "GL", "GroupLassoEmbedding", ("group_lasso_weight",), proximal=True),
        Method("vvd", "VVD", "VariationalVocabularyEmbedding", _KL),
        Method("sparse_vd", "SparseVD", "SparseVariationalEmbedding", _KL),
        Method("sparse_vd_voc", "SparseVD-Voc", "SparseVariationalVocabularyEmbedding", _KL),
        Method("tensor_train", "TT", "TensorTrainEmbedding", ("ratio",), _of_ratio),
        Method("hashed", "HE", "HashEmbedding", ("unique", "buckets"), _hashed),
        Method(
            "anchors", "ANT", "AnchorTransformEmbedding", ("anchors", "l1_weight"), _anchors, True
        ),
        Method(
            "sparse_anchors",
            "sparse ANT",
            "SparseAnchorEmbedding",
            ("anchors", "entries", "l1_weight"),
            _anchors,
            True,
        ),
        Method("predefined_sparse", "PS", "PredefinedSparseEmbedding", ("density",)),
        Method("projection", "NP", "ProjectionEmbedding", ("hidden",), _projection),
    )
}


def methods_with(option: str) -> list[str]:
    """Names of the methods that have an option.

    >>> methods_with("ratio")
    ['low_rank', 'tensor_train']
    """
    return [method.name for method in METHODS.values() if option in method.options]


def build_embedding(
    method: str, input_dim: int, width: int, /, **options: Any
) -> Callable[[Any], Any]:
    """An embedding by its method's name, for ids from a `Vocabulary`, padding masked.

    Args:
        method: One of `METHODS`.
        input_dim: Number of ids.
        width: Width of a vector; for "adjustment" that of a cluster's vector.
        **options: The method's own, see `options.OPTIONS`, and arguments of its layer.

    Raises: ValueError, if no method has that name, or the layer refuses an option.

    >>> import numpy as np
    >>> build_embedding("mixture", 1000, 8)(np.array([3])).shape
    TensorShape([1, 8])
    """
    from kerascompact.core import checks

    checks.choice("method", method, METHODS)
    found = METHODS[method]
    options = {"mask_zero": True, "name": "embedding", **options}
    return found.build(found.made, input_dim, width, **options)


def optimizer_of(method: str) -> "Callable[..., keras.optimizers.Optimizer]":
    """What makes the optimizer that `train` takes: with proximal steps, if the method needs them.

    >>> type(optimizer_of("group_lasso")(0.01)).__name__
    'ProximalAdam'
    """
    from kerascompact.optimizers import LazyAdam, Proximal

    if not METHODS[method].proximal:
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
