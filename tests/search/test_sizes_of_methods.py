"""Predicted bytes of every method, against files."""

import pytest

from kerascompact.search import sizes
from kerascompact.search.setting import Setting
from kerascompact.search.sizes import MARGIN, Sizes, kind
from kerascompact.search.space import COMPACT, IN_ORDER, at_size
from kerascompact.search.table_sizes import bytes_of, plain_bytes, stored_arrays
from kerascompact.search.word_sizes import sample_words

CODES = (("cardinality", 8), ("code_length", 4))
OPTIONS = {
    "mixture": (("clusters", 16), ("unique", 0.25)),
    "cluster": (("clusters", 32),),
    "low_rank": (("ratio", 0.3),),
    "tensor_train": (("ratio", 0.3),),
    "hashed": (("unique", 0.2), ("buckets", 0.1)),
    **dict.fromkeys(("kd", "dpq", "compositional"), CODES),
}
SIZES = Sizes(("a", "b"), 16)


@pytest.fixture
def measured_once(monkeypatch):
    """Measures the graph of a kind in slots on one model, not on two."""
    monkeypatch.setattr(sizes, "IN_SLOTS", (1500,))


def error(method, words, **change):
    recipe = "int4" if method in ("mixture", "cluster", "low_rank") else "int8"
    setting = Setting(words + 2, 8, method=method, options=OPTIONS[method], recipe=recipe)
    setting, known = at_size(setting._replace(**change)), sample_words(words)
    return len(SIZES.convert(setting, known)) - SIZES.predict(setting, known)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "words"), [("kd", 100), ("mixture", 700)])
def test_words_by_fingerprints(method, words):
    assert abs(error(method, words)) <= MARGIN


@pytest.mark.slow
@pytest.mark.parametrize("words", [100, 120, 200, 298, 600, 700, 2000])
@pytest.mark.parametrize("method", COMPACT)
def test_all_methods_by_fingerprints(method, words):
    assert abs(error(method, words)) <= MARGIN


@pytest.mark.slow
@pytest.mark.parametrize("words", [120, 600, 2000])
@pytest.mark.parametrize("method", [name for name in COMPACT if name not in IN_ORDER])
def test_words_in_slots(method, words):
    assert -128 <= error(method, words, stored="slots") <= MARGIN  # ranks of a few words are small


@pytest.mark.slow
@pytest.mark.parametrize("tag_bits", [8, 16, 24])
def test_tags_of_a_mean(tag_bits):
    """No word is searched: digits of the metadata are all that differs."""
    for words, width in ((200, 4), (900, 14)):
        setting = Setting(words, width, stored="slots", recipe="int4", tag_bits=tag_bits)
        setting = setting._replace(skip_unknown=True)
        file = SIZES.convert(setting, sample_words(words - 2))
        assert abs(len(file) - SIZES.predict(setting)) <= MARGIN / 2


@pytest.mark.slow
@pytest.mark.parametrize("stored", ["slots", "fingerprints"])
def test_rows_of_one_number_of_four_bits(stored):
    """A low rank of 1: every row of half a byte takes a whole one."""
    setting = Setting(3002, 4, method="low_rank", options=(("ratio", 0.3),), recipe="int4")
    known = sample_words(3000)
    setting = at_size(setting._replace(stored=stored))
    assert abs(len(SIZES.convert(setting, known)) - SIZES.predict(setting, known)) <= MARGIN


def test_bytes_of_tables_are_those_of_their_forms():
    """Of rows of one number of four bits, and of plain tables of every recipe."""
    setting = at_size(Setting(3002, 4, method="low_rank", options=(("ratio", 0.3),), recipe="int4"))
    table, *_ = stored_arrays(setting)
    assert table.shape == (3002, 1) and table.bits == 4
    assert bytes_of([table]) == 3004  # a row of half a byte takes a byte
    for recipe in ("float32", "int8", "int4", "codes4", "codes3"):
        setting = Setting(602, 16, recipe=recipe)
        assert plain_bytes(setting) == bytes_of(stored_arrays(setting))


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["codes4", "codes3"])
@pytest.mark.parametrize(("method", "options"), [("low_rank", (("ratio", 0.6),)), ("standard", ())])
def test_tables_in_codes(recipe, method, options):
    setting = Setting(602, 16, method=method, options=options, recipe=recipe)
    setting, known = at_size(setting), sample_words(600)
    assert abs(len(SIZES.convert(setting, known)) - SIZES.predict(setting, known)) <= MARGIN


def cores(words):
    """Of ranks 5 and 9; the next ones, 6 and 8, take 240 bytes less beside their arrays."""
    setting = Setting(words, 6, method="tensor_train", options=(("ratio", 0.345),), recipe="int4")
    return setting._replace(stored="slots")


@pytest.mark.slow
@pytest.mark.parametrize("words", [259, 1000])
def test_rows_of_four_bits_that_end_within_a_byte_need_operators(words, measured_once):
    setting, known = cores(words), sample_words(words - 2)
    assert abs(len(SIZES.convert(setting, known)) - SIZES.predict(setting, known)) <= MARGIN


@pytest.mark.parametrize("words", [pytest.param(259, marks=pytest.mark.slow), 1000])
def test_what_is_measured_for_such_rows_has_such_rows(words):
    """Arrays of four bits with as many odd columns, and else a graph of its own."""
    setting = cores(words)
    odd = SIZES._arrays_of_table(setting)[1]
    assert any(odd)
    for size in sizes.IN_SLOTS:
        small = SIZES._alike(setting, size)
        assert small.words != words and SIZES._arrays_of_table(small)[1] == odd
    even = kind(setting, 2, 16, [0] * len(odd))
    assert kind(setting, 2, 16, odd) != even


@pytest.mark.parametrize(
    "words", [256, *(pytest.param(n, marks=pytest.mark.slow) for n in (13, 298, 2070))]
)
def test_steps_and_numbers_of_a_search_are_counted(words):
    """From 2 steps to 6; 256 is a number of the hash, too, and 13 words are searched entirely."""
    known = sample_words(words)
    setting = Setting(words + 2, 8, recipe="int4")
    assert abs(len(SIZES.convert(setting, known)) - SIZES.predict(setting, known)) <= 24


@pytest.mark.slow
def test_equal_shapes_are_stored_once(measured_once):
    """Filters as wide as a vector, 60 bytes less than others: whichever is measured first."""
    for width in (18, 16):
        setting = Setting(302, width, model="cnn", units=16, filter_sizes=(1,), stored="slots")
        file = SIZES.convert(setting, sample_words(300))
        assert abs(len(file) - SIZES.predict(setting)) <= 24
