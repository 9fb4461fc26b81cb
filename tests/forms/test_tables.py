"""What a form stores, against NumPy: scales of columns, of groups of rows, and none."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.forms.base import Form
from kerascompact.forms.tables import at_most

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(6, 4)).astype(np.float32)


class Plain(Form):
    """A form of one table."""

    def __init__(self, precision="float32", scale_shape=None, **kwargs):
        super().__init__(6, 4, **kwargs)
        self.precision, self.scale_shape = precision, scale_shape

    def build(self, input_shape=None):
        self.add_table("table", (6, 4), self.precision, self.scale_shape)

    def lookup(self, ids):
        return self.rows("table", ids)

    def quantized(self, precision):
        return self


@pytest.mark.parametrize("groups", [None, 1, 3])
@pytest.mark.parametrize(("precision", "largest"), [("int8", 127), ("int4", 7)])
def test_rounds_columns_and_groups_of_rows_to_scales_of_their_own(precision, largest, groups):
    arrays = Plain.from_arrays({"table": TABLE}).quantized_table("table", precision, groups)
    shape = (4,) if groups is None else (groups, 4)
    form = Plain.from_arrays(arrays, precision=precision, scale_shape=shape)
    parts = TABLE.reshape(groups or 1, -1, 4)
    scales = np.abs(parts).max(axis=1, keepdims=True) / largest
    expected = (np.round(parts / scales) * scales).reshape(6, 4)
    np.testing.assert_allclose(form.table_values("table"), expected, rtol=1e-5)
    assert np.abs(arrays["table"]).max() == largest == form.largest["table"]
    bits = {"int8": 8, "int4": 4}[precision]
    assert [one.total_bits for one in form.storage()] == [24 * bits, 32 * scales.size]


def test_rows_and_products_read_the_numbers_of_the_table():
    arrays = Plain.from_arrays({"table": TABLE}).quantized_table("table", "int8")
    form = Plain.from_arrays(arrays, precision="int8")
    values = form.table_values("table")
    np.testing.assert_allclose(form(np.array([[5, 0]])), values[[[5, 0]]], rtol=1e-6)
    for given in (RANDOM.normal(size=6), RANDOM.normal(size=(2, 3, 6))):
        found = form.times(tf.constant(given, tf.float32), "table", tf.constant(0))
        np.testing.assert_allclose(found, given @ values, rtol=1e-4, atol=1e-5)


def test_a_table_without_scales_and_one_from_a_source():
    form = Plain.from_arrays(
        {"table": np.eye(6, 4, dtype="int8")}, precision="int4", scale_shape=()
    )
    assert [one.name for one in form.storage()] == ["table"]
    np.testing.assert_array_equal(form.table_values("table"), np.eye(6, 4))

    class Source:
        rows = staticmethod(lambda index: tf.gather(TABLE, index))
        full = staticmethod(lambda: tf.constant(TABLE))

    form.read_table_from("table", Source())
    np.testing.assert_array_equal(form(np.array([3])), TABLE[[3]])
    np.testing.assert_array_equal(form.table_values("table"), np.eye(6, 4))  # the file's


def test_order_of_precisions():
    names = ("int4", "int8", "float32")
    assert [[at_most(one, other) for other in names] for one in names] == [
        [True, True, True],
        [False, True, True],
        [False, False, True],
    ]
