"""Whole files in, whole files out; anything else is a `ValueError` and never a crash."""

import json

import numpy as np
import pytest
import tensorflow as tf

from export_models import file_of, inverse
from kerascompact import tflite, tools
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.metadata import metadata_of
from kerascompact.tools.doctor import diagnose


@pytest.fixture(scope="module")
def data():
    return file_of("mean")


@pytest.fixture(scope="module")
def foreign():
    """A file that TensorFlow's own converter made."""
    function = tf.function(lambda x: tf.nn.relu(x)).get_concrete_function(tf.TensorSpec((1, 3)))
    return tf.lite.TFLiteConverter.from_concrete_functions([function]).convert()


def test_packing_what_was_parsed_keeps_every_array(data):
    once = flatbuffer.parse(data)
    again = flatbuffer.parse(flatbuffer.pack(once))
    assert flatbuffer.operator_names(again) == flatbuffer.operator_names(once)
    for old, new in zip(once.buffers, again.buffers, strict=True):
        assert (old.data is None) == (new.data is None)
        if old.data is not None:
            np.testing.assert_array_equal(old.data, new.data)
    assert metadata_of(again) == metadata_of(once)


def test_load_takes_a_path_or_the_bytes(data, tmp_path):
    (tmp_path / "model.tflite").write_bytes(data)
    assert flatbuffer.load(tmp_path / "model.tflite") == data
    assert flatbuffer.load(str(tmp_path / "model.tflite")) == data
    assert flatbuffer.load(data) == data
    with pytest.raises(FileNotFoundError, match="nowhere.tflite"):
        flatbuffer.load(tmp_path / "nowhere.tflite")


def test_metadata_is_compact_json(data):
    found = tflite.read_metadata(data)
    assert found["labels"] == ["a", "b", "c"]
    text = json.dumps(found, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    assert text[1:].encode() in data  # behind the checksum


def test_a_foreign_file_has_no_metadata_of_ours(foreign, tmp_path):
    assert metadata_of(flatbuffer.parse(foreign)) is None
    (tmp_path / "foreign.tflite").write_bytes(foreign)
    for file in (foreign, tmp_path / "foreign.tflite"):
        with pytest.raises(ValueError, match="must have been written by kerascompact"):
            tflite.read_metadata(file)


@pytest.mark.parametrize(
    "other",
    [b"", b"TFL3", b"\0" * 100, b"{}" * 50, b"PK\3\4" + b"a" * 60, "\N{SNOWMAN}".encode() * 9],
)
def test_refuses_other_bytes(other):
    with pytest.raises(
        ValueError, match="`flatbuffer` must be a TFLite model, with the identifier"
    ):
        flatbuffer.parse(other)


@pytest.mark.parametrize("other", [None, 7, "text", [1, 2]])
def test_refuses_what_is_no_bytes(other):
    with pytest.raises(ValueError, match="`flatbuffer` must be the bytes of a .tflite file"):
        flatbuffer.parse(other)


def test_refuses_a_file_that_is_only_its_header():
    with pytest.raises(ValueError, match="`flatbuffer` must be a complete TFLite model"):
        flatbuffer.parse(b"\x20\0\0\0TFL3" + b"\xff" * 60)


def test_refuses_a_truncated_file(data):
    """At a hundred lengths, and at each of the last bytes."""
    lengths = {*range(0, len(data), len(data) // 100), *range(len(data) - 20, len(data))}
    for length in sorted(lengths):
        with pytest.raises(ValueError, match="`flatbuffer` must be a (complete )?TFLite model"):
            flatbuffer.parse(data[:length])


def test_a_flipped_bit_of_a_foreign_file_is_refused_or_harmless(foreign):
    """Every bit of the header, and bits all over the file: a `ValueError` or a model."""
    refused = 0
    places = [*range(64), *np.random.default_rng(0).integers(64, len(foreign), 150)]
    for place in places:
        for bit in (0, 3, 7):
            flipped = bytearray(foreign)
            flipped[place] ^= 1 << bit
            try:
                tools.inspect(bytes(flipped))
            except ValueError:
                refused += 1
    assert refused > 50


def damage(change):
    def damaged(data):
        model = flatbuffer.parse(data)
        change(model)
        return flatbuffer.pack(model)

    return damaged


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: setattr(m.metadata[0], "buffer", 9999), "metadata without content"),
        (lambda m: setattr(m.metadata[0], "buffer", 0), "metadata without content"),
        (
            lambda m: setattr(m.subgraphs[0], "inputs", [999]),
            "the tensor of an input",
        ),
        (
            lambda m: setattr(m.subgraphs[0], "outputs", [-1]),
            "the tensor of an output",
        ),
        (lambda m: setattr(m.subgraphs[0].tensors[0], "type", 99), "a tensor has the unknown type"),
        (
            lambda m: setattr(m.subgraphs[0].tensors[0], "buffer", 9999),
            "a tensor's buffer: number 99",
        ),
    ],
)
def test_refuses_numbers_that_lead_nowhere(data, change, message):
    with pytest.raises(ValueError, match=rf"truncated or damaged \(.*{message}"):
        flatbuffer.parse(damage(change)(data))


def test_refuses_an_operator_without_a_code(data):
    model = flatbuffer.parse(data)
    model.subgraphs[0].operators[0].opcodeIndex = 99
    with pytest.raises(ValueError, match="truncated or damaged"):
        flatbuffer.parse(flatbuffer.pack(model))


def test_refuses_a_constant_of_another_size_than_its_tensor(data):
    model = flatbuffer.parse(data)
    tensor = next(
        t
        for t in model.subgraphs[0].tensors
        if model.buffers[t.buffer].data is not None and len(model.buffers[t.buffer].data) > 8
    )
    model.buffers[tensor.buffer].data = model.buffers[tensor.buffer].data[:-1]
    with pytest.raises(ValueError, match=r"a tensor has \d+ of \d+ bytes"):
        flatbuffer.parse(flatbuffer.pack(model))


def test_slim_makes_a_smaller_file_with_the_same_ports_and_arrays(foreign):
    model = flatbuffer.parse(foreign)
    flatbuffer.slim(model)
    slim = flatbuffer.pack(model)
    assert len(slim) < len(foreign)
    old, new = tools.inspect(foreign), tools.inspect(slim)
    assert (old.inputs, old.outputs, old.operators) == (new.inputs, new.outputs, new.operators)


def test_operator_names_of_custom_operators():
    function = tf.function(inverse).get_concrete_function(tf.TensorSpec((1, 3, 3)))
    names = {}
    for name, sets in {"Flex": [tf.lite.OpsSet.SELECT_TF_OPS], "": []}.items():
        converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, *sets]
        converter.allow_custom_ops = not sets
        names[name] = flatbuffer.operator_names(flatbuffer.parse(converter.convert()))
    assert names == {"Flex": ["CUSTOM:FlexMatrixInverse"], "": ["CUSTOM:MatrixInverse"]}


def test_packing_twice_gives_the_same_bytes():
    data = file_of("mean")
    model = flatbuffer.parse(data)
    assert flatbuffer.pack(model) == flatbuffer.pack(model) == data
    model.subgraphs[0].tensors[0].table.name = b"renamed"
    assert flatbuffer.parse(flatbuffer.pack(model)).subgraphs[0].tensors[0].name == b"renamed"


def test_a_signature_without_ports_is_read(data):
    """As a file has it whose two vectors a damage took; all readers go through them."""
    model = flatbuffer.parse(data)
    model.metadata = None
    model.signatureDefs[0].inputs = model.signatureDefs[0].outputs = None
    packed = flatbuffer.pack(model)
    (signature,) = flatbuffer.parse(packed).signatureDefs
    assert signature.inputs == signature.outputs == []
    assert tools.inspect(packed).signatures == {"serving_default": ([], [])}
    assert diagnose(packed).num_bytes == len(packed)
    assert Interpreter(packed).inputs == Interpreter(packed).outputs == {}
