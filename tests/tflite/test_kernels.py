"""Kernels of int8 in the file: the bytes that they save, and outputs that stay those of Keras."""

import keras
import numpy as np
import pytest

from export_models import V, answers, cluster, some_ids
from kerascompact import export, layers, tools
from kerascompact.export.recipe import Recipe
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite.passes import input_factors, kernels

IDS = some_ids(length=8, rows=12)
# The same float32 products added in another order, then a softmax.
CLOSE = dict(rtol=1e-4, atol=1e-5)


def dense(vectors):
    return keras.layers.Dense(24, activation="relu")(keras.layers.Flatten()(vectors))


def convolution(vectors):
    vectors = keras.layers.Conv1D(32, 3, activation="relu")(vectors)
    return keras.layers.GlobalMaxPooling1D()(vectors)


def separable(vectors):
    vectors = keras.layers.SeparableConv1D(32, 3)(vectors)
    return keras.layers.GlobalMaxPooling1D()(keras.layers.BatchNormalization()(vectors))


def attention(vectors):
    vectors += keras.layers.MultiHeadAttention(2, 12)(vectors, vectors)
    return keras.layers.GlobalMaxPooling1D()(keras.layers.LayerNormalization()(vectors))


KINDS = {
    "dense": dense,
    "convolution": convolution,
    "separable": separable,
    "attention": attention,
    "lstm": keras.layers.LSTM(12),
    "both": keras.layers.Bidirectional(keras.layers.GRU(12)),
    "sparse": layers.SparseLSTM(24, 2, 0.5),
}


SEVERAL = ("convolution", "separable", "both")  # kernels as above, or two of them
OTHERS = ("attention", "lstm", "sparse", *SEVERAL)


def classifier(kind, width=24, embedding=None):
    ids = keras.Input((8,), dtype="int32", name="ids")
    vectors = (embedding or keras.layers.Embedding(V, width, name="embedding"))(ids)
    hidden = keras.layers.Dense(16, activation="relu")(KINDS[kind](vectors))
    model = keras.Model(ids, keras.layers.Dense(12, activation="softmax", name="out")(hidden))
    random = np.random.default_rng(3)
    for weight in model.trainable_weights:
        weight.assign(weight.numpy() + random.normal(size=weight.shape) / 4)
    return model


def outputs(data, ids=IDS):
    file = Interpreter(data)
    return np.concatenate([file.run({"ids": row[None]})["out"] for row in ids])


@pytest.mark.parametrize(
    "kind", ["dense", *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS)]
)
def test_kernels_of_int8_predict_what_the_frozen_model_does(kind):
    model = classifier(kind)
    rounded = export.freeze(model, "int8")
    data, frozen = rounded.convert(), rounded.model
    expected = answers(frozen, IDS)
    np.testing.assert_allclose(outputs(data), expected, **CLOSE)
    assert np.abs(expected - answers(model, IDS)).max() > 1e-5  # rounded indeed
    found = tools.inspect(data)
    large = [t.shape for t in found.tensors if t.dtype == "float32" and t.num_bytes > 400]
    assert large == []
    if kind not in ("dense", "attention", *SEVERAL):
        return
    wide = [w for w in frozen.weights if w.dtype == "float32" and kernels.pays(w.shape)]
    saved = len(export.convert(model, "int8_tables")) - len(data)
    numbers = sum(int(np.prod(w.shape)) for w in wide)
    outs = sum(int(w.shape[-1]) for w in wide)
    # Three of four bytes of each number, less 12 of a scale (heads of attention get one each, of
    # two that have the same), and operators and tensors.
    assert saved >= 3 * numbers - 12 * 2 * outs - 250 * len(wide)
    if kind != "dense":
        assert data == export.convert(frozen, "int8")  # rounding twice is rounding once


def test_a_head_of_many_classes_has_a_scale_for_each_input():
    ids = keras.Input((6,), dtype="int32", name="ids")
    pooled = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(40, 4)(ids))
    model = keras.Model(ids, keras.layers.Dense(150, "softmax", name="out")(pooled))
    rows = np.random.default_rng(0).integers(0, 40, (20, 6)).astype(np.int32)
    rounded = export.freeze(model, "int8")
    data, frozen = rounded.convert(), rounded.model
    expected = answers(frozen, rows)
    np.testing.assert_allclose(outputs(data, rows), expected, **CLOSE)
    kernel = next(t for t in tools.inspect(data).tensors if t.shape in ((150, 4), (4, 150)))
    assert kernel.dtype == "int8" and kernel.num_bytes == 600
    assert [t.shape for t in tools.inspect(data).tensors if t.num_bytes > 600] == []
    before, after = (one.get_layer("out").kernel.numpy() for one in (model, frozen))
    steps = np.abs(before).max(axis=1, keepdims=True) / 127
    assert np.all(np.abs(after - before) <= 0.501 * steps) and np.any(after != before)


def test_a_wide_layer_whose_outputs_are_multiplied_stays_int8():
    """A normalization behind a dropout, which is none in a file, is folded into the kernel."""
    ids = keras.Input((6,), dtype="int32", name="ids")
    hidden = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(40, 24)(ids))
    hidden = keras.layers.Dropout(0.5)(keras.layers.Dense(150)(hidden))
    hidden = keras.layers.BatchNormalization()(hidden)
    model = keras.Model(ids, keras.layers.Dense(3, "softmax", name="out")(hidden))
    random = np.random.default_rng(0)
    model.set_weights([random.uniform(0.1, 1, w.shape) for w in model.get_weights()])
    data = export.convert(model, "int8")
    kernel = next(t for t in tools.inspect(data).tensors if sorted(t.shape) == [24, 150])
    assert kernel.dtype == "int8"
    rows = random.integers(0, 40, (20, 6)).astype(np.int32)
    expected = answers(export.freeze(model, "int8").model, rows)
    np.testing.assert_allclose(outputs(data, rows), expected, **CLOSE)


def normalization():
    """With negative scales, and one of 0, as of an input that pruning left out."""
    scales = np.random.default_rng(1).normal(size=24) * (np.arange(24) != 5)
    gamma, beta = map(keras.initializers.Constant, (scales, 0.3))
    return keras.layers.BatchNormalization(gamma_initializer=gamma, beta_initializer=beta)


@pytest.mark.parametrize(
    "recipe, multiplied",
    [
        ("int8", normalization),
        ("dynamic", normalization),
        ("int8", lambda: lambda x: x * np.linspace(-1, 2, 24).astype("float32")),
    ],
    ids=["int8", "dynamic", "product"],
)
def test_layers_whose_inputs_are_multiplied_stay_int8(recipe, multiplied):
    """The converter folds the products, and scales of the table, into the kernels behind them."""
    ids = keras.Input((6,), dtype="int32", name="ids")
    vectors = multiplied()(keras.layers.Embedding(40, 24)(ids))
    read = [keras.layers.Dense(size, activation="relu")(vectors) for size in (60, 80)]
    pooled = keras.layers.GlobalMaxPooling1D()(keras.ops.concatenate(read, axis=-1))
    model = keras.Model(ids, keras.layers.Dense(3, "softmax", name="out")(pooled))
    random = np.random.default_rng(0)
    for weight in model.weights:
        if weight.name in ("kernel", "bias", "embeddings"):
            weight.assign(random.normal(size=weight.shape))
    frozen = export.freeze(model, recipe)
    data = frozen.convert()
    rows = random.integers(0, 40, (20, 6)).astype(np.int32)
    # behind a softmax; "dynamic" rounds all inputs to 8 bits
    near = CLOSE if recipe == "int8" else dict(atol=0.1)
    np.testing.assert_allclose(outputs(data, rows), answers(frozen.model, rows), **near)
    found = tools.inspect(data)
    assert [t.shape for t in found.tensors if t.dtype == "float32" and t.num_bytes > 400] == []
    assert found.operators["MUL"] == 1  # both layers read one product


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["dense", "convolution", "lstm"])
def test_dynamic_range_multiplies_integers(kind):
    model = classifier(kind)
    frozen = export.freeze(model, "dynamic")
    data, expected = frozen.convert(), answers(frozen.model, IDS)
    assert "DEQUANTIZE" not in tools.inspect(data).operators
    difference = np.abs(outputs(data) - expected).max()
    # inputs of 8 bits, three products deep, behind a softmax
    assert 1e-6 < difference < 0.05


def test_full_integer():
    model = classifier("convolution")
    data = export.convert(model, "full_int8", representative=IDS)
    expected = answers(export.freeze(model, "full_int8").model, IDS)
    assert np.abs(outputs(data) - expected).max() < 0.2  # everything between layers has 8 bits
    found = tools.inspect(data)
    assert {"QUANTIZE", "DEQUANTIZE"} <= set(found.operators)
    assert found.metadata["recipe"] == {
        "name": "full_int8",
        "tables": "int8",
        "kernels": "full_int8",
    }
    assert not any(t.dtype == "float32" and t.num_bytes > 400 for t in found.tensors)


def test_int16_between_layers():
    model, recipe = classifier("convolution"), Recipe("mine", "float32", "int16x8")
    data = export.convert(model, recipe, representative=IDS)
    expected = answers(export.freeze(model, recipe).model, IDS)
    assert np.abs(outputs(data) - expected).max() < 2e-3  # 16 bits between the layers
    assert "int16" in {t.dtype for t in tools.inspect(data).tensors}  # its table


@pytest.mark.slow  # `test_nibbles` has a file of integers with codes
def test_full_integer_leaves_packed_codes_alone():
    model = classifier("convolution", embedding=cluster())
    data = export.convert(model, "full_int8", representative=IDS)
    packed = [t for t in tools.inspect(data).tensors if t.dtype == "uint8"]
    assert [t.num_bytes for t in packed] == [-(-V * 3 // 8) + 1]
    assert np.isfinite(outputs(data)).all()


def test_a_subclassed_model_is_given_its_kernels_back():
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = cluster()
            self.head = keras.Sequential([keras.layers.Dense(24), keras.layers.Dense(40)])

        def call(self, ids):
            return {"out": self.head(self.embedding(ids))}

    model = Model()
    model(IDS)
    before = [weight.numpy() for weight in model.weights]
    data = export.convert(model, "int8")
    for old, new in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(old, new)
    assert "DEQUANTIZE" in tools.inspect(data).operators
    assert np.abs(outputs(data) - model(IDS)["out"]).max() < 0.05


def test_kernels_are_found_by_their_integers():
    """As Keras shapes them, transposed, split by gates, with joined heads, and multiplied."""
    random = np.random.default_rng(0)
    codes = random.integers(-127, 128, (6, 4, 40)).astype(np.int8)
    codes[0, 0], codes[..., 3] = 127, 0
    scale = random.uniform(-3, 3, 40).astype(np.float32)
    kernel = codes * scale
    laid_out = {
        "as it is": (kernel, codes),
        "transposed": (kernel.transpose(2, 1, 0), codes.transpose(2, 1, 0)),
        "joined": (kernel.reshape(24, 40), codes.reshape(24, 40)),
        "with an axis": (kernel[None], codes[None]),
        "a gate": (kernel[..., 10:20].transpose(2, 0, 1), codes[..., 10:20].transpose(2, 0, 1)),
    }
    others = [random.integers(-127, 128, shape).astype(np.int8) for shape in ((6, 4, 40), (9, 9))]
    for name, (values, integers) in laid_out.items():
        axis, found, steps = kernels._found(values, [*others, codes])
        along = [-1 if i == axis else 1 for i in range(values.ndim)]
        np.testing.assert_array_equal(found * steps.reshape(along), values, err_msg=name)
        np.testing.assert_array_equal(np.abs(found), np.abs(integers), err_msg=name)
        assert steps.min() > 0
        assert kernels._found(values, others) is None
        assert kernels._found(values + np.float32(1e-3), [codes]) is None


@pytest.mark.parametrize("zeros", [0.0, 0.9])
def test_factors_of_inputs_are_found_by_integers_alone(zeros):
    random = np.random.default_rng(0)
    codes = random.integers(-127, 128, (40, 60)) * (random.random((40, 60)) >= zeros)
    scales, factors = random.normal(size=(40, 1)), random.normal(size=60)
    kernel = (np.float32(codes * scales) * np.float32(factors)).astype(np.float32)
    found = input_factors.fitted(kernel, codes.astype(np.int8))
    integers, steps = kernels._without(found, kernel, codes.astype(np.int8))
    np.testing.assert_allclose(integers * steps[:, None] * found, kernel, rtol=1e-6)
    other = np.roll(codes, 1, axis=0).astype(np.int8)
    assert kernels._without(input_factors.fitted(kernel, other), kernel, other) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipe": "full_int8"}, "`representative` must be given: examples of the"),
        ({"recipe": "int8", "representative": IDS}, "`representative` must be None for the rec"),
    ],
)
def test_refuses_representative_data_that_no_recipe_needs(options, message):
    with pytest.raises(ValueError, match=message):
        export.convert(classifier("dense"), **options)


@pytest.mark.parametrize(
    "kind", ["lstm", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("both", "sparse"))]
)
def test_refuses_integers_in_loops(kind):
    with pytest.raises(ValueError, match=r"'full_int8' in a model with loops.*While in .*\."):
        export.convert(classifier(kind), "full_int8", representative=IDS)
