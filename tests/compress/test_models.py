"""A compressed model is the model with other vectors: it evaluates, trains on, saves, converts."""

import re

import keras
import numpy as np
import pytest

from export_models import CLASSES, MODELS, Subclassed, V, some_ids, standard
from form_examples import codebook
from kerascompact import export, layers
from kerascompact.compress import (
    KSVD,
    KMeansClusters,
    NearestAnchors,
    ProductQuantization,
    ScalarQuantization,
    TruncatedSVD,
    compress_model,
    form_model,
    read_table,
)
from kerascompact.forms import Form

IDS = some_ids()
WHOLE = TruncatedSVD(4)  # all four columns: the same numbers, but for rounding


def two_tables(first="one", second="two"):
    inputs = [keras.Input((9,), dtype="int32", name=name) for name in ("left", "right")]
    pooled = [
        keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(V, 4, name=name)(ids))
        for name, ids in zip((first, second), inputs, strict=True)
    ]
    return keras.Model(inputs, keras.layers.Dense(2)(keras.layers.Concatenate()(pooled)))


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", MODELS)
def test_the_rest_of_the_model_is_kept(kind):
    model = MODELS[kind](standard())
    before = model.get_weights()
    copy = compress_model(model, WHOLE)
    form = copy.get_layer("embedding")
    assert isinstance(form, Form) and form.mask_zero
    np.testing.assert_allclose(copy(IDS), model(IDS), 1e-4)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "compressor", [ScalarQuantization(3), ProductQuantization(2, 8), KMeansClusters(6)]
)
def test_vectors_are_those_of_the_form(compressor, tmp_path):
    model = MODELS["mean"](standard())
    copy = compress_model(model, compressor)
    expected = compressor.fit(read_table(model).vectors)(np.arange(V))
    np.testing.assert_array_equal(read_table(copy).vectors, expected)
    copy.save(tmp_path / "small.keras")
    loaded = keras.models.load_model(tmp_path / "small.keras")
    np.testing.assert_array_equal(loaded(IDS), copy(IDS))


@pytest.mark.slow
@pytest.mark.parametrize("compressor", [ScalarQuantization(3), KMeansClusters(6)])
def test_the_file_of_a_copy_agrees(compressor):
    """A shorter test has a file of a form that is read and scores."""
    copy = compress_model(MODELS["mean"](standard()), compressor)
    assert export.freeze(copy, "float32").verify(IDS).agreement == 1


def test_the_copy_trains_on_around_its_form():
    model = MODELS["mean"](standard())
    loss = "sparse_categorical_crossentropy"
    model.compile("adam", loss, metrics=["accuracy"], run_eagerly=True)
    labels = np.arange(len(IDS)) % CLASSES
    copy = compress_model(model, WHOLE)
    np.testing.assert_allclose(
        copy.evaluate(IDS, labels, verbose=0), model.evaluate(IDS, labels, verbose=0), rtol=1e-4
    )
    assert copy.run_eagerly
    table = read_table(copy).vectors
    first, *_, last = copy.fit(IDS, labels, epochs=2, verbose=0).history["loss"]
    assert last < first
    np.testing.assert_array_equal(read_table(copy).vectors, table)


def test_named_layers_and_their_counts():
    model = two_tables()
    copy = compress_model(model, ScalarQuantization(), layers=["two"])
    assert type(copy.get_layer("one")) is keras.layers.Embedding
    assert isinstance(copy.get_layer("two"), Form)
    both = compress_model(model, KMeansClusters(2), {"one": np.eye(V)[3]})
    assert all(isinstance(both.get_layer(name), Form) for name in ("one", "two"))
    row = read_table(model, "one").vectors[3]
    np.testing.assert_allclose(read_table(both, "one").vectors[3], row, rtol=1e-5)  # all weight


def test_embeddings_of_nested_models_and_in_mixed_precision():
    inner = keras.Sequential([keras.Input((9,), dtype="int32"), standard()])
    model = keras.Sequential([keras.Input((9,), dtype="int32"), inner, layers.MaskedMean()])
    copy = compress_model(model, WHOLE)
    np.testing.assert_allclose(copy(IDS), model(IDS), 1e-4)
    half = keras.layers.Embedding(V, 4, dtype="mixed_float16", name="half")
    model = keras.Sequential([keras.Input((9,), dtype="int32"), half])
    assert compress_model(model, WHOLE)(IDS).dtype == "float16"


class OfOneOrTwo(keras.layers.Layer):
    def call(self, one, two=None):
        return one if two is None else one + two


def test_a_copy_takes_what_the_model_takes():
    ids = keras.Input((9,), dtype="int32")
    more = keras.Input((4,), optional=True)
    rows = keras.ops.mean(standard()(ids), axis=1)
    model = keras.Model([ids, more], OfOneOrTwo()(rows[:, :4], more))
    copy = compress_model(model, WHOLE)
    for second in (None, np.ones((len(IDS), 4), "float32")):
        np.testing.assert_allclose(copy([IDS, second]), model([IDS, second]), 1e-4)


def test_rejects_models():
    with pytest.raises(ValueError, match="`model` must be a keras.Model"):
        compress_model(standard(), WHOLE)
    with pytest.raises(ValueError, match="`compressor` must be a Compressor"):
        compress_model(MODELS["mean"](standard()), "svd")
    with pytest.raises(ValueError, match="must have a plain keras.layers.Embedding"):
        compress_model(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]), WHOLE)
    quantized = MODELS["mean"](standard())
    quantized.quantize("int8")
    with pytest.raises(ValueError, match="plain .* 'embedding', which Keras has quantized"):
        compress_model(quantized, WHOLE)
    with pytest.raises(ValueError, match="Its embeddings: 'embedding', which Keras has quantized"):
        read_table(quantized)
    one = keras.Sequential([keras.Input((3,)), keras.layers.Embedding(V, 4, name="same")])
    twice = keras.Sequential([keras.Input((3,)), keras.layers.Embedding(V, 4, name="same")])
    ids = keras.Input((3,), dtype="int32")
    both = keras.Model(ids, keras.layers.Add()([one(ids), twice(ids)]))
    with pytest.raises(ValueError, match="must have different names.*: 'same', 'same'"):
        compress_model(both, WHOLE, {"same": np.ones(V)})
    model = Subclassed(standard())
    model(IDS)
    with pytest.raises(ValueError, match="`model` must be a functional or Sequential model"):
        compress_model(model, WHOLE)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(layers=["three"]), "`layers` must be names of its plain Embeddings, 'one', 'two'"),
        (dict(layers=[]), "`layers` must be names of its plain Embeddings, 'one', 'two'"),
        (dict(counts=np.ones(V)), "`counts` must be a dictionary by layer name.*: one, two"),
        (dict(counts={"three": np.ones(V)}), "`counts` must be counts of the .* 'one', 'two'"),
        (dict(counts={"two": np.ones(3)}), "Layer 'two' cannot be compressed: `counts` must be"),
    ],
)
def test_rejects_names_and_counts(arguments, message):
    with pytest.raises(ValueError, match=message):
        compress_model(two_tables(), ScalarQuantization(), **arguments)


def test_names_the_layer_whose_table_cannot_be_compressed():
    model = two_tables()
    with pytest.raises(ValueError, match=r"Layer '\w+' cannot .* \(nor can '\w+'\): `code"):
        compress_model(model, ProductQuantization(3, 2))
    model.get_layer("two").embeddings.assign(np.full((V, 4), np.nan))
    with pytest.raises(ValueError, match="Layer 'two' cannot be .*finite numbers only"):
        compress_model(model, WHOLE)


def bert_like(words=V, width=4):
    tokens, segments = (keras.Input((9,), dtype="int32", name=n) for n in ("tokens", "segments"))
    positions = keras.ops.zeros_like(tokens) + np.arange(9)
    tables = [(words, "words", tokens), (9, "places", positions), (2, "parts", segments)]
    vectors = [keras.layers.Embedding(n, width, name=name)(ids) for n, name, ids in tables]
    return keras.Model([tokens, segments], keras.layers.Dense(2)(keras.layers.Add()(vectors)))


@pytest.mark.parametrize(
    "compressor, left",
    [(KMeansClusters(6), ["parts"]), (ProductQuantization(2, 10), ["places", "parts"])],
)
def test_tables_that_are_too_small_are_left_and_named(compressor, left):
    model = bert_like()
    with pytest.warns(UserWarning, match=f"{len(left)} of 3 embeddings cannot be") as caught:
        copy = compress_model(model, compressor)
    (message,) = [str(one.message) for one in caught if one.category is UserWarning]
    assert re.findall(r"Layer '(\w+)', a table of \d rows", message) == left
    assert re.search(r"`(num_clusters|cardinality)` must be an integer in \[2, 2\]", message)
    for name in ("words", "places", "parts"):
        assert isinstance(copy.get_layer(name), Form) == (name not in left)
    np.testing.assert_array_equal(
        copy.get_layer("parts").embeddings, model.get_layer("parts").embeddings
    )
    ids = [IDS, np.zeros_like(IDS)]
    table = compressor.fit(read_table(model, "words").vectors)(np.arange(V)).numpy()
    model.get_layer("words").embeddings.assign(table)
    if "places" not in left:
        table = compressor.fit(read_table(model, "places").vectors)(np.arange(9)).numpy()
        model.get_layer("places").embeddings.assign(table)
    np.testing.assert_allclose(copy(ids), model(ids), atol=1e-5)


def test_tables_that_were_named_or_are_all_must_be_compressed():
    model = bert_like(words=5)
    with pytest.raises(ValueError, match=r"Layer 'parts' cannot be .*: `num_clusters` must be"):
        compress_model(model, KMeansClusters(3), layers=["words", "parts"])
    with pytest.raises(ValueError, match=r"Layer '\w+' cannot .* \(nor can '\w+', '\w+'\): `num"):
        compress_model(model, KMeansClusters(12))
    model.get_layer("parts").embeddings.assign(np.full((2, 4), np.nan))
    with pytest.raises(ValueError, match="Layer 'parts' cannot be .*finite numbers only"):
        compress_model(model, KMeansClusters(3))


@pytest.mark.parametrize("length", [None, 3])
def test_a_form_as_a_model(length):
    form, table = codebook()
    model = form_model(form, length)
    assert model.input_shape == (None, length)
    ids = np.array([[0, 7, 22], [1, 1, 1]])
    np.testing.assert_array_equal(model(ids), table[ids])
    assert export.verify(model, export.convert(model, "float32"), ids).agreement == 1
    with pytest.raises(ValueError, match="`form` must be a stored form"):
        form_model(standard())
    with pytest.raises(ValueError, match="`sequence_length` must be an integer >= 1"):
        form_model(form, 0)


@pytest.mark.few(1)
@pytest.mark.skipif(not hasattr(keras.layers, "ReversibleEmbedding"), reason="since Keras 3.13")
@pytest.mark.parametrize("in_file", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "compressor", [NearestAnchors(6, 2), KSVD(6, 2, iterations=2), ScalarQuantization(4)]
)
def test_a_table_that_is_read_and_scores_words_becomes_one_form(compressor, in_file):
    ids = keras.Input((None,), dtype="int32", name="ids")
    words = keras.layers.ReversibleEmbedding(V, 4, name="words")
    hidden = keras.layers.Dense(4, "tanh")(words(ids))
    model = keras.Model(ids, layers.tied_softmax(words, hidden, use_bias=True))
    copy = compress_model(model, compressor)
    assert [type(layer).__name__ for layer in copy.layers].count("ReversibleEmbedding") == 0
    assert len([layer for layer in copy.layers if isinstance(layer, Form)]) == 1
    table = copy.get_layer("words")(np.arange(V)).numpy()
    assert np.abs(table - words.embeddings.numpy()).max() > 1e-4  # it is not lossless
    words.embeddings.assign(table)
    shared = IDS[:2]
    np.testing.assert_allclose(copy(shared), model(shared), atol=1e-5)
    if in_file:
        assert export.verify(copy, export.convert(copy), shared, tolerance=1e-5).agreement == 1


def test_a_table_in_time_distributed_is_compressed():
    ids = keras.Input((3, 3), dtype="int32")
    words = keras.layers.Embedding(V, 4, name="words")
    model = keras.Model(ids, keras.layers.TimeDistributed(words)(ids))
    copy = compress_model(model, WHOLE)
    assert isinstance(copy.layers[1].layer, Form)
    values = IDS.reshape(len(IDS), 3, 3)
    np.testing.assert_allclose(copy(values), model(values), rtol=0, atol=1e-5)


def test_a_table_out_of_reach_is_named():
    class Holder(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.embedding = keras.layers.Embedding(V, 4, name="inside")
            self.embedding.build()
            self.look_up = lambda ids: self.embedding(ids)

        def call(self, ids):
            return self.look_up(ids)

    ids = keras.Input((9,), dtype="int32")
    held = Holder(name="holder")(ids)
    with pytest.raises(ValueError, match="Layer 'inside' cannot be compressed: .* a function"):
        compress_model(keras.Model(ids, held), WHOLE)
    both = keras.Model(ids, [held, keras.layers.Embedding(V, 4, name="plain")(ids)])
    with pytest.raises(ValueError, match="Layer 'inside' cannot be compressed: .* a function"):
        compress_model(both, WHOLE, layers=["inside"])
    with pytest.warns(UserWarning, match="1 of 2 embeddings cannot be compressed.*'inside'"):
        copy = compress_model(both, WHOLE)
    assert isinstance(copy.get_layer("plain"), Form)


def test_a_copy_in_which_no_table_fits_is_refused_whatever_their_names():
    def inner():
        return keras.Sequential([keras.Input((3,)), keras.layers.Embedding(9, 4, name="same")])

    ids = keras.Input((3,), dtype="int32")
    three = keras.Model(ids, [inner()(ids) for _ in range(3)])
    with pytest.raises(ValueError, match="cannot be compressed"):
        compress_model(three, KMeansClusters(50))
