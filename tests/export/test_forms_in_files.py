"""Every form in a file: what Keras evaluates, in as many bytes as are counted."""

import math

import keras
import numpy as np
import pytest
import scipy.sparse

from export_models import answers
from form_examples import COMPUTING, KINDS, V, numbers, sparse
from kerascompact import export, size, tools
from kerascompact.core.storage import total_bits
from kerascompact.forms import CodebookForm, CodeLSTMForm, FactoredForm, PackedTableForm, SparseForm
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.graph_edits import OP


def lookup(form, length=None):
    ids = keras.Input((length,), dtype="int32", name="ids")
    return keras.Model(ids, form(ids))


def outputs(data, ids):
    (found,) = Interpreter(data).run({"ids": ids}).values()
    return found


def slow(*arguments):
    return pytest.param(*arguments, marks=pytest.mark.slow)


# Four bits take every path that eight take, and one more; of the others, some in the short suite.
CASES = [(name, "int4_tables") for name in KINDS]
for place, kind in enumerate(KINDS):
    CASES.append((kind, "float32") if place % 4 == 0 else slow(kind, "float32"))
    CASES.append((kind, "int8_tables") if place % 4 == 2 else slow(kind, "int8_tables"))
SOME_RECIPES = ["float32", slow("int8_tables"), "int4_tables"]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_the_file_looks_up_what_keras_does(name, recipe):
    form, _ = KINDS[name](paper_bits=77)
    model = lookup(form)
    data = export.convert(model, recipe, names=False)
    small = export.freeze(model, recipe).model
    for length in (1, V):
        ids = np.arange(V - length, V)[None]
        expected = answers(small, ids)
        if KINDS[name] in COMPUTING:
            # float32 products and sums of some ten terms in another order
            np.testing.assert_allclose(outputs(data, ids), expected, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(outputs(data, ids), expected)
    found = tools.inspect(data)
    assert found.custom == [] and "READ_VARIABLE" not in found.operators
    assert tuple(map(int, found.runtime.split("."))) >= oldest(data)
    stored = total_bits(small.layers[-1].storage())
    (facts,) = found.metadata["embeddings"]
    assert (facts["form"], facts["stored_bits"]) == (type(form).__name__, stored)
    assert facts["paper_bits"] == 77
    assert f"{type(form).__name__}: {V} x {form.output_dim} in" in str(found)
    (row,) = size.summary(small).layers
    assert (row.stored_bits, row.paper_bits, row.float32_bits) == (
        stored,
        77,
        32 * V * form.output_dim,
    )
    # the graph of a loop is 6 KB, of anything else less
    assert len(data) <= stored / 8 + 7 * 1024


def oldest(data):
    """The oldest runtime with every operator that has int8 or INT4 numbers, or finds non-zeros."""
    codes = flatbuffer.parse(data).operatorCodes
    used = {(max(one.builtinCode, one.deprecatedBuiltinCode), one.version) for one in codes}
    known = {
        (OP.CAST, 3): (2, 8), (OP.WHERE, 2): (2, 8), (OP.DEQUANTIZE, 5): (2, 7),
        (OP.CAST, 6): (2, 15), (OP.GATHER, 7): (2, 15), (OP.EMBEDDING_LOOKUP, 4): (2, 18),
    }  # fmt: skip
    return max([(1,), *(since for one, since in known.items() if one in used)])


# The sizes of the issue: K = D = 32, vectors of 300, from 100 by a matrix or directly.
K, D, WIDTH, NARROW = 32, 32, 300, 100
NUMBER_BITS = {"float32": 32, "int8_tables": 8, "int4_tables": 4}


def codes_of(words, hidden):
    random = np.random.default_rng(0)
    width = NARROW if hidden else WIDTH
    books = random.normal(size=(D, K, width)).astype(np.float32)
    form = CodebookForm.from_codes(random.integers(0, K, (words, D)), books)
    return FactoredForm.from_parts(form, numbers(NARROW, WIDTH)) if hidden else form


def bits_by_hand(words, hidden, precision):
    codes = words * D * math.ceil(math.log2(K))
    if not hidden:
        scales = 0 if precision == "float32" else 32 * WIDTH
        return codes + NUMBER_BITS[precision] * K * D * WIDTH + scales
    if precision == "float32":
        return codes + 32 * (K * D * NARROW + NARROW * WIDTH)
    # the scales of the codebooks are in the matrix, which is int8 and has its own
    return codes + NUMBER_BITS[precision] * K * D * NARROW + 8 * NARROW * WIDTH + 32 * WIDTH


def check_size(words, hidden, recipe):
    model = lookup(codes_of(words, hidden))
    data = export.convert(model, recipe, names=False)
    frozen = export.freeze(model, recipe).model
    theory = bits_by_hand(words, hidden, recipe)
    assert total_bits(frozen.layers[-1].storage()) == theory
    assert len(data) <= 1.01 * theory / 8 + 8 * 1024
    ids = np.random.default_rng(1).integers(0, words, (1, 32))
    ids[0, :2] = 0, words - 1
    found, expected = outputs(data, ids), answers(frozen, ids)
    # sums of 32 and of 100 float32, the second of size 100
    np.testing.assert_allclose(found, expected, atol=1e-3 if hidden else 1e-4)
    np.testing.assert_array_equal(found.argmax(-1), expected.argmax(-1))


@pytest.mark.parametrize(
    ("hidden", "recipe"),
    [
        slow(False, "float32"),
        slow(False, "int8_tables"),
        (False, "int4_tables"),
        slow(True, "float32"),
        (True, "int8_tables"),
        slow(True, "int4_tables"),
    ],
)
def test_ten_thousand_words_are_as_small_as_their_bits(hidden, recipe):
    check_size(10_000, hidden, recipe)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [False, True])
def test_a_quarter_of_a_million_words_are_as_small_as_their_bits(hidden):
    check_size(268_000, hidden, "int8_tables")


def test_the_paper_counts_308_thousand_parameters():
    """Table 3 of the paper: K D d' + C at d' = d = 300, whatever the number of words."""
    form = codes_of(1000, hidden=False)
    (codebook,) = [array for array in form.storage() if array.name == "codebook"]
    assert math.prod(codebook.shape) == K * D * WIDTH == 307_200


@pytest.mark.parametrize("recipe", [slow("float32"), "int8_tables", slow("int4_tables")])
def test_an_lstm_is_as_small_as_its_bits(recipe):
    random = np.random.default_rng(0)
    units, width = 48, 20
    kernels = {
        "kernel": random.normal(size=(width, 4 * units)) / 8,
        "recurrent_kernel": random.normal(size=(units, 4 * units)) / 8,
        "bias": random.normal(size=4 * units) / 8,
    }
    books = random.normal(size=(D, K, width))
    codes = random.integers(0, K, (10_000, D))
    model = lookup(CodeLSTMForm.from_codes(codes, books, **kernels))
    stored = export.freeze(model, recipe)
    data, frozen = stored.convert(names=False), stored.model
    operators = tools.inspect(data).operators
    assert operators["WHILE"] == 1
    assert recipe != "int8_tables" or operators["DEQUANTIZE"] == 2  # once, before the loop
    number = 32 if recipe == "float32" else 8
    scales = 0 if recipe == "float32" else 2 * 32 * 4 * units
    theory = 10_000 * D * 5 + NUMBER_BITS[recipe] * D * K * width
    theory += number * 4 * units * (width + units) + scales + 32 * 4 * units
    assert total_bits(frozen.layers[-1].storage()) == theory
    assert len(data) <= 1.01 * theory / 8 + 8 * 1024
    ids = random.integers(0, 10_000, (1, 32))
    expected = answers(frozen, ids)
    # 32 steps of float32 rounding, and outputs of size 5
    np.testing.assert_allclose(outputs(data, ids), expected, atol=1e-5)


@pytest.mark.parametrize("bits", [slow(1), slow(3), 6, slow(8)])
def test_entries_of_few_bits_are_as_small_as_their_bits(bits):
    random = np.random.default_rng(0)
    codes = random.integers(0, 2**bits, (5000, 24))
    model = lookup(PackedTableForm.from_codes(codes, np.ones(5000), bits=bits))
    data = export.convert(model, names=False)
    assert len(data) <= 5000 * (24 * bits + 32) / 8 + 4 * 1024


def sparse_of(words, num_anchors=500, width=300, per_row=4):
    """About `per_row` entries in each row, in some none."""
    random = np.random.default_rng(0)
    lengths = random.poisson(per_row, words)
    rows = np.repeat(np.arange(words), lengths)
    columns = random.integers(0, num_anchors, len(rows))
    values = random.uniform(0.05, 1, len(rows)).astype(np.float32)
    transform = scipy.sparse.coo_array((values, (rows, columns)), shape=(words, num_anchors))
    return SparseForm.from_matrix(transform, numbers(num_anchors, width))


@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", SOME_RECIPES)
def test_sparse_rows_are_as_small_as_their_entries(recipe):
    form = sparse_of(10_000)
    data = export.convert(lookup(form), recipe, names=False)
    small = export.freeze(lookup(form), recipe).model.layers[-1]
    entry = 16 + (32 if recipe == "float32" else 8)
    scales = 0 if recipe == "float32" else 32 * 300
    rows = 8 * 10_016 + 313 * 32 + 32
    theory = small.num_entries * entry + rows + NUMBER_BITS[recipe] * 500 * 300 + scales
    assert total_bits(small.storage()) == theory
    assert len(data) <= 1.01 * theory / 8 + 4 * 1024
    ids = np.random.default_rng(1).integers(0, 10_000, (1, 32))
    # sums of some ten float32 products of size <= 4
    np.testing.assert_allclose(outputs(data, ids), small(ids), atol=1e-5)
    empty = np.flatnonzero(~np.asarray(small(np.arange(10_000))).any(axis=-1))
    assert len(empty) > 100  # rows without entries are zeros, alone and beside others
    for row in (empty[:1], np.append(empty[:2], ids[0, 0]), empty[:40]):
        found = outputs(data, row[None])[0]
        np.testing.assert_array_equal(found[np.isin(row, empty)], 0)


@pytest.mark.parametrize("recipe", [slow("float32"), slow("int8_tables"), slow("int4_tables")])
def test_rows_without_entries_are_zeros_in_a_file(recipe):
    form, _ = sparse()
    data = export.convert(lookup(form), recipe)
    for ids in ([[0]], [[0, V // 2, V - 1]], [[0] * 40]):
        np.testing.assert_array_equal(outputs(data, np.array(ids)), 0)


@pytest.mark.slow  # `test_ten_thousand_words_...` is short
@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", SOME_RECIPES)
def test_sparse_logits_need_no_table(recipe):
    """Words in, logits out: the file holds every array once, and not as wide as it is read."""
    form = sparse_of(3000, num_anchors=200, width=40)
    ids = keras.Input((1,), dtype="int32", name="ids")
    model = keras.Model(ids, form(keras.layers.Activation("tanh")(form(ids)), reverse=True))
    data, small = export.convert(model, recipe, names=False), export.freeze(model, recipe).model
    assert len(data) <= 1.02 * total_bits(small.layers[1].storage()) / 8 + 8 * 1024
    for id in (0, 17, 2999):
        expected = answers(small, np.array([[id]]))
        # 40 float32 products, and integers of 30 bits
        np.testing.assert_allclose(outputs(data, np.array([[id]])), expected, atol=1e-4)
