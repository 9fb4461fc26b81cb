"""Every embedding in reverse: logits, their gradients, training, files, frozen and on a phone."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import optimizer
from kerascompact import export, layers, tools
from kerascompact.core.storage import total_bits
from kerascompact.forms import Form
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.optimizers import LazyAdam
from kerascompact.training import SparseSoftmaxCrossEntropy

EMBEDDINGS = [
    cls
    for cls in (getattr(layers, name) for name in layers.__all__)
    if isinstance(cls, type) and issubclass(cls, CompactEmbedding)
]
MORE = {  # other paths than the examples take
    "cluster_wide": lambda: layers.ClusterEmbedding(20, 4, 9),
    "dpq_vq": lambda: layers.DPQEmbedding(**{**layers.DPQEmbedding.EXAMPLE, "method": "vq"}),
    "kd_fixed": lambda: layers.KDCodeEmbedding(20, 4, 4, 3, codes="random", seed=0),
    "kd_normed": lambda: layers.KDCodeEmbedding(
        20, 4, 4, 3, hidden_dim=5, logits_batch_norm=True, batch_norm=True
    ),
    "kd_lstm": lambda: layers.KDCodeEmbedding(20, 4, 4, 3, composition="lstm"),
    "quantized_table": lambda: layers.QuantizedEmbedding(20, 4, 3, scale="table"),
}
# A divergence of a few words, weighed as in a text, would be most of the loss.
LIGHT = {"kl_weight": 1e-6}


def example(cls):
    light = {name: value for name, value in LIGHT.items() if name in cls.EXAMPLE}
    return cls(**{**cls.EXAMPLE, **light})


MAKERS = {cls.__name__: (lambda cls=cls: example(cls)) for cls in EMBEDDINGS} | MORE
each = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
# XLA compiles for seconds; these have every operation that the others have.
COMPILED = ("ClusterEmbedding", "KDCodeEmbedding", "QuantizedEmbedding", "dpq_vq")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Three chunks of 7 words, the last of which repeats the last word."""
    monkeypatch.setattr(CompactEmbedding, "LOGITS_CHUNK", 7)


def built(make):
    """An embedding whose weights no initializer draws."""
    layer = make()
    layer(np.array([0]))
    random = np.random.default_rng(1)
    for weight in layer.trainable_weights:
        weight.assign(random.normal(size=weight.shape))
    if isinstance(layer, layers.QuantizedEmbedding):
        layer.reset_limit()
    return layer


def hidden(layer, *shape, seed=2):
    return np.random.default_rng(seed).normal(size=(*shape, layer.output_dim)).astype("float32")


@pytest.mark.few(6)
@each
def test_multiplies_vectors_with_what_ids_look_up(make):
    layer = built(make)
    table = layer(np.arange(layer.input_dim)).numpy()
    for shape, training in (((2, 3), True), ((2, 3), False), ((4,), True), ((), False), ((0,), 1)):
        vectors = hidden(layer, *shape)
        found = layer(vectors, training=bool(training), reverse=True)
        assert found.shape == (*shape, layer.input_dim) and found.dtype == tf.float32
        np.testing.assert_allclose(found, vectors @ table.T, atol=1e-5)  # float32 sums


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "jit_compile"), [(m, False) for m in MAKERS] + [(m, True) for m in COMPILED]
)
def test_gradients_are_those_of_the_product_with_the_whole_table(name, jit_compile):
    layer = built(MAKERS[name])
    vectors, every = tf.constant(hidden(layer, 2, 3)), tf.range(layer.input_dim)
    upstream = tf.constant(np.random.default_rng(3).normal(size=(2, 3, layer.input_dim)), "float32")
    weights = [weight.value for weight in layer.trainable_weights]

    def gradients(logits_of):
        with tf.GradientTape() as tape:
            tape.watch(vectors)
            logits = logits_of(vectors)
        unconnected = tf.UnconnectedGradients.ZERO
        return tape.gradient(logits, [vectors, *weights], upstream, unconnected)

    def ours():
        return gradients(lambda h: layer(h, training=True, reverse=True))

    ours = tf.function(ours, jit_compile=jit_compile, autograph=False)
    plain = gradients(lambda h: tf.matmul(h, layer.output_rows(every), transpose_b=True))
    compiled = ours()
    with tf.GradientTape() as tape:  # what learns from the layer's own loss, or as it looks up
        loss = tf.reduce_sum(layer(every, training=True) ** 2) + sum(layer.losses)
    looked_up = tape.gradient(loss, [vectors, *weights], unconnected_gradients="zero")
    for found, expected, other in zip(compiled, plain, looked_up, strict=True):
        expected = tf.convert_to_tensor(expected)
        assert np.any(expected) or np.any(tf.convert_to_tensor(other))
        scale = max(1.0, float(tf.reduce_max(tf.abs(expected))))
        # float32 sums of up to 20 words, in another order, and XLA's softmax
        np.testing.assert_allclose(found, expected, atol=2e-5 * scale)


def language_model(layer, states=keras.layers.Dense, **options):
    ids = keras.Input((None,), dtype="int32", name="ids")
    if states is not keras.layers.Dense:
        options["return_sequences"] = True
    hidden = states(layer.output_dim, name="states", **options)(layer(ids))
    return keras.Model(ids, layer(hidden, reverse=True))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "jit_compile"),
    [("KDCodeEmbedding", False), ("AnchorTransformEmbedding", False), ("dpq_vq", True)],
)
def test_trains(name, jit_compile):
    """One of each: by codes, by a proximal step, by XLA. Gradients are tested above for all."""
    layer = MAKERS[name]()
    model = language_model(layer)
    adam = optimizer(type(layer), LazyAdam(0.1))
    how = {"jit_compile": jit_compile, "run_eagerly": not jit_compile}
    model.compile(adam, SparseSoftmaxCrossEntropy(), **how)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    ids = np.random.default_rng(0).integers(0, 5, (16, 6))
    before = [weight.numpy() for weight in layer.trainable_weights]
    loss, labels = SparseSoftmaxCrossEntropy(), (ids + 1) % 5
    first = loss(labels, model(ids))
    for _ in range(4):
        model.train_on_batch(ids, labels)
    assert loss(labels, model(ids)) < 0.9 * first
    for old, weight in zip(before, layer.trainable_weights, strict=True):
        assert np.any(old != weight.numpy()), f"{weight.path} does not move"


@pytest.mark.few(3)
@each
def test_computes_in_mixed_precision(make):
    config = make().get_config()
    layer = type(make()).from_config({**config, "dtype": "mixed_float16"})
    logits = language_model(layer)(np.ones((2, 3), "int32"))
    assert logits.dtype == "float32" and np.isfinite(logits).all()
    vectors = layer(np.arange(layer.input_dim))
    assert vectors.dtype == "float16"
    h = hidden(layer, 3).astype("float16")
    # 2**-11 of each of some eight products, summed
    table = vectors.numpy().astype("float32")
    np.testing.assert_allclose(layer(h, reverse=True), h @ table.T, atol=1e-2)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["ClusterEmbedding", "AnchorTransformEmbedding"])
def test_trains_with_a_scaled_loss(name):
    layer = type(MAKERS[name]())(**MAKERS[name]().get_config() | {"dtype": "mixed_float16"})
    model = language_model(layer)
    inner = optimizer(type(layer), keras.optimizers.SGD(0.1))
    model.compile(keras.mixed_precision.LossScaleOptimizer(inner), "mse", run_eagerly=True)
    loss = model.train_on_batch(np.ones((2, 3), "int32"), np.zeros((2, 3, layer.input_dim)))
    assert np.isfinite(loss).all()


@pytest.mark.few(2)
@each
def test_is_one_layer_in_files_clones_and_frozen_models(make, tmp_path):
    layer = built(make)
    model, ids = language_model(layer), np.array([[1, 2, 3], [4, 5, 0]])
    expected = model(ids)
    model.save(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    for copy in (keras.models.load_model(tmp_path / "model.keras"), clone):
        assert len([each for each in copy.layers if isinstance(each, CompactEmbedding)]) == 1
        np.testing.assert_array_equal(copy(ids), expected)
    frozen = export.freeze(model, "float32").model
    assert len([each for each in frozen.layers if isinstance(each, Form)]) == 1
    np.testing.assert_allclose(frozen(ids), expected, atol=1e-5)
    frozen.save(tmp_path / "frozen.keras")
    loaded = keras.models.load_model(tmp_path / "frozen.keras")
    np.testing.assert_array_equal(loaded(ids), frozen(ids))


# In the short suite, codes; `tests/forms` and `tests/export` convert each form.
@pytest.mark.parametrize(
    "make",
    [
        make if name == "DPQEmbedding" else pytest.param(make, marks=pytest.mark.slow)
        for name, make in MAKERS.items()
    ],
    ids=MAKERS,
)
def test_converts_to_built_in_operators_and_predicts_the_same(make):
    layer = built(make)
    recurrent = isinstance(layer, layers.ClusterEmbedding)
    model = language_model(layer, keras.layers.LSTM if recurrent else keras.layers.Dense)
    ids = np.random.default_rng(0).integers(0, 20, (8, 4))
    file = export.convert(model, "int8_tables")
    assert export.verify(model, file, ids, tolerance=1e-5).agreement == 1.0
    assert not tools.inspect(file).custom


@pytest.mark.slow  # `test_a_model_that_calls_it_both_ways_holds_it_once` holds it of a form
@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.ClusterEmbedding(6000, 8, 50),
        lambda: layers.MixtureEmbedding(6000, 8, 50, num_unique=100),
        lambda: layers.LowRankEmbedding(6000, 32, 4),
        lambda: layers.QuantizedEmbedding(6000, 16, 3),
        lambda: layers.KDCodeEmbedding(6000, 24, 16, 8, codes="random", hidden_dim=24),
        lambda: layers.DPQEmbedding(6000, 24, 16, 8),
    ],
)
def test_a_file_stores_the_table_once_and_packed(make, recipe="int8_tables"):
    model = language_model(built(make))
    form = next(
        layer for layer in export.freeze(model, recipe).model.layers if isinstance(layer, Form)
    )
    states = 4 * next(layer for layer in model.layers if layer.name == "states").count_params()
    # operators of two looks into the table, in three parts, and a Dense layer
    data = export.convert(model, recipe, names=False)
    assert len(data) < total_bits(form.storage()) / 8 + states + 20_000


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "make",
    [lambda: layers.SelectedEmbedding(300, 16, 299), lambda: layers.ClusterEmbedding(300, 16, 40)],
)
def test_integers_between_layers_leave_the_ids_of_the_words_alone(make):
    """In full_int8, an unknown 0 was 1: words had each other's logits, or were out of range."""
    random, ids = np.random.default_rng(0), keras.Input((6,), dtype="int32")
    embedding = make()
    hidden = keras.layers.Dense(16)(keras.layers.GlobalAveragePooling1D()(embedding(ids)))
    model = keras.Model(ids, embedding(hidden, reverse=True))
    for weight in model.trainable_weights:
        weight.assign(random.normal(size=weight.shape))
    rows = random.integers(0, 300, (20, 6)).astype("int32")
    file = export.convert(model, "full_int8", representative=rows)
    report = export.verify(model, file, rows, min_agreement=0.9)
    # 8 bits of hidden vector and logits; another word's logits would differ by twice their range
    assert report.largest_difference < 0.15 * np.abs(model(rows)).max()


@pytest.mark.slow
def test_a_subclassed_model_is_lent_its_forms_both_ways():
    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = layers.ClusterEmbedding(20, 4, 5)
            self.lstm = keras.layers.LSTM(4, return_sequences=True)

        def call(self, ids, training=None):
            states = self.lstm(self.embedding(ids, training=training))
            return self.embedding(states, reverse=True)

    model, ids = Subclassed(), np.random.default_rng(0).integers(0, 20, (4, 3))
    model(ids)
    file = export.convert(model, sequence_length=3)
    assert export.verify(model, file, ids, tolerance=1e-5).agreement == 1.0


def test_masks_of_the_vectors_reach_the_loss():
    layer = layers.ClusterEmbedding(20, 4, 5, mask_zero=True)
    model = language_model(layer, keras.layers.SimpleRNN)
    ids, labels = np.array([[1, 2, 0], [3, 0, 0]]), np.array([[2, 3, 5], [4, 5, 5]])
    model.compile(loss=SparseSoftmaxCrossEntropy(), run_eagerly=True)
    kept = SparseSoftmaxCrossEntropy()(labels[ids > 0], model(ids).numpy()[ids > 0])
    np.testing.assert_allclose(model.evaluate(ids, labels, verbose=0), kept, rtol=1e-5)


@pytest.mark.skipif(not hasattr(keras.layers, "ReversibleEmbedding"), reason="since Keras 3.13")
def test_the_stock_reversible_embedding_ships_as_a_form_too():
    layer = keras.layers.ReversibleEmbedding(20, 4, name="words")
    model, ids = language_model(layer), np.random.default_rng(0).integers(0, 20, (4, 3))
    frozen = export.freeze(model, "float32").model
    assert [type(each).__name__ for each in frozen.layers].count("DenseForm") == 1
    np.testing.assert_allclose(frozen(ids), model(ids), atol=1e-6)
    file = export.convert(model, "int8_tables")
    assert export.verify(model, file, ids, tolerance=1e-5).agreement == 1.0
    capped = language_model(keras.layers.ReversibleEmbedding(20, 4, logit_soft_cap=2.0))
    kinds = [type(each).__name__ for each in export.freeze(capped, "float32").model.layers]
    assert kinds.count("ReversibleForm") == 1
