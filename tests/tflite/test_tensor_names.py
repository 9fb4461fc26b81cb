"""Names of tensors: which a file has, what they cost, and who reads them."""

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from export_models import V, cluster, lstm, mean
from kerascompact import export
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
