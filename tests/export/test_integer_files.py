"""Keras' layers as files of integers can hold them: equal to Keras' own, and in such files."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from kerascompact import export, tools
from kerascompact.core.keras_graph import for_integer_files
from kerascompact.layers import MaskedMean, WeightedMean
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer

RNG = np.random.default_rng(0)
MASK = np.array([[True, True, False, True], [False, False, False, True]])


def layers(kind):
    """A function of vectors and a mask of one's own, `(batch, T)`."""
    if kind == "Softmax":  # of two axes, too
        one, both = keras.layers.Softmax(), keras.layers.Softmax(axis=(1, 2))
        return lambda x, mask: one(x, mask=mask[:, None]) + both(x, mask=mask[:, None])
    if kind == "float mask":
        one = keras.layers.Softmax()
        return lambda x, mask: one(x, mask=ops.cast(mask, "float32")[:, None])
    if kind.startswith("mean"):
        first = "channels_first" in kind
        data_format = "channels_first" if first else "channels_last"
        mean = keras.layers.GlobalAveragePooling1D(data_format, keepdims="kept" in kind)
        return lambda x, mask: mean(ops.swapaxes(x, 1, 2) if first else x, mask=mask)
    if kind.startswith("MultiHead"):
        attend = keras.layers.MultiHeadAttention(2, 3, dropout=0.5 * ("dropout" in kind))
        return lambda x, mask: attend(
            x, x, attention_mask=mask[:, None], use_causal_mask="causal" in kind
        )
    if kind.startswith("GroupedQuery"):
        attend = keras.layers.GroupQueryAttention(3, 4, 2)
        return lambda x, mask: attend(x, x, attention_mask=mask[:, None])
    attend = getattr(keras.layers, kind)()
    return lambda x, mask: attend([x, x], mask=[mask, mask], use_causal_mask=True)


KINDS = [
    "Softmax",
    "float mask",
    "MultiHead",
    "MultiHead, dropout",
    "MultiHead, causal",
    "GroupedQuery",
    "Attention",
    "AdditiveAttention",
    "mean",
    "mean, kept",
    "mean, channels_first, kept",
]


@pytest.mark.parametrize("scale", [1.0, -30.0])  # all scores far above or below 0
@pytest.mark.parametrize("kind", KINDS)
def test_masked_scores_count_for_nothing_as_in_keras(kind, scale):
    keras.utils.set_random_seed(1)
    call, x = layers(kind), ops.convert_to_tensor(scale * RNG.uniform(1, 2, (2, 4, 4)), "float32")
    mask = ops.convert_to_tensor(MASK)
    wanted = call(x, mask)
    with for_integer_files():
        inside = call(x, mask)
    np.testing.assert_allclose(inside, wanted, atol=1e-5 * abs(scale))
    np.testing.assert_array_equal(call(x, mask), wanted)  # it is over


def test_all_masked_is_as_in_keras():  # but for a mean, which is 0 / 0 there
    x, softmax = np.array([[1.0, 5.0]], "float32"), keras.layers.Softmax()
    wanted = softmax(x, mask=np.zeros((1, 2), bool))
    with for_integer_files():
        np.testing.assert_allclose(softmax(x, mask=np.zeros((1, 2), bool)), wanted, atol=1e-6)
        mean = keras.layers.GlobalAveragePooling1D()(x[..., None], mask=np.zeros((1, 2), bool))
    assert np.asarray(mean).tolist() == [[0.0]]


ACTIVATIONS = ["selu", "celu"]
NORMS = {
    "layer": lambda: keras.layers.LayerNormalization(),
    "layer, plain": lambda: keras.layers.LayerNormalization(-1, 0.5, center=False, scale=False),
    "layer, two axes": lambda: keras.layers.LayerNormalization(axis=(1, 2)),
    "layer, first axis": lambda: keras.layers.LayerNormalization(axis=1),
    "layer, half": lambda: keras.layers.LayerNormalization(dtype="mixed_bfloat16"),
    "rms": lambda: keras.layers.RMSNormalization(),
    "unit": lambda: keras.layers.UnitNormalization(),
    "unit, first axis": lambda: keras.layers.UnitNormalization(axis=(1,)),
    "length of at least 2": lambda: keras.layers.Lambda(lambda x: ops.normalize(x, epsilon=2.0)),
    "normalized dot": lambda: keras.layers.Lambda(
        lambda x: keras.layers.Dot(axes=-1, normalize=True)([x[..., :3], x[..., 1:4]])
    ),
    **{name: functools.partial(keras.layers.Activation, name) for name in ACTIVATIONS},
}


@pytest.mark.parametrize(
    "kind, shape",
    [(kind, shape) for kind in NORMS for shape in [(3, 2, 7), (3, 2, 3, 16)]]
    + [("layer", (3, 12)), ("rms", (3, 1)), ("unit", (3, 12))],
)
def test_vectors_are_normalized_as_in_keras(kind, shape):
    norm, x = NORMS[kind](), RNG.normal(size=shape) * RNG.uniform(0.01, 9, (*shape[:-1], 1))
    x[0] *= 0  # as texts without words
    norm.build(shape)
    for weight in norm.weights:
        weight.assign(RNG.uniform(0.5, 2, weight.shape))
    wanted = norm(x)
    with for_integer_files():
        inside = norm(x)
    assert inside.dtype == wanted.dtype
    near = 1e-2 if "half" in kind else 1e-5
    np.testing.assert_allclose(ops.cast(inside, "float32"), ops.cast(wanted, "float32"), near, near)
    # The formula with NumPy, for what the layers compute without their weights.
    if kind in ("layer, plain", "unit"):
        centered = x - x.mean(-1, keepdims=True) if kind != "unit" else x
        square = (centered**2).sum(-1, keepdims=True) if kind == "unit" else centered.var(-1) + 0.5
        square = square.reshape(*shape[:-1], 1) + (square.reshape(*shape[:-1], 1) == 0)
        np.testing.assert_allclose(inside, centered / np.sqrt(square), atol=1e-5)
    np.testing.assert_array_equal(norm(x), wanted)  # it is over


@pytest.mark.parametrize("kind", ["layer", "rms", "unit"])
def test_files_of_integers_normalize_short_vectors_beside_long_ones(kind):
    ids = keras.Input((None,), dtype="int32", name="ids")
    table = keras.layers.Embedding(100, 24)
    model = keras.Model(ids, keras.layers.Identity(name="out")(NORMS[kind]()(table(ids))))
    lengths = np.geomspace(0.1, 3, 100)[:, None]  # as of rare and frequent words
    table.embeddings.assign(RNG.normal(size=(100, 24)) * lengths)
    texts = RNG.integers(0, 100, (40, 12)).astype("int32")
    file = Interpreter(export.convert(model, "full_int8", representative=texts))
    wanted = np.asarray(model(texts))
    found = np.concatenate([file.run({"ids": row[None]})["out"] for row in texts])
    # 0.08 to 0.10; with Keras' own layers 0.21 to 0.32.
    error = np.sqrt(np.mean((found - wanted) ** 2)) / wanted.std()
    assert error < 0.15


JOINED = {
    "maximum": lambda x: ops.maximum(x, -1 * x),
    "minimum": lambda x: ops.minimum(x, 0.2 * x) * x,
    "concatenation": lambda x: ops.concatenate([x, 20 * x], axis=-1),
    "of what was moved": lambda x: ops.concatenate([ops.reshape(x, (-1, 6)), 20 * x[:, 0]], -1),
    "stack": lambda x: ops.stack([x[:, 0], 20 * x[:, 0]], axis=1),
    "where": lambda x: ops.where(ops.greater(x, 0), x, 0.1 * x) - 0.5 * x,
    "twice": lambda x: ops.maximum(ops.maximum(x, 0.5 * x), 0.1 * x) - x,
    "fused lstm": lambda x: ops.concatenate([keras.layers.LSTM(4)(x), x[:, 0], x[:, 1]], -1),
    "an output, too": lambda x: ops.maximum(x, -1 * x),
    **{name: lambda x, name=name: keras.layers.Activation(name)(x) for name in ACTIVATIONS},
}


@pytest.mark.parametrize("kind", JOINED)
def test_what_a_join_reads_keeps_its_own_range(kind):
    x = keras.Input((2, 3), name="x")
    wide = keras.layers.Dense(3, kernel_initializer="orthogonal")(x)
    outputs = {"out": JOINED[kind](wide)} | ({"wide": wide} if "too" in kind else {})
    outputs = {name: keras.layers.Identity(name=name)(one) for name, one in outputs.items()}
    model, rows = keras.Model(x, outputs), 4 * RNG.normal(size=(60, 2, 3)).astype("float32")
    options = {"representative": rows, "fused_lstm": "lstm" in kind}
    file = Interpreter(export.convert(model, "full_int8", **options))
    found = [file.run({"x": row[None]}) for row in rows]
    for name, wanted in model.predict(rows, verbose=0).items():
        error = np.concatenate([one[name].reshape(1, *wanted.shape[1:]) for one in found]) - wanted
        assert np.sqrt(np.mean(error**2)) < 0.07 * wanted.std()  # 0.01 to 0.05; without 0.2 to 1.5


def mean_by_hand(vectors, mask):
    kept = ops.cast(mask, "float32")[..., None]
    return ops.sum(vectors * kept, axis=1) / (ops.sum(kept, axis=1) + 1e-7)


@pytest.mark.parametrize(
    "mean", [mean_by_hand, lambda vectors, mask: WeightedMean()(vectors, mask=mask)]
)
def test_means_of_texts_without_words(mean):
    """Sums of weights below a step, a 255th of the largest, are taken for one step."""
    keras.utils.set_random_seed(3)
    drawn = np.random.default_rng(3)
    ids = keras.Input((6,), dtype="int32", name="ids")
    table = keras.layers.Embedding(30, 5, embeddings_initializer="random_normal")
    vectors = 20 * table(ids)
    found = mean(vectors, ops.not_equal(ids, 0))
    model = keras.Model(ids, keras.layers.Identity(name="out")(found))
    texts = drawn.integers(1, 30, (50, 6)) * (np.arange(6) < drawn.integers(1, 7, (50, 1)))
    texts[0] = 0
    texts = texts.astype("int32")
    file = Interpreter(export.convert(model, "full_int8", representative=texts))
    found = np.concatenate([file.run({"ids": row[None]})["out"] for row in texts])
    np.testing.assert_allclose(found, model(texts), atol=0.04 * np.ptp(model(texts)))
    assert not found[0].any()


@pytest.mark.parametrize("kernels", ["full_int8", "int16x8"])
def test_ranges_of_what_the_next_operator_writes_over(kernels):
    x = keras.Input((40,), name="x")
    gain = np.linspace(0.5, 1.5, 40).astype("float32")
    product = ops.abs(x) * x  # each of these is read once, by an operator that can write over it
    model = keras.Model(x, keras.layers.Identity(name="out")(product * 16.0 * gain))
    rows = RNG.normal(size=(30, 40)).astype("float32")
    recipe = export.Recipe("own", tables="float32", kernels=kernels)
    file = flatbuffer.parse(export.convert(model, recipe, representative=rows))
    (graph,) = file.subgraphs
    kinds = flatbuffer.operator_names(file)
    outputs = [graph.tensors[one.outputs[0]].quantization for one in graph.operators]
    scales = [one.scale[0] for name, one in zip(kinds, outputs, strict=True) if name == "MUL"]
    signed = np.abs(rows) * rows
    wanted = [signed, 16 * signed, 16 * signed * gain]
    if kernels == "full_int8":  # a step of 255
        np.testing.assert_allclose(scales, [np.ptp(one) / 255 for one in wanted], rtol=0.01)
    else:
        np.testing.assert_allclose(scales, [np.abs(one).max() / 32767 for one in wanted], rtol=0.01)
    assert "SHAPE" not in kinds


@pytest.mark.parametrize(
    "make, shape",
    [
        (functools.partial(keras.layers.Dense, 40), (40,)),
        (functools.partial(keras.layers.Conv2DTranspose, 4, 2), (3, 3, 5)),
    ],
    ids=["Dense", "Conv2DTranspose"],
)
def test_int16_in_a_layer_that_is_called_several_times(make, shape):
    """By one model with inputs of two scales, and by another model of the file."""
    layer = make(bias_initializer=keras.initializers.Constant(2.0))
    inputs = {name: keras.Input(shape, name=name) for name in ("x", "long")}
    answers = {f"of {name}": layer(one) for name, one in inputs.items()}
    z = keras.Input(shape, name="z")
    models = {
        "both": keras.Model(inputs, answers),
        "one": keras.Model({"z": z}, {"of z": layer(z)}),
    }
    lengths = {"x": 1, "long": 20, "z": 5}
    drawn = {name: n * RNG.normal(size=(30, *shape)) for name, n in lengths.items()}
    rows = {name: array.astype("float32") for name, array in drawn.items()}
    given = {"both": {name: rows[name] for name in inputs}, "one": {"z": rows["z"]}}
    recipe = export.Recipe("own", tables="float32", kernels="int16x8")
    data = export.convert(models, recipe, representative=given)
    for name, model in models.items():
        file = Interpreter(data, signature=name)
        found = [file.run({k: v[[n]] for k, v in given[name].items()}) for n in range(30)]
        for key, wanted in model(given[name]).items():
            error = np.concatenate([one[key] for one in found]) - wanted
            # 0.004, of kernels of 8 bits; 0.5 to 2 with a shared bias, or buffers rounded twice
            assert np.sqrt(np.mean(error**2)) < 0.01 * np.std(wanted)
    assert sum(one.dtype == "int8" for one in tools.inspect(data).tensors) == 1  # stored once


@pytest.mark.parametrize("kind", ["MultiHead, dropout", "MultiHead, causal", "Attention", "mean"])
def test_files_of_integers_read_what_is_not_masked(kind):
    keras.utils.set_random_seed(2)
    ids = keras.Input((12,), dtype="int32", name="ids")
    table = keras.layers.Embedding(50, 8, mask_zero=True, embeddings_initializer="random_normal")
    vectors = table(ids)
    table.embeddings.assign(table.embeddings * 20)
    found = layers(kind)(vectors, ops.not_equal(ids, 0))
    found = found if kind == "mean" else ops.mean(found, axis=1)
    model = keras.Model(ids, keras.layers.Dense(3, name="out")(found))
    texts = RNG.integers(1, 50, (40, 12)) * (np.arange(12) < RNG.integers(2, 13, (40, 1)))
    file = Interpreter(export.convert(model, "full_int8", representative=texts.astype("int32")))
    wanted = np.asarray(model(texts))
    found = np.concatenate([file.run({"ids": row[None].astype("int32")})["out"] for row in texts])
    assert np.abs(found - wanted).max() < 0.05 * np.ptp(wanted)


def by_hand(vectors):
    """As a user may write it: a division of integers."""
    kept = ops.cast(ops.any(ops.not_equal(vectors, 0), axis=-1, keepdims=True), "float32")
    return ops.sum(vectors, axis=1) / ops.maximum(ops.sum(kept, axis=1), 1)


@pytest.mark.parametrize(
    "mean, error",  # 0.02, 0.02, 0.11; before 0.98, 0.52, or the runtime stopped
    [(keras.layers.GlobalAveragePooling1D(), 0.04), (MaskedMean(), 0.04), (by_hand, 0.2)],
    ids=["Keras", "MaskedMean", "by hand"],
)
def test_means_of_short_texts_beside_long_ones(mean, error):
    """A sum one step below 0, over many words, must not become the smallest number."""
    length, drawn = 100, np.random.default_rng(0)
    counts = np.r_[drawn.integers(1, length + 1, 60), length, np.repeat([1, 2, 3, 5], 2)]
    ids = keras.Input((length,), dtype="int32", name="ids")
    table = keras.layers.Embedding(500, 16, mask_zero=True)
    model = keras.Model(ids, keras.layers.Identity(name="out")(mean(table(ids))))
    table.embeddings.assign(drawn.normal(size=(500, 16)) * (np.arange(500) > 0)[:, None])
    texts = drawn.integers(1, 500, (len(counts), length)) * (np.arange(length) < counts[:, None])
    texts = texts.astype("int32")
    data = export.convert(model, "full_int8", representative=texts)
    wanted = np.asarray(model(texts))
    own, other = Interpreter(data), tf.lite.Interpreter(model_content=data).get_signature_runner()
    for run in (own.run, lambda row: other(**row)):
        found = np.concatenate([run({"ids": row[None]})["out"] for row in texts])
        assert np.sqrt(np.mean((found - wanted) ** 2)) < error * wanted.std()


DIVISIONS = {
    "ratio": lambda x: x[:, :4] / (0.5 + ops.abs(x[:, 4:])),
    "relu": lambda x: ops.relu(x[:, :4] / (0.5 + ops.abs(x[:, 4:]))),
    "constant": lambda x: 1.0 / (1 + x * x),
    "share": lambda x: x / ops.sum(ops.abs(x), axis=-1, keepdims=True),
    "scalar": lambda x: x / ops.max(ops.abs(x)),
}


@pytest.mark.parametrize("kind", DIVISIONS)
def test_divisions_in_both_runtimes(kind):
    keras.utils.set_random_seed(1)
    x = keras.Input((8,), name="x")
    hidden = keras.layers.Dense(8, kernel_initializer="orthogonal")(x)
    model = keras.Model(x, keras.layers.Identity(name="out")(DIVISIONS[kind](hidden)))
    rows = np.random.default_rng(0).normal(size=(100, 8)).astype("float32")
    data = export.convert(model, "full_int8", representative=rows)
    wanted = np.concatenate([np.asarray(model(row[None])) for row in rows])
    own, other = Interpreter(data), tf.lite.Interpreter(model_content=data).get_signature_runner()
    for run in (own.run, lambda row: other(**row)):
        found = np.concatenate([run({"x": row[None]})["out"] for row in rows])
        error = np.sqrt(np.mean((found - wanted) ** 2)) / wanted.std()
        assert error < 0.06  # 0.01 to 0.04; "ratio" was 0.2, and TensorFlow stopped at some


PRODUCTS = {
    "matmul": lambda x, y: ops.matmul(x, ops.transpose(y, (0, 2, 1))),
    "Dot": lambda x, y: keras.layers.Dot((2, 2))([x, y]),
    "MultiHead": lambda x, y: keras.layers.MultiHeadAttention(2, 4)(x, y),
    "constant": lambda x, y: ops.matmul(x + y, np.linspace(2, 4, 40, dtype="f").reshape(1, 8, 5)),
}


@pytest.mark.parametrize("kind", PRODUCTS)
def test_products_of_activations_in_both_runtimes(kind):
    """XNNPACK of TensorFlow takes 0 for the zero point of the second factor, far from its mean."""
    x, y = (keras.Input((6, 8), name=name) for name in "xy")
    model = keras.Model([x, y], keras.layers.Identity(name="out")(PRODUCTS[kind](x, y)))
    rows = {name: RNG.normal(size=(30, 6, 8)).astype("float32") for name in "xy"}
    rows["y"] += 3
    data = export.convert(model, "full_int8", representative=rows)
    wanted = np.asarray(model(rows))
    own, other = Interpreter(data), tf.lite.Interpreter(model_content=data).get_signature_runner()
    for run in (own.run, lambda row: other(**row)):
        found = [run({k: v[[n]] for k, v in rows.items()})["out"] for n in range(30)]
        error = np.concatenate(found) - wanted
        assert np.sqrt(np.mean(error**2)) < 0.05 * wanted.std()  # 0.01 to 0.03; without 0.3 to 3


@pytest.mark.parametrize(
    "columns_of",
    [
        lambda ids: ops.one_hot(ids, 8, axis=1),
        lambda ids: ops.multi_hot(ids, 8),
        lambda ids: ops.cast(ops.one_hot(ids, 8, dtype="int8"), "float32"),
        lambda ids: 3 * ops.cast(ops.equal(ids[..., None], ops.arange(8)), "float32") - 1,
    ],
)
def test_a_one_hot_in_a_file_of_integers(columns_of):
    ids = keras.Input((5,), dtype="int32", name="ids")
    columns = columns_of(ids)
    model = keras.Model(ids, keras.layers.Identity(name="out")(columns))
    texts = RNG.integers(0, 8, (30, 5)).astype("int32")
    file = Interpreter(export.convert(model, "full_int8", representative=texts))
    found = np.concatenate([file.run({"ids": row[None]})["out"] for row in texts])
    np.testing.assert_allclose(found, model(texts), atol=0.02)


def test_masks_by_large_numbers_are_refused_in_files_of_integers():
    texts = RNG.integers(0, 20, (6, 7)).astype("int32")
    ids = keras.Input((7,), dtype="int32", name="ids")
    vectors, kept = keras.layers.Embedding(20, 4)(ids), ops.not_equal(ids, 0)[..., None]
    models = [keras.Model(ids, ops.max(ops.where(kept, vectors, x), axis=1)) for x in (-1e9, -2.0)]
    with pytest.raises(ValueError, match=r"masks by numbers such as -1e9.* Received: -1e\+09 in "):
        export.convert(models[0], "full_int8", representative=texts)
    assert export.convert(models[1], "full_int8", representative=texts)
