"""Tables of four bits and matrices of int8 in the file, and everything that must stay as it is."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema

from export_models import answers
from form_examples import V, codes_sum, dense, factored, recurrent
from kerascompact import export, tools
from kerascompact.export.silence import quiet
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.passes import int4

OP = schema.BuiltinOperator


def lookup(form, length=None):
    ids = keras.Input((length,), dtype="int32", name="ids")
    return keras.Model(ids, form(ids))


def outputs(data, ids):
    (found,) = Interpreter(data).run({"ids": ids}).values()
    return found


def stored(data):
    """Bytes of the file's constants of each type."""
    sizes = {}
    for tensor in tools.inspect(data).tensors:
        sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + tensor.num_bytes
    return sizes


def versions(data):
    """The version of each operator that is used."""
    model = flatbuffer.parse(data)
    used = {o.opcodeIndex for graph in model.subgraphs for o in graph.operators}
    return {(model.operatorCodes[i].builtinCode, model.operatorCodes[i].version) for i in used}


# Even widths are in the files of `test_forms_in_files`.
@pytest.mark.parametrize(
    ("width", "length"),
    [(5, 7), *(pytest.param(*size, marks=pytest.mark.slow)
               for size in ((1, None), (2, 7), (3, None), (4, None), (8, 7)))],
)  # fmt: skip
def test_rows_of_four_bits_of_any_width(width, length):
    """The kernel counts whole bytes in a row; every row is read, the first and the last, too."""
    model = lookup(dense(width=width)[0], length)
    data = export.convert(model, "int4_tables")
    small = export.freeze(model, "int4_tables").model
    assert stored(data)["int4"] == V * -(-width // 2)
    every = np.arange(28).reshape(4, 7) % V
    found = np.concatenate([outputs(data, row[None]) for row in every])
    np.testing.assert_array_equal(found, answers(small, every))
    assert {(OP.GATHER, 7), (OP.CAST, 6)} <= versions(data)
    assert tools.inspect(data).runtime == "2.15.0"


@pytest.mark.parametrize("width", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_sums_of_codes_of_four_bits(width):
    model = lookup(codes_sum(width=width)[0])
    data = export.convert(model, "int4_tables")
    assert stored(data)["int4"] == 3 * 5 * 2  # 3 codebooks of 5 rows of two bytes
    ids = np.arange(V)[None]
    expected = answers(export.freeze(model, "int4_tables").model, ids)
    np.testing.assert_allclose(outputs(data, ids), expected, atol=1e-6)  # sums of 3 float32


@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", ["float32", "int8_tables"])
def test_other_recipes_have_no_four_bits(recipe):
    """Not even for a table that four bits would hold."""
    form, _ = dense()
    form.table.assign(np.zeros((V, 4)))
    data = export.convert(lookup(form), recipe)
    assert "int4" not in stored(data)
    assert tuple(map(int, tools.inspect(data).runtime.split("."))) < (2, 15)


def converted(function, length=5):
    """What the converter makes of a function of ids, parsed."""
    traced = tf.function(function, input_signature=[tf.TensorSpec((1, length), tf.int32, "ids")])
    module = tf.Module()
    module.function = traced
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [traced.get_concrete_function()], module
    )
    with quiet(native=True):
        return flatbuffer.parse(converter.convert())


def types(model):
    return [tensor.type for graph in model.subgraphs for tensor in graph.tensors]


def small_integers(*shape, largest=7):
    random = np.random.default_rng(0)
    return np.clip(random.integers(-largest, largest + 1, shape), -largest, largest).astype(np.int8)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "function",
    [
        lambda ids: tf.gather(small_integers(6, 4), ids),  # int8 leaves the model
        lambda ids: tf.cast(tf.gather(small_integers(6, 4), ids), tf.int32),
        lambda ids: tf.cast(tf.gather(small_integers(6, 4, largest=8), ids), tf.float32),
        lambda ids: tf.cast(tf.gather(small_integers(4, 6), ids, axis=1), tf.float32),
        lambda ids: tf.cast(tf.gather(small_integers(6), ids), tf.float32),
    ],
    ids=["no cast", "cast to int32", "an 8", "columns", "a vector"],
)
def test_tables_that_int4_cannot_hold_stay(function):
    model = converted(function)
    before = types(model)
    int4.store_tables_as_int4(model)
    assert types(model) == before


def test_a_table_of_two_readers_is_packed_once():
    table = small_integers(6, 3)

    def function(ids):
        rows = tf.cast(tf.gather(table, ids), tf.float32)
        return tf.concat([rows, tf.cast(tf.gather(table, 5 - ids), tf.float32)], axis=-1)

    model = converted(function)
    int4.store_tables_as_int4(model)
    flatbuffer.slim(model)
    data = flatbuffer.pack(model)
    ids = np.array([[0, 5, 3, 1, 2]])
    np.testing.assert_array_equal(
        outputs(data, ids), np.concatenate([table[ids], table[5 - ids]], -1)
    )
    assert stored(data)["int4"] == 6 * 2


@pytest.mark.few(1)
@pytest.mark.parametrize(("size", "recipe"), [((3, 4), "int8_tables"), ((40, 70), "int4_tables")])
def test_a_matrix_is_stored_as_int8_and_dequantized_once(size, recipe):
    """Whether or not the converter would have stored it as float32, as it does a small one."""
    rank, width = size
    model = lookup(factored(width=width, rank=rank)[0])
    data = export.convert(model, recipe)
    found = tools.inspect(data)
    assert found.operators["DEQUANTIZE"] == 1
    assert "REDUCE_MIN" not in found.operators  # what the unknown zero was made of
    (matrix,) = [t for t in found.tensors if t.dtype == "int8" and t.shape == size]
    assert matrix.num_bytes == rank * width
    assert stored(data)["float32"] <= 4 * (2 * width + rank)  # scales, bias
    ids = np.arange(V)[None]
    expected = answers(export.freeze(model, recipe).model, ids)
    # sums of up to 40 products of integers and steps, of size 20
    np.testing.assert_allclose(outputs(data, ids), expected, atol=1e-5)


@pytest.mark.slow  # `test_forms_in_files` has an LSTM of integers
@pytest.mark.parametrize("length", [None, 7])
def test_matrices_within_a_loop(length):
    model = lookup(recurrent()[0], length)
    data = export.convert(model, "int8_tables")
    found = tools.inspect(data)
    assert found.operators["DEQUANTIZE"] == 2 and found.operators["WHILE"] == 1
    # nothing is as large as the ids times the units
    assert stored(data)["float32"] <= 4 * 3 * 16 + 16
    ids = np.arange(7)[None]
    expected = answers(export.freeze(model, "int8_tables").model, ids)
    np.testing.assert_allclose(outputs(data, ids), expected, atol=1e-6)  # Keras' own tolerance


def test_a_file_without_integers_stays_to_the_bit():
    ids = keras.Input((5,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(6, 4)(ids)
    model = keras.Model(ids, keras.layers.Dense(3)(vectors))
    data = export.convert(model, "float32")
    parsed = flatbuffer.parse(data)
    int4.dequantize_kernels_once(parsed)
    int4.store_tables_as_int4(parsed)
    assert flatbuffer.pack(parsed) == data


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "function",
    [
        lambda ids: tf.gather(small_integers(1, 4, 3), tf.minimum(ids[0, 0], 0)),
        lambda ids: tf.cast(tf.gather(small_integers(2, 4, 3), ids[0, 0]), tf.float32),
        lambda ids: tf.cast(tf.gather(small_integers(1, 4, 3), ids * 0), tf.float32),
    ],
    ids=["no cast", "one of two", "several"],
)
def test_reads_of_matrices_that_are_no_constant_stay(function):
    model = converted(function)
    before = flatbuffer.operator_names(model)
    int4.dequantize_kernels_once(model)
    assert flatbuffer.operator_names(model) == before
