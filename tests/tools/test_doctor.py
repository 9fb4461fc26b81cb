"""Every saving that `doctor` names, against the bytes that are there and the file that saves it."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from export_models import file_of, inverse, lstm, mean, mixture, standard
from form_examples import KINDS
from kerascompact import export
from kerascompact.forms import CodebookForm, DenseForm
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer, tensor_names
from kerascompact.tflite.associated_files import with_files
from kerascompact.tools.doctor import CODES_GRAPH, SCALE_GRAPH, UNPACK_GRAPH, diagnose
from kerascompact.tools.shrink import shrink

V, WIDTH = 600, 32
# The forms whose arrays are of another kind than those of the others.
STORED = ("dense", "codes_sum", "scalar", "factored", "recurrent", "sparse", "remapped")
STORED += ("ragged_permuted", "hashed", "tensor_train")


def convert(function, *specs, module=None, flex=False, **settings):
    """By TensorFlow's own converter."""
    function = tf.function(function, autograph=False).get_concrete_function(*specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], module)
    more = [tf.lite.OpsSet.SELECT_TF_OPS] if flex else []
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, *more]
    for name, value in settings.items():
        setattr(converter, name, value)
    return converter.convert()


IDS = tf.TensorSpec((1, 4), tf.int32, name="ids")


def lookup(table, **settings):
    table = tf.constant(table)
    return convert(lambda ids: {"y": tf.gather(table, ids)}, IDS, **settings)


def numbers(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def of_kind(found, kind):
    return [finding for finding in found.findings if finding.kind == kind]


def served(form, recipe):
    ids = keras.Input((4,), dtype="int32", name="ids")
    return export.convert(keras.Model(ids, form(ids)), recipe)


@pytest.mark.parametrize(
    "make",
    [
        lambda: file_of("mean"),
        lambda: file_of("lstm"),
        pytest.param(lambda: export.convert(mean(mixture())), marks=pytest.mark.slow),
        pytest.param(lambda: export.convert(lstm(mixture())), marks=pytest.mark.slow),
    ],
)
def test_our_own_files_are_healthy(make):
    found = diagnose(make())
    assert found.is_healthy() and found.needs == []


@pytest.mark.few(1)
@pytest.mark.parametrize("name", STORED)
def test_small_forms_of_every_kind_have_nothing_to_save(name):
    found = diagnose(served(KINDS[name]()[0], "int8_tables"))
    assert found.findings == [] and "nothing to save" in str(found)


def test_a_float_table_saves_what_the_int8_file_does():
    form = DenseForm.from_arrays({"table": numbers(V, WIDTH)}, input_dim=V, output_dim=WIDTH)
    plain, int8 = served(form, "float32"), served(form, "int8_tables")
    found = diagnose(plain)
    (finding,) = found.findings
    assert finding.saved == 4 * V * WIDTH - (V * WIDTH + 4 * WIDTH + SCALE_GRAPH)
    really = len(plain) - len(int8)
    assert abs(really - finding.saved) < 100  # of graph, and the name of the recipe
    others = dict(finding.others)
    int4 = 4 * V * WIDTH - (V * WIDTH // 2 + 4 * WIDTH + SCALE_GRAPH)
    assert others["as int4 with a scale for each column"] == int4
    codes = V * WIDTH // 4 + 256 * WIDTH + 4 * WIDTH + SCALE_GRAPH + CODES_GRAPH
    (saved,) = (saved for how, saved in others.items() if "8 codes of 8 bits" in how)
    assert saved == 4 * V * WIDTH - codes
    assert diagnose(int8).is_healthy()
    assert found.saved == finding.saved and not found.is_healthy()


def test_a_table_of_few_rows_loses_nothing_as_codes():
    codes, book = np.arange(V) % 7, numbers(7, WIDTH)
    (finding,) = of_kind(diagnose(lookup(book[codes])), "float table")
    assert finding.how == "without loss, as its 7 distinct rows and 3 bits for each word"
    stored = 4 * 7 * WIDTH + -(-V * 3 // 8) + 2 + UNPACK_GRAPH
    assert finding.saved == 4 * V * WIDTH - stored
    small = served(CodebookForm.from_codes(codes, book), "float32")
    form = DenseForm.from_arrays({"table": book[codes]}, input_dim=V, output_dim=WIDTH)
    really = len(served(form, "float32")) - len(small)
    assert 0 <= really - finding.saved < 1000  # the graph is counted as that of several codes


@pytest.mark.parametrize(
    ("high", "bits", "dtype", "plain"),
    [(31, 5, np.int32, "int8"), (300, 9, np.int32, "int16"), (31, 5, np.int8, None)],
)
def test_codes_wider_than_their_values(high, bits, dtype, plain):
    codes = np.random.default_rng(0).integers(0, high + 1, (2000, 8)).astype(dtype)
    codes[0, :2] = 0, high
    (finding,) = of_kind(diagnose(lookup(codes)), "integers")
    assert finding.saved == codes.nbytes - (codes.size * bits // 8 + 2) - UNPACK_GRAPH
    assert f"numbers in [0, {high}], stored in {8 * codes.itemsize} bits each" in finding.what
    assert (plain is None) == (finding.others == ())
    if plain:
        ((how, saved),) = finding.others
        assert f"as {plain}," in how
        assert saved == codes.nbytes - codes.size * np.iinfo(plain).bits // 8 - SCALE_GRAPH


def test_a_small_table_of_codes_is_better_in_a_narrower_type():
    codes = np.random.default_rng(0).integers(0, 100, (30, 8)).astype(np.int32)
    (finding,) = of_kind(diagnose(lookup(codes)), "integers")
    assert finding.how == "as int8" and finding.saved == 30 * 8 * 3 - SCALE_GRAPH


def test_a_constant_of_one_value():
    (finding,) = of_kind(diagnose(lookup(np.full((50, 4), 3, np.int32))), "integers")
    assert finding.what == "all 3" and finding.saved == 4 * 50 * 4 - 4


def change(data, edit):
    model = flatbuffer.parse(data)
    edit(model)
    return flatbuffer.pack(model)


def constant(model):
    tensors = [t for t in model.subgraphs[0].tensors if model.buffers[t.buffer].data is not None]
    return max(tensors, key=lambda tensor: len(model.buffers[tensor.buffer].data))


def test_the_same_constant_twice():
    def twice(model):
        old, new = constant(model), flatbuffer.schema.BufferT()
        new.data = model.buffers[old.buffer].data
        model.buffers.append(new)
        other = flatbuffer.schema.TensorT()
        vars(other).update(vars(old))
        other.buffer, other.name = len(model.buffers) - 1, b"again"
        model.subgraphs[0].tensors.append(other)
        model.subgraphs[0].outputs = [
            *model.subgraphs[0].outputs,
            len(model.subgraphs[0].tensors) - 1,
        ]

    data = lookup(numbers(50, 8))
    (finding,) = of_kind(diagnose(change(data, twice)), "duplicate")
    assert finding.saved == 4 * 50 * 8 and "again" in finding.tensor
    assert of_kind(diagnose(data), "duplicate") == []


def test_a_constant_that_nobody_reads():
    def unread(model):
        new = flatbuffer.schema.BufferT()
        new.data = np.arange(100, dtype=np.uint8)
        model.buffers.append(new)

    (finding,) = of_kind(diagnose(change(lookup(numbers(50, 8)), unread)), "unread")
    assert finding.saved == 100 and finding.what == "1 buffers that no operator reads"


def test_scales_of_blocks_are_read():
    """Not by an operator's input: the quantization of the table names their tensor."""
    ids = keras.Input((4,), dtype="int32", name="ids")
    model = keras.Model(ids, keras.layers.Embedding(90, WIDTH, name="words")(ids))
    found = diagnose(export.convert(model, "blocks"))
    assert of_kind(found, "unread") == []


def per_row(model, scales=True):
    """As EMBEDDING_LOOKUP and per-channel quantization store it: 12 bytes for each row."""
    tensor = constant(model)
    rows, width = tensor.shape
    for other in model.subgraphs[0].tensors:  # the rows that are looked up, too
        if other.type == flatbuffer.schema.TensorType.FLOAT32:
            other.type = flatbuffer.schema.TensorType.INT8
    values = np.random.default_rng(0).integers(-127, 128, (rows, width)).astype(np.int8)
    model.buffers[tensor.buffer].data = values.reshape(-1).view(np.uint8)
    if scales:
        tensor.quantization = flatbuffer.schema.QuantizationParametersT()
        tensor.quantization.scale = np.full(rows, 0.1, np.float32)
        tensor.quantization.zeroPoint = np.zeros(rows, np.int64)


def test_scales_of_each_row():
    data = change(lookup(numbers(V, WIDTH)), per_row)
    (finding,) = of_kind(diagnose(data), "scales")
    assert finding.saved == 12 * V - 4 * WIDTH - SCALE_GRAPH
    without = change(lookup(numbers(V, WIDTH)), lambda model: per_row(model, scales=False))
    assert abs(len(data) - len(without) - 12 * V) < 100  # tables around them


def test_int8_that_fits_int4():
    def narrow(model):
        per_row(model)
        buffer = model.buffers[constant(model).buffer]
        buffer.data = (buffer.data.view(np.int8) // 16).view(np.uint8)

    found = of_kind(diagnose(change(lookup(numbers(V, WIDTH)), narrow)), "integers")
    assert [(finding.how, finding.saved) for finding in found] == [("as int4", V * WIDTH // 2)]


@pytest.mark.parametrize("width", [1, 3])
def test_a_row_of_int4_is_whole_bytes(width):
    form = DenseForm.from_arrays({"table": numbers(5000, width)}, input_dim=5000, output_dim=width)
    plain = served(form, "float32")
    (finding,) = diagnose(plain).findings
    saved = dict(finding.others).get("as int4 with a scale for each column", finding.saved)
    assert abs(len(plain) - len(shrink(plain, "int4").data) - saved) < 400  # of graph


def test_a_float16_table_is_kept_as_float32():
    table = numbers(V, WIDTH)
    settings = dict(optimizations=[tf.lite.Optimize.DEFAULT])
    function = tf.function(lambda ids: tf.gather(tf.constant(table), ids))
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [function.get_concrete_function(IDS)]
    )
    converter.optimizations = settings["optimizations"]
    converter.target_spec.supported_types = [tf.float16]
    found = diagnose(converter.convert())
    (finding,) = of_kind(found, "float table")
    assert finding.memory == found.memory == 4 * V * WIDTH
    assert finding.saved == 2 * V * WIDTH - (V * WIDTH + 4 * WIDTH + SCALE_GRAPH)
    assert "keeps 76,800 bytes of it as float32" in str(found)


def test_float_weights():
    weights = tf.constant(numbers(64, 40))
    data = convert(lambda x: x @ weights, tf.TensorSpec((1, 64)))
    (finding,) = of_kind(diagnose(data), "float weights")
    assert finding.saved == 3 * 64 * 40 - 12 * 40
    small = convert(
        lambda x: x @ weights, tf.TensorSpec((1, 64)), optimizations=[tf.lite.Optimize.DEFAULT]
    )
    assert abs(len(data) - len(small) - finding.saved) < 200  # tables of the quantization
    assert of_kind(diagnose(small), "float weights") == []


def test_graph_that_no_runtime_reads():
    model = keras.Sequential([keras.layers.Dense(3, activation="tanh") for _ in range(4)])
    model.build((1, 3))
    module = tf.Module()
    module.kept = [variable.value for variable in model.variables]
    spec = tf.TensorSpec((1, 3), name="x")
    data = convert(lambda x: {"y": model(x)}, spec, module=module)
    (finding,) = of_kind(diagnose(data), "graph")
    slim = flatbuffer.parse(data)
    flatbuffer.slim(slim)
    slim = tensor_names.pack(slim)
    assert finding.saved == len(data) - len(slim) > 200  # no constant is there twice
    x = {"x": numbers(1, 3)}
    assert Interpreter(slim).run(x)["y"].tolist() == Interpreter(data).run(x)["y"].tolist()
    assert diagnose(slim).findings == []


@pytest.mark.parametrize("flex", [True, False])
def test_operators_that_an_app_must_bring(flex):
    data = convert(inverse, tf.TensorSpec((1, 3, 3)), flex=flex, allow_custom_ops=not flex)
    found = diagnose(data)
    assert found.needs == ["FlexMatrixInverse" if flex else "MatrixInverse"]
    assert not found.is_healthy(1.0) and "needs an extra runtime for: " in str(found)


def test_states_that_one_of_the_runtimes_has_not():
    model = lstm(standard())
    fused = diagnose(export.convert(model, sequence_length=4, fused_lstm=True))
    assert fused.states == 2 and "not for LiteRT's CompiledModel: 2 tensors" in str(fused)
    loop = diagnose(file_of("lstm"))
    assert loop.states == 0 and "CompiledModel" not in str(loop)


@pytest.mark.parametrize("file", [b"", b"TFL3" * 9])
def test_refuses_what_is_no_file(file):
    with pytest.raises(ValueError, match="`flatbuffer` must be a (complete )?TFLite model"):
        diagnose(file)


def test_files_inside_are_no_saving():
    data = lookup(numbers(50, 8))
    whole = with_files(data, {"vocab.txt": b"word\n" * 900})
    assert of_kind(diagnose(whole), "graph") == of_kind(diagnose(data), "graph")


def test_a_wide_head_has_scales_along_its_shorter_side():
    kernel = tf.constant(numbers(4, 3000))
    data = convert(lambda x: {"y": x @ kernel}, tf.TensorSpec((1, 4), tf.float32))
    (finding,) = of_kind(diagnose(data), "float weights")
    assert finding.saved == 3 * 4 * 3000 - 12 * 4


def test_scales_of_rows_that_differ_are_needed():
    def uneven(model):
        per_row(model)
        scale = constant(model).quantization.scale
        scale *= np.float32(10) ** np.linspace(-3, 0, len(scale), dtype=np.float32)

    assert of_kind(diagnose(change(lookup(numbers(V, WIDTH)), uneven)), "scales") == []


def test_nothing_is_saved_twice():
    def unread(model):
        old, table = constant(model), flatbuffer.schema.BufferT()
        table.data = model.buffers[old.buffer].data
        model.buffers += [table, table]

    found = diagnose(change(lookup(numbers(50, 8)), unread))
    assert [one.saved for one in of_kind(found, "unread")] == [2 * 4 * 50 * 8]
    assert of_kind(found, "duplicate") == []


def test_no_integers_stand_for_infinity():
    table = numbers(900, 8)
    table[3, 2] = np.inf
    assert of_kind(diagnose(lookup(table)), "float table") == []
