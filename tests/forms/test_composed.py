"""Forms of forms against stacked tables, and `split_ids` against a loop."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from form_examples import RESERVED, V, codebook, concat, dense, split
from kerascompact.forms import ConcatForm, SplitForm
from kerascompact.forms.composed import split_ids


@pytest.mark.parametrize("make", [concat, split])
def test_storage_is_that_of_the_parts(make):
    form, _ = make()
    for whole in (form, form.stored_as()):
        parts = [array.total_bits for part in whole.parts for array in part.storage()]
        assert [array.total_bits for array in whole.storage()] == parts
        names = [array.name for array in whole.storage()]
        assert len(set(names)) == len(names) and names[0].startswith("0/")


def test_bits_of_the_concatenation_by_hand():
    form, _ = concat()  # 5 clusters of width 3 and a table of width 2
    assert sum(array.total_bits for array in form.storage()) == V * 3 + 32 * 5 * 3 + 32 * V * 2
    int8 = sum(array.total_bits for array in form.stored_as().storage())
    assert int8 == V * 3 + 8 * 5 * 3 + 32 * 3 + 8 * V * 2 + 32 * 2


def test_bits_of_the_split_by_hand():
    form, _ = split()  # 6 rows of width 4, and 5 clusters for the others
    assert sum(array.total_bits for array in form.storage()) == (V - 6) * 3 + 32 * 4 * (5 + 6)
    int8 = sum(array.total_bits for array in form.stored_as().storage())
    assert int8 == (V - 6) * 3 + 8 * 4 * (5 + 6) + 2 * 32 * 4


@pytest.mark.parametrize("reserved", [0, 1, RESERVED, V - 6])
def test_split_puts_reserved_ids_before_the_unique_ones(reserved):
    form, table = split(reserved)
    np.testing.assert_array_equal(form(np.arange(V)), table)


SMALL = [(u, r, v) for v in range(2, 8) for u in range(1, v) for r in range(v - u + 1)]


@pytest.mark.few(12)
@pytest.mark.parametrize(("num_first", "reserved", "size"), SMALL)
def test_split_ids_equals_a_loop(num_first, reserved, size):
    in_first, first, second = (
        t.numpy().tolist() for t in split_ids(tf.range(size), num_first, reserved)
    )
    next_second = itertools.count()
    for id in range(size):
        belongs = reserved <= id < reserved + num_first
        assert in_first[id] == belongs
        if belongs:
            assert first[id] == id - reserved
        else:
            assert second[id] == next(next_second)
        assert 0 <= first[id] < num_first and 0 <= second[id] < size - num_first


@pytest.mark.parametrize("make", [concat, split])
def test_quantizes_only_the_parts_that_are_float(make):
    form, _ = make()
    half = [form.parts[0].stored_as(), form.parts[1]]
    mixed = type(form)(**{**form.get_config(), "parts": half})
    mixed.build()
    whole = mixed.stored_as()
    np.testing.assert_array_equal(whole(np.arange(V)), form.stored_as()(np.arange(V)))
    assert [part.precision for part in mixed.parts] == ["int8", "float32"]


def test_parts_may_be_composed_themselves():
    (left, a), (right, b) = split(), dense(width=2)
    form = ConcatForm(V, 6, [left, right])
    np.testing.assert_array_equal(form(np.arange(V)), np.hstack([a, b]))
    assert form.storage()[0].name == "0/0/table"


def test_concat_refuses_parts_that_do_not_fit():
    parts = [codebook(width=3)[0], dense(width=2)[0]]
    with pytest.raises(ValueError, match=r"`output_dim` must be the sum of the parts' widths"):
        ConcatForm(V, 6, parts)
    with pytest.raises(ValueError, match="`input_dim` must be the vocabulary of every part"):
        ConcatForm(V + 1, 5, parts)
    with pytest.raises(ValueError, match="`input_dim` must be the vocabulary of every part"):
        ConcatForm(V, 5, [parts[0], dense(V + 1, 2)[0]])


def test_split_refuses_parts_that_do_not_fit():
    parts = [dense(6)[0], codebook(V - 6)[0]]
    with pytest.raises(ValueError, match="`input_dim` must be the sum of the parts' vocab.* 6 "):
        SplitForm(V + 1, 4, parts)
    with pytest.raises(ValueError, match="`output_dim` must be the width of both parts, 4 and 4"):
        SplitForm(V, 5, parts)
    with pytest.raises(ValueError, match="`output_dim` must be the width of both parts, 4 and 3"):
        SplitForm(V, 4, [parts[0], codebook(V - 6, 3)[0]])
    with pytest.raises(ValueError, match=rf"`num_reserved` must be an integer in \[0, {V - 6}\]"):
        SplitForm(V, 4, parts, num_reserved=V - 5)


@pytest.mark.parametrize("kind", [ConcatForm, SplitForm])
def test_refuse_parts_that_are_no_forms(kind):
    form = dense(width=4)[0]
    for parts in ([form], [], [form, "form"], None, 7):
        with pytest.raises(ValueError, match="`parts` must be a list of two (or more )?forms"):
            kind(V, 4, parts)


def test_split_refuses_three_parts():
    parts = [dense(6)[0], dense(6)[0], dense(V - 12)[0]]
    with pytest.raises(ValueError, match="`parts` must be a list of two forms"):
        SplitForm(V, 4, parts)
