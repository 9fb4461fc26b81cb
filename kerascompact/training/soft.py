"""Copy of a model that predicts with soft assignments, to compare with the hard ones."""

from typing import Any

import keras

from kerascompact.core.keras_graph import all_layers, copy_with


def soft_copy(model: keras.Model, seed: int = 0) -> keras.Model:
    """Copies a functional or Sequential model; the copy predicts with soft cluster assignments.

    The copy's cluster embeddings use soft random Gumbel samples in `predict` and `evaluate`, as the
    public code of the paper does when it reports test accuracy; the model itself and what is
    exported from it use the hard assignment. The gap between the two shows how decided the clusters
    are. Training itself sees one-hot samples where `straight_through` is `True`.

    Args:
        model: Trained model with cluster embeddings; it is not changed.
        seed: Seed of the Gumbel noise.

    Returns: The copy, with the weights of the model.

    Raises: ValueError, if the model is subclassed or not built, or has clusters inside a layer that
        is neither a model nor `TimeDistributed`.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> soft_copy(model).layers[0].inference
    'soft'
    """

    def soft_config(layer: keras.layers.Layer) -> dict[str, Any]:
        config = layer.get_config()
        is_hard = config.get("inference") == "hard"
        return {**config, "inference": "soft", "seed": seed} if is_hard else config

    soft = copy_with(model, lambda layer: None, soft_config)
    for layer in all_layers(soft):
        # Codes that are given have no soft assignment, and no such entry in their configuration.
        hard = getattr(layer, "inference", "soft") == "hard"
        if hard and layer.get_config().get("inference") == "hard":
            expected = "must have its clusters in its own graph, or in models of its graph"
            raise ValueError(f"`model` {expected}. Received: {layer.name!r} inside another layer.")
    return soft
