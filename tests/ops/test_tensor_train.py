import math

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.tensor_train import (
    TrainShape,
    bases_for,
    digits,
    factors_of,
    rows_of_digit,
    train_logits,
    train_rows,
)

SHAPES = [
    TrainShape((4, 5), (2, 3), (6,)),
    TrainShape((4, 5, 3), (2, 1, 3), (3, 2)),
    TrainShape((2, 3, 2, 2), (2, 2, 1, 2), (3, 4, 2)),
]


def random_cores(shape):
    random = np.random.default_rng(0)
    return [random.normal(size=size).astype(np.float32) for size in shape.core_shapes]


def whole_table(cores, shape):
    """The table by one sum over all indices."""
    letters, ends = "abcdefghijkl", shape.outer
    tensors, terms, rows, columns = [], [], "", ""
    for k, core in enumerate(cores):
        tensors.append(
            core.reshape(shape.id_factors[k], ends[k], shape.width_factors[k], ends[k + 1])
        )
        v, d = letters[2 * k], letters[2 * k + 1]
        terms.append(v + "uvwxyz"[k] + d + "uvwxyz"[k + 1])
        rows, columns = rows + v, columns + d
    found = np.einsum(",".join(terms) + "->" + rows + columns, *tensors)
    return found.reshape(math.prod(shape.id_factors), math.prod(shape.width_factors))


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_and_logits_are_those_of_the_table(shape):
    cores = random_cores(shape)
    table = whole_table(cores, shape)
    every = tf.range(len(table))
    matrices = [
        tf.gather(c, d) for c, d in zip(cores, digits(every, shape.id_factors), strict=True)
    ]
    # sums of up to 24 products
    np.testing.assert_allclose(train_rows(matrices, shape), table, atol=1e-4)
    parts = [
        rows_of_digit(tf.constant(digit), cores, shape) for digit in range(shape.id_factors[0])
    ]
    np.testing.assert_allclose(tf.concat(parts, axis=0), table, atol=1e-4)
    hidden = np.random.default_rng(1).normal(size=(3, table.shape[1])).astype(np.float32)
    np.testing.assert_allclose(train_logits(hidden, cores, shape), hidden @ table.T, atol=1e-3)
    assert shape.size == sum(core.size for core in cores)


@pytest.mark.parametrize("count, number", [(1, 3), (2, 2), (10_000, 3), (62_000, 3), (97, 4)])
def test_bases_hold_all_ids(count, number):
    bases = bases_for(count, number)
    assert len(bases) == number and math.prod(bases) >= count
    smaller = math.prod(bases) // bases[-1] * (bases[-1] - 1)
    assert smaller < count, "no base is larger than it must be"
    assert max(bases) <= math.ceil(count ** (1 / number) + 1e-9)


@pytest.mark.parametrize("width, expected", [(200, (5, 5, 8)), (300, (5, 6, 10)), (1, (1, 1, 1))])
def test_factors_are_near_to_each_other(width, expected):
    assert factors_of(width, 3) == expected
