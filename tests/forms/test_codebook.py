"""Packed pointers, of every width that matters."""

import math

import keras
import numpy as np
import pytest

import kerascompact.forms.codebook as codebook_form
from form_examples import codebook, codes_concat, codes_sum, numbers
from kerascompact import export
from kerascompact.forms import CodebookForm
from kerascompact.ops import vocabulary_chunks
from kerascompact.tflite import flatbuffer

CARDINALITIES = [2, 3, 50, 255, 256, 257, 65536]


@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_equals_the_rows_that_the_codes_name(cardinality):
    codes = np.random.default_rng(0).integers(0, cardinality, 300)
    codes[:2], codes[-1] = [0, cardinality - 1], cardinality - 1
    vectors = numbers(cardinality, 2)
    form = CodebookForm.from_codes(codes, vectors)
    np.testing.assert_array_equal(form(np.arange(300)), vectors[codes])
    scale = np.abs(vectors).max(axis=0) / 127
    rounded = (np.rint(vectors / scale) * scale)[codes]
    # float32 division and product: two roundings of 2**-24, relative
    np.testing.assert_allclose(form.stored_as()(np.arange(300)), rounded, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_storage_is_ceil_log2_bits_per_code_and_the_codebook(cardinality):
    form, _ = codebook(300, 3, cardinality)
    pointers = 300 * math.ceil(math.log2(cardinality))
    stored = {array.name: array.total_bits for array in form.storage()}
    assert stored == {"codes": pointers, "codebook": 32 * cardinality * 3}
    stored = {array.name: array.total_bits for array in form.stored_as().storage()}
    assert stored == {"codes": pointers, "codebook": 8 * cardinality * 3, "codebook_scale": 32 * 3}


@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_codes_are_held_packed(cardinality):
    """At most the two bytes that a read may touch past the end, and part of the last byte."""
    form, _ = codebook(300, 3, cardinality)
    bits = 300 * math.ceil(math.log2(cardinality))
    assert form.codes.dtype == "uint8"
    assert bits <= 8 * form.codes.shape[0] < bits + 8 * 3


def test_a_single_word():
    form = CodebookForm.from_codes(np.array([1]), np.eye(2))
    assert form(np.array([0, 0])).numpy().tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("code", [3, -1])
def test_refuses_codes_without_a_row(code):
    with pytest.raises(ValueError, match=rf"`codes` must lie in \[0, 3\).*an id of {code}\."):
        CodebookForm.from_codes(np.array([0, code]), np.zeros((3, 2)))


def test_refuses_a_codebook_with_nan():
    with pytest.raises(ValueError, match="`codebooks` must hold finite numbers only"):
        CodebookForm.from_codes(np.array([0, 1]), np.array([[1.0], [np.nan]]))


@pytest.mark.parametrize("cardinality", [0, 1, 2**16 + 1, 2.0, True])
def test_refuses_cardinality(cardinality):
    with pytest.raises(ValueError, match=r"`cardinality` must be an integer in \[2, 65536\]"):
        CodebookForm(5, 2, cardinality)


def test_refuses_more_words_than_int32_bit_numbers():
    last = 2**31 // 6 - 1
    assert CodebookForm(last, 2, 50).input_dim == last  # not built: 1.6 GB
    with pytest.raises(ValueError, match=rf"`input_dim` must be an integer in \[1, {last}\]"):
        CodebookForm(last + 1, 2, 50)


each_combination = pytest.mark.parametrize(
    ("make", "shared"),
    [(codes_sum, False), (codes_sum, True), (codes_concat, False), (codes_concat, True)],
)


@pytest.mark.few(4)
@each_combination
@pytest.mark.parametrize(("length", "cardinality"), [(1, 5), (2, 257), (3, 16), (8, 2), (3, 257)])
def test_codes_of_several_letters(make, shared, length, cardinality):
    form, table = make(50, length, cardinality, 2 * length, shared)
    np.testing.assert_allclose(form(np.arange(50)), table, atol=1e-6)  # a sum of 8 float32
    one_text = form(np.arange(50)[None])  # looked up by one gather
    np.testing.assert_allclose(one_text[0], table, atol=1e-6)
    for precision, largest in (("int8", 127), ("int4", 7)):
        small = form.stored_as(precision)
        np.testing.assert_allclose(
            small(np.arange(50)), rounded(form, small, largest), rtol=1e-5, atol=1e-5
        )
        np.testing.assert_allclose(small(np.arange(50)[None])[0], small(np.arange(50)), atol=1e-5)


def rounded(form, small, largest):
    """The table of codebooks rounded in float64, with the scales of the columns."""
    config = form.get_config()
    books = form.codebook.numpy().astype(np.float64)
    books = books.reshape(-1, config["cardinality"], books.shape[1])
    groups = books if config["combine"] == "concat" else books.reshape(1, -1, books.shape[2])
    columns = []
    scales = small.codebook_scale.numpy().reshape(len(groups), -1)
    for group, scale in zip(groups, scales, strict=True):
        whole = np.abs(group).max(axis=0) / largest
        np.testing.assert_allclose(scale / whole, 1, atol=0 if largest == 127 else 0.51)
        integers = np.rint((group / scale).astype(np.float32))
        columns.append(np.clip(integers, -largest, largest) * scale)
    books = np.stack(columns).reshape(books.shape)
    codes = np.array([digits(form, word) for word in range(config["input_dim"])])
    vectors = [books[place % len(books)][codes[:, place]] for place in range(codes.shape[1])]
    return np.hstack(vectors) if config["combine"] == "concat" else sum(vectors)


def digits(form, word):
    """The letters of a word, read from the stream as from one large number."""
    number = int.from_bytes(form.codes.numpy().tobytes(), "little")
    number >>= word * form.code_length * form.code_bits
    return [
        number >> place * form.code_bits & (1 << form.code_bits) - 1
        for place in range(form.code_length)
    ]


@each_combination
def test_storage_of_several_letters_by_hand(make, shared):
    form, _ = make(50, 4, 32, 8, shared)
    books = 1 if shared else 4
    numbers = books * 32 * (8 if make is codes_sum else 2)
    scales = 8 if make is codes_sum else 2 * books
    assert {array.name: array.total_bits for array in form.storage()} == {
        "codes": 50 * 4 * 5,
        "codebook": 32 * numbers,
    }
    for precision, bits in (("int8", 8), ("int4", 4)):
        assert {array.name: array.total_bits for array in form.stored_as(precision).storage()} == {
            "codes": 50 * 4 * 5,
            "codebook": bits * numbers,
            "codebook_scale": 32 * scales,
        }
    assert form.codes.shape == (50 * 4 * 5 // 8 + 1,)  # and the byte past the end that a read takes


def test_rows_of_whole_bytes_need_no_byte_more():
    form, _ = codes_sum(50, 8, 32)
    assert form.codes.shape == (50 * 8 * 5 // 8,)


@each_combination
def test_the_scale_may_be_held_by_whoever_multiplies_next(make, shared):
    form, _ = make(50, 4, 32, 8, shared)
    assert form.unscaled() == (form, None)
    small = form.stored_as()
    integers, scale = small.unscaled()
    assert integers.unscaled() == (integers, None)
    np.testing.assert_array_equal(integers(np.arange(50)) % 1, 0)
    np.testing.assert_allclose(integers(np.arange(50)) * scale, small(np.arange(50)), rtol=1e-6)
    names = [array.name for array in integers.storage()]
    assert names == ["codes", "codebook"]


def test_one_letter_is_stored_as_ever():
    codes, vectors = np.arange(50) % 5, numbers(5, 3)
    forms = [
        CodebookForm.from_codes(codes, vectors),
        CodebookForm.from_codes(codes[:, None], vectors),
        CodebookForm.from_codes(codes[:, None], vectors[None]),
    ]
    for form in forms:
        assert form.storage() == forms[0].storage()
        for one, other in zip(form.get_weights(), forms[0].get_weights(), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("codes", "books", "message"),
    [
        ((5, 3), (2, 4, 6), r"`codebooks` must have the shape \(3, K, d'\).*\(2, 4, 6\)"),
        ((5, 3), (6,), r"`codebooks` must have the shape \(3, K, d'\).*\(6,\)"),
        ((5, 3, 1), (3, 4, 6), r"`codes` must be an array \(V,\) or \(V, D\)"),
        ((0, 3), (3, 4, 6), r"`codes` must be an array \(V,\) or \(V, D\)"),
    ],
)
def test_refuses_codes_and_codebooks_that_do_not_fit(codes, books, message):
    with pytest.raises(ValueError, match=message):
        CodebookForm.from_codes(np.zeros(codes, int), np.zeros(books))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code_length": 0}, "`code_length` must be an integer >= 1"),
        ({"combine": "mean"}, "`combine` must be one of 'sum', 'concat'"),
        ({"shared": 1}, "`shared` must be True or False"),
        ({"scaled": "no"}, "`scaled` must be True or False"),
        (
            {"combine": "concat", "code_length": 3},
            "`output_dim` must be a multiple of the 3 codes that are concatenated",
        ),
        ({"input_dim": 2**29, "code_length": 2}, r"`input_dim` must be an integer in \[1, 5368709"),
    ],
)
def test_refuses_wrong_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        CodebookForm(**{"input_dim": 5, "output_dim": 4, "cardinality": 4, **change})


@pytest.mark.few(8)
@pytest.mark.parametrize("shape", [(1, 6), (2, 6), (1, 1, 6), (1, 3, 6), (6,)])
@pytest.mark.parametrize("combine", ["sum", "concat"])
@pytest.mark.parametrize("cardinality", [5, 256])
def test_scores_of_one_vector_and_of_several(shape, combine, cardinality):
    """Bytes that are codes are read row by row for one vector, code by code for several."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, cardinality, (50, 3))
    books = rng.normal(size=(3, cardinality, 2 if combine == "concat" else 6)).astype("float32")
    form = CodebookForm.from_codes(codes, books, combine=combine)
    hidden = rng.normal(size=shape).astype("float32")
    parts = [books[place, codes[:, place]] for place in range(3)]
    table = np.concatenate(parts, axis=1) if combine == "concat" else sum(parts)
    np.testing.assert_allclose(form(hidden, reverse=True), hidden @ table.T, rtol=1e-4, atol=1e-5)


def test_many_codes_are_scored_chunk_after_chunk(monkeypatch):
    """Else the converter reads the codes of all chunks before it sums the first."""
    monkeypatch.setattr(codebook_form, "MANY_CODES", 80)
    monkeypatch.setattr(vocabulary_chunks, "GRAPH_CHUNK", 10)
    rng = np.random.default_rng(0)
    books = rng.normal(size=(3, 256, 2))
    form = CodebookForm.from_codes(rng.integers(0, 256, (30, 3)), books, combine="concat")
    hidden = keras.Input((form.output_dim,))
    file = export.convert(keras.Model(hidden, form(hidden, reverse=True)), "float32")
    names = flatbuffer.operator_names(flatbuffer.parse(file))
    places = {name: [i for i, one in enumerate(names) if one == name] for name in ("CAST", "SUM")}
    reads = [place for place in places["CAST"] if names[place - 1] == "GATHER"]  # of bytes
    assert len(reads) == len(places["SUM"]) == 3
    assert all(done < later for done, later in zip(places["SUM"], reads[1:], strict=False))
