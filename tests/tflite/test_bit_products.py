"""Products of bits and int8 matrices as integers, and everything that must stay as it is."""

import functools

import keras
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from export_models import answers
from kerascompact import export
from kerascompact.core.projection import Projection
from kerascompact.forms import ProjectedForm
from kerascompact.layers import TextToBits
from kerascompact.runtime import encoding
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.passes import bit_products

OP = schema.BuiltinOperator
PROJECTION = Projection(4, 15)
TEXTS = ["turn it up", "", "a", "\u65e5\u672c\u8a9e turn", "x" * 60]


def form(**config):
    """A network of 60 bits, 7 and 3 numbers whose scales differ by a thousand."""
    random = np.random.default_rng(0)
    scales = np.geomspace(1e-2, 10, 7)
    arrays = {
        "kernel_0": random.normal(size=(60, 7)) * scales,
        "bias_0": random.normal(size=7),
        "kernel_1": random.normal(size=(7, 3)) / scales[:, None],
        "bias_1": random.normal(size=3),
    }
    return ProjectedForm.from_arrays(
        arrays, projection=PROJECTION, output_dim=3, hidden_units=(7,), **config
    ).stored_as("int8")


def of_text(rows=6, **config):
    """A model of the bytes of a text."""
    text = keras.Input((64,), dtype="int32", name="text")
    together = config.get("together", False)
    length = {"max_words": rows} if together else {"sequence_length": rows}
    bits = TextToBits(PROJECTION, together=together, **length)(text)
    return keras.Model(text, form(**config)(bits))


@functools.cache
def file_of_text(**config):
    """The model and its file, converted once."""
    model = of_text(**config)
    return model, export.convert(model, "int8_tables")


def encoded(text):
    return encoding.encode(text, 64).numbers


def kinds(data):
    model = flatbuffer.parse(data)
    return [
        (model.operatorCodes[o.opcodeIndex].builtinCode, model.operatorCodes[o.opcodeIndex].version)
        for o in model.subgraphs[0].operators
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("config", [{}, {"together": True}, {"mask_zero": True}])
def test_are_those_of_float32(config):
    model, data = file_of_text(**config)
    assert kinds(data).count((OP.FULLY_CONNECTED, bit_products.VERSION)) == 1
    # beside the projection's own: the second layer, whose inputs are no bits
    assert [kind for kind, _ in kinds(data)].count(OP.BATCH_MATMUL) == 2
    frozen = export.freeze(model, "int8_tables").model
    for text in TEXTS:
        (found,) = Interpreter(data).run({"text": encoded(text)}).values()
        expected = answers(frozen, encoded(text))
        # one rounding of the sum's factor, in float32
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


def test_other_products_stay_float32():
    bits = keras.Input((5, 60), dtype="uint8", name="bits")  # an app may give any bytes
    data = export.convert(keras.Model(bits, form()(bits)), "int8_tables")
    assert OP.FULLY_CONNECTED not in dict(kinds(data))


def test_the_matrix_is_stored_once():
    _, data = file_of_text()
    model = flatbuffer.parse(data)
    table = np.asarray(form().kernel_0)
    stored = [bytes(bytearray(b.data)) for b in model.buffers if b.data is not None]
    assert stored.count(np.ascontiguousarray(table.T).tobytes()) == 1
    assert table.tobytes() not in stored
