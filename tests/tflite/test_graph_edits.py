"""What passes over a file do to it: tensors, operators and versions."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from kerascompact.tflite import graph_edits


def empty():
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.operatorCodes, model.buffers, model.metadata = [], [schema.BufferT()], []
    graph.tensors, graph.operators, graph.outputs = [], [], []
    model.subgraphs = [graph]
    return model, graph


def node(inputs, outputs):
    made = schema.OperatorT()
    made.inputs, made.outputs = np.array(inputs, np.int32), np.array(outputs, np.int32)
    return made


def test_constants_go_in_and_come_out():
    model, graph = empty()
    numbers = np.arange(6, dtype=np.int8).reshape(2, 3)
    buffer = graph_edits.new_buffer(model, numbers)
    index = graph_edits.new_tensor(graph, graph_edits.TYPE.INT8, (2, 3), buffer, scale=[0.5, 2])
    tensor = graph.tensors[index]
    np.testing.assert_array_equal(graph_edits.constant(model, tensor, np.int8), numbers)
    assert graph_edits.constant(model, tensor, np.float32) is None  # of another size
    assert tensor.quantization.scale.tolist() == [0.5, 2]
    assert tensor.quantization.zeroPoint.tolist() == [0, 0]
    written = graph.tensors[graph_edits.new_tensor(graph, graph_edits.TYPE.FLOAT32, (2,), 0)]
    assert graph_edits.constant(model, written, np.float32) is None


def test_operators_of_one_kind_and_version_share_their_code():
    model, _ = empty()
    one, two, three = (node([], []) for _ in range(3))
    for operator, kind, version in ((one, 36, 1), (two, 36, 2), (three, 36, 1), (one, 200, 1)):
        graph_edits.become(model, operator, kind, version)
    assert [code.version for code in model.operatorCodes] == [1, 2, 1]
    assert [graph_edits.kind(model, operator) for operator in (one, two, three)] == [200, 36, 36]
    assert model.operatorCodes[2].deprecatedBuiltinCode == 127  # what older readers look at


def test_what_leads_nowhere_is_dropped():
    model, graph = empty()
    for number in range(4):
        buffer = graph_edits.new_buffer(model, np.array([number]))
        graph_edits.new_tensor(graph, graph_edits.TYPE.FLOAT32, (1,), buffer)
    blocks = schema.QuantizationParametersT()
    blocks.details = schema.BlockwiseQuantizationT()
    blocks.details.scales = 2
    graph.tensors[0].quantization = blocks
    kept, lost = node([0], [1]), node([3], [1 + 1])
    graph.operators, graph.outputs = [kept, lost], [1]
    assert graph_edits.users(graph, 3) == [lost]
    graph_edits.drop_unused(graph)
    assert graph.operators == [kept]
    assert [tensor.buffer for tensor in graph.tensors] == [1, 2, 3, 0]  # scales are read, too


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"1.5.0", b"2.15.0"), (b"2.9.0", b"2.15.0"), (b"3.0.0", b"3.0.0")],
)
def test_the_runtime_that_a_file_needs_only_gets_newer(before, after):
    model, _ = empty()
    entry = schema.MetadataT()
    padded = np.frombuffer(before.ljust(16, b"\0"), np.uint8)
    entry.name, entry.buffer = b"min_runtime_version", graph_edits.new_buffer(model, padded)
    model.metadata = [entry]
    graph_edits.needs_runtime(model, "2.15.0")
    assert graph_edits.runtime_of(model) == after.decode()
    model.metadata = []
    graph_edits.needs_runtime(model, "2.15.0")
    assert graph_edits.runtime_of(model) == ""
