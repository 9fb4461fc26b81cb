"""DPQ against its formulas, token by token in NumPy, for both methods."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding
from graphs import tensors_with_rows
from kerascompact.layers import DPQEmbedding
from kerascompact.optimizers import LazyAdam
from kerascompact.training import GeometricDecay, TemperatureAnnealing

V, D, K, WIDTH = 20, 3, 4, 2  # WIDTH of a piece
IDS = np.array([[4, 9, 4, 4], [0, 9, 19, 7]])
# float32 against float64, sums of at most K * D terms around 1
CLOSE = dict(rtol=1e-5, atol=1e-5)
CASES = list(itertools.product(("sx", "vq"), (False, True), (False, True)))


def some_cases(kept):
    """All cases, of which some are in the short suite."""
    marked = [
        case if case in kept else pytest.param(*case, marks=pytest.mark.slow) for case in CASES
    ]
    return pytest.mark.parametrize("method, batch_norm, shared_codebook", marked)


# every value of each with every value of every other
pairs = pytest.mark.parametrize(
    "method, batch_norm, shared_codebook",
    [("sx", False, True), ("sx", True, False), ("vq", False, False), ("vq", True, True)],
)


def built(**overrides):
    layer = DPQEmbedding(V, D * WIDTH, K, D, **overrides)
    layer(np.array([0]))
    random = np.random.default_rng(0)
    for weight in layer.weights:
        if "variance" in weight.path:
            weight.assign(random.uniform(0.5, 2, weight.shape))
        elif "temperature" not in weight.path:
            weight.assign(random.normal(size=weight.shape))
    return layer


def weights_of(layer):
    """Queries (V, D, w), keys and values (D, K, w), in float64."""
    queries = layer.queries.numpy().astype(float).reshape(V, D, WIDTH)
    both = [weight.numpy().astype(float) for weight in (layer.keys, layer.codebooks)]
    if layer.shared_codebook:
        both = [np.stack([one] * D) for one in both]
    return queries, *both


def similarities(layer, words):
    """`a` of a list of words, before normalization: one piece and one key at a time."""
    queries, keys, _ = weights_of(layer)
    found = np.empty((len(words), D, K))
    for n, j, k in np.ndindex(*found.shape):
        query, key = queries[words[n], j], keys[j, k]
        found[n, j, k] = query @ key if layer.method == "sx" else -((query - key) ** 2).sum()
    return found


def over_tokens(a, axis=0):
    """Batch normalization over tokens, for each key; `axis=(0, 1)`: over positions as well."""
    return (a - a.mean(axis)) / np.sqrt(a.var(axis) + 1e-3)


def put_together(values, codes):
    return np.array([np.concatenate([values[j, c[j]] for j in range(D)]) for c in codes])


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["sx", "vq"])
def test_keeps_the_embedding_contract(method, monkeypatch):
    monkeypatch.setattr(DPQEmbedding, "EXAMPLE", {**DPQEmbedding.EXAMPLE, "method": method})
    check_embedding(DPQEmbedding, xla=False, file=False)  # compiled below; test_reverse converts


@some_cases([("sx", False, False), ("vq", True, True)])
def test_inference_puts_the_chosen_rows_side_by_side(method, batch_norm, shared_codebook):
    layer = built(method=method, batch_norm=batch_norm, shared_codebook=shared_codebook)
    a = similarities(layer, range(V))
    if batch_norm:
        mean, variance = (w.numpy() for w in (layer.norm.moving_mean, layer.norm.moving_variance))
        a = (a - mean) / np.sqrt(variance + 1e-3)
    codes = a.argmax(axis=-1)
    np.testing.assert_array_equal(layer.codes(), codes)
    table = put_together(weights_of(layer)[2], codes).astype(np.float32)
    np.testing.assert_array_equal(layer(IDS), table[IDS])
    np.testing.assert_array_equal(layer.to_form()(IDS), table[IDS])
    assert not layer.losses


@some_cases([("sx", True, False), ("vq", False, True)])
def test_training_chooses_by_the_batchs_tokens(method, batch_norm, shared_codebook):
    layer = built(method=method, batch_norm=batch_norm, shared_codebook=shared_codebook)
    tokens = IDS.ravel()
    queries, _, values = weights_of(layer)
    a = similarities(layer, tokens)
    before = [] if layer.norm is None else [weight.numpy() for weight in layer.norm.weights]
    codes = (over_tokens(a) if batch_norm else a).argmax(axis=-1)
    rows = put_together(values, codes)
    found = layer(IDS, training=True)
    np.testing.assert_array_equal(found, rows.reshape(*IDS.shape, -1).astype(np.float32))
    if batch_norm:
        moments = a.mean(axis=0), a.var(axis=0)
        for old, new, weight in zip(before, moments, layer.norm.weights, strict=True):
            np.testing.assert_allclose(weight.numpy(), 0.99 * old + 0.01 * new, **CLOSE)
    if method == "vq":
        distance = (rows - queries[tokens].reshape(len(tokens), -1)) ** 2
        np.testing.assert_allclose(layer.losses, [2 * distance.mean()], **CLOSE)
    else:
        assert not layer.losses


@pytest.mark.parametrize("method", ["sx", "vq"])
def test_pieces_may_share_their_moments_as_in_older_files(method):
    old = DPQEmbedding(V, D * WIDTH, K, D, method=method, batch_norm=True).get_config()
    del old["shared_norm"]
    layer = DPQEmbedding.from_config(old)
    layer(np.array([0]))
    assert layer.shared_norm and [weight.shape for weight in layer.norm.weights] == [(K,), (K,)]
    random = np.random.default_rng(0)
    for weight in layer.trainable_weights:
        weight.assign(random.normal(size=weight.shape))
    a = similarities(layer, IDS.ravel())
    codes = over_tokens(a, (0, 1)).argmax(axis=-1)
    assert (codes != over_tokens(a).argmax(axis=-1)).any()
    rows = put_together(weights_of(layer)[2], codes).astype(np.float32)
    np.testing.assert_array_equal(layer(IDS, training=True), rows.reshape(*IDS.shape, -1))
    np.testing.assert_allclose(layer.norm.moving_mean, 0.01 * a.mean(axis=(0, 1)), **CLOSE)


def gradients(layer, upstream, jit_compile=False):
    """Of `sum(upstream * E[IDS])` and the layer's own losses."""

    @tf.function(jit_compile=jit_compile, autograph=False)
    def run(ids):
        with tf.GradientTape() as tape:
            output = layer(ids, training=True)
            loss = tf.reduce_sum(upstream * output) + sum(layer.losses)
        weights = {"queries": layer.queries, "codebooks": layer.codebooks, "keys": layer.keys}
        found = tape.gradient(loss, {name: weight.value for name, weight in weights.items()})
        return output, {name: tf.convert_to_tensor(rows) for name, rows in found.items()}

    return run(tf.constant(IDS))


def upstream():
    return np.random.default_rng(2).normal(size=(*IDS.shape, D * WIDTH)).astype(np.float32)


@pytest.mark.parametrize("shared_codebook", [False, True])
def test_gradients_of_sx_are_those_of_the_softmax(shared_codebook):
    layer = built(batch_norm=False, shared_codebook=shared_codebook, temperature=0.7)
    queries, keys, values = weights_of(layer)
    tokens, of_rows = IDS.ravel(), upstream().reshape(-1, D, WIDTH)
    expected = {"queries": np.zeros((V, D, WIDTH))}
    expected |= {name: np.zeros((D, K, WIDTH)) for name in ("keys", "codebooks")}
    a = similarities(layer, tokens)
    for n, j in np.ndindex(len(tokens), D):
        p = np.exp(a[n, j] / 0.7) / np.exp(a[n, j] / 0.7).sum()
        of_choice = values[j] @ of_rows[n, j]
        of_a = p * (of_choice - p @ of_choice) / 0.7
        expected["queries"][tokens[n], j] += of_a @ keys[j]
        expected["keys"][j] += np.outer(of_a, queries[tokens[n], j])
        expected["codebooks"][j, a[n, j].argmax()] += of_rows[n, j]
    _check(gradients(layer, upstream())[1], expected, shared_codebook)


@pytest.mark.parametrize("shared_codebook", [False, True])
def test_gradients_of_vq_pass_to_the_query_and_rows_follow_their_queries(shared_codebook):
    layer = built(method="vq", shared_codebook=shared_codebook, commitment_weight=0.25)
    queries, _, values = weights_of(layer)
    tokens, of_rows = IDS.ravel(), upstream().reshape(-1, D, WIDTH)
    expected = {"queries": np.zeros((V, D, WIDTH)), "codebooks": np.zeros((D, K, WIDTH))}
    each = 2 / (len(tokens) * D * WIDTH)  # of a mean of squares
    codes = similarities(layer, tokens).argmax(axis=-1)
    for n, j in np.ndindex(len(tokens), D):
        gap = queries[tokens[n], j] - values[j, codes[n, j]]
        expected["queries"][tokens[n], j] += of_rows[n, j] + 0.25 * each * gap
        expected["codebooks"][j, codes[n, j]] -= each * gap
    found = gradients(layer, upstream())[1]
    np.testing.assert_array_equal(found.pop("keys"), found["codebooks"])  # they are one weight
    _check(found, expected, shared_codebook)


def _check(found, expected, shared_codebook):
    assert set(found) == set(expected)
    for name, gradient in expected.items():
        if name == "queries":
            gradient = gradient.reshape(V, -1)
        elif shared_codebook:
            gradient = gradient.sum(axis=0)
        np.testing.assert_allclose(found[name], gradient, err_msg=name, **CLOSE)


@some_cases([("vq", True, True)])
def test_compiled_training_is_the_same(method, batch_norm, shared_codebook):
    """XLA pads the batch's unique ids; neither moments nor losses may see the padding."""
    results = []
    for jit_compile in (False, True):
        layer = built(method=method, batch_norm=batch_norm, shared_codebook=shared_codebook)
        output, found = gradients(layer, upstream(), jit_compile)
        moments = [] if layer.norm is None else [weight.numpy() for weight in layer.norm.weights]
        results.append([output, *found.values(), *moments])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, **CLOSE)


def test_codes_of_a_large_vocabulary_are_read_in_chunks():
    layer = DPQEmbedding(9000, 4, 4, 2)  # more than a chunk
    every = layer(np.arange(9000)).numpy()
    codes = layer.codes()
    assert codes.shape == (9000, 2) and codes.dtype == np.int32
    pieces = [values[codes[:, j]] for j, values in enumerate(layer.codebooks.numpy())]
    np.testing.assert_array_equal(every, np.concatenate(pieces, axis=1))


@pytest.mark.parametrize("shared_codebook", [False, True])
def test_storage_by_hand(shared_codebook):
    layer = DPQEmbedding(1000, 60, 50, 12, shared_codebook=shared_codebook)
    layer.build()
    form = layer.to_form()
    rows = 50 * (1 if shared_codebook else 12)
    names = {array.name: array.total_bits for array in form.storage()}
    assert names == {"codes": 1000 * 12 * 6, "codebook": 32 * rows * 5}
    assert form.paper_bits == 1000 * 12 * 6 + 32 * 50 * 60 // (12 if shared_codebook else 1)


def test_temperature_belongs_to_sx():
    assert float(built(temperature=0.3).current_temperature.numpy()) == pytest.approx(0.3)
    assert not hasattr(built(method="vq"), "current_temperature")
    model = keras.Sequential([keras.Input((4,), dtype="int32"), DPQEmbedding(V, 6, K, D)])
    model.compile("sgd", "mse", run_eagerly=True)
    annealing = TemperatureAnnealing(GeometricDecay(1, 0.25, steps=1))
    model.fit(IDS, np.zeros((2, 4, 6)), batch_size=1, callbacks=[annealing], verbose=0)
    assert float(model.layers[0].current_temperature.numpy()) == 0.25


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("method", ["sx", "vq"])
def test_learns_which_words_belong_together(method):
    keras.utils.set_random_seed(0)
    ids = np.random.default_rng(0).integers(0, 30, (600, 8)).astype(np.int32)
    # Words 0-9, 10-19 and 20-29 are alike; a text is labelled by the kind it has most of.
    labels = np.array([np.bincount(row // 10, minlength=3).argmax() for row in ids])
    embedding = DPQEmbedding(30, 8, 4, 4, method=method)
    model = keras.Sequential([keras.Input((8,), dtype="int32"), embedding])
    model.add(keras.layers.GlobalAveragePooling1D())
    model.add(keras.layers.Dense(3, activation="softmax"))
    model.compile(
        LazyAdam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False
    )
    model.fit(ids, labels, epochs=25, batch_size=50, verbose=0)
    assert model.evaluate(ids, labels, verbose=0)[1] > 0.9  # chance is 0.33; codes, no softmax


def test_a_step_makes_nothing_of_the_vocabularys_size():
    for method in ("sx", "vq"):
        layer = DPQEmbedding(50_000, 6, 4, 3, method=method)
        layer.build()
        step = tf.function(lambda ids, layer=layer: layer(ids, training=True), autograph=False)
        traced = step.get_concrete_function(tf.TensorSpec((2, 3), tf.int32))
        assert not tensors_with_rows(traced, 50_000)


@pytest.mark.parametrize(
    "argument, message",
    [
        ({"cardinality": 1}, r"`cardinality` must be an integer in \[2, 65536\]"),
        ({"cardinality": 2.0}, "`cardinality` must be an integer"),
        ({"code_length": 0}, r"`code_length` must be an integer in \[1, 6\]"),
        ({"code_length": 7}, r"`code_length` must be an integer in \[1, 6\]"),
        ({"code_length": 4}, "`code_length` must be a divisor of output_dim=6"),
        ({"method": "pq"}, "`method` must be one of 'sx', 'vq'"),
        ({"batch_norm": 1}, "`batch_norm` must be True or False"),
        ({"shared_norm": 1}, "`shared_norm` must be True or False"),
        ({"shared_codebook": "yes"}, "`shared_codebook` must be True or False"),
        ({"temperature": 0}, "`temperature` must be a finite number > 0"),
        ({"commitment_weight": -0.1}, "`commitment_weight` must be a finite number >= 0"),
    ],
)
def test_rejects(argument, message):
    with pytest.raises(ValueError, match=message):
        DPQEmbedding(**{**DPQEmbedding.EXAMPLE, **argument})
