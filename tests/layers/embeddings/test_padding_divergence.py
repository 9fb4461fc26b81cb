"""Variational dropout: padding pays nothing, and has nothing to say."""

import keras
import numpy as np
import pytest

from kerascompact.layers import (
    SparseVariationalEmbedding,
    SparseVariationalVocabularyEmbedding,
    VariationalVocabularyEmbedding,
)

KINDS = [
    VariationalVocabularyEmbedding,
    SparseVariationalEmbedding,
    SparseVariationalVocabularyEmbedding,
]


@pytest.mark.parametrize(
    ("kind", "jit_compile"),
    [
        pytest.param(KINDS[0], True, marks=pytest.mark.slow),
        pytest.param(KINDS[1], False, marks=pytest.mark.slow),
        pytest.param(KINDS[2], True, marks=pytest.mark.slow),
        (KINDS[2], False),
    ],
)
def test_padding_pays_nothing_and_is_dropped(kind, jit_compile):
    divergence = []
    for pads in (0, 5):
        keras.utils.set_random_seed(0)
        layer = kind(9, 2, kl_weight=1.0, mask_zero=True, seed=0)
        model = keras.Sequential([keras.Input((2 + pads,), dtype="int32"), layer])
        model.add(keras.layers.GlobalAveragePooling1D())
        # the divergence is all of the loss
        model.compile("sgd", None, jit_compile=jit_compile, run_eagerly=not jit_compile)
        ids = np.array([[3, 7] + [0] * pads])
        divergence.append(model.train_on_batch(ids))
        if pads:
            assert not np.any(layer(np.array([0])))
            assert layer.met(np.array([0, 3, 7, 8])).numpy().tolist() == [False, True, True, False]
    np.testing.assert_allclose(*divergence, rtol=1e-6)
