"""Names of tensors: which a file has, what they cost, and who reads them."""

from pathlib import Path

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from export_models import V, cluster, lstm, mean, mixture, some_ids, standard
from kerascompact import export
from kerascompact.text import Vocabulary
from kerascompact.tflite import flatbuffer, tensor_names
from kerascompact.tflite.tensor_names import NAMED_FROM


@pytest.fixture(scope="module")
def data():
    """Two signatures, whose inputs have the same name, and a loop with graphs of its own."""
    table = cluster()
    models = {"a": mean(table), "b": lstm(table)}
    return export.convert(models, "int4", sequence_length=9, names=True)


def names(data):
    return [t.name for graph in flatbuffer.parse(data).subgraphs for t in graph.tensors]


def packed(data, wanted):
    model = flatbuffer.parse(data)
    model.metadata = None  # their checksum differs
    return tensor_names.pack(model, wanted)


def test_names_of_the_converter(data):
    found = names(data)
    assert len({*found}) == len(found) > 100
    assert found[0] == b"ids" and b"ids:1" in found  # signatures find theirs by number
    assert any(b"lstm_classifier" in name and b"while" in name for name in found)
    assert packed(packed(data, True), True) == packed(data, True)


def test_numbers_are_the_shortest(data):
    found = names(packed(data, None))
    assert len({*found}) == len(found) == len(names(data))
    ports = [name for name in found if not name.isdigit()]
    assert sorted(ports) == [b"ids", b"ids:1", b"probabilities", b"probabilities:1"]


def test_no_names(data):
    found = [name for name in names(packed(data, False)) if name is not None]
    assert {*found} <= {b"ids", b"ids:1", b"probabilities", b"probabilities:1"}


def test_what_they_cost(data):
    """A string of up to three bytes takes 8, its place in the table 4; equal tables are one."""
    none, numbers, full = (len(packed(data, wanted)) for wanted in (False, None, True))
    tensors = len(names(data))
    table = 4 + 4 + 4 + 4  # vtable, shape, buffer, type: shared by equal tensors without names
    assert none < numbers < none + tensors * (8 + 4 + table + 4)
    assert numbers < full < numbers + sum(len(name) + 4 for name in names(data))


def test_from_64_kib_on(data):
    """The bytes of the entire file decide, of which the constants are a part."""
    small = len(packed(data, None))
    for bytes_, expected in (
        (NAMED_FROM - small - 100, packed(data, None)),
        (NAMED_FROM - small + 100, packed(data, True)),
        (NAMED_FROM, packed(data, True)),
    ):
        model = flatbuffer.parse(data)
        model.metadata = None
        model.buffers.append(flatbuffer.schema.BufferT())
        model.buffers[-1].data = np.zeros(bytes_, np.uint8)
        assert names(tensor_names.pack(model)) == names(expected)


def test_models_that_differ_in_names_alone_answer_the_same(data):
    ids = np.array([[1, 2, 3, V - 1, 0, 0, 0, 0, 0]], np.int32)
    for signature in "ab":
        answers = [
            Interpreter(model_content=packed(data, wanted))
            .get_signature_runner(signature)(ids=ids)["probabilities"]
            .tolist()
            for wanted in (False, None, True)
        ]
        assert answers[0] == answers[1] == answers[2]


def test_refuses_other_names():
    with pytest.raises(
        ValueError, match=r"`names` must be True, False or None\. Received: names=1"
    ):
        export.convert(mean(cluster()), names=1)


@pytest.mark.slow
def test_every_file_opens_in_litert_quantizer():
    """Of every recipe, with loops, fused operators, several signatures, text in and its words."""
    quantizer = pytest.importorskip("litert_quantizer.quantizer")
    recipe = pytest.importorskip("litert_quantizer.recipe").dynamic_wi8_afp32()
    rows, words = some_ids(rows=20), Vocabulary([f"w{i}" for i in range(V - 2)])
    files = {}
    for name, one in export.RECIPES.items():
        given = {"representative": rows} if one.kernels == "full_int8" else {}
        files[name] = export.convert(mean(standard(), sequence_length=9), name, **given)
    table = cluster()
    files["loop"] = export.convert({"a": mean(table), "b": lstm(table)}, sequence_length=9)
    files["fused"] = export.convert(lstm(standard()), sequence_length=9, fused_lstm=True)
    files["text"] = export.convert(mean(cluster()), text=words)
    files["names"] = export.convert(mean(mixture()), names=True)
    files["64 KiB"] = export.convert(mean(keras.layers.Embedding(3000, 32)), sequence_length=9)
    files["shipped"] = (Path(export.__file__).parent / "testvectors/intents.tflite").read_bytes()
    for data in files.values():
        assert quantizer.Quantizer(data, recipe).quantize().quantized_model
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'decode'"):
        none = export.convert(mean(cluster()), names=False)  # as the docstring of `convert` says
        quantizer.Quantizer(none, recipe).quantize()
