import numpy as np
import pytest

from form_examples import dense
from kerascompact.compress import codes_of
from kerascompact.forms import CodebookForm, FactoredForm

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
