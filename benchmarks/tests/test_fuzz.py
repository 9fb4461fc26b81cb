"""Damaged files: a few hundred in every run of the tests, thousands in the slow ones."""

import argparse
import subprocess
from collections import Counter

import numpy as np
import pytest

from benchmarks.lib import results
from benchmarks.product import fuzz, structure_damage
from benchmarks.product.structure_damage import restructured
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.layout import schema
from kerascompact.tflite.metadata import add_metadata


def tiny():
    """A product of a constant and an input, made by hand, with metadata of ours."""
    model, graph, operator = schema.ModelT(), schema.SubGraphT(), schema.OperatorT()
    code, signature = schema.OperatorCodeT(), schema.SignatureDefT()
    model.version, model.buffers = 3, [schema.BufferT(), schema.BufferT()]
    model.buffers[1].data = np.ones(3, np.float32).view(np.uint8)
    graph.tensors = [schema.TensorT() for _ in range(3)]
    for number, tensor in enumerate(graph.tensors):
        tensor.shape, tensor.buffer = np.array([3], np.int32), int(number == 1)
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.MUL
    code.version, model.operatorCodes = 1, [code]
    operator.inputs, operator.outputs = np.array([0, 1], np.int32), np.array([2], np.int32)
    operator.builtinOptions = schema.MulOptionsT()
    operator.builtinOptionsType = schema.BuiltinOptions.MulOptions
    graph.operators, graph.inputs, graph.outputs = [operator], np.array([0]), np.array([2])
    model.subgraphs = [graph]
    signature.signatureKey = b"serving_default"
    signature.inputs, signature.outputs = [schema.TensorMapT()], [schema.TensorMapT()]
    for port, name, index in ((signature.inputs[0], b"x", 0), (signature.outputs[0], b"y", 2)):
        port.name, port.tensorIndex = name, index
    model.signatureDefs = [signature]
    add_metadata(model, {"recipe": {"name": "int8", "tables": "int8"}})
    return flatbuffer.pack(model)


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(fuzz, "SOURCES", {"tiny": tiny})
    monkeypatch.setattr(fuzz, "BY_BYTES", 200)
    monkeypatch.setattr(fuzz, "BY_STRUCTURE", 300)


def test_a_few_hundred_files(small, monkeypatch):
    monkeypatch.setattr(fuzz, "RUN", 40)
    arguments = argparse.Namespace(seeds=[0])
    rows = fuzz.benchmark("fuzz", arguments)
    assert [row["files"] for row in rows] == [200, 300]
    for row in rows:
        assert row["uncaught"] == {} and row["read"] + row["refused"] == row["files"]
        assert row["read"] > 15 and row["refused"] > 20
        counts = [sum(kind.values()) for kind in row["kinds"].values()]
        assert sum(counts) == row["files"] and len(counts) in (6, len({*structure_damage.KINDS}))
        runtime = fuzz._counts(row)
        assert sum(runtime.values()) == min(40, row["read"]) and runtime["ran"] > 10
        assert {"crashed", "endless"} & {*runtime} == set(), row["runtime"]
    assert fuzz.benchmark("fuzz", arguments) == rows  # nothing is damaged again
    assert fuzz.table(rows).splitlines()[-1].startswith("| all |  | 500 |")


@pytest.mark.slow
@pytest.mark.parametrize("source", fuzz.SOURCES)
def test_thousands(source):
    for by, count in (("bytes", 1000), ("structure", 500)):
        row = fuzz.measure(source, by, count, seed=2, run=60)
        assert row["uncaught"] == {}
        assert row["runtime"].get("crashed", 0) == 0, row["runtime"]


def test_each_kind_of_damage_changes_the_file():
    data = tiny()
    made = [*restructured(data, 200)]
    assert made == [*restructured(data, 200)] and made[:9] != [*restructured(data, 9, seed=1)]
    assert all(copy != data for _, copy in made)
    kinds = Counter(kind for kind, _ in made)
    without = {"calls"}  # of which this file has none, but for the second damage of a file
    assert {*kinds} | without == {kind.__name__ for kind in structure_damage.KINDS}


def test_what_is_not_caught_is_counted(small, monkeypatch):
    """So that a run which finds a fault says so."""

    def fails(file):
        raise KeyError("lost")

    monkeypatch.setattr(fuzz, "diagnose", fails)
    row = fuzz.measure("tiny", "bytes", 50, seed=0, run=0)
    assert row["uncaught"] == {"KeyError('lost')": 50}
    monkeypatch.setattr(fuzz, "diagnose", lambda file: np.zeros(3).reshape(2, 2))
    row = fuzz.measure("tiny", "bytes", 5, seed=0, run=0)
    assert [*row["uncaught"]] == ["ValueError('cannot reshape array of size 3 into shape (2,2)')"]


def test_a_file_that_ends_the_process_is_counted_and_left_behind(monkeypatch):
    """Each process goes on after the file that ended the last one."""
    starts, ends = [], iter([(-11, "ran\n"), (-27, "refused\nlarge\n"), (0, "ran\n")])

    def run(command, **options):
        starts.append(int(command[-1]))
        return subprocess.CompletedProcess(command, *next(ends), "")

    monkeypatch.setattr(fuzz.subprocess, "run", run)
    given = [(kind, b"") for kind in "abcdef"]
    found = fuzz.in_runtime(given)
    assert starts == [0, 2, 5]
    assert found.pop("fatal") == {"b: SIGSEGV": 1, "e: SIGPROF": 1}
    assert found == {"ran": 2, "refused": 1, "large": 1, "crashed": 1, "endless": 1}


def test_files_of_a_process_of_its_own():
    data = tiny()
    found = fuzz.in_runtime([("a", data), ("b", b"no file"), ("c", data)])
    assert found == {"ran": 2, "refused": 1, "fatal": {}}


def test_committed_rows():
    """At least 200,000 files by bytes and by structure, none of them uncaught."""
    rows = results.rows("fuzz")
    assert {row["spec"]["source"] for row in rows} == {*fuzz.SOURCES}
    assert sum(row["files"] for row in rows) >= 200_000
    assert all(row["uncaught"] == {} for row in rows)
    crashed = [row["runtime"]["fatal"] for row in rows if row["runtime"].get("crashed")]
    assert crashed == []
