"""Files of other exporters, made smaller: every number against NumPy, every refusal."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from export_models import mean, two_text_files
from kerascompact import export, runtime, tflite, tools
from kerascompact.core.quantize import quantize_columns
from kerascompact.runtime.interpreter import bare
from kerascompact.text import Vocabulary
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.associated_files import associated_files, with_files
from kerascompact.tflite.constants import constants
from kerascompact.tflite.graph_edits import OP, become, kind
from kerascompact.tools.differences import Difference, _apart
from kerascompact.tools.shrink import _check_outputs
from kerascompact.tools.smaller import Change

V, WIDTH = 900, 8


def table(rows=V, width=WIDTH, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def convert(function, *specs, float16=False):
    """By TensorFlow's own converter."""
    function = tf.function(function, autograph=False).get_concrete_function(*specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    if float16:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.target_spec.supported_types = [tf.float16]
    return converter.convert()


def ids_of(*shape):
    return tf.TensorSpec(shape, tf.int32, name="ids")


IDS = np.random.default_rng(1).integers(0, V, (5, 1, 4)).astype(np.int32)


def answers(file, inputs=IDS):
    """The first output for each row of inputs."""
    run, found = bare(file), []
    (given,) = run.get_input_details()
    run.resize_tensor_input(given["index"], inputs.shape[1:])
    run.allocate_tensors()
    for row in inputs:
        run.set_tensor(given["index"], row.astype(given["dtype"]))
        run.invoke()
        found.append(run.get_tensor(run.get_output_details()[0]["index"]))
    return np.stack(found)


def gather(values, shape=(1, 4), **settings):
    values = tf.constant(values)
    return convert(lambda ids: {"y": tf.gather(values, ids)}, ids_of(*shape), **settings)


def types(data):
    return {(one.dtype, one.shape) for one in constants(flatbuffer.parse(data))}


@pytest.mark.parametrize(
    ("recipe", "bits", "width"),
    [("int8", 8, 8), ("int4", 4, 8), ("int4", 4, 7), ("int4", 8, 1)],  # a row is whole bytes
)
def test_a_table_is_integers_times_a_scale_for_each_column(recipe, bits, width):
    values = table(width=width)
    found = tools.shrink(gather(values), recipe)
    codes, scale = quantize_columns(values, bits)
    np.testing.assert_array_equal(answers(found.data), (codes * scale)[IDS])
    stored = -(-width * bits // 8) * V
    assert max(one.num_bytes for one in constants(flatbuffer.parse(found.data))) == stored
    assert found.changes[0].after == stored + 4 * width
    error = np.linalg.norm(codes * scale - values, axis=1) / np.linalg.norm(values, axis=1)
    assert found.changes[0].error == pytest.approx(error.mean(), rel=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("numbers", [4, 2])
@pytest.mark.parametrize("shape", [(1, 4), (None, 4), (None, None)], ids=str)
def test_codes_select_vectors_of_codebooks_for_open_shapes_too(shape, numbers):
    values, length = table(1500), 8 // numbers
    found = tools.shrink(gather(values, shape), "codes", numbers_per_code=numbers)
    stored = {one.dtype: one.values() for one in constants(flatbuffer.parse(found.data))}
    codes = stored["uint8"].reshape(1500, length)
    books = stored["int8"].reshape(length, 256, -1) * stored["float32"].reshape(length, 1, -1)
    wanted = np.concatenate([books[j][codes[:, j]] for j in range(length)], axis=1)
    np.testing.assert_array_equal(answers(found.data), wanted[IDS])
    apart = np.square(values[:, None, :numbers] - books[0][None]).sum(axis=2)
    assert np.mean(np.argmin(apart, axis=1) == codes[:, 0]) > 0.99  # but for rounded codebooks
    if shape == (None, None):
        many = np.tile(IDS, (1, 3, 2))
        np.testing.assert_array_equal(answers(found.data, many), wanted[many])


def test_codes_that_take_more_than_was_asked_for_are_int4():
    found = tools.shrink(gather(table(width=7)), "codes", numbers_per_code=2)  # 7 codes of 8 bits
    assert found.changes[0].now.startswith("int4")


@pytest.mark.few(3)
@pytest.mark.parametrize("recipe", ["int8", "int4", "codes"])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.int16])
def test_the_first_rows_get_8_bits_more_if_they_hold_most_lookups(recipe, dtype):
    values, draw = table(2000), np.random.default_rng(2)
    rows = np.where(draw.random((64, 4)) < 0.9, draw.integers(0, 90, (64, 4)),
                    draw.integers(0, 2000, (64, 4)))  # fmt: skip
    one = tf.constant(values)
    file = convert(lambda ids: {"y": tf.gather(one, ids)}, tf.TensorSpec((None, 4), dtype, "ids"))
    counts = np.bincount(rows.reshape(-1), minlength=2000)
    first = int(np.searchsorted(np.cumsum(counts) / counts.sum(), 0.85)) + 1
    plain, counted = (tools.shrink(file, recipe, calibrate=one) for one in (None, rows))
    assert counted.changes[0].now.endswith(f"8 bits more for the first {first} rows")
    every = np.arange(2000).reshape(-1, 1, 4)
    errors = np.abs(answers(counted.data, every).reshape(2000, 8) - values)
    before = np.abs(answers(plain.data, every).reshape(2000, 8) - values)
    assert errors[:first].max() < (before.max() + (recipe == "codes")) / 120
    if recipe != "codes":
        np.testing.assert_array_equal(errors[first:], before[first:])
    given = counted.outputs[-1]
    assert (given.inputs, given.rows) == ("given", 64) and given.relative < plain.outputs[
        0
    ].relative
    assert len(counted.data) - len(plain.data) < (first + 1) * 8 + 900


def test_rows_that_occur_anywhere_get_the_better_codes():
    values, draw = table(2000), np.random.default_rng(2)
    rows = draw.choice(2000, 200)[draw.integers(0, 200, (64, 4))]
    file = gather(values)
    plain, counted = (tools.shrink(file, "codes", calibrate=one) for one in (None, rows))
    assert "more for the first" not in counted.changes[0].now
    exact = values[rows][:, None]
    before, after = (
        np.abs(answers(one.data, rows[:, None]) - exact).mean() for one in (plain, counted)
    )
    assert after < 0.95 * before


def test_embedding_lookup_becomes_a_gather():
    file = export.convert(looked_up(), "float32")
    model = flatbuffer.parse(file)
    graph = model.subgraphs[0]
    node = next(one for one in graph.operators if kind(model, one) == OP.GATHER)
    node.inputs = np.array(node.inputs[::-1], np.int32)
    become(model, node, OP.EMBEDDING_LOOKUP, 1)
    other = flatbuffer.pack(model)
    assert flatbuffer.operator_names(flatbuffer.parse(other))[0] == "EMBEDDING_LOOKUP"
    np.testing.assert_array_equal(
        answers(tools.shrink(other).data, IDS[:, 0]), answers(tools.shrink(file).data, IDS[:, 0])
    )


def looked_up():
    ids = keras.Input(batch_shape=(4,), dtype="int32", name="ids")
    return keras.Model(ids, keras.layers.Embedding(V, WIDTH)(ids))


def test_kernels_are_integers_with_a_scale_for_each_output():
    kernel = table(64, 32)
    product = convert(
        lambda x: {"y": tf.matmul(x, tf.constant(kernel))}, tf.TensorSpec((2, 64), name="x")
    )
    found = tools.shrink(product)
    codes, scale = quantize_columns(kernel)
    x = np.random.default_rng(0).normal(size=(3, 2, 64)).astype(np.float32)
    np.testing.assert_allclose(answers(found.data, x), x @ (codes * scale), rtol=1e-5, atol=1e-5)
    assert ("int8", (32, 64)) in types(found.data)
    assert tools.inspect(found.data).runtime == "2.7.0"  # the first with a scale for each output


@pytest.mark.parametrize("recipe", ["int8", "int4"])
def test_a_tied_table_is_stored_once_and_means_the_same_both_ways(recipe):
    values = table()

    def model(ids):
        vector = tf.reduce_mean(tf.gather(tf.constant(values), ids), axis=1)
        return {"y": tf.matmul(vector, tf.constant(values), transpose_b=True)}

    found = tools.shrink(convert(model, ids_of(1, 4)), recipe)
    codes, scale = quantize_columns(values)
    stored = codes * scale
    np.testing.assert_allclose(
        answers(found.data), stored[IDS].mean(axis=2) @ stored.T, rtol=1e-4, atol=1e-5
    )
    assert [
        one.shape for one in constants(flatbuffer.parse(found.data)) if one.num_bytes > 500
    ] == [values.shape]


def test_float16_files_shrink_too():
    values = table()
    file = gather(values, float16=True)
    assert ("float16", values.shape) in types(file)
    found = tools.shrink(file)
    codes, scale = quantize_columns(values.astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(answers(found.data), (codes * scale)[IDS])
    assert "float16" not in {dtype for dtype, _ in types(found.data)}
    kernel = table(64, 32)
    product = convert(
        lambda x: {"y": tf.matmul(x, tf.constant(kernel))},
        tf.TensorSpec((2, 64), name="x"),
        float16=True,
    )
    assert ("int8", (32, 64)) in types(tools.shrink(product).data)


def test_names_signatures_metadata_and_files_stay():
    model = mean(standard_wide())
    labels = ["a", "b", "c"]
    file = with_files(export.convert(model, "float32", labels=labels), {"labels.txt": b"a\nb\nc"})
    found = tools.shrink(file)
    assert associated_files(found.data) == {"labels.txt": b"a\nb\nc"}
    assert tflite.read_metadata(found.data)["labels"] == labels
    told = tflite.read_metadata(found.data)
    assert (told["recipe"]["name"], told["shrunk"]) == ("float32", "int8")
    report = export.verify(model, found.data, IDS[:, 0])
    pairs = {name: limits and limits.agreement for name, limits in report.bounds().items()}
    assert pairs == {"frozen_file": 0.98, "trained_frozen": 1, "trained_file": None}
    parsed = flatbuffer.parse(file)
    parsed.description = b"by its author"
    described = flatbuffer.parse(tools.shrink(flatbuffer.pack(parsed)).data)
    assert described.description == b"by its author"
    before, after = tools.inspect(file), tools.inspect(found.data)
    assert (before.signatures, before.inputs, before.outputs) == (
        after.signatures, after.inputs, after.outputs
    )  # fmt: skip
    with pytest.raises(ValueError, match="truncated or damaged"):
        flatbuffer.read(found.data[:-1] + bytes([found.data[-1] ^ 1]))


def standard_wide():
    return keras.layers.Embedding(V, WIDTH, mask_zero=True, name="embedding")


def test_a_file_that_takes_text_is_checked_on_texts():
    words = Vocabulary([f"w{n}" for n in range(V - 2)])
    file = export.convert(mean(standard_wide()), "float32", text=words, labels=["a", "b", "c"])
    with pytest.raises(ValueError, match="`calibrate` must be some texts: the file knows words by"):
        tools.shrink(file, "int4")  # no made-up text has one of its words
    found = tools.shrink(file, "int4", calibrate=["w1 w2", "w3"])
    assert [one.inputs for one in found.outputs] == ["random", "given"]
    assert found.outputs[1].rows == 2
    assert runtime.TextClassifier(found.data).predict("w1 w2").label in "abc"
    with pytest.raises(ValueError, match="`calibrate` must be some texts: the file knows words by"):
        tools.shrink(two_text_files())
    outputs = tools.shrink(two_text_files(), calibrate=["word1 word2", "word3"]).outputs
    assert [(one.inputs, one.rows) for one in outputs] == [("random", 32)] * 2 + [("given", 2)] * 2


def test_a_file_without_signatures():
    model = flatbuffer.parse(gather(table()))
    model.signatureDefs = None
    assert len(tools.shrink(flatbuffer.pack(model)).outputs) == 1


def test_a_file_with_a_variable_keeps_what_writes_it():
    owner, values = tf.Module(), tf.constant(table())
    owner.sum = tf.Variable(tf.zeros((1, 4, WIDTH)))

    def add(ids):
        owner.sum.assign_add(tf.gather(values, ids))
        return {"y": owner.sum.read_value()}

    function = tf.function(add, autograph=False).get_concrete_function(ids_of(1, 4))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], owner)
    converter.experimental_enable_resource_variables = True
    found = answers(tools.shrink(converter.convert()).data)
    np.testing.assert_allclose(found, np.cumsum(table()[IDS], axis=0), atol=0.1)  # 5 roundings


def test_every_model_of_a_file_is_checked():
    models = {name: keras.Model(*of(name)) for name in ("first", "second")}
    data = export.convert(models, "float32")
    found = tools.shrink(data)
    assert sorted(one.output for one in found.outputs) == ["first_out", "second_out"]
    damaged = flatbuffer.parse(data)
    damaged.signatureDefs[0].inputs[0].tensorIndex += 1  # no input of the graph
    with pytest.raises(ValueError, match="cannot be run: its signature does not name every input"):
        tools.shrink(flatbuffer.pack(damaged))


def of(name):
    ids = keras.Input((4,), dtype="int32", name=f"{name}_ids")
    return ids, keras.layers.Embedding(V, WIDTH, name=f"{name}_out")(ids)


def test_a_kernel_that_saves_next_to_nothing_stays():
    def model(ids):
        vectors = tf.reduce_mean(tf.gather(tf.constant(table(9000)), ids), axis=1)
        return {"y": tf.matmul(vectors, tf.constant(table(8, 20)))}

    found = tools.shrink(convert(model, ids_of(1, 4)))
    assert [one.now[:5] for one in found.changes] == ["int8,", "stays"]


def test_each_lookup_of_a_table_has_operators_of_its_own():
    def read_by_eight(rows, width):
        values = tf.constant(table(rows, width))
        specs = [tf.TensorSpec((1, 4), tf.int32, name=f"ids{n}") for n in range(8)]
        return convert(lambda *ids: [tf.gather(values, one) for one in ids], *specs)

    with pytest.raises(ValueError, match=r"nothing to shrink.*\[100, 3\].*int8 costs more"):
        tools.shrink(read_by_eight(100, 3), "int4")
    file = read_by_eight(300, 7)  # of seven columns an int4 lookup cuts rows of eight
    found = tools.shrink(file, "int4")
    assert found.changes[0].now.startswith("int8") and len(found.data) < len(file)


def test_what_would_change_too_much_gets_more_bits_or_stays():
    values = table()
    values[0] = 100  # a hundred times the others: four bits would leave zeros
    found = tools.shrink(gather(values), "int4", max_error=1)
    assert found.changes[0].now.startswith("int8")
    values[0] = 4000
    with pytest.raises(ValueError, match="nothing to shrink.*int8 would change it by 1.00"):
        tools.shrink(gather(values))
    values[0] = np.inf
    with pytest.raises(ValueError, match="nothing to shrink.*not finite"):
        tools.shrink(gather(values))


def test_keeps_what_is_named():
    pair = convert(
        lambda ids: {
            "y": tf.gather(tf.constant(table(), name="one"), ids)
            + tf.gather(tf.constant(table(seed=1), name="two"), ids)
        },
        ids_of(1, 4),
    )
    names = [one.name for one in constants(flatbuffer.parse(pair)) if one.is_table]
    found = tools.shrink(pair, keep=[names[0]])
    assert {"int8", "float32"} == {
        one.dtype for one in constants(flatbuffer.parse(found.data)) if one.is_table
    }
    assert [change.name for change in found.changes] == [names[1]]


def test_refuses_what_it_cannot_keep(tmp_path):
    file = gather(table())
    with pytest.raises(ValueError, match="`seed` must be an integer in"):
        tools.shrink(file, seed=-1)
    with pytest.raises(ValueError, match="`max_error` is 1e-06.*largest error is"):
        tools.shrink(file, max_error=1e-6)
    with pytest.raises(ValueError, match="`min_agreement` is 100.00%"):
        tools.shrink(file, "codes", min_agreement=1, max_error=2)
    with pytest.raises(ValueError, match="nothing to shrink"):
        tools.shrink(tools.shrink(file).data)
    with pytest.raises(ValueError, match="`recipe` must be"):
        tools.shrink(file, "int2")
    with pytest.raises(ValueError, match="`keep` must be names of float constants"):
        tools.shrink(file, keep=["none"])
    with pytest.raises(ValueError, match="`calibrate` must be rows of shape"):
        tools.shrink(file, calibrate=np.zeros((2, 9), "int32"))
    with pytest.raises(ValueError, match="complete TFLite model"):
        tools.shrink(file[:-40])
    flex = tf.function(lambda x: {"y": tf.strings.length(x)}).get_concrete_function(
        tf.TensorSpec((1,), tf.string, name="x")
    )
    converter = tf.lite.TFLiteConverter.from_concrete_functions([flex])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.SELECT_TF_OPS]
    with pytest.raises(ValueError, match="must run on built-in operators"):
        tools.shrink(converter.convert())
    (tmp_path / "cut.tflite").write_bytes(with_files(file, {"a.txt": b"a" * 99})[:-4])


def test_the_report_names_bytes_and_errors():
    found = tools.shrink(gather(table()))
    text = str(found)
    assert "times smaller" in text and "int8, a scale for each of 8 columns" in text
    assert "on 32 random inputs" in text
    assert repr(found) == f"Shrunk({found.bytes_before:,} bytes -> {len(found.data):,} bytes)"


def test_an_output_of_nan_is_refused_wherever_it_comes():
    one = Difference("a", "random", 8, 0.01, 0.01, 1.0)
    outputs = [one, one._replace(output="b", relative=np.nan)]
    with pytest.raises(ValueError, match="error of nan of the output 'b'"):
        _check_outputs(outputs, 0.2, 0.0, [Change("t", "was", "now", 8, 4, 0.1)])


def without_options(data):
    """The file as `names=False` writes it: options whose fields are all 0 are left out."""
    model = flatbuffer.parse(data)
    for operator in model.subgraphs[0].operators:
        if operator.builtinOptions is not None and not any(vars(operator.builtinOptions).values()):
            operator.builtinOptions, operator.builtinOptionsType = None, 0
    return flatbuffer.pack(model)


def test_options_that_are_all_zero_may_be_left_out():
    words, kernel = tf.constant(table()), tf.constant(table(64, WIDTH).reshape(1, WIDTH, 64))
    data = convert(lambda ids: {"y": tf.matmul(tf.gather(words, ids), kernel)}, ids_of(1, 4))
    bare_ones = without_options(data)
    assert len(bare_ones) < len(data)
    assert types(tools.shrink(bare_ones, "int4").data) == types(tools.shrink(data, "int4").data)


def test_an_output_keeps_its_type():
    small = tf.constant(np.arange(-7, 8, dtype=np.int8).reshape(3, 5))
    words = tf.constant(table())

    def model(ids):
        rows = tf.gather(small, ids % 3)
        return {"rows": rows, "sum": tf.cast(rows, tf.float32), "words": tf.gather(words, ids)}

    data = convert(model, ids_of(1, 4))
    found = tools.shrink(data, "int4").data
    assert tools.inspect(found).outputs == tools.inspect(data).outputs


def test_no_model_of_a_file_keeps_old_sizes():
    models = {name: keras.Model(*of(name)) for name in ("first", "second")}
    file = export.convert(models, "float32")
    told, left = (
        [facts.keys() & {"shrunk", "embeddings"} for facts in one["signatures"].values()]
        for one in map(tflite.read_metadata, (file, tools.shrink(file).data))
    )
    assert told == [{"embeddings"}] * 2 and left == [{"shrunk"}] * 2


def test_codes_are_never_larger_than_int4():
    file = gather(table(2000, 25))
    codes, small = (tools.shrink(file, recipe) for recipe in ("codes", "int4"))
    assert len(codes.data) == len(small.data) and "int4" in codes.changes[0].now


@pytest.mark.parametrize("rows", [20, 66, 300, 1000])
def test_codes_of_few_rows_are_never_larger_than_int4(rows):
    file = gather(table(rows, 32))
    codes, integers = (len(tools.shrink(file, recipe).data) for recipe in ("codes", "int4"))
    assert codes <= integers


def test_ids_may_be_floats_as_in_files_of_keras_2():
    words = tf.constant(table(3))
    given = tf.TensorSpec((1, 4), tf.float32, name="ids")
    wide = tf.constant(table(WIDTH, 500))

    def model(ids):
        return {"y": tf.gather(words, tf.cast(tf.reshape(ids, [4]), tf.int32)) @ wide}

    found = tools.shrink(convert(model, given), calibrate=np.array([[0.0, 1, 2, 2]]))
    assert max(one.relative for one in found.outputs) < 0.01


def test_examples_that_do_not_fit_are_refused():
    file = gather(table())
    for wrong in ([[1.5, 2, 3, 4]], [[2**32 + 5, 1, 1, 1]], [[np.nan, 1, 1, 1]], [["a"] * 4]):
        with pytest.raises(ValueError, match="`calibrate` must be integers of type int32 for"):
            tools.shrink(file, calibrate=np.array(wrong))
    with pytest.raises(ValueError, match="cannot be run on these examples: .*out of bounds"):
        tools.shrink(file, calibrate=np.array([[1, 2, 3, V]]))


def test_an_output_of_strings_is_compared():
    both = tf.constant([f"name {n}" for n in range(V)]), tf.constant(table())
    data = convert(lambda ids: [tf.gather(one, ids) for one in both], ids_of(1, 4))
    names = tools.shrink(data).outputs[0]
    assert names.same_class == 1 and names.relative == names.largest == 0
    one, other = np.array([[b"a", b"b"]]), np.array([[b"a", b"long"]])
    assert _apart(one, other) == _apart(one.astype(object), other) == (1, 0.5, 0.5)


def test_examples_that_fill_a_batch_up_are_not_counted():
    rows = np.random.default_rng(2).integers(1, V, (63, 4)).astype(np.int32)
    found = tools.shrink(gather(table(), (5, 4)), "codes", calibrate=rows)
    given, every = found.outputs[-1], np.arange(V, dtype=np.int32).reshape(-1, 5, 4)
    exact, stored = table()[rows], answers(found.data, every).reshape(V, WIDTH)[rows]
    relative = np.sqrt(np.mean((exact - stored) ** 2) / np.mean(exact**2))
    same = np.mean(exact.argmax(-1) == stored.argmax(-1))
    assert given.rows == 63 and same < 1
    np.testing.assert_allclose([given.relative, given.same_class], [relative, same], rtol=1e-5)


def test_an_input_may_be_one_number():
    words = tf.constant(table())
    specs = ids_of(1, 4), tf.TensorSpec((), tf.float32, name="scale")
    data = convert(lambda ids, scale: {"y": tf.gather(words, ids) * scale}, *specs)
    given = {"ids": np.array([[1, 2, 3, 4]] * 3), "scale": np.arange(3.0)}
    assert tools.shrink(data, calibrate=given).outputs[-1].rows == 3


def test_infinity_is_no_difference_and_what_is_constant_hides_nothing():
    first = np.array([[0.5, 1.0, -np.inf], [0.25, 2.0, -np.inf]], np.float32)
    assert _apart(first, first) == (0.0, 0.0, 1.0)
    second = first + np.float32([[0, 0.5, 0], [0, 0, 0]])
    wanted = np.sqrt(0.25 / (0.25 + 1 + 0.0625 + 4))
    np.testing.assert_allclose(_apart(first, second), (0.5, wanted, 1.0), rtol=1e-6)
    masked = np.where(np.isinf(first), -1e9, first).astype(np.float32)
    other = np.where(np.isinf(second), -1e9, second).astype(np.float32)
    np.testing.assert_allclose(_apart(masked, other), (0.5, wanted, 1.0), rtol=1e-6)
    assert _apart(first, second.astype(np.float64))[0] == np.inf  # another type
    assert _apart(first[:0], second[:0]) == (0.0, 0.0, 1.0)
