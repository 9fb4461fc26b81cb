import numpy as np
import pytest

from form_examples import dense
from kerascompact.compress import codes_of
from kerascompact.forms import CodebookForm, ConcatForm, FactoredForm

RANDOM = np.random.default_rng(0)


@pytest.mark.few(4)
@pytest.mark.parametrize("cardinality", [2, 3, 32, 256, 300])
@pytest.mark.parametrize("length", [1, 3, 8])
def test_reads_what_was_packed(cardinality, length):
    codes = RANDOM.integers(0, cardinality, (20, length))
    books = RANDOM.normal(size=(length, cardinality, 2))
    form = CodebookForm.from_codes(codes, books)
    np.testing.assert_array_equal(codes_of(form), codes)
    np.testing.assert_array_equal(codes_of(form.stored_as("int8")), codes)
    behind = FactoredForm.from_parts(form, np.eye(2))
    np.testing.assert_array_equal(codes_of(behind), codes)


def test_rejects_what_has_no_codes():
    with pytest.raises(ValueError, match="`form` must be a form that stores codes"):
        codes_of(dense()[0])
    with pytest.raises(ValueError, match="`form` must be a stored form"):
        codes_of(np.ones(3))


def test_codes_of_some_columns_are_not_those_of_all():
    one = CodebookForm.from_codes(np.array([[1, 0], [0, 1]]), np.ones((2, 2, 3)))
    both = ConcatForm(2, 6, [one, one])
    with pytest.raises(ValueError, match="codes, of all of its columns"):
        codes_of(both)
