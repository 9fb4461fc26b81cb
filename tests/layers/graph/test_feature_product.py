"""Bags of features against dense NumPy."""

import json

import keras
import numpy as np
import pytest

from kerascompact.layers.graph.feature_product import FeatureProduct

X = np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.2, 0.2, 0.6]])
PLACES = np.argwhere(X).astype(np.int32)
VALUES = X[X > 0].astype(np.float32)
TABLE = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)


def test_equals_the_dense_product():
    found = FeatureProduct(4)(TABLE, PLACES, VALUES)
    np.testing.assert_allclose(found, X @ TABLE, rtol=1e-6)
    assert found.shape == (4, 2)


def test_drops_stored_entries_in_training_only():
    layer = FeatureProduct(300, dropout=0.25, seed=1)
    places = np.stack([np.arange(300), np.zeros(300, int)], axis=1)
    one = np.ones((1, 1))
    found = np.asarray(layer(one, places, np.ones(300), training=True)).ravel()
    dropped = np.count_nonzero(found == 0)
    np.testing.assert_allclose(found[found > 0], 1 / 0.75, rtol=1e-6)
    assert 45 <= dropped <= 105  # 75 expected, four standard deviations of 7.5
    np.testing.assert_array_equal(layer(one, places, np.ones(300)), np.ones((300, 1)))


def test_regularizes_the_table_that_comes_in():
    layer = FeatureProduct(4, table_regularizer=keras.regularizers.L2(0.5))
    layer(TABLE, PLACES, VALUES)
    (loss,) = layer.losses
    np.testing.assert_allclose(loss, 0.5 * np.sum(TABLE**2), rtol=1e-6)
    assert not FeatureProduct(4).losses


def test_keeps_its_config_and_computes_in_float16():
    layer = FeatureProduct(
        4, dropout=0.5, table_regularizer=keras.regularizers.L2(0.1), seed=3, dtype="mixed_float16"
    )
    again = FeatureProduct.from_config(json.loads(json.dumps(layer.get_config())))
    assert again.get_config() == layer.get_config()
    found = again(TABLE, PLACES, VALUES)
    assert found.dtype == "float16"
    np.testing.assert_allclose(found, X @ TABLE, atol=2e-3)  # float16 has 11 bits


def test_refuses():
    with pytest.raises(ValueError, match="`num_rows` must be an integer >= 1"):
        FeatureProduct(0)
    with pytest.raises(ValueError, match="dropout|rate"):
        FeatureProduct(4, dropout=1.5)
