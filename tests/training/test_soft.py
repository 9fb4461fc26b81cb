"""The soft copy predicts by samples, the model stays as it was."""

import keras
import numpy as np
import pytest

from kerascompact.layers import ClusterAdjustmentEmbedding, ClusterEmbedding, MixtureEmbedding
from kerascompact.models import mean_classifier
from kerascompact.training import soft_copy

IDS = np.random.default_rng(0).integers(0, 9, (6, 4))
LAYERS = {
    "cluster": lambda: ClusterEmbedding(9, 2, 3),
    "adjustment": lambda: ClusterAdjustmentEmbedding(9, 3, 3),
    "mixture": lambda: MixtureEmbedding(9, 2, 3, num_unique=2),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", LAYERS)
def test_differs_from_hard_and_leaves_the_model(name):
    model = mean_classifier(LAYERS[name](), 3)
    before, hard = model.get_weights(), model(IDS).numpy()
    soft = soft_copy(model)
    first, second = soft.predict(IDS, verbose=0), soft.predict(IDS, verbose=0)
    assert np.abs(first - hard).max() > 1e-6 and np.abs(first - second).max() > 1e-6
    np.testing.assert_array_equal(model(IDS), hard)
    for old, new, copied in zip(before, model.get_weights(), soft.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
        np.testing.assert_array_equal(old, copied)


def test_the_seed_decides_the_samples():
    model = mean_classifier(LAYERS["cluster"](), 3)
    one, same, other = (soft_copy(model, s)(IDS).numpy() for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-6


def test_equals_hard_once_the_clusters_are_decided():
    model = mean_classifier(LAYERS["cluster"](), 3)
    layer = model.layers[1]
    layer.logits.assign(200.0 * np.eye(3)[np.arange(9) % 3])  # noise lies in [-3, 17]
    np.testing.assert_allclose(soft_copy(model)(IDS), model(IDS), atol=1e-6)


def test_a_compiled_model_gives_a_compiled_copy():
    model = mean_classifier(LAYERS["cluster"](), 3)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], run_eagerly=True)
    found = soft_copy(model).evaluate(IDS, np.zeros(6), verbose=0, return_dict=True)
    assert set(found) == {"loss", "accuracy"}


def test_a_model_without_clusters_is_copied_as_it_is():
    model = keras.Sequential([keras.Input((4,), dtype="int32"), keras.layers.Embedding(9, 2)])
    np.testing.assert_array_equal(soft_copy(model)(IDS), model(IDS))


@pytest.mark.parametrize("around", ["model", "time distributed"])
def test_clusters_inside_another_layer_are_soft_as_well(around):
    embedding = ClusterEmbedding(9, 2, 3)
    if around == "model":
        inner = keras.Sequential([keras.Input((4,), dtype="int32"), embedding])
        model = keras.Sequential([keras.Input((4,), dtype="int32"), inner])
        ids = IDS
    else:
        model = keras.Sequential([keras.Input((2, 2)), keras.layers.TimeDistributed(embedding)])
        ids = IDS.reshape(-1, 2, 2)
    assert np.abs(soft_copy(model)(ids) - model(ids)).max() > 1e-6


def test_clusters_inside_a_layer_are_soft_too():
    class Holder(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.embedding = ClusterEmbedding(9, 2, 3, name="inside")
            self.embedding.build()

        def call(self, ids):
            return self.embedding(ids)

    model = keras.Sequential([keras.Input((4,), dtype="int32"), Holder()])
    soft = soft_copy(model)
    assert soft.layers[0].embedding.inference == "soft"
    assert model.layers[0].embedding.inference == "hard"
    np.testing.assert_array_equal(soft.get_weights()[0], model.get_weights()[0])
