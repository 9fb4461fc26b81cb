"""Compositional codes against their equations, and the sizes of the cluster paper's Table 3."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding
from graphs import tensors_with_rows
from kerascompact.layers import CompositionalCodeEmbedding
from kerascompact.optimizers import LazyAdam
from kerascompact.training import GeometricDecay, TemperatureAnnealing, soft_copy

V, K, M, WIDTH = 20, 4, 3, 4
MB = 8 * 2**20  # bits; the paper's MB is 2^20 bytes


def built(**overrides):
    layer = CompositionalCodeEmbedding(**{**CompositionalCodeEmbedding.EXAMPLE, **overrides})
    layer(np.array([0]))
    random = np.random.default_rng(0)
    for weight in layer.trainable_weights:
        weight.assign(random.normal(size=weight.shape))
    return layer


def logits_of(layer):
    """The encoder of every word, in float64."""
    (first, second), (a, b) = (
        [weight.numpy().astype(float) for weight in pair] for pair in (layer.kernels, layer.biases)
    )
    inner = np.tanh(layer.table.numpy().astype(float) @ first + a) @ second + b
    return np.log(np.logaddexp(0, inner) + 1e-8).reshape(V, M, K)


def test_keeps_the_embedding_contract():
    check_embedding(CompositionalCodeEmbedding, xla=False, file=False)  # codes as of clusters


def test_inference_adds_the_rows_of_the_likeliest_codes():
    layer, ids = built(), np.array([[0, 7], [19, 7]])
    codes = logits_of(layer).argmax(axis=-1)
    np.testing.assert_array_equal(layer.codes(), codes)
    codebooks = layer.codebooks.numpy().astype(float)
    table = np.array([sum(codebooks[j, c[j]] for j in range(M)) for c in codes])
    for training in (None, False):  # float32 sums of three numbers around 1
        np.testing.assert_allclose(layer(ids, training=training), table[ids], atol=1e-6)
    np.testing.assert_array_equal(layer.to_form()(ids), layer(ids))


def test_training_follows_the_papers_equations(monkeypatch):
    gumbel = np.random.default_rng(0).gumbel(size=(3, M, K)).astype(np.float32)
    module = "kerascompact.layers.embeddings.compositional_code"
    monkeypatch.setattr(f"{module}.gumbel_noise", lambda shape, seed: gumbel)
    layer = built(straight_through=False, temperature=0.7, noise_scale=0.6)
    ids = np.array([[4, 4], [9, 0]])  # three words, a sample for each
    power = np.exp((logits_of(layer)[[4, 9, 0]] + 0.6 * gumbel) / 0.7)
    choice = power / power.sum(axis=-1, keepdims=True)
    codebooks = layer.codebooks.numpy()
    vectors = sum(choice[:, j] @ codebooks[j] for j in range(M))
    # float32 exponentials and sums of a dozen terms around 1
    found = layer(ids, training=True)
    np.testing.assert_allclose(found, vectors[[0, 0, 1, 2]].reshape(2, 2, -1), atol=1e-5)


def test_each_batch_draws_anew_and_a_word_once():
    layer = built(straight_through=False, noise_scale=1.0, seed=1)
    first, second, third = (layer(np.array([3, 5, 3]), training=True).numpy() for _ in range(3))
    np.testing.assert_array_equal(first[0], first[2])
    assert np.any(first != second) and np.any(second != third)
    again = built(straight_through=False, noise_scale=1.0, seed=1)
    np.testing.assert_array_equal(again(np.array([3, 5, 3]), training=True), first)


def test_straight_through_trains_on_rows_that_ship():
    layer = built(straight_through=True, noise_scale=1.0)
    vectors = layer(np.arange(V), training=True).numpy()
    sums = layer.codebooks.numpy()
    every = (sums[0][:, None, None] + sums[1][:, None] + sums[2]).reshape(-1, WIDTH)
    distances = np.abs(vectors[:, None] - every).max(axis=-1)
    assert distances.min(axis=1).max() < 1e-5  # one-hot up to rounding
    assert np.any(vectors != layer(np.arange(V)))  # samples, not the likeliest


def test_without_noise_training_is_on_the_rows_that_ship():
    """The default; the gradient of a code is that of the soft choice."""
    layer, ids = built(seed=1), np.array([3, 5, 3])
    with tf.GradientTape() as tape:
        vectors = layer(ids, training=True)
        loss = tf.reduce_sum(tf.square(vectors))
    np.testing.assert_allclose(vectors, layer(ids), atol=1e-6)
    np.testing.assert_array_equal(layer.noise.state, built(seed=1).noise.state)  # nothing drawn
    a, sums = logits_of(layer)[[3, 5]], layer.codebooks.numpy().astype(float)
    soft = np.exp(a / 0.3) / np.exp(a / 0.3).sum(axis=-1, keepdims=True)
    ahead = np.array([2, 1])[:, None] * 2 * layer(np.array([3, 5])).numpy()  # 3 is there twice
    to_choice = np.einsum("nd,jkd->njk", ahead, sums)
    to_logits = soft * (to_choice - (soft * to_choice).sum(axis=-1, keepdims=True)) / 0.3
    inner = np.log(np.exp(np.exp(a) - 1e-8) - 1)  # before the softplus
    slope = 1 / (1 + np.exp(-inner)) / np.exp(a)
    bias = (to_logits * slope).sum(axis=0).ravel()
    np.testing.assert_allclose(tape.gradient(loss, layer.biases[1].value), bias, rtol=1e-3)


def test_soft_inference_is_random_and_soft():
    model = keras.Sequential([keras.Input((4,), dtype="int32"), built(noise_scale=1.0)])
    ids = np.arange(V).reshape(5, 4)
    soft = soft_copy(model)
    first, second = (soft(ids) for _ in range(2))
    hard = model(ids)
    assert np.any(first != second) and np.abs(first - hard).max() > 1e-3


def test_the_temperature_can_be_annealed():
    embedding = built(straight_through=False)
    model = keras.Sequential([keras.Input((4,), dtype="int32"), embedding])
    model.compile("sgd", "mse", run_eagerly=True)
    annealing = TemperatureAnnealing(GeometricDecay(1, 0.25, steps=1))
    model.fit(
        np.zeros((2, 4)), np.zeros((2, 4, WIDTH)), batch_size=1, callbacks=[annealing], verbose=0
    )
    assert float(embedding.current_temperature.numpy()) == 0.25


def test_a_given_table_is_encoded_and_stays(tmp_path):
    given = np.random.default_rng(1).normal(size=(V, 6)).astype(np.float32)
    layer = built(table=given)
    np.testing.assert_array_equal(layer.table.numpy(), given)
    assert "table" not in {weight.name for weight in layer.trainable_weights}
    np.testing.assert_array_equal(layer.codes(), logits_of(layer).argmax(axis=-1))
    model = keras.Sequential([keras.Input((4,), dtype="int32"), layer])
    ids = np.arange(V).reshape(5, 4)
    model.compile("adam", "mse", run_eagerly=True)
    model.train_on_batch(ids, np.zeros((5, 4, WIDTH)))
    np.testing.assert_array_equal(layer.table.numpy(), given)
    config = layer.get_config()
    assert (config["table"], config["table_dim"]) == ("fixed", 6)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.layers[0].table.numpy(), given)
    np.testing.assert_array_equal(loaded(ids), model(ids))


def test_a_given_table_is_there_in_a_model_built_by_its_first_batch():
    given = np.random.default_rng(1).normal(size=(V, 6)).astype(np.float32)
    layer = CompositionalCodeEmbedding(V, WIDTH, K, M, table=given)
    model = keras.Sequential([layer])
    with tf.__internal__.FuncGraph("first_batch").as_default():  # as `fit` builds it
        model(tf.constant(np.arange(V).reshape(5, 4)))
    np.testing.assert_array_equal(layer.table.numpy(), given)


def test_only_the_encoders_input_may_be_of_another_width():
    layer = built(table_dim=7, hidden_dim=5)
    shapes = {weight.name: weight.shape for weight in layer.weights}
    assert shapes["table"] == (V, 7) and shapes["hidden_kernel"] == (7, 5)
    assert shapes["logits_kernel"] == (5, M * K) and shapes["codebooks"] == (M, K, WIDTH)
    assert built().hidden_dim == M * K // 2
    np.testing.assert_array_equal(layer.codes(), logits_of(layer).argmax(axis=-1))


# Chen & Gimpel, NAACL 2018, Table 3: words, M, K, width, MB as printed.
TABLE_3 = {
    "8x8": (75_102, 8, 8, 300, 0.288),
    "16x32": (75_102, 16, 32, 300, 1.302),
    "64x8": (75_102, 64, 8, 300, 2.305),
    "64x8, m = 90": (3000, 64, 8, 90, 0.245),
}


@pytest.mark.parametrize("name", TABLE_3)
def test_sizes_of_the_cluster_papers_table_3(name):
    """`v M log2 K + 32 M K m` bits, with `v` of the GloVe baseline's 85.947 MB at 300 floats."""
    words, length, cardinality, width, printed = TABLE_3[name]
    assert words == 3000 or round(32 * words * 300 / MB, 3) == 85.947
    ours = CompositionalCodeEmbedding(words, width, cardinality, length).paper_bits()
    assert ours == words * length * int(np.log2(cardinality)) + 32 * length * cardinality * width
    # The formula gives 0.2445 for the last, a hair below what rounds to the printed 0.245.
    assert abs(ours / MB - printed) < (0.0006 if name == "64x8, m = 90" else 0.0005)


def test_storage_by_hand():
    layer = CompositionalCodeEmbedding(3000, 90, 8, 64)
    layer.build()
    form = layer.to_form()
    names = {array.name: array.total_bits for array in form.storage()}
    assert names == {"codes": 3000 * 64 * 3, "codebook": 32 * 64 * 8 * 90}
    assert form.paper_bits == sum(names.values())


def test_codes_of_a_large_vocabulary_are_read_in_chunks():
    layer = CompositionalCodeEmbedding(9000, 2, 4, 2)  # more than a chunk
    layer.build()
    codes, ids = layer.codes(), np.array([0, 8191, 8192, 8999])
    assert codes.shape == (9000, 2) and codes.dtype == np.int32
    books = layer.codebooks.numpy()
    expected = [books[0, codes[i, 0]] + books[1, codes[i, 1]] for i in ids]
    np.testing.assert_array_equal(layer(ids), expected)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("straight_through", [False, True])
def test_learns_which_words_belong_together(straight_through):
    keras.utils.set_random_seed(0)
    ids = np.random.default_rng(0).integers(0, 30, (600, 8)).astype(np.int32)
    # Words 0-9, 10-19 and 20-29 are alike; a text is labelled by the kind it has most of.
    labels = np.array([np.bincount(row // 10, minlength=3).argmax() for row in ids])
    embedding = CompositionalCodeEmbedding(30, 8, 4, 4, straight_through=straight_through, seed=1)
    model = keras.Sequential([keras.Input((8,), dtype="int32"), embedding])
    model.add(keras.layers.GlobalAveragePooling1D())
    model.add(keras.layers.Dense(3, activation="softmax"))
    model.compile(
        LazyAdam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False
    )
    model.fit(ids, labels, epochs=25, batch_size=50, verbose=0)
    assert model.evaluate(ids, labels, verbose=0)[1] > 0.85  # chance is 0.33; hard codes


def test_a_step_makes_nothing_of_the_vocabularys_size():
    layer = CompositionalCodeEmbedding(50_000, 6, 4, 3)
    layer.build()
    step = tf.function(lambda ids: layer(ids, training=True), autograph=False)
    traced = step.get_concrete_function(tf.TensorSpec((2, 3), tf.int32))
    assert not tensors_with_rows(traced, 50_000)


@pytest.mark.parametrize(
    "argument, message",
    [
        ({"cardinality": 1}, r"`cardinality` must be an integer in \[2, 65536\]"),
        ({"code_length": 0}, "`code_length` must be an integer >= 1"),
        ({"table_dim": 0}, "`table_dim` must be an integer >= 1"),
        ({"hidden_dim": 2.5}, "`hidden_dim` must be an integer >= 1"),
        ({"temperature": 0}, "`temperature` must be a finite number > 0"),
        ({"noise_scale": -0.1}, "`noise_scale` must be a finite number >= 0"),
        ({"straight_through": 1}, "`straight_through` must be True or False"),
        ({"inference": "fuzzy"}, "`inference` must be one of 'hard', 'soft'"),
        ({"seed": "a"}, "`seed` must be"),
        ({"table": "free"}, "`table` must be one of 'fixed'"),
        ({"table": np.zeros((3, 2))}, r"`table` must be a matrix of input_dim=20 rows.*\(3, 2\)"),
        ({"table": np.zeros(20)}, "`table` must be a matrix of input_dim=20 rows"),
        ({"table": np.full((20, 2), np.nan)}, "`table` must hold finite numbers only"),
        ({"table": np.zeros((20, 2)), "table_dim": 3}, "`table_dim` must be the table's width 2"),
    ],
)
def test_rejects(argument, message):
    with pytest.raises(ValueError, match=message):
        CompositionalCodeEmbedding(**{**CompositionalCodeEmbedding.EXAMPLE, **argument})
