"""Each thing that the runtime trusts, broken by hand."""

import copy

import numpy as np
import pytest

from export_models import file_of
from kerascompact.tflite import flatbuffer, validate
from kerascompact.tflite.layout import ITEM_BITS, schema
from kerascompact.tflite.operators import COUNTS, OPERATORS
from kerascompact.tflite.validate import check_model


@pytest.fixture(scope="module")
def model():
    return flatbuffer.parse(file_of("mean"))


@pytest.fixture(scope="module")
def loop():
    """A model with a WHILE, whose condition and body are graphs of their own."""
    return flatbuffer.parse(file_of("lstm"))


def broken(model, change):
    model = copy.deepcopy(model)
    change(model)
    return model


def constant(model, least=8):
    """A constant of some bytes."""
    return next(
        tensor
        for tensor in model.subgraphs[0].tensors
        if model.buffers[tensor.buffer].data is not None
        and len(model.buffers[tensor.buffer].data) > least
    )


def operator(model, name):
    names, (graph, *_) = flatbuffer.operator_names(model), model.subgraphs
    return graph.operators[names.index(name)]


def quantized(scale, zero_point, axis=0, **fields):
    def change(model):
        found = schema.QuantizationParametersT()
        found.scale, found.zeroPoint = np.float32(scale), np.array(zero_point)
        found.quantizedDimension = axis
        for name, value in fields.items():
            setattr(found, name, value)
        constant(model).quantization = found

    return change


def shaped(shape, signature=None):
    def change(model):
        tensor = model.subgraphs[0].tensors[model.subgraphs[0].inputs[0]]
        tensor.shape, tensor.shapeSignature = np.array(shape), signature

    return change


def set_(path, value):
    """Sets `a.b[0].c` of a model."""

    def change(model):
        target = model
        *way, last = path.split(".")
        for step in way:
            name, _, index = step.partition("[")
            target = getattr(target, name)
            target = target[int(index[:-1])] if index else target
        setattr(target, last, value)

    return change


def open_variable(model):
    tensor = model.subgraphs[0].tensors[model.subgraphs[0].outputs[0]]
    tensor.shapeSignature, tensor.isVariable = np.array([-1] * len(tensor.shape)), True


def reads_the_future(model):
    (graph, *_) = model.subgraphs
    graph.operators = graph.operators[::-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_("subgraphs", []), "it has no graph"),
        (set_("buffers", None), "it has no graph"),
        (set_("buffers[0].data", np.ones(4, np.uint8)), "buffer 0, which must be empty"),
        (lambda m: setattr(m.buffers[-1], "offset", 10**9), "a buffer ends at byte 1000000000"),
        (set_("signatureDefs[0].subgraphIndex", 9), "a signature's graph: number 9 of 1"),
        (set_("signatureDefs[0].inputs[0].tensorIndex", 999), "a signature's tensor: number 999"),
        (set_("signatureDefs[0].inputs[0].name", None), "of a signature has no name"),
        (lambda m: setattr(constant(m), "type", 99), "a tensor has the unknown type 99"),
        (lambda m: setattr(constant(m), "shape", np.array([-4])), r"a tensor of shape \[-4\]"),
        (shaped([1, 4], np.array([1, -2])), r"a tensor of shape \[1, 4\]"),
        (shaped([1, 4], np.array([1, 5])), r"shape \[1, 4\] and signature \[1, 5\]"),
        (shaped([1, 4], np.array([-1])), r"shape \[1, 4\] and signature \[-1\]"),
        (shaped([2**16, 2**14]), "more than 2,147,483,647 bytes"),
        (open_variable, "a variable tensor has an open size"),
        (quantized([np.nan], [0]), "a scale that is negative, infinite or NaN"),
        (quantized([-1.0], [0]), "a scale that is negative, infinite or NaN"),
        (quantized([1.0, 1.0], [0, 0, 0]), "2 scales and 3 zero points"),
        (quantized([1.0], [2**40]), "a zero point is out of the range of"),
        (quantized([1.0] * 3, [0] * 3, axis=7), "3 scales along axis 7 of the shape"),
        (quantized([1.0] * 3, [0] * 3, axis=-1), "3 scales along axis -1 of the shape"),
        (set_("operatorCodes[0].builtinCode", 999), "the unknown operator 999"),
        (set_("operatorCodes[0].customCode", b"Flex"), "with the custom name b'Flex'"),
        (set_("subgraphs[0].operators[0].opcodeIndex", 99), "an operator's code: number 99"),
        (set_("subgraphs[0].operators[0].inputs", np.array([999])), "with 1 inputs|number 999"),
        (lambda m: setattr(operator(m, "GATHER"), "inputs", [0]), "GATHER with 1 inputs and 1 out"),
        (lambda m: setattr(operator(m, "GATHER"), "outputs", []), "GATHER with 2 inputs and 0 out"),
        (lambda m: setattr(operator(m, "GATHER"), "inputs", [0, -1]), "GATHER without input 1"),
        (lambda m: setattr(operator(m, "GATHER"), "inputs", [0, 999]), "an input of GATHER: numb"),
        (lambda m: setattr(operator(m, "GATHER"), "outputs", [-7]), "an output of GATHER: number"),
        (lambda m: setattr(operator(m, "GATHER"), "outputs", [0]), "writes tensor 0, which alr"),
        (reads_the_future, "reads tensor .* before it is computed"),
        (lambda m: m.subgraphs[0].operators.pop(), "output .* is never computed"),
    ],
)  # fmt: skip
def test_refuses(model, change, message):
    with pytest.raises(ValueError, match=message):
        check_model(broken(model, change), 10_000)


def test_the_runtime_may_not_write_into_a_constant(model):
    def change(model):
        (graph, *_) = model.subgraphs
        index = next(i for i, t in enumerate(graph.tensors) if t is constant(model))
        graph.inputs = [*graph.inputs, index]

    with pytest.raises(ValueError, match="an input is a constant"):
        check_model(broken(model, change), 10_000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: setattr(o, "bodySubgraphIndex", 77), "a bodySubgraphIndex: number 77 of 3"),
        (lambda o: setattr(o, "condSubgraphIndex", -1), "a condSubgraphIndex: number -1 of 3"),
        (lambda o: setattr(o, "bodySubgraphIndex", 0), "graph 0 calls itself|a bodySubgraphIndex"),
        (lambda o: setattr(o, "condSubgraphIndex", 2), "a condSubgraphIndex with .* outputs"),
    ],
)
def test_refuses_calls(loop, change, message):
    options = operator(loop, "WHILE").builtinOptions
    assert {options.condSubgraphIndex, options.bodySubgraphIndex} == {1, 2}
    with pytest.raises(ValueError, match=message):
        check_model(
            broken(loop, lambda m: change(operator(m, "WHILE").builtinOptions)), len(loop.buffers)
        )


def test_a_loop_needs_all_of_its_states(loop):
    def change(model):
        operator(model, "WHILE").inputs[-1] = -1

    with pytest.raises(ValueError, match="WHILE without input"):
        check_model(broken(loop, change), 10_000)


def test_a_product_does_without_a_bias(model):
    def change(model):
        inputs = operator(model, "FULLY_CONNECTED").inputs
        operator(model, "FULLY_CONNECTED").inputs = [*inputs[:2], -1]

    check_model(broken(model, change), 10_000)


def test_refuses_a_graph_that_calls_itself(loop):
    def change(model):
        model.subgraphs[2].operators.append(copy.deepcopy(operator(model, "WHILE")))
        ports = model.subgraphs[2].operators[-1]
        ports.inputs = list(model.subgraphs[2].inputs)
        ports.outputs = []
        for _ in model.subgraphs[2].outputs:
            model.subgraphs[2].tensors.append(schema.TensorT())
            ports.outputs.append(len(model.subgraphs[2].tensors) - 1)
        ports.builtinOptions.bodySubgraphIndex = 2

    with pytest.raises(ValueError, match="graph 2 calls itself"):
        check_model(broken(loop, change), 10_000)


def words(*numbers, text=b""):
    return np.frombuffer(np.array(numbers, "<i4").tobytes() + text, np.uint8)


@pytest.mark.parametrize(
    ("data", "good"),
    [
        (words(2, 16, 17, 19, text=b"abb"), True),
        (words(2, 16, 16, 16), True),
        (words(3, 16, 17, 19, text=b"abb"), False),
        (words(2, 12, 17, 19, text=b"abb"), False),
        (words(2, 16, 17, 20, text=b"abb"), False),
        (words(2, 16, 19, 17, text=b"abb"), False),
        (words(2), False),
        (words(-1, 16, 16), False),
    ],
)
def test_strings(data, good):
    if good:
        validate._check_strings(data, 2)
        return
    with pytest.raises(ValueError, match="a tensor of 2 strings holds|a string of a tensor begins"):
        validate._check_strings(data, 2)


def sparse(**change):
    """Two rows of three, entries at (0, 2), (1, 0) and (1, 1)."""
    fields = dict(order=[0, 1], blocks=[], segments=[0, 1, 3], indices=[2, 0, 1], dense=2) | change

    def apply(model):
        found = schema.SparsityParametersT()
        found.traversalOrder, found.blockMap = fields["order"], fields["blocks"]
        rows, columns = schema.DimensionMetadataT(), schema.DimensionMetadataT()
        rows.format, rows.denseSize = schema.DimensionType.DENSE, fields["dense"]
        columns.format = schema.DimensionType.SPARSE_CSR
        columns.arraySegments, columns.arrayIndices = (schema.Uint8VectorT() for _ in range(2))
        columns.arraySegments.values = np.array(fields["segments"])
        columns.arrayIndices.values = np.array(fields["indices"])
        found.dimMetadata = [rows, columns]
        tensor = constant(model)
        tensor.type, tensor.shape, tensor.sparsity = 0, np.array([2, 3]), found
        tensor.quantization = None
        model.buffers[tensor.buffer].data = np.zeros(12, np.uint8)

    return apply


def test_takes_a_sparse_tensor(model):
    check_model(broken(model, sparse()), 10_000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(order=[0]), "the dimensions of a sparse tensor do not fit"),
        (dict(order=[0, 5]), "the dimensions of a sparse tensor do not fit"),
        (dict(blocks=[0]), "the dimensions of a sparse tensor do not fit"),
        (dict(dense=0), "a dimension of a sparse tensor has no size"),
        (dict(segments=[0, 1, 9]), "the segments of a sparse tensor do not fit"),
        (dict(segments=[0, 3, 1]), "the segments of a sparse tensor do not fit"),
        (dict(segments=[]), "the segments of a sparse tensor do not fit"),
        (dict(indices=[2, 0, 9]), "an index of a sparse tensor lies outside"),
    ],
)
def test_refuses_a_sparse_tensor(model, change, message):
    with pytest.raises(ValueError, match=message):
        check_model(broken(model, sparse(**change)), 10_000)


def blocks(scales=None, zero_points=-1, size=32):
    def change(model):
        details = schema.BlockwiseQuantizationT()
        tensors = model.subgraphs[0].tensors
        place = next(i for i, tensor in enumerate(tensors) if tensor is constant(model))
        details.scales = place if scales is None else scales
        details.zeroPoints, details.blockSize = zero_points, size
        found = schema.QuantizationParametersT()
        found.detailsType = schema.QuantizationDetails.BlockwiseQuantization
        found.details = details
        constant(model).quantization = found

    return change


def test_blocks(model):
    check_model(broken(model, blocks()), 10_000)
    for change, message in (
        (blocks(999), "the scales of blocks: number 999"),
        (blocks(-1), "the scales of blocks: number -1"),
        (blocks(zero_points=999), "the zero points of blocks: number 999"),
        (blocks(size=0), "blocks have no scales or no size"),
        (blocks(model.subgraphs[0].inputs[0]), "blocks have no scales or no size"),
    ):
        with pytest.raises(ValueError, match=message):
            check_model(broken(model, change), 10_000)


def test_operators_of_the_table_are_those_of_the_schema():
    assert set(COUNTS) <= set(OPERATORS.values())
    assert all(0 < bits <= 128 for bits in ITEM_BITS.values())
