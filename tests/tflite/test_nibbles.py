"""Codes of 4 bits that a file reads as INT4: the same numbers, from fewer operators."""

import keras
import numpy as np
import pytest

from export_models import answers
from form_examples import (
    V,
    codes_concat,
    codes_sum,
    factored,
    product_codes,
    recurrent,
    scalar,
)
from kerascompact import export, models, tools
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.graph_edits import OP, kind, users
from kerascompact.tflite.passes import nibbles


def four_codes(**config):
    return codes_sum(**{"length": 4, "cardinality": 16, **config})


def sixteen(make, **config):
    """Codes up to 15, so that both halves of a byte have their highest bit."""
    return make(cardinality=16, **config)[0]


FORMS = {
    "sum": lambda: sixteen(codes_sum, length=4),
    "of 12": lambda: codes_sum(length=4, cardinality=12)[0],
    "shared": lambda: sixteen(codes_sum, length=4, shared=True),
    "concat": lambda: sixteen(codes_concat, length=6),
    "lstm": lambda: sixteen(recurrent, length=4),
    "factored": lambda: factored(four_codes)[0],
    "numbers": lambda: scalar(width=4, bits=4)[0],
}


def used(data):
    """Operators of the file, and the types of its constants."""
    parsed = flatbuffer.parse(data)
    names = [kind(parsed, one) for graph in parsed.subgraphs for one in graph.operators]
    return names, {tensor.dtype for tensor in tools.inspect(data).tensors}


def model_of(form, length=7):
    ids = keras.Input((length,), dtype="int32", name="ids")
    return keras.Model(ids, form(ids))


SIZES = [(7, 1), (None, 1), (7, 3), (None, None)]
CASES = [(name, *size) for name in FORMS for size in SIZES]
SHORT = {("lstm", 7, 3)}  # sums are in `test_batch`, of any batch; codes side by side below


@pytest.mark.parametrize(
    ("name", "length", "batch"),
    [pytest.param(*case, marks=[] if case in SHORT else pytest.mark.slow) for case in CASES],
)
def test_every_word_has_its_vector(name, length, batch):
    form = FORMS[name]()
    model = model_of(form, length)
    data = export.convert(model, "float32", batch_size=batch)
    operators, types = used(data)
    assert "int4" in types and "uint8" not in types
    assert OP.FLOOR_MOD not in operators and OP.RIGHT_SHIFT not in operators
    assert tools.inspect(data).runtime == "2.15.0"
    every = np.arange(42, dtype=np.int32).reshape(6, 7) % V
    file = Interpreter(data)
    found = [[*file.run({"ids": rows}).values()][0] for rows in np.split(every, 6 // (batch or 2))]
    np.testing.assert_allclose(np.concatenate(found), answers(model, every), atol=2e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["sum", "concat", "numbers"])
def test_scores_of_words_and_their_vectors_read_one_table(name):
    form = FORMS[name]()
    ids = keras.Input((5,), dtype="int32", name="ids")
    vectors = form(ids)
    model = keras.Model(ids, [vectors, form(vectors, reverse=True)])
    data = export.convert(model, "float32")
    operators, types = used(data)
    assert "int4" in types and "uint8" not in types and OP.FLOOR_MOD not in operators
    row = np.array([[1, 22, 3, 0, V - 1]], np.int32)
    found = Interpreter(data).run({"ids": row}).values()
    for one, wanted in zip(sorted(found, key=np.size), model(row), strict=True):
        np.testing.assert_allclose(one, wanted, atol=1e-5)


def test_other_codes_stay_as_they_are():
    """Rows that begin in the middle of a byte, and codes of other bits."""
    others = (
        codes_sum(length=3, cardinality=16),
        codes_sum(length=4, cardinality=17),
        product_codes(cardinality=256),
    )
    ids = keras.Input((7,), dtype="int32", name="ids")
    data = export.convert(keras.Model(ids, [form(ids) for form, _ in others]), "float32")
    assert "int4" not in used(data)[1]
    assert tuple(map(int, tools.inspect(data).runtime.split("."))) < (2, 15)


def test_a_file_of_integers_stays_one():
    """Codes minus 8 in float32, although exact, would be no integers."""
    model = models.mean_classifier(four_codes(mask_zero=True)[0], 3, sequence_length=9)
    rows = np.random.default_rng(0).integers(0, V, (20, 9)).astype(np.int32)
    data = export.convert(model, "full_int8", representative=rows)
    operators, types = used(data)
    assert OP.FLOOR_MOD in operators and "int4" not in types and "uint8" in types
    (found,) = Interpreter(data).run({"ids": rows[:1]}).values()
    assert np.abs(found - model(rows[:1])).max() < 0.1  # 8 bits between layers


def test_a_table_with_another_reader_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(nibbles, "read_codes_as_int4", lambda model: None)
    parsed = flatbuffer.parse(export.convert(model_of(FORMS["sum"]()), "float32"))
    monkeypatch.undo()
    graph = parsed.subgraphs[0]
    (table,) = (i for i, one in enumerate(graph.tensors) if one.type == 3 and len(one.shape) == 2)
    graph.outputs = np.array([*graph.outputs, users(graph, table)[0].outputs[0]], np.int32)
    nibbles.read_codes_as_int4(parsed)
    assert OP.FLOOR_MOD in {kind(parsed, one) for one in graph.operators}
    graph.outputs = graph.outputs[:-1]
    nibbles.read_codes_as_int4(parsed)
    assert OP.FLOOR_MOD not in {kind(parsed, one) for one in graph.operators}


@pytest.mark.slow  # the next have types and values
def test_a_classifier_of_codes_is_smaller_and_answers_the_same(monkeypatch):
    form = codes_sum(length=4, cardinality=16, mask_zero=True)[0]
    model = models.mean_classifier(form, 3, sequence_length=9)
    small = export.convert(model, "int8")
    monkeypatch.setattr(nibbles, "read_codes_as_int4", lambda model: None)
    large = export.convert(model, "int8")
    assert len(small) < len(large)
    rows = np.random.default_rng(0).integers(0, V, (20, 1, 9)).astype(np.int32)
    for row in rows:
        both = [[*Interpreter(data).run({"ids": row}).values()][0] for data in (small, large)]
        np.testing.assert_array_equal(*both)
