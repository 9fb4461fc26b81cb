"""Directions times lengths."""

import numpy as np
import pytest

from form_examples import V, codes_concat, dense, scaled
from kerascompact.forms import DirectionNormForm


def test_equals_the_product():
    form, table = scaled()
    np.testing.assert_array_equal(form(np.arange(V)), table)
    small = form.stored_as()
    parts = [part.stored_as()(np.arange(V)) for part in form.parts]
    np.testing.assert_array_equal(small(np.arange(V)), parts[0] * parts[1])


def test_storage_is_that_of_the_parts():
    form, _ = scaled()
    for whole in (form, form.stored_as(), form.stored_as("int4")):
        parts = [array.total_bits for part in whole.parts for array in part.storage()]
        assert [array.total_bits for array in whole.storage()] == parts
    # 3 letters of 5, vectors of width 2; and one letter of 5 for the length
    assert sum(a.total_bits for a in form.storage()) == V * (9 + 3) + 32 * (3 * 5 * 2 + 5)


def test_refuses_what_does_not_fit():
    vectors, numbers = codes_concat()[0], dense(width=1)[0]
    with pytest.raises(ValueError, match=r"`output_dim` must be the width of the first part"):
        DirectionNormForm(V, 5, [vectors, numbers])
    with pytest.raises(ValueError, match=r"`output_dim` must be the width of the first part"):
        DirectionNormForm(V, 6, [vectors, dense(width=2)[0]])
    with pytest.raises(ValueError, match="`input_dim` must be the vocabulary of every part"):
        DirectionNormForm(V, 6, [vectors, dense(V + 1, 1)[0]])
    for parts in ([vectors], [vectors, numbers, numbers], None, ["one", "two"]):
        with pytest.raises(ValueError, match="`parts` must be a list of two forms"):
            DirectionNormForm(V, 6, parts)
