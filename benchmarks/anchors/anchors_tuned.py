"""Runs that begin with a trained one: with its table, compressed, or with the words it keeps."""

from typing import Any

import keras
import numpy as np

from benchmarks.anchors.anchor_methods import Statistics, compressed, named
from kerascompact import compress, layers
from kerascompact.core import checks
from kerascompact.initializers.anchors import strongest_rows
from kerascompact.text.vocabulary import NUM_RESERVED

AFTERWARDS = {"nearest": compress.NearestAnchors, "k_svd": compress.KSVD}
KINDS = ("same", "low_rank", *AFTERWARDS, "sparse_code")


def embedding(
    table: np.ndarray,
    counts: np.ndarray,
    kind: str,
    seed: int = 0,
    mask_zero: bool = True,
    **options: Any,
) -> keras.layers.Layer:
    """The embedding that begins as near to a trained table as its size allows.

    Args:
        table: Trained table `(V, d)`.
        counts: Occurrences of each word `(V,)`, whose square roots weigh the errors of k-SVD.
        kind: "low_rank" (`ratio`; the singular value decomposition), "k_svd" or "nearest"
            (`num_anchors`, `num_neighbors`): Anchor & Transform whose free entries are those of the
            k-SVD, or of the nearest anchors.
        seed: Seed of the anchors.
        mask_zero: Whether id 0 is padding; in the stream of a language model it is a word.
        **options: As above.
    """
    common = named({"mask_zero": mask_zero})
    if kind == "low_rank":
        made, (size, width) = layers.LowRankEmbedding, table.shape
        rank = made.rank_for(size, width, options["ratio"])
        return made(size, width, rank, weights=[table], **common)
    checks.choice("kind", kind, ("low_rank", *AFTERWARDS))
    form = AFTERWARDS[kind](seed=seed, **options).fit(table, np.sqrt(counts + 1.0), **common)
    return layers.SparseAnchorEmbedding.from_form(form, l1_weight=0.0, nonnegative=False)


def begun(
    first: keras.Model, build: Any, statistics: Statistics, kind: str, **options: Any
) -> keras.Model:
    """A model that begins where a trained one is, but for its embedding.

    Args:
        first: The trained model; but for "same" its embedding is a full table.
        build: Makes the model around an embedding.
        statistics: Of the training split.
        kind: One of `KINDS`; "same": the model itself; "sparse_code": the table is replaced by
            codes, which no training changes.
        **options: Those of `embedding` or of `compressed`.
    """
    checks.choice("kind", kind, KINDS)
    if kind == "same":
        return first
    if kind == "sparse_code":
        return compressed(first, statistics, kind, **options)
    table = keras.ops.convert_to_numpy(first.get_layer("embedding").embeddings)
    return with_weights(build(embedding(table, statistics.counts, kind, **options)), first)


def with_weights(model: keras.Model, first: keras.Model) -> keras.Model:
    """The model, with the weights of another one but for the embedding's."""
    for layer, trained in zip(model.layers, first.layers, strict=True):
        if layer.name != "embedding":
            layer.set_weights(trained.get_weights())
    return model


def ranked(first: keras.Model, count: int) -> np.ndarray:
    """The `count` words that a trained selection keeps longest.

    Those of variational dropout with the least noise, those of a group lasso with the longest
    vectors; reserved ids are no words.
    """
    layer = first.get_layer("embedding")
    if isinstance(layer, layers.VariationalVocabularyEmbedding):
        noise = keras.ops.convert_to_numpy(layer.log_alpha)
        met = np.asarray(layer.met(np.arange(len(noise))))
        scores = np.where(met, noise.max() - noise, 0)
    else:
        scores = np.linalg.norm(layer.rows(), axis=1)
    return strongest_rows(scores, count, exclude=range(NUM_RESERVED))
