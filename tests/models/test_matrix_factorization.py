"""Matrix factorization: the formula, ratings that are learned, a file of built-in operators."""

import keras
import numpy as np
import pytest

from benchmarks.data import ratings
from kerascompact import export
from kerascompact.layers import ClusterEmbedding, LowRankEmbedding
from kerascompact.models import matrix_factorization
from kerascompact.optimizers import LazyAdam
from kerascompact.runtime.interpreter import Interpreter

PAIRS = {"user": np.array([0, 8, 3]), "item": np.array([4, 0, 3])}


def build(**options):
    users = keras.layers.Embedding(9, 6, name="users")
    items = LowRankEmbedding(5, 6, rank=2, name="items")
    return matrix_factorization(users, items, **options)


@pytest.mark.parametrize("biases", [False, True])
def test_equals_the_formula(biases):
    model = build(mean=3.5, biases=biases)
    random = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(random.normal(size=weight.shape))
    users, items = PAIRS["user"], PAIRS["item"]
    p = model.get_layer("users").get_weights()[0][users]
    q = np.matmul(*model.get_layer("items").get_weights())[items]
    expected = 3.5 + (p * q).sum(axis=1)
    if biases:
        expected += model.get_layer("user_bias").get_weights()[0][users, 0]
        expected += model.get_layer("item_bias").get_weights()[0][items, 0]
    found = model.predict(PAIRS, verbose=0)
    assert found.shape == (3, 1) and found.dtype == np.float32
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-5)


@pytest.mark.slow
def test_learns_better_than_the_mean_and_exports():
    data = ratings.synthetic(200, 80, 6, 30, seed=3)
    mean = float(data.train.ratings.mean())
    users = keras.layers.Embedding(200, 8, name="users")
    items = ClusterEmbedding(80, 8, 12, logit_scale=10.0, name="items")
    model = matrix_factorization(users, items, mean=mean)
    model.compile(LazyAdam(0.02), "mse", jit_compile=False)
    model.fit(data.train.inputs, data.train.ratings, batch_size=64, epochs=10, verbose=0)
    error = model.evaluate(data.test.inputs, data.test.ratings, verbose=0)
    of_the_mean = float(np.mean((data.test.ratings - mean) ** 2))
    assert error < 0.6 * of_the_mean  # 0.43 was seen, 0.2 is noise and rounding
    for recipe in ("float32", "int8_tables"):
        shipped = export.freeze(model, recipe).model.predict(data.test.inputs, verbose=0)
        file = Interpreter(export.convert(model, recipe))
        assert set(file.inputs) == {"user", "item"}
        for row in range(0, 600, 10):
            given = {name: ids[row : row + 1] for name, ids in data.test.inputs.items()}
            (found,) = file.run(given).values()
            np.testing.assert_allclose(
                found, shipped[row : row + 1], atol=1e-5
            )  # another order of sums


def test_saves_and_loads(tmp_path):
    model = build(mean=1.0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(PAIRS, verbose=0), model.predict(PAIRS, verbose=0))


def test_refuses():
    users = keras.layers.Embedding(9, 6)
    with pytest.raises(
        ValueError, match=r"`users` and `items` must have the same width. .*\[6, 5\]"
    ):
        matrix_factorization(users, keras.layers.Embedding(9, 5))
    with pytest.raises(ValueError, match="`items` must be another layer than `users`"):
        matrix_factorization(users, users)
    with pytest.raises(ValueError, match="`mean` must be a finite number"):
        build(mean=np.nan)
    with pytest.raises(ValueError, match="`biases` must be True or False"):
        build(biases=1)
