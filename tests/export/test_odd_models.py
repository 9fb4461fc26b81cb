"""Models whose variables are not where a recipe looks for kernels and tables."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export
from kerascompact.layers import MaskedMean
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.constants import constants

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("recipe", ["float32", "int8", "dynamic"])
def test_a_graph_that_reads_the_variable_of_another_layer(recipe):
    """The converter wrote a file without a signature: it did not know the table."""
    ids = keras.Input((6,), dtype="int32")
    embedding = keras.layers.Embedding(50, 8)
    hidden = keras.layers.Dense(50)(keras.ops.mean(embedding(ids), 1))
    model = keras.Model(ids, keras.ops.matmul(hidden, embedding.embeddings))
    file = export.convert(model, recipe)
    found = export.verify(model, file, RANDOM.integers(0, 50, (9, 6)))
    assert found.file_bytes == len(file) < 8000


@pytest.mark.parametrize("recipe", ["int8", "dynamic"])
def test_statistics_of_data_are_no_kernels(recipe, tmp_path):
    """Small variances became 0, and a loaded model divided by them."""
    x = RANDOM.normal(2, 1, (20, 16, 8)) * np.logspace(-2, 2, 16)[:, None]
    scaled = keras.layers.Normalization(axis=(1, 2))
    scaled.adapt(x)
    inputs = keras.Input((16, 8))
    model = keras.Model(inputs, keras.layers.Flatten()(scaled(inputs)))
    export.freeze(model, recipe).model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(x), model(x), rtol=1e-5)


@pytest.mark.parametrize("recipe", ["int8", "dynamic", "full_int8"])
@pytest.mark.parametrize("factor", [0, 1e-34, 1e-37])
def test_a_dead_unit_has_a_scale(recipe, factor):
    inputs, dense = keras.Input((8,), name="x"), keras.layers.Dense(24)
    model = keras.Model(inputs, dense(inputs))
    kernel = RANDOM.normal(size=(8, 24))
    kernel[:, 5] *= factor
    dense.set_weights([kernel, np.zeros(24)])
    x = RANDOM.normal(size=(20, 8)).astype(np.float32)
    options = {"representative": x} if recipe == "full_int8" else {}
    assert Interpreter(export.convert(model, recipe, **options)).run({"x": x[:1]})


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "SimpleRNN"])
def test_recurrent_layers_with_dropout(layer):
    """Keras draws its masks in each call, and uses them in training alone."""
    ids = keras.Input((5,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(9, 4, mask_zero=True)(ids)
    made = getattr(keras.layers, layer)(3, dropout=0.2, recurrent_dropout=0.1)
    model = keras.Model(ids, keras.layers.Bidirectional(made)(vectors))
    frozen = export.freeze(model, "float32")
    assert frozen.verify(np.array([[1, 2, 3, 4, 5], [6, 7, 0, 0, 0]])).agreement == 1


def test_a_number_for_each_step():
    """Keras adds it as a bias of channels in front, which TFLite has for images."""
    ids = keras.Input((5,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(9, 4)(ids) + np.arange(5.0, dtype="float32")[:, None]
    frozen = export.freeze(keras.Model(ids, vectors), "float32")
    assert frozen.verify(np.array([[1, 2, 3, 4, 5]])).largest_difference < 1e-5


@pytest.mark.parametrize("recipe", ["float32", "int8"])
def test_a_model_whose_examples_meet(recipe):
    """As in keras-hub's XLNet; the file has one example, and Keras is asked for each alone."""
    inputs = keras.Input((4,), name="x")
    hidden = keras.layers.Dense(3, "softmax")(inputs)
    met = hidden + 0.1 * keras.ops.mean(hidden, axis=0, keepdims=True)
    frozen = export.freeze(keras.Model(inputs, met), recipe)
    found = frozen.verify(RANDOM.normal(size=(9, 4)).astype("float32"))
    assert found.largest_difference <= 1e-4  # what is asked for alone


def test_data_without_the_axis_of_one_that_keras_adds():
    user, item = (keras.Input((1,), dtype="int32", name=name) for name in ("user", "item"))
    vectors = [keras.layers.Embedding(50, 8)(one) for one in (user, item)]
    model = keras.Model([user, item], keras.layers.Flatten()(keras.layers.Multiply()(vectors)))
    data = [RANDOM.integers(0, 50, 9) for _ in range(2)]
    assert export.verify(model, export.convert(model, "int8"), data).examples == 9


EXTREME = np.float32([[0, 0, 0], [1e-30, 0, 0], [-1000, -90, -89], [89, 90, 1000], [3, -4, 12]])


@pytest.mark.parametrize("recipe", ["float32", "int8"])
@pytest.mark.parametrize(
    "function",
    [
        keras.layers.UnitNormalization(),
        lambda x: keras.ops.normalize(x, axis=1, epsilon=0.5),
        lambda x: keras.layers.Dot(1, normalize=True)([x, keras.ops.relu(x)]),
        keras.layers.Activation("softplus"),
        keras.layers.Activation("log_sigmoid"),
        keras.layers.Activation("mish"),
        keras.layers.Lambda(lambda x: tf.nn.softplus(x)),
        lambda x: keras.ops.where(keras.ops.isinf(1e37 * x), 0.0, x),
    ],
)
def test_numbers_at_which_the_runtime_or_the_converter_has_no_answer(function, recipe):
    """`1 / sqrt(0)` is NaN on a phone, and `exp(90)` infinite: so were the answers."""
    x = keras.Input((3,), name="x")
    model = keras.Model(x, function(x))
    file, expected = Interpreter(export.convert(model, recipe)), np.asarray(model(EXTREME))
    found = np.concatenate([[*file.run({"x": row[None]}).values()][0] for row in EXTREME])
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_an_empty_text_has_a_direction_of_zeros():
    words = Vocabulary(["good", "bad", "film"])
    ids = keras.Input((None,), dtype="int32", name="ids")
    vectors = MaskedMean()(keras.layers.Embedding(len(words), 4, mask_zero=True)(ids))
    model = keras.Model(ids, keras.layers.UnitNormalization()(vectors))
    file = Interpreter(export.convert(model, "int8", text=words))
    (empty,), (good,) = (file.run_text(text).values() for text in ("", "good"))
    assert not empty.any() and abs(np.linalg.norm(good) - 1) < 0.01


class Prompt(keras.layers.Layer):
    """Learned rows before those of the text."""

    def build(self, shape):
        self.tokens = self.add_weight(shape=(1, 30, 64), initializer="normal", name="tokens")

    def call(self, x):
        rows = keras.ops.broadcast_to(self.tokens, (keras.ops.shape(x)[0], 30, 64))
        return keras.ops.concatenate([rows, x], 1)


class Distances(keras.layers.Layer):
    """Squared distances to learned vectors."""

    def build(self, shape):
        self.centers = self.add_weight(shape=(30, 64), initializer="normal", name="centers")

    def call(self, x):
        return keras.ops.sum(keras.ops.square(x[:, :, None] - self.centers), -1)


def with_lora():
    made = keras.layers.Dense(48, use_bias=False)
    made.build((None, 8, 64))
    made.enable_lora(4)
    made.lora_kernel_b.assign(RANDOM.normal(size=made.lora_kernel_b.shape))
    return made


@pytest.mark.parametrize(
    "make",
    [
        Prompt,
        Distances,
        with_lora,
        lambda: keras.layers.GRU(48, reset_after=False, use_bias=False),
        lambda: keras.layers.DepthwiseConv1D(5, depth_multiplier=4, use_bias=False),
        lambda: lambda x: keras.layers.MultiHeadAttention(16, 4, use_bias=False)(x, x),
    ],
)
def test_what_is_rounded_and_counted_as_int8_is_int8_in_the_file(make):
    ids = keras.Input((8,), dtype="int32", name="ids")
    layer = make()
    model = keras.Model(ids, layer(keras.layers.Embedding(20, 64)(ids)))
    frozen = export.freeze(model, "int8")
    stored = frozen.summary().layers[-1].stored_bits // 8
    file = frozen.convert()
    kernels = [one for one in constants(flatbuffer.parse(file)) if one.shape != (20, 64)]
    found = sum(one.num_bytes + 12 * one.scales for one in kernels if one.scales)
    assert found == stored and all(one.scales or one.num_bytes < 2000 for one in kernels)
    frozen.verify(RANDOM.integers(0, 20, (9, 8)), file=file)


def test_models_of_a_file_share_a_table_of_four_bits():
    """The table of the one that masks was there twice, with other first rows."""
    table, ids = keras.layers.Embedding(2000, 16, mask_zero=True), keras.Input((8,), dtype="int32")
    mean = keras.Model(ids, MaskedMean()(table(ids)))
    convolved = keras.Model(ids, keras.layers.Conv1D(4, 2)(table(ids)))
    file = export.convert({"mean": mean, "convolved": convolved}, "int4")
    assert len(file) < 1.5 * 2000 * 16 // 2
    given = RANDOM.integers(0, 2000, (9, 8))
    given[:, 5:] = 0
    for name, model in (("mean", mean), ("convolved", convolved)):
        export.verify(model, file, given, signature=name)
