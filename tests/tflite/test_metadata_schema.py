"""Metadata that somebody else wrote under our name are refused, not stumbled over."""

import json

import pytest

from export_models import text_file
from kerascompact import runtime, tflite, tools
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.metadata_schema import METADATA_NAME, metadata_fits


@pytest.fixture(scope="module")
def data():
    return text_file()


@pytest.mark.few(10)
@pytest.mark.parametrize("name", ["embeddings", "recipe", "text", "vocabulary"])
@pytest.mark.parametrize("value", [7, "text", [], [7], {}, None, True])
def test_entries_of_another_kind(data, name, value):
    found = tflite.read_metadata(data)
    assert metadata_fits(found)
    assert metadata_fits({**found, name: value}) == (name == "embeddings" and value == [])
    without = {key: entry for key, entry in found.items() if key != name}
    assert metadata_fits(without)


@pytest.mark.parametrize("value", [True, False, 1, None, "yes", [True]])
def test_multi_label_is_a_boolean(value):
    assert metadata_fits({"multi_label": value}) == isinstance(value, bool)


@pytest.mark.parametrize("value", [0, -1, 1.5, "40", True])
def test_sizes_that_are_none(data, value):
    found = tflite.read_metadata(data)
    assert not metadata_fits({**found, "text": {**found["text"], "max_bytes": value}})


@pytest.mark.few(8)
@pytest.mark.parametrize("key", ["form", "input_dim", "output_dim", "stored_bits", "paper_bits"])
@pytest.mark.parametrize("value", ["text", -1, 1e300, [], True])
def test_facts_of_an_embedding_of_another_type(data, key, value):
    """Printed by `inspect`, which divides bits by 8."""
    (entry,) = tflite.read_metadata(data)["embeddings"]
    assert metadata_fits({"embeddings": [entry]})
    fits = metadata_fits({"embeddings": [{**entry, key: value}]})
    assert fits == (key == "form" and value == "text")


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ({}, True),
        ({"one": {}}, True),
        ({"one": {"labels": ["a"]}}, True),
        ([], False),
        ({"one": 7}, False),
        ({"one": {"text": {}}}, False),
    ],
)
def test_facts_of_several_models(value, good):
    assert metadata_fits({"signatures": value}) == good


CONTENTS = [b"[]", b"7", b"{", b'{"text":{}}', b"\xff", b'{"recipe":7}', b'{"signatures":7}',
            b"[" * 100_000, b'{"labels":["a",7]}']  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("content", CONTENTS)
def test_every_reader_refuses(data, content):
    def change(model):
        (entry,) = (e for e in model.metadata if e.name == METADATA_NAME)
        model.buffers[entry.buffer].data = list(content)

    model = flatbuffer.parse(data)
    change(model)
    changed = flatbuffer.pack(model)
    for reader in (tflite.read_metadata, tools.inspect, Interpreter, runtime.TextClassifier):
        with pytest.raises(ValueError, match="`flatbuffer` must be a file whose"):
            reader(changed)


def test_what_we_write_is_json(data):
    assert json.loads(json.dumps(tflite.read_metadata(data))) == tflite.read_metadata(data)
