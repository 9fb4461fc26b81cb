"""Inputs that fit: in the vocabulary, of the type and shape that the file takes."""

import copy

import keras
import numpy as np
import pytest
import tensorflow as tf

from export_models import V, cluster, file_of, mean, standard, text_file, two_text_files
from kerascompact import export
from kerascompact.text import Vocabulary
from kerascompact.tflite import flatbuffer
from kerascompact.tools.random_inputs import given_inputs, random_inputs

WORDS = Vocabulary([f"word{i}" for i in range(V - 2)])


def parsed(model, **options):
    return flatbuffer.parse(export.convert(model, **options))


@pytest.fixture(scope="module")
def data():
    return file_of("mean")


def foreign(function, *specs):
    concrete = tf.function(function, autograph=False).get_concrete_function(*specs)
    return flatbuffer.parse(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())


def test_ids_are_those_of_the_vocabulary(data):
    (ids,) = random_inputs(flatbuffer.parse(data), 50, sequence_length=9).values()
    assert ids.shape == (50, 1, 9) and ids.dtype == np.int32
    assert ids.min() == 0 and ids.max() == V - 1
    (few,) = random_inputs(flatbuffer.parse(data), 50, num_ids=3).values()
    assert set(few.reshape(-1)) == {0, 1, 2}


def test_fixed_lengths_stay():
    (ids,) = random_inputs(
        parsed(mean(cluster()), sequence_length=5), 2, sequence_length=9
    ).values()
    assert ids.shape == (2, 1, 5)


def test_ids_of_a_foreign_file_are_rows_of_its_smallest_table():
    tables = (np.arange(4 * rows, dtype=np.float32).reshape(rows, 4) for rows in (7, 90))
    small, large = map(tf.constant, tables)
    spec = tf.TensorSpec((1, 6), tf.int32)
    model = foreign(lambda x: tf.gather(small, x) + tf.gather(large, x), spec)
    (ids,) = random_inputs(model, 50).values()
    assert ids.min() == 0 and ids.max() == 6


def test_ids_of_each_input_are_rows_of_its_own_table():
    """As of words and segments; what reads ids in another way leaves them to the smallest."""
    small, large = (tf.zeros((rows, 4)) for rows in (2, 90))
    specs = [tf.TensorSpec((1, 6), tf.int32)] * 2

    def sums(x, y):
        mask = tf.cast(tf.not_equal(x, 0), tf.float32)[..., None]
        return mask * tf.gather(large, x) + tf.gather(small, y)

    ids = [keras.Input((6,), dtype="int32") for _ in specs]
    looked_up = keras.layers.Add()(
        [keras.layers.Embedding(n, 4)(x) for n, x in zip((90, 2), ids, strict=True)]
    )
    keras_file = tf.lite.TFLiteConverter.from_keras_model(keras.Model(ids, looked_up)).convert()
    for model in (foreign(sums, *specs), flatbuffer.parse(keras_file)):
        segments, words = sorted(ids.max() for ids in random_inputs(model, 50).values())
        assert words > 80 and segments == 1
    shifted = foreign(lambda x, y: tf.gather(large, 2 * x) + tf.gather(small, y), *specs)
    assert max(ids.max() for ids in random_inputs(shifted, 50).values()) == 1


def test_numbers_of_other_types():
    specs = [tf.TensorSpec((1, 3), dtype) for dtype in (tf.float32, tf.bool)]
    model = foreign(lambda x, b: tf.where(b, x, -x), *specs)
    x, b = random_inputs(model, 40).values()
    assert x.dtype == np.float32 and abs(x.mean()) < 0.5 and 0.5 < x.std() < 1.5
    assert b.dtype == bool and 0 < b.mean() < 1


def test_quantized_inputs_use_all_numbers(data):
    model = flatbuffer.parse(data)
    tensor = model.subgraphs[0].tensors[model.subgraphs[0].inputs[0]]
    tensor.type = flatbuffer.schema.TensorType.INT8
    tensor.quantization = flatbuffer.schema.QuantizationParametersT()
    tensor.quantization.scale = np.float32([0.1])
    (found,) = random_inputs(model, 100).values()
    assert found.dtype == np.int8 and found.min() == -128 and found.max() == 127


@pytest.mark.few(1)
@pytest.mark.parametrize("max_bytes", [None, 40])
def test_texts(max_bytes):
    if max_bytes == 40:
        model = flatbuffer.parse(text_file())
    else:
        model = parsed(mean(standard()), text=WORDS)
    (found,) = random_inputs(model, 6, sequence_length=5).values()
    assert found.shape[:2] == (6, 1) and found.dtype == np.int32
    for row in found[:, 0]:
        words = bytes(row[row > 0].astype(np.uint8)).decode().split(" ")
        assert max_bytes or len(words) == 5
        assert all(2 <= len(word) <= 9 for word in words[:-1])
    (given,) = random_inputs(model, 3, texts=["one", "word7 two"]).values()
    assert bytes(given[1, 0, :9].astype(np.uint8)) == b"word7 two"
    np.testing.assert_array_equal(given[0], given[2])


def test_texts_of_each_model_in_a_file():
    model = flatbuffer.parse(two_text_files())
    for graph in (0, 1):
        (found,) = random_inputs(model, 6, graph=graph).values()
        assert found.max() < 128 and " " in bytes(found[0, 0].astype(np.uint8)).decode()
        (given,) = given_inputs(model, ["one"], graph=graph).values()
        assert bytes(given[0, 0, :4].astype(np.uint8)) == b"one\0"


def test_seeds(data):
    model = flatbuffer.parse(data)
    one, again, other = (random_inputs(model, seed=seed) for seed in (1, 1, 2))
    for name, array in one.items():
        np.testing.assert_array_equal(array, again[name])
        assert not np.array_equal(array, other[name])


def test_inputs_of_one_name_do_not_meet(data):
    model = flatbuffer.parse(data)
    (graph,) = model.subgraphs
    graph.inputs = [graph.inputs[0], graph.inputs[0]]
    assert len(random_inputs(model)) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(count=0), "`count` must be an integer >= 1"),
        (dict(sequence_length=0), "`sequence_length` must be an integer >= 1"),
        (dict(num_ids=0), "`num_ids` must be an integer >= 1"),
        (dict(texts=["a"]), "`texts` must be None, or at least one text for a file that takes"),
    ],
)
def test_refuses(data, options, message):
    with pytest.raises(ValueError, match=message):
        random_inputs(flatbuffer.parse(data), **options)


def test_refuses_inputs_that_are_no_numbers(data):
    model = flatbuffer.parse(data)
    (graph,) = model.subgraphs
    graph.tensors[graph.inputs[0]].type = flatbuffer.schema.TensorType.STRING
    with pytest.raises(ValueError, match="an input of type string, which cannot"):
        random_inputs(model)


def three_inputs():
    """A file whose inputs are in another order than the model's."""
    inputs = [keras.Input((n,), name=name) for n, name in ((1, "z"), (2, "m"), (3, "a"))]
    return keras.Model(inputs, keras.layers.Concatenate()(inputs[::-1]))


def test_rows_of_the_user():
    model, random = parsed(three_inputs(), recipe="float32"), np.random.default_rng(0)
    rows = {name: random.normal(size=(4, n)) for n, name in ((1, "z"), (2, "m"), (3, "a"))}
    for data in ([*rows.values()], (*rows.values(),), dict(reversed(rows.items()))):
        found = given_inputs(model, data)
        names = [name.split(" ")[1] for name in found]
        assert names != [*rows] and [name[0] for name in found] == ["0", "1", "2"]
        for name, array in zip(names, found.values(), strict=True):
            np.testing.assert_array_equal(array, rows[name][:, None].astype(np.float32))
    (graph,) = model.subgraphs
    for index in graph.inputs:  # as TensorFlow names them, and `inspect` shows them
        graph.tensors[index].name = b"serving_default_%s:0" % graph.tensors[index].name
    again = given_inputs(model, {f"serving_default_{name}:0": rows[name] for name in rows})
    assert [*again] == [*found] == [*given_inputs(model, rows)]
    three = parsed(three_inputs(), recipe="float32", batch_size=3)
    for name, array in given_inputs(three, rows).items():  # two runs: rows 0, 1, 2 and 3, 0, 1
        expected = np.take(rows[name.split(" ")[1]], [[0, 1, 2], [3, 0, 1]], axis=0)
        np.testing.assert_array_equal(array, expected.astype(np.float32))
    of_another = copy.deepcopy(model.signatureDefs[0])  # a graph that has tensors of these numbers
    of_another.subgraphIndex, of_another.inputs[0].name = 1, b"x"
    model.signatureDefs.insert(0, of_another)
    assert [*given_inputs(model, rows)] == [*found]
    with pytest.raises(ValueError, match=r"`data` must be rows of shape \[3\] for 'a'. Received"):
        given_inputs(model, [rows["z"]] * 3)
    with pytest.raises(ValueError, match=r"arrays for the inputs \['z', 'm', 'a'\]"):
        given_inputs(model, rows["a"])
