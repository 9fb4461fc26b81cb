"""Tied tables behind a normalization: stored once, with the gains beside them."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.export.recipe import Recipe
from kerascompact.tflite.passes.tied_tables import factors_of

V, D = 300, 16
KERNELS = Recipe("kernels", "float32", "int8")  # as `search.compact` has them: tables are forms


def model_behind(normalization, length=5):
    keras.utils.set_random_seed(0)
    ids = keras.Input((length,), dtype="int32", name="ids")
    table = keras.layers.ReversibleEmbedding(V, D, embeddings_initializer="random_normal")
    model = keras.Model(ids, table(normalization(table(ids)), reverse=True))
    random = np.random.default_rng(0)
    for weight in normalization.weights:
        weight.assign(weight + random.normal(size=weight.shape))
    return model


@pytest.mark.parametrize("length", [5, None])
@pytest.mark.parametrize("recipe", ["float32", "int8_tables", "int8", "dynamic", KERNELS])
def test_a_table_that_scores_words_behind_gains_is_stored_once(recipe, length):
    model = model_behind(keras.layers.RMSNormalization(), length)
    file = export.convert(model, recipe)
    assert len(file) < V * D * (4 if recipe in ("float32", KERNELS) else 1) + 7000
    export.verify(model, file, np.random.default_rng(0).integers(0, V, (9, 5)))


def test_a_scale_and_two_signatures():
    model = model_behind(keras.layers.Rescaling(0.125))
    file = export.convert(
        {"a": model, "b": model_behind(keras.layers.RMSNormalization())}, "float32"
    )
    assert len(file) < 4 * V * D + 9000
    export.verify(model, file, np.random.default_rng(0).integers(0, V, (9, 5)), signature="a")


def test_another_kernel_has_no_factors():
    table = np.random.default_rng(0).normal(size=(90, 3)).astype(np.float32)
    table[:, 2] = 0
    wanted = np.float32([0.5, -3, 0])
    np.testing.assert_allclose(factors_of(table * wanted, table), wanted, rtol=1e-6)
    kernel = table * wanted
    kernel[80, 0] *= 1.001
    assert factors_of(kernel, table) is None and factors_of(kernel[:9], table) is None
