"""Checks of `export.from_tf_keras`, for a process of their own: see test_legacy.py.

Importing tensorflow_model_optimization makes `tf.keras` Keras 2 for the whole process.
"""

import doctest
import gzip

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_model_optimization as tfmot
import tf_keras

from kerascompact import compress, export, tools
from kerascompact.export.tf_keras import layer, models
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import Vocabulary
from kerascompact.tflite import flatbuffer

V, D, LENGTH, CLASSES = 30, 8, 6, 3
IDS = np.random.default_rng(0).integers(1, V, (64, LENGTH)).astype(np.int32)
IDS[::3, 4:] = 0
KLASS = IDS[:, 0] % CLASSES


def classifier(mask=False):
    tf_keras.utils.set_random_seed(1)
    ids = tf_keras.Input((LENGTH,), dtype="int32", name="ids")
    vectors = tf_keras.layers.Embedding(V, D, mask_zero=mask, name="words")(ids)
    if mask:
        hidden = tf_keras.layers.LSTM(8, name="lstm")(vectors)
    else:
        hidden = tf_keras.layers.Flatten()(vectors)
        hidden = tf_keras.layers.Dense(32, activation="relu", name="hidden")(hidden)
    classes = tf_keras.layers.Dense(CLASSES, activation="softmax", name="classes")(hidden)
    return tf_keras.Model(ids, classes)


def fit(model, epochs=4, callbacks=()):
    model.compile(tf_keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    model.fit(IDS, KLASS, epochs=epochs, verbose=0, callbacks=list(callbacks))
    return model


def probabilities(model, embedding, table):
    """What tf_keras itself predicts with another table, each row alone, as a phone sees it."""
    before = embedding.get_weights()
    embedding.set_weights([table])
    try:
        return np.concatenate([model(row[None], training=False).numpy() for row in IDS])
    finally:
        embedding.set_weights(before)


def table_of(model, name="words"):
    """The compressed table, read by the ids of all words."""
    return model.get_layer(name)(np.arange(V)).numpy()


def in_file(data, name="classes"):
    file = Interpreter(data)
    return np.concatenate([file.run({"ids": row[None]})[name] for row in IDS])


def constants(data, dtype=np.float32, kind=0):
    """The arrays of one type in a file, by shape."""
    model = flatbuffer.parse(data)
    return {
        tuple(t.shape): np.frombuffer(bytes(bytearray(model.buffers[t.buffer].data)), dtype)
        for t in model.subgraphs[0].tensors
        if t.type == kind and model.buffers[t.buffer].data is not None
    }


def test_pruned():
    assert tf.keras.layers.Dense is tf_keras.layers.Dense, "this process is tfmot's"
    schedule = tfmot.sparsity.keras.ConstantSparsity(0.75, begin_step=0, frequency=1)
    pruned = tfmot.sparsity.keras.prune_low_magnitude(classifier(), schedule)
    fit(pruned, callbacks=[tfmot.sparsity.keras.UpdatePruningStep()])
    model = tfmot.sparsity.keras.strip_pruning(pruned)
    small = export.from_tf_keras(model, compress.Pruning())  # stores what is not zero
    data = export.convert(small, "float32")
    expected = probabilities(model, model.get_layer("words"), table_of(small))
    np.testing.assert_allclose(in_file(data), expected, atol=1e-6)  # order of sums
    np.testing.assert_array_equal(table_of(small), model.get_layer("words").get_weights()[0])
    assert export.verify(small, data, IDS, KLASS).agreement == 1
    kernel = constants(data)[32, LENGTH * D]
    assert np.mean(kernel == 0) == 0.75, "zeros are stored, and stay zeros"
    # A zero takes as many bytes in the file as any number, but next to none in an app's archive.
    assert len(gzip.compress(kernel.tobytes())) < 0.4 * kernel.nbytes
    assert not np.signbit(kernel[kernel == 0]).any(), "-0.0 would be another number to gzip"
    as_int8 = export.convert(small, "int8")
    assert export.verify(small, as_int8, IDS, KLASS).agreement == 1
    assert np.mean(constants(as_int8, np.int8, kind=9)[32, LENGTH * D] == 0) >= 0.75


def test_clustered():
    start = tfmot.clustering.keras.CentroidInitialization.LINEAR
    model = tfmot.clustering.keras.cluster_weights(
        fit(classifier()), number_of_clusters=4, cluster_centroids_init=start
    )
    fit(model)
    model = tfmot.clustering.keras.strip_clustering(model)
    # Of each column no more values than clusters are left: a codebook of scalars holds them all.
    small = export.from_tf_keras(model, compress.ProductQuantization(code_length=D, cardinality=4))
    np.testing.assert_allclose(
        table_of(small), model.get_layer("words").get_weights()[0], atol=1e-6
    )
    data = export.convert(small, "float32")
    expected = probabilities(model, model.get_layer("words"), table_of(small))
    np.testing.assert_allclose(in_file(data), expected, atol=1e-6)  # order of sums
    assert export.verify(small, data, IDS, KLASS).agreement == 1
    assert len(np.unique(constants(data)[32, LENGTH * D])) == 4


@pytest.fixture(scope="module")
def quantized():
    vectors = tf_keras.Input((LENGTH, D))
    hidden = tf_keras.layers.Flatten()(vectors)
    hidden = tf_keras.layers.Dense(32, activation="relu")(hidden)
    rest = tf_keras.Model(vectors, tf_keras.layers.Dense(CLASSES, activation="softmax")(hidden))
    rest = tfmot.quantization.keras.quantize_model(rest)
    embedding = tf_keras.layers.Embedding(V, D, name="words")
    ids = tf_keras.Input((LENGTH,), dtype="int32", name="ids")
    return embedding, rest, fit(tf_keras.Model(ids, rest(embedding(ids))), epochs=20)


def test_quantized(quantized):
    embedding, rest, joined = quantized
    with pytest.raises(TypeError):  # why the rest is quantized alone
        tfmot.quantization.keras.quantize_model(classifier())
    for model in ((embedding, rest), joined):
        small = export.from_tf_keras(model, compress.ScalarQuantization(4))
        expected = probabilities(joined, embedding, table_of(small))
        np.testing.assert_allclose(small.predict(IDS, verbose=0), expected, atol=1e-6)
        data = export.convert(small, "int4_tables")
        got = in_file(data, small.output_names[0])
        # The file rounds probabilities to steps of 1/256, and logits to a step before that.
        np.testing.assert_allclose(got, expected, atol=4 / 256)
        report = export.verify(small, data, IDS, KLASS, tolerance=4 / 256, min_agreement=0.95)
        assert report.file_accuracy >= 0.9 and not report.exact
        assert (32, LENGTH * D) in constants(data, np.int8, kind=9), "an int8 kernel"
        assert not [shape for shape in constants(data) if len(shape) == 2], "no float32 kernel"
    assert len(data) < len(export.convert(export.from_tf_keras(classifier()), "int4_tables"))


def test_other_forms_and_recipes(quantized):
    embedding, rest, joined = quantized
    for compressor, recipe in (
        (None, "int8_tables"),
        (None, "float32"),
        (None, "int4"),
        (compress.TruncatedSVD(3), "int8_tables"),
        (compress.KMeansClusters(9), "int8_tables"),
    ):
        small = export.from_tf_keras((embedding, rest), compressor)
        data = export.convert(small, recipe)
        export.verify(small, data, IDS, tolerance=4 / 256, min_agreement=0.95)
        assert (32, LENGTH * D) in constants(data, np.int8, kind=9)


def test_masks_and_loops(tmp_path):
    model = classifier(mask=True)
    small = export.from_tf_keras(model, compress.ScalarQuantization())
    expected = probabilities(model, model.get_layer("words"), table_of(small))
    np.testing.assert_allclose(small.predict(IDS, verbose=0), expected, atol=1e-6)
    data = export.convert(small, "int8_tables")
    np.testing.assert_allclose(in_file(data), expected, atol=1e-5)  # LSTM steps
    assert data == export.convert(small, "int8_tables"), "no name that changes with each trace"
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" not in tools.inspect(data).operators
    # The joined model is one of Keras 3: it is saved, takes text, and is not tied to the original.
    small.save(tmp_path / "small.keras")
    model.get_layer("lstm").set_weights([w * 0 for w in model.get_layer("lstm").get_weights()])
    again = keras.saving.load_model(tmp_path / "small.keras")
    np.testing.assert_allclose(again.predict(IDS, verbose=0), expected, atol=1e-6)
    words = Vocabulary([f"w{i}" for i in range(V - 2)])
    text = export.convert(again, text=words, max_bytes=40)
    export.verify(again, text, ["w1 w2", "", "w9 w9 none"], vocabulary=words)


def test_several_inputs_and_outputs_and_a_shared_embedding():
    shared = tf_keras.layers.Embedding(V, D, name="words")
    first, second = (tf_keras.Input((LENGTH,), name=name) for name in ("first", "second"))
    numbers = tf_keras.Input((2,), name="numbers")
    means = [tf_keras.layers.GlobalAveragePooling1D()(shared(ids)) for ids in (first, second)]
    other = tf_keras.layers.Embedding(V, 3, name="others")(second)
    all_ = tf_keras.layers.Concatenate()([*means, tf_keras.layers.Flatten()(other), numbers])
    all_ = all_ * tf.cast(first[:, :1] > 3, tf.float32)  # ids that are read as they are
    heads = [tf_keras.layers.Dense(n, name=f"head_{n}")(all_) for n in (2, 3)]
    model = tf_keras.Model([first, second, numbers], heads)
    small = export.from_tf_keras(model, compress.ScalarQuantization(), layers=["words"])
    given = {"first": IDS, "second": IDS[::-1], "numbers": np.ones((64, 2), np.float32)}
    expected = dict(zip(("head_2", "head_3"), model.predict(given, verbose=0), strict=True))
    whole = export.from_tf_keras(model).predict(given, verbose=0)
    for name, values in expected.items():
        np.testing.assert_allclose(whole[name], values, atol=1e-6)
    data = export.convert(small, "float32")
    assert export.verify(small, data, given).agreement == 1
    file = Interpreter(data)
    shared.set_weights([table_of(small)])
    expected = model.predict(given, verbose=0)
    found = file.run({name: values[:1] for name, values in given.items()})
    np.testing.assert_allclose(found["head_2"], expected[0][:1], atol=1e-6)
    np.testing.assert_allclose(found["head_3"], expected[1][:1], atol=1e-6)


def test_says_what_it_cannot_take():
    def fails(model, match, **options):
        with pytest.raises(ValueError, match=match):
            export.from_tf_keras(model, **options)

    sequential, layers = tf_keras.Sequential, tf_keras.layers
    fails(keras.Sequential([keras.Input((3,))]), "`model` must be a tf_keras model.*of Keras 3")
    fails(tfmot.sparsity.keras.prune_low_magnitude(classifier()), "must be stripped first")
    fails(sequential([layers.Dense(2)]), "functional or Sequential model that has been built")
    fails(sequential([tf_keras.Input((3,)), layers.Dense(2)]), "a model with a tf_keras.layers.Emb")
    inner = sequential([tf_keras.Input((3,)), layers.Embedding(V, 2, name="deep")])
    fails(sequential([tf_keras.Input((3,)), inner]), "Embedding 'deep' must be a tf_keras.layers")
    fails(
        sequential([tf_keras.Input((3,)), layers.Reshape((3, 1)), layers.Embedding(V, 2)]),
        "must read an input of the model.*'reshape",
    )
    fails(sequential([tf_keras.Input((3,)), layers.Embedding(V, 2)]), "a layer behind each")
    rest = sequential([tf_keras.Input((4, 3)), layers.Flatten()])
    fails((layers.Embedding(V, 2), rest), r"`model\[0\]` must be .* with weights")
    embedding = layers.Embedding(V, 2)
    embedding.build(())
    fails((embedding, rest), r"`model\[1\]` must have one input, vectors of the embedding's width")
    half = layers.Dense(2, dtype="mixed_float16", name="half")
    half = sequential([tf_keras.Input((3,)), layers.Embedding(V, 2), layers.Flatten(), half])
    fails(half, "`half` must be a layer that computes in float32")
    fails(classifier(), "`layers` must be", compressor=compress.Pruning(), layers=["no"])
    with pytest.raises(ValueError, match="`architecture` must be the JSON of a tf_keras model"):
        layer.TFKerasLayer("{")
    with pytest.raises(
        ValueError, match="`architecture` must be the JSON of a tf_keras model. Rec"
    ):
        layer.TFKerasLayer('{"class_name": "Unknown", "config": {}}')


@pytest.mark.parametrize("module", [models, layer])
def test_examples(module):
    names = {"np": np, "keras": keras, "kerascompact": __import__("kerascompact")}
    for found in doctest.DocTestFinder().find(module, extraglobs=names):
        for example in found.examples:
            example.options.pop(doctest.SKIP, None)  # other processes leave tf_keras alone
        assert doctest.DocTestRunner().run(found).failed == 0, found.name
