"""Copy of a model that predicts with soft assignments, to compare with the hard ones."""

import keras

from kerascompact.core.keras_graph import copy_with


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

    Raises: ValueError, if the model is subclassed or not built.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> soft_copy(model).layers[0].inference
    'soft'
    """

    def replace(layer: keras.layers.Layer) -> keras.layers.Layer | None:
        # Codes that are given have no soft assignment, and no such entry in their configuration.
        if getattr(layer, "inference", "soft") == "soft":
            return None
        config = layer.get_config()
        if config.get("inference") != "hard":
            return None
        soft = type(layer).from_config({**config, "inference": "soft", "seed": seed})
        soft.build_from_config(layer.get_build_config() or {})
        soft.set_weights(layer.get_weights())
        return soft

    return copy_with(model, replace)
