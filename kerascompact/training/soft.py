"""A copy of a model that predicts with soft assignments, to set beside the hard ones."""

from typing import Any

import keras


def soft_copy(model: keras.Model, seed: int = 0) -> keras.Model:
    """Returns a copy of a functional or Sequential model whose clusters predict softly.

    The copy's cluster embeddings use soft random Gumbel samples in `predict` and `evaluate`, as the
    public code of the paper does when it reports test accuracy; the model itself and what is
    exported from it use the hard assignment. The gap of the two shows how decided the clusters are.
    It is no repetition of training, which sees one-hot samples where `straight_through` is `True`.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> soft_copy(model).layers[0].inference
    'soft'
    """

    def copy(layer: Any) -> Any:
        if not isinstance(layer, keras.layers.Layer):
            return layer
        config = layer.get_config()
        if config.get("inference") == "hard":
            config |= {"inference": "soft", "seed": seed}
        return layer.__class__.from_config(config)

    soft = keras.models.clone_model(model, clone_function=copy)
    soft.set_weights(model.get_weights())
    if model.compiled:
        soft.compile(**{**model.get_compile_config(), "optimizer": "sgd"})
    return soft
