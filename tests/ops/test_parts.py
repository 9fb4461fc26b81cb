"""Every id once, in order, whatever the parts; and nothing that a converter could know."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops import parts


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 30, 33])
def test_names_every_id_once_and_in_order(monkeypatch, count):
    monkeypatch.setattr(parts, "PART", 3)
    monkeypatch.setattr(parts, "MOST_PARTS", 4)
    sizes = []

    def columns_of(ids):
        sizes.append(len(ids))
        return tf.stack([ids, -ids])

    found = parts.in_parts(columns_of, count, tf.zeros(1))
    np.testing.assert_array_equal(found, [np.arange(count), -np.arange(count)])
    assert len(sizes) <= 4 and max(sizes) <= max(3, -(-count // 4)) and min(sizes) > 0


@pytest.mark.parametrize(
    "numbers", [np.zeros((0, 2)), [np.nan], [np.inf], [-np.inf, 1], [[np.nan, np.inf], [1, 2]]]
)
def test_the_unknown_zero_is_zero(numbers):
    assert int(parts.unknown_zero(tf.constant(numbers, tf.float32))) == 0


def test_compiles_under_xla():
    double = tf.function(
        lambda x: parts.in_parts(lambda ids: ids[None] * 2, 5, x), jit_compile=True
    )
    np.testing.assert_array_equal(double(tf.zeros((2, 2))), [2 * np.arange(5)])
