"""What a file holds, ours or another's."""

import numpy as np
import pytest
import tensorflow as tf

from export_models import MODELS, file_of, inverse, mean, mixture, text_file, two_text_files
from kerascompact import export, tflite, tools
from kerascompact.tflite import flatbuffer


def convert(function, *specs, flex=False, custom=False, outside=False):
    """By TensorFlow's own converter."""
    concrete = tf.function(function, autograph=False).get_concrete_function(*specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
    more = [tf.lite.OpsSet.SELECT_TF_OPS] if flex else []
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, *more]
    converter.allow_custom_ops = custom
    converter._experimental_use_buffer_offset = outside
    return converter.convert()


def test_our_own_file():
    model = mean(mixture())
    data = export.convert(model, "float32", labels=["a", "b", "c"])
    found = tools.inspect(data)
    assert found.num_bytes == len(data)
    assert found.inputs == ["ids int32[1, ?]"] and found.outputs == ["probabilities float32[1, 3]"]
    assert found.custom == [] and found.operators["GATHER"] >= 2
    assert found.signatures == {"serving_default": (found.inputs, found.outputs)}
    assert "\nin:  ids int32[1, ?]\nout: " in str(found)
    assert found.metadata == tflite.read_metadata(data)
    for array in (model.get_layer("embedding").unique, model.get_layer("probabilities").kernel):
        sizes = [(t.dtype, t.num_bytes) for t in found.tensors]
        assert ("float32", 4 * int(np.prod(array.shape))) in sizes
    text = str(found)
    assert "built-in operators only" in text and "SplitForm: 30 x 4 in" in text


@pytest.mark.parametrize("kind", MODELS)
def test_parts_add_up_to_the_file(kind):
    data = file_of(kind)
    found = tools.inspect(data)
    parsed = flatbuffer.parse(data)
    held = sum(len(buffer.data) for buffer in parsed.buffers if buffer.data is not None)
    other = [entry.buffer for entry in parsed.metadata if entry.name != b"kerascompact"]
    held -= sum(len(parsed.buffers[index].data) for index in other)  # the runtime's version
    assert sum(t.num_bytes for t in found.tensors) + found.metadata_bytes == held
    assert held + found.overhead == len(data) and found.overhead > 0
    np.testing.assert_allclose(
        [tensor.share for tensor in found.tensors],
        [tensor.num_bytes / len(data) for tensor in found.tensors],
    )
    sizes = [tensor.num_bytes for tensor in found.tensors]
    assert sizes == sorted(sizes, reverse=True)


def test_a_file_of_another_maker(tmp_path):
    weights = tf.constant(np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32))
    data = convert(lambda x: x @ weights, tf.TensorSpec((1, 64), name="x"))
    (tmp_path / "foreign.tflite").write_bytes(data)
    for file in (data, tmp_path / "foreign.tflite", str(tmp_path / "foreign.tflite")):
        found = tools.inspect(file)
        assert found.metadata is None and found.metadata_bytes == 0 and found.custom == []
        assert found.operators == {"FULLY_CONNECTED": 1}
        assert found.tensors[0].num_bytes == 4 * 64 * 8 and found.tensors[0].dtype == "float32"
        assert found.overhead == len(data) - sum(t.num_bytes for t in found.tensors)
    assert "float32[1, 64]" in found.inputs[0]


def test_constants_behind_the_flatbuffer():
    """As in files over 2 GB."""
    table = tf.constant(np.random.default_rng(0).normal(size=(900, 8)).astype(np.float32))
    spec = tf.TensorSpec((1, 4), tf.int32)
    data = convert(lambda ids: tf.gather(table, ids), spec, outside=True)
    found = tools.inspect(data)
    assert found.tensors[0].num_bytes == 4 * 900 * 8 and found.overhead < 2000
    (first, *_) = tools.diagnose(data).findings
    assert first.kind == "float table" and first.saved > 20_000


def test_text_of_each_model():
    text = "text in: UTF-8 bytes, 40 bytes, cut by the rules"
    report = str(tools.inspect(two_text_files()))
    assert f"\none {text}" in report and f"\ntwo {text}" in report
    assert f"\n{text}" in str(tools.inspect(text_file()))


def test_a_file_of_several_models():
    """As TensorFlow writes one with two signatures."""
    module = tf.Module()
    module.table = tf.constant(np.eye(4, dtype=np.float32))
    specs = tf.TensorSpec((1, 3), tf.int32, name="ids"), tf.TensorSpec((1, 4), name="x")

    @tf.function
    def look_up(ids):
        return {"rows": tf.gather(module.table, ids)}

    @tf.function
    def multiply(x):
        return {"y": x @ module.table}

    functions = [
        f.get_concrete_function(s) for f, s in zip((look_up, multiply), specs, strict=True)
    ]
    data = tf.lite.TFLiteConverter.from_concrete_functions(functions, module).convert()
    found = tools.inspect(data)
    assert sorted(found.signatures.values()) == [
        (["ids int32[1, 3]"], ["rows float32[1, 3, 4]"]),
        (["x float32[1, 4]"], ["y float32[1, 4]"]),
    ]
    for name, (ins, outs) in found.signatures.items():
        assert f"{name} in:  {ins[0]}" in str(found) and f"{name} out: {outs[0]}" in str(found)


def test_lists_flex_and_custom_operators():
    spec = tf.TensorSpec((1, 3, 3))
    flex = tools.inspect(convert(inverse, spec, flex=True))
    assert flex.custom == ["FlexMatrixInverse"]
    assert "needs an extra runtime for: FlexMatrixInverse" in str(flex)
    assert "built-in operators only" not in str(flex)
    assert tools.inspect(convert(inverse, spec, custom=True)).custom == ["MatrixInverse"]


@pytest.mark.parametrize("file", [b"", b"TFL3" * 9, export])
def test_refuses_what_is_no_file(file, tmp_path):
    if not isinstance(file, bytes):
        file = tmp_path / "text.tflite"
        file.write_text("not a model")
    with pytest.raises(ValueError, match="`flatbuffer` must be a (complete )?TFLite model"):
        tools.inspect(file)
