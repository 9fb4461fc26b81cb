"""Which of Keras' own embeddings hold nothing but a table."""

from typing import Any

import keras


def is_stock_embedding(layer: Any) -> bool:
    """Whether a layer is Keras' `Embedding`, or `ReversibleEmbedding` with one table, and float.

    >>> is_stock_embedding(keras.layers.Embedding(9, 2)), is_stock_embedding(keras.layers.Dense(2))
    (True, False)
    """
    # A subclass may look up otherwise, and a quantized one holds other weights.
    plain = type(layer) is keras.layers.Embedding or is_stock_tied(layer)
    return plain and not layer.quantization_mode


def is_stock_tied(layer: Any) -> bool:
    """Whether it is Keras' embedding whose reverse is the plain product with its table.

    >>> is_stock_tied(keras.layers.Embedding(9, 2))
    False
    """
    kind = getattr(keras.layers, "ReversibleEmbedding", None)  # since Keras 3.13
    if kind is None or type(layer) is not kind:
        return False
    return layer.tie_weights and layer.logit_soft_cap is None
