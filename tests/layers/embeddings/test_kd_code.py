import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding
from kerascompact.core.storage import total_bits
from kerascompact.layers import KDCodeEmbedding, OnlineGuidance, PretrainedGuidance
from kerascompact.layers.embeddings.fixed_codes import OF_LOGITS
from kerascompact.optimizers import LazyAdam
from kerascompact.training import GeometricDecay, TemperatureAnnealing, soft_copy

V, K, D, WIDTH = 20, 4, 3, 4
CLOSE = dict(rtol=1e-5, atol=1e-6)  # float32 sums of a few terms, in another order


def example(**overrides):
    return KDCodeEmbedding(**{**KDCodeEmbedding.EXAMPLE, **overrides})


def built(**overrides):
    """A layer whose weights no initializer draws."""
    layer = example(**overrides)
    layer(np.array([0]))
    random = np.random.default_rng(1)
    for weight in layer.weights:
        if "variance" in weight.path:
            weight.assign(random.uniform(0.5, 2, weight.shape))
        elif weight.dtype == "float32" and "temperature" not in weight.path:
            weight.assign(random.normal(size=weight.shape))
    return layer


def numpy_of(layer):
    return {weight.path.split("/", 1)[1]: weight.numpy() for weight in layer.weights}


def normalized(x, weights, name):
    parts = (weights[f"{name}/{part}"] for part in ("gamma", "beta", "moving_mean"))
    gamma, beta, mean = parts
    return gamma * (x - mean) / np.sqrt(weights[f"{name}/moving_variance"] + 1e-3) + beta


def composed(layer, codes):
    """Section 2.3 in NumPy, word by word."""
    weights, config = numpy_of(layer), layer.get_config()
    books = weights["composition/codebooks"]
    books = np.stack([books] * config["code_length"]) if books.ndim == 2 else books
    vectors = []
    for code in codes:
        letters = [books[j][k] for j, k in enumerate(code)]
        v = np.sum(letters, axis=0)
        if config["composition"] == "mean":
            v = v / len(code)
        if config["composition"] == "lstm":
            v = lstm(letters, *(weights[f"composition/lstm/lstm_cell/{n}"] for n in LSTM)).sum(
                axis=0
            )
        if config["batch_norm"]:
            v = normalized(v, weights, "composition/norm_0")
        if config["hidden_dim"]:
            v = v @ weights["composition/hidden/kernel"] + weights["composition/hidden/bias"]
            if config["batch_norm"]:
                v = normalized(v, weights, "composition/norm_1")
        vectors.append(v)
    return np.array(vectors)


LSTM = ("kernel", "recurrent_kernel", "bias")


def lstm(x, kernel, recurrent, bias):
    """Appendix of the paper; Keras' gate order i, f, g, o."""
    h = c = np.zeros(recurrent.shape[0])
    outputs = []
    for step in x:
        i, f, g, o = np.split(step @ kernel + h @ recurrent + bias, 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
        outputs.append(h)
    return np.array(outputs)


def test_keeps_the_embedding_contract():
    check_embedding(KDCodeEmbedding, file=False)  # codes as those of DPQ


OPTIONS = [
    {},
    {"composition": "mean", "hidden_dim": 5, "batch_norm": True, "logits_batch_norm": True},
    {"batch_norm": True},
    {"hidden_dim": 6},
    {"shared_codebook": True, "batch_norm": True},
    {"composition": "lstm"},
    {"composition": "lstm", "hidden_dim": 3, "batch_norm": True},
    {"composition": "lstm", "batch_norm": True, "shared_codebook": True},
    {"codes": "random", "seed": 3, "hidden_dim": 6},
]


@pytest.mark.few(2)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_inference_and_the_stored_form_are_the_papers_formula(options):
    layer, every = built(**options), np.arange(V)
    if layer.learned:
        pi = layer.logit_scale * numpy_of(layer)["logits"].reshape(V, D, K)
        if options.get("logits_batch_norm"):
            pi = normalized(pi, numpy_of(layer), "logits_norm")
        codes = pi.argmax(axis=-1)
    else:
        codes = layer.fixed_codes.numpy()
    np.testing.assert_array_equal(layer.codes(), codes)
    expected = composed(layer, codes)
    np.testing.assert_allclose(layer(every), expected, **CLOSE)
    form = layer.to_form()
    np.testing.assert_allclose(form(every), expected, rtol=1e-4, atol=1e-5)  # folded in float32
    assert form.paper_bits == V * D * 2 + 32 * layer.composition.num_parameters()


def test_training_sees_the_vectors_that_ship_and_learns_by_the_softmax():
    layer, ids, tau = built(temperature=0.7), np.array([[4, 4], [9, 1]]), 0.7
    with tf.GradientTape() as tape:
        vectors = layer(ids, training=True)
        loss = tf.reduce_sum(vectors * np.arange(WIDTH))
    np.testing.assert_allclose(vectors, layer(ids), **CLOSE)
    gradient = tape.gradient(loss, layer.logits.value)
    assert isinstance(gradient, tf.IndexedSlices)
    assert sorted(gradient.indices.numpy()) == [1, 4, 9]
    # by hand: dL/dpi = o^ (a - sum(o^ a)) / tau, a_jk = W^j[k] . (0, 1, 2, 3), times n_i, scale 10
    pi = 10.0 * layer.logits.numpy().reshape(V, D, K)
    a = layer.composition.codebooks.numpy() @ np.arange(WIDTH)
    for row, id in zip(gradient.values.numpy(), gradient.indices.numpy(), strict=True):
        o = np.exp((pi[id] - pi[id].max(axis=-1, keepdims=True)) / tau)
        o /= o.sum(axis=-1, keepdims=True)
        expected = (2 if id == 4 else 1) * 10 * o * (a - (o * a).sum(axis=-1, keepdims=True)) / tau
        np.testing.assert_allclose(row.reshape(D, K), expected, rtol=1e-4, atol=1e-5)


def test_relaxed_codes_are_what_soft_inference_shows():
    layer = built(straight_through=False, inference="soft", temperature=0.5, logit_scale=1.0)
    pi = layer.logits.numpy().reshape(V, D, K) / 0.5
    o = np.exp(pi) / np.exp(pi).sum(axis=-1, keepdims=True)
    expected = np.einsum("njk,jkd->nd", o, layer.composition.codebooks.numpy())
    for training in (True, False):
        np.testing.assert_allclose(layer(np.arange(V), training=training), expected, **CLOSE)
    hard = keras.Sequential([keras.Input((2,), dtype="int32"), built()])
    assert soft_copy(hard).layers[0].inference == "soft"


def test_entropy_is_added_to_the_loss_and_sharpens_the_codes():
    layer = built(entropy_weight=2.0, logit_scale=1.0)
    layer(np.array([3, 3, 5]), training=True)
    pi = layer.logits.numpy().reshape(V, D, K)
    o = np.exp(pi) / np.exp(pi).sum(axis=-1, keepdims=True)
    entropy = -(o * np.log(o)).sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(layer.losses[0], 2 * (2 * entropy[3] + entropy[5]) / 3, rtol=1e-5)
    layer(np.array([3]), training=False)
    assert not layer.losses


def test_a_row_and_a_column_are_lightrnn():
    """K = sqrt(V), D = 2: a table of words whose rows and columns have vectors."""
    table = np.stack(np.divmod(np.arange(25), 5), axis=1)
    layer = KDCodeEmbedding(25, WIDTH, cardinality=5, code_length=2, codes=table)
    rows, columns = (layer(np.array([0])), layer.composition.codebooks.numpy())[1]
    expected = (rows[:, None] + columns[None]).reshape(25, WIDTH)
    np.testing.assert_allclose(layer(np.arange(25)), expected, **CLOSE)
    assert len({tuple(code) for code in layer.codes()}) == 25
    assert total_bits(layer.to_form().storage()) == 25 * 2 * 3 + 32 * 2 * 5 * WIDTH


def test_one_letter_is_a_cluster():
    layer = built(code_length=1)
    expected = layer.composition.codebooks.numpy()[0][layer.codes()[:, 0]]
    np.testing.assert_array_equal(layer(np.arange(V)), expected)
    assert layer.paper_bits() == V * 2 + 32 * K * WIDTH


@pytest.mark.parametrize(
    ("width", "hidden", "composition", "millions"),
    # Tables 1 and 2: one batch norm over d' = d = 300; PTB small, medium, large through H
    [
        (300, None, "sum", 0.308),
        (200, 300, "mean", 0.37),
        (650, 300, "mean", 0.50),
        (1500, 300, "mean", 0.76),
    ],
)
def test_embedding_parameters_are_those_of_the_paper(width, hidden, composition, millions):
    layer = KDCodeEmbedding(
        100, width, 32, 32, hidden_dim=hidden, composition=composition, batch_norm=True,
        codes="random",
    )  # fmt: skip
    layer.build()
    digits = 3 if millions == 0.308 else 2
    assert round(layer.composition.num_parameters() / 1e6, digits) == millions


def test_bits_are_those_of_the_paper():
    """Table 1: 13.39, 17.75 and 26.00 million bits for 10,000 words; Table 2: 0.021 G."""
    for width, millions in ((200, 13.39), (650, 17.75), (1500, 26.00)):
        options = dict(hidden_dim=300, batch_norm=True, codes="random", seed=0)  # no logits
        layer = KDCodeEmbedding(10_000, width, 32, 32, **options)
        layer.build()
        # the formula gives 25.994 for the large one
        assert abs(layer.paper_bits() / 1e6 - millions) <= 0.0065
    layer = KDCodeEmbedding(69_322, 300, 32, 32, batch_norm=True, codes="random", seed=0)
    layer.build()
    assert round(layer.paper_bits() / 1e9, 3) == 0.021


def test_codes_from_outside_stay(tmp_path):
    codes = np.random.default_rng(0).integers(0, K, (V, D))
    layer = built(codes=codes)
    np.testing.assert_array_equal(layer.codes(), codes)
    assert {weight.name for weight in layer.trainable_weights} == {"codebooks"}
    model = keras.Sequential([keras.Input((2,), dtype="int32"), layer])
    model.compile(LazyAdam(0.1), "mse", run_eagerly=True)
    model.train_on_batch(np.array([[1, 2]]), np.ones((1, 2, WIDTH)))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.layers[0].codes(), codes)
    np.testing.assert_array_equal(again(np.array([[1, 2]])), model(np.array([[1, 2]])))


def test_random_codes_come_from_the_seed():
    one, same, other = (built(codes="random", seed=seed).codes() for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.any(one != other) and one.max() == K - 1 and one.min() == 0


def test_temperature_can_be_annealed():
    layer = built()
    model = keras.Sequential([keras.Input((2,), dtype="int32"), layer])
    model.compile("sgd", "mse", run_eagerly=True)
    annealing = TemperatureAnnealing(GeometricDecay(1.0, 0.1, 1))
    model.fit(np.ones((2, 2), int), np.ones((2, 2, WIDTH)), 1, verbose=0, callbacks=[annealing])
    np.testing.assert_allclose(layer.current_temperature.numpy(), 0.1, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "bad", "expected"),
    [
        ("cardinality", 1, r"an integer in \[2, 65536\]"),
        ("code_length", 0, "an integer >= 1"),
        ("hidden_dim", 0, "an integer >= 1"),
        ("composition", "gru", "one of 'sum', 'mean', 'lstm'"),
        ("temperature", 0, "a finite number > 0"),
        ("entropy_weight", -1, r"a finite number >= 0\."),
        ("logit_scale", 0, "a finite number > 0"),
        ("inference", "st", "one of 'hard', 'soft'"),
        ("codes", "hash", "one of 'random', 'fixed'"),
        ("guidance", 3, "an OnlineGuidance"),
    ],
)
def test_rejects(name, bad, expected):
    with pytest.raises(ValueError, match=f"`{name}` must be {expected}"):
        example(**{name: bad})


@pytest.mark.parametrize(
    ("codes", "what"), [(np.full((V, D), K), r"in \[0, 4\)"), (np.zeros((V, 2), int), "shape")]
)
def test_rejects_codes_that_do_not_fit(codes, what):
    with pytest.raises(ValueError, match=f"`codes` must .*{what}"):
        built(codes=codes)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 0.5),
        ("straight_through", False),
        ("inference", "soft"),
        ("entropy_weight", 0.1),
        ("logits_batch_norm", True),
        ("logit_scale", 1.0),
        ("logits_initializer", "zeros"),
        ("logits_dtype", "bfloat16"),
    ],
)
def test_codes_that_are_given_refuse_what_they_would_ignore(name, value):
    """It was accepted, and training and result were those of the default, to the last bit."""
    for codes in ("random", "fixed", np.zeros((V, D), int)):
        with pytest.raises(
            ValueError, match=f"`{name}` must be left at .* where `codes` are given"
        ):
            example(codes=codes, **{name: value})
        parameter = inspect.signature(KDCodeEmbedding.__init__).parameters[name]
        assert parameter.default == OF_LOGITS[name]
        example(codes=codes, **{name: parameter.default})
    assert name in example().get_config() and name not in example(codes="random").get_config()


def test_codes_that_are_given_have_no_logits_to_guide_and_nothing_to_anneal():
    table = np.random.default_rng(0).normal(size=(V, WIDTH)).astype(np.float32)
    with pytest.raises(ValueError, match="`guidance` must have logits_weight=0 where `codes` are"):
        built(codes="random", guidance=PretrainedGuidance(table, logits_weight=10.0))
    layer = built(codes="random", seed=1, guidance=PretrainedGuidance(table, vectors_weight=2.0))
    table = layer.guidance.table.numpy()  # `built` has drawn it anew
    vectors = layer(np.array([3, 3, 5]), training=True).numpy()
    expected = 2 * np.mean((vectors - table[[3, 3, 5]]) ** 2)
    np.testing.assert_allclose(layer.losses, [expected], rtol=1e-5)  # float32 sums
    assert not hasattr(layer, "current_temperature")
    model = keras.Sequential([keras.Input((2,), dtype="int32"), built(codes="random")])
    soft = soft_copy(model)
    np.testing.assert_array_equal(soft(np.array([[1, 2]])), model(np.array([[1, 2]])))
    model.compile("sgd", "mse", jit_compile=False)
    with pytest.raises(
        ValueError, match="`TemperatureAnnealing` must be used with a model that has"
    ):
        model.fit(np.ones((4, 2)), np.ones((4, 2, WIDTH)), callbacks=[TemperatureAnnealing(float)])


@pytest.mark.parametrize(
    ("guidance", "jit_compile"),
    [
        pytest.param(OnlineGuidance(0.1, 0.5), True, marks=pytest.mark.slow),
        (PretrainedGuidance(np.ones((V, WIDTH))), False),
    ],
)
def test_trains_with_and_without_xla_and_survives_a_file(guidance, jit_compile, tmp_path):
    keras.utils.set_random_seed(0)
    guidance = type(guidance).from_config(guidance.get_config())
    layer = KDCodeEmbedding(
        **KDCodeEmbedding.EXAMPLE, guidance=guidance, logits_batch_norm=True, batch_norm=True
    )
    model = keras.Sequential([keras.Input((5,), dtype="int32"), layer, keras.layers.Flatten()])
    model.add(keras.layers.Dense(2))
    how = {"jit_compile": jit_compile, "run_eagerly": not jit_compile}
    model.compile(LazyAdam(0.1), "mse", **how)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    ids = np.random.default_rng(0).integers(0, V, (32, 5))
    target = np.stack([ids[:, 0] > 9, ids[:, 1] > 9], axis=1).astype(float)
    first = np.mean(np.square(model(ids) - target))
    for _ in range(5):
        model.train_on_batch(ids, target)
    assert np.mean(np.square(model(ids) - target)) < 0.8 * first
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(ids), model(ids))


@pytest.mark.slow  # `test_first_rows` holds it of the product
def test_gradients_under_xla_whose_product_ends_behind_the_last_unique_id_are_the_same():
    keras.utils.set_random_seed(0)
    sizes = {**KDCodeEmbedding.EXAMPLE, "hidden_dim": 3, "input_dim": 40}
    layer = KDCodeEmbedding(**sizes, batch_norm=True, entropy_weight=0.1)
    ids = tf.constant(np.random.default_rng(0).integers(0, 9, (4, 16)), tf.int32)
    layer(ids)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(layer(ids, training=True))) + tf.add_n(layer.losses)
        weights = [weight.value for weight in layer.trainable_weights]
        return loss, *map(tf.convert_to_tensor, tape.gradient(loss, weights))

    for plain, compiled in zip(
        step(), tf.function(step, jit_compile=True, autograph=False)(), strict=True
    ):
        np.testing.assert_allclose(compiled, plain, rtol=1e-4, atol=1e-5)
