"""A table that a form reads from elsewhere, as quantization-aware training does."""

import numpy as np
import tensorflow as tf

from kerascompact.forms import DenseForm

TABLE = np.arange(12, dtype=np.float32).reshape(6, 2)


class Source:
    """Rows of a table of its own."""

    def __init__(self, table):
        self.table = tf.constant(table)

    def rows(self, index):
        return tf.gather(self.table, index)

    def full(self):
        return self.table


def test_lookups_read_the_source_and_what_is_stored_stays():
    form = DenseForm.from_arrays({"table": TABLE}, input_dim=6, output_dim=2)
    other = DenseForm.from_arrays({"table": TABLE}, input_dim=6, output_dim=2)
    form.read_table_from("table", Source(TABLE + 100))
    ids = np.array([[5, 0]])
    np.testing.assert_array_equal(form(ids), (TABLE + 100)[ids])
    np.testing.assert_array_equal(form.full_table("table", tf.constant(0)), TABLE + 100)
    np.testing.assert_array_equal(form.table_values("table"), TABLE)
    np.testing.assert_array_equal(form.get_weights()[0], TABLE)
    np.testing.assert_array_equal(other(ids), TABLE[ids])  # no other form is changed
    again = DenseForm.from_config(form.get_config())
    assert not again.sources
