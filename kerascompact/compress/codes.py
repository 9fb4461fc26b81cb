"""Codes of a stored form, read back as integers."""

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import all_layers
from kerascompact.forms.base import Form
from kerascompact.forms.codebook import CodebookForm
from kerascompact.forms.composed import ConcatForm
from kerascompact.ops import bits
from kerascompact.ops.vocabulary_chunks import rows_in_chunks


def codes_of(form: Form) -> np.ndarray:
    """Unpacks the codes that a form stores, which `KDCodeEmbedding(codes=...)` takes.

    Args:
        form: A `CodebookForm`, or a form with exactly one inside (before a hidden layer, or the
            directions beside norms).

    Returns: `(V, D)` int32 in `[0, K)`.
    Raises: ValueError, if the form stores no codes, or several parts beside each other do.

    >>> form = CodebookForm.from_codes(np.array([[1, 0], [0, 1]]), np.ones((2, 2, 3)))
    >>> codes_of(form).tolist()
    [[1, 0], [0, 1]]
    """
    if not isinstance(form, Form):
        checks.fail("form", "a stored form", form)
    coded = next((part for part in all_layers(form) if _has_codes(part)), None)
    several = any(isinstance(one, ConcatForm) and _num_coded(one) > 1 for one in all_layers(form))
    if coded is None or several:
        checks.fail("form", "a form that stores codes, of all of its columns", form)

    def read(ids: tf.Tensor) -> tf.Tensor:
        return bits.unpack_rows(coded.codes.value, ids, coded.code_bits, coded.code_length)

    return rows_in_chunks(read, coded.input_dim, "int32")


def _num_coded(form: ConcatForm) -> int:
    """How many of the parts beside each other store codes."""
    return sum(any(map(_has_codes, all_layers(part))) for part in form.parts)


def _has_codes(form: Form) -> bool:
    return isinstance(form, CodebookForm) or hasattr(form, "code_length")
