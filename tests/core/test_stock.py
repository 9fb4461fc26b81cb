"""Which of Keras' embeddings are a table and nothing else."""

import keras
import pytest

from kerascompact.core.stock import is_stock_embedding, is_stock_tied

REVERSIBLE = getattr(keras.layers, "ReversibleEmbedding", None)


def test_plain_embeddings():
    class Other(keras.layers.Embedding):
        pass

    assert is_stock_embedding(keras.layers.Embedding(9, 2))
    assert not is_stock_embedding(Other(9, 2)) and not is_stock_embedding(None)
    quantized = keras.layers.Embedding(9, 2)
    quantized.build()
    quantized.quantize("int8")
    assert not is_stock_embedding(quantized)


@pytest.mark.skipif(REVERSIBLE is None, reason="since Keras 3.13")
def test_tied_ones_without_more():
    assert is_stock_tied(REVERSIBLE(9, 2)) and is_stock_embedding(REVERSIBLE(9, 2))
    assert not is_stock_embedding(REVERSIBLE(9, 2, tie_weights=False))
    assert not is_stock_embedding(REVERSIBLE(9, 2, logit_soft_cap=3.0))
