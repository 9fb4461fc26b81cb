"""Rows of every form on a phone, on a tiny task, and the routes without this package."""

import argparse

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from benchmarks.product import operator_times, other_exporters, phone
from benchmarks.product.phone import Arm
from kerascompact import export, layers
from kerascompact.tasks.methods import METHODS
from tiny_task import dataset

SIZES = {"WORDS": 30, "WIDTH": 4, "LENGTH": 8, "EPOCHS": 2, "RUNS": 20, "DROPOUT": 0.0}
TINY = {
    "SE": Arm("standard", {}, ("float32", "int4")),
    "ME": Arm("mixture", {"clusters": 4, "unique": 6}),
    "ANT": Arm("anchors", {"num_anchors": 6, "l1_weight": 1e-3}),
}


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(phone.datasets, "load", lambda *_: dataset())
    monkeypatch.setattr(phone, "ARMS", TINY)
    for name, size in SIZES.items():
        monkeypatch.setattr(phone, name, size)


def without(package):
    def route(model, rows):
        raise ImportError(f"This needs the package {package!r}.")

    return route


def test_rows_and_their_table(small, monkeypatch, capsys):
    routes = {
        "Keras": lambda model, rows: other_exporters.by_keras(model),
        "other": without("other"),
    }
    monkeypatch.setattr(phone, "ROUTES", routes)
    arguments = argparse.Namespace(data=None, seeds=[1])
    rows = phone.benchmark("phone", arguments)
    assert "other is left out. This needs the package 'other'." in capsys.readouterr().out
    arms = [(row["arm"], row["recipe"]) for row in rows]
    assert arms == [
        ("SE", "float32"),
        ("SE", "int4"),
        (phone.PLAIN, "Keras"),
        ("ME", "int8"),
        ("ANT", "int8"),
    ]
    dense, narrow, plain = rows[:3]
    assert dense["stored_bits"] == plain["stored_bits"] == dense["paper_bits"] == 32 * 30 * 4
    assert narrow["stored_bits"] == 4 * 30 * 4 + 32 * 4  # scales of the columns
    assert dense["rest_bits"] == 32 * (4 * 3 + 3)
    assert all(row["agreement"] == 1 for row in (dense, plain))
    for row in rows:
        assert 8 * row["file_bytes"] > row["stored_bits"] + row["rest_bits"]
        assert 0 < row["microseconds"] < 1e6 and row["resident_bytes"] > 0
    assert phone.benchmark("phone", arguments) == rows  # nothing is measured again
    monkeypatch.setattr(phone, "ROUTES", {"newer": routes["Keras"]})  # and "Keras" is no more
    *before, added = phone.benchmark("phone", arguments)
    assert before == [row for row in rows if row["arm"] != phone.PLAIN]
    assert added["keras_accuracy"] == plain["keras_accuracy"]  # the same model, trained again
    lines = phone.table(rows).splitlines()
    assert len(lines) == 2 + 5 and lines[-1].startswith(
        f"| {phone.PLAIN} | Keras | 3,840 | 3,840 |"
    )


def test_a_projection_takes_text(small, monkeypatch):
    options = {"hidden": 6, "num_projections": 4, "projection_dim": 6}
    monkeypatch.setattr(phone, "ARMS", {"projection": Arm("projection", options, rate=1e-2)})
    ((row, file),) = phone.files_of(0, None, ["projection"])
    assert row["agreement"] == 1 and row["rest_bits"] == 32 * (4 * 3 + 3)
    (times,) = phone.timed([file], dataset().test.texts)
    assert times["file_bytes"] == len(file)


def test_the_quantizer_leaves_a_gathered_table_as_it_is(small):
    """But for its static recipes, which need data."""
    pytest.importorskip("litert_quantizer")
    data = phone.encode(dataset(), 30, 8)
    model = phone.trained(TINY["SE"], data, 0)
    file = other_exporters.by_quantizer(model)
    assert phone.theirs(model, file, data)["stored_bits"] == 32 * 30 * 4
    with pytest.raises(ValueError, match="`rows` must be rows of ids, for the recipe 'static_wi8"):
        other_exporters.by_quantizer(model, "static_wi8_ai8")
    static = other_exporters.ROUTES["litert-quantizer, static int8"](model, data.train.ids)
    assert phone.theirs(model, static, data)["stored_bits"] == 8 * 30 * 4


def test_the_dynamic_range_makes_int8_of_a_table(small, monkeypatch):
    monkeypatch.setattr(phone, "WIDTH", 64)  # smaller ones stay float32
    data = phone.encode(dataset(), 30, 8)
    model = phone.trained(TINY["SE"], data, 0)
    facts = phone.theirs(model, other_exporters.by_dynamic_range(model), data)
    assert facts["stored_bits"] == 8 * 30 * 64
    assert np.isclose(facts["agreement"], 1, atol=0.05)


def test_arms_are_named_as_their_methods_are():
    for name, arm in phone.ARMS.items():
        assert name.split(",")[0] == METHODS[arm.method].abbreviation


def test_the_time_of_each_operator(small, monkeypatch):
    monkeypatch.setattr(phone, "ROUTES", {})
    monkeypatch.setattr(operator_times, "ARMS", ("ANT",))
    monkeypatch.setattr(operator_times, "ROUNDS", 2)
    monkeypatch.setattr(operator_times.datasets, "load", lambda *_: dataset())
    rows = operator_times.benchmark("operator_times", argparse.Namespace(data=None, seeds=[0]))
    names = [name for name, _ in rows[0]["operators"]]
    assert names.count("WHERE") == 1 and names[-1] == "SOFTMAX"
    assert sum(us for _, us in rows[0]["operators"]) > 0  # the last piece is the whole file
    assert f"| ANT | {len(names)} | " in operator_times.table(rows)
    assert (
        operator_times.benchmark("operator_times", argparse.Namespace(data=None, seeds=[0])) == rows
    )


def test_a_piece_of_a_file_gives_what_its_last_operator_makes():
    model = keras.Sequential(
        [keras.Input((4,), dtype="int32"), layers.ClusterEmbedding(9, 2, 3), keras.layers.ReLU()]
    )
    file = export.convert(model, "float32")
    ids = np.array([[1, 2, 3, 8]], np.int32)
    names = [name for name, _ in operator_times.operator_times(file, ids, 1)]
    piece = Interpreter(model_content=operator_times.cut(file, names.index("RELU") - 1))
    piece.allocate_tensors()
    piece.set_tensor(piece.get_input_details()[0]["index"], ids)
    piece.invoke()
    before = piece.get_tensor(piece.get_output_details()[0]["index"])
    np.testing.assert_allclose(np.maximum(before, 0), model(ids), atol=1e-6)
