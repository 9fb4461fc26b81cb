"""Tensor-train tables: a row is a product of one small matrix from each of several cores.

Core `k` is a table `(v_k, r_k d_k r_{k+1})`, `r_0 = r_K = 1`, whose row `i` is the matrix
`G_k[i]: (r_k, d_k r_{k+1})`. The digits `i_0 i_1 ...` of an id, most significant first, in the
bases `v_0, v_1, ...`, choose one row of each.
"""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from kerascompact.core import checks


class TrainShape(NamedTuple):
    """Bases of the digits `v`, factors of the width `d`, and ranks `r` between the cores.

    >>> TrainShape((4, 5, 5), (2, 2, 4), (3, 3)).core_shapes
    [(4, 6), (5, 18), (5, 12)]
    """

    id_factors: tuple[int, ...]
    width_factors: tuple[int, ...]
    ranks: tuple[int, ...]

    @property
    def outer(self) -> tuple[int, ...]:
        """The ranks, with the 1 at both ends."""
        return (1, *self.ranks, 1)

    @property
    def core_shapes(self) -> list[tuple[int, int]]:
        sizes = zip(self.id_factors, self.outer, self.width_factors, self.outer[1:], strict=False)
        return [(v, left * d * right) for v, left, d, right in sizes]

    @property
    def size(self) -> int:
        """Total number of entries of all cores."""
        return sum(math.prod(shape) for shape in self.core_shapes)


def digits(ids: tf.Tensor, bases: Sequence[int]) -> list[tf.Tensor]:
    """The digits of ids, most significant first.

    >>> [digit.numpy().tolist() for digit in digits(tf.constant([0, 7]), (2, 5))]
    [[0, 1], [0, 2]]
    """
    found = []
    for base in reversed(bases[1:]):
        found.append(tf.math.floormod(ids, base))
        ids = tf.math.floordiv(ids, base)
    return [ids, *reversed(found)]


def train_rows(matrices: Sequence[tf.Tensor], shape: TrainShape) -> tf.Tensor:
    """Vectors `(n, d)` of `n` ids, from each core's rows at their digits, `(n, r_k d_k r_{k+1})`.

    >>> shape = TrainShape((2, 2), (1, 2), (1,))
    >>> train_rows([tf.constant([[3.0]]), tf.constant([[1.0, 2.0]])], shape).numpy().tolist()
    [[3.0, 6.0]]
    """
    vectors = tf.reshape(matrices[0], [-1, shape.width_factors[0], shape.outer[1]])
    for k in range(1, len(matrices)):
        left, right = shape.outer[k : k + 2]
        matrix = tf.reshape(matrices[k], [-1, left, shape.width_factors[k] * right])
        width = math.prod(shape.width_factors[: k + 1])
        vectors = tf.reshape(tf.matmul(vectors, matrix), [-1, width, right])
    return tf.reshape(vectors, [-1, math.prod(shape.width_factors)])


def rows_of_digit(first: tf.Tensor, cores: Sequence[tf.Tensor], shape: TrainShape) -> tf.Tensor:
    """Vectors `(v_1 v_2 ..., d)` of all ids whose first digit is `first` (), in their order.

    The products of the first cores are shared by the ids: far less work than `train_rows`.

    >>> cores = [tf.constant([[3.0], [1.0]]), tf.constant([[1.0, 2.0], [0.0, 1.0]])]
    >>> shape = TrainShape((2, 2), (1, 2), (1,))
    >>> rows_of_digit(tf.constant(0), cores, shape).numpy().tolist()
    [[3.0, 6.0], [0.0, 3.0]]
    """
    state = tf.gather(cores[0], first)
    words = width = 1
    for k in range(1, len(cores)):
        width *= shape.width_factors[k - 1]
        v, d, (left, right) = shape.id_factors[k], shape.width_factors[k], shape.outer[k : k + 2]
        core = tf.transpose(tf.reshape(cores[k], [v, left, d * right]), [1, 0, 2])
        state = tf.matmul(tf.reshape(state, [-1, left]), tf.reshape(core, [left, -1]))
        state = tf.transpose(tf.reshape(state, [words, width, v, d * right]), [0, 2, 1, 3])
        words *= v
    return tf.reshape(state, [words, -1])


def train_logits(hidden: tf.Tensor, cores: Sequence[tf.Tensor], shape: TrainShape) -> tf.Tensor:
    """Products of vectors `(n, d)` with the rows of all `v_0 v_1 ...` ids, without these rows.

    From the last core to the first, each contracts its part of the columns and adds its digit: the
    least work for one vector. For hundreds of vectors `rows_of_digit` needs less.

    >>> cores = [tf.constant([[3.0], [1.0]]), tf.constant([[1.0, 2.0], [0.0, 1.0]])]
    >>> shape = TrainShape((2, 2), (1, 2), (1,))
    >>> train_logits(tf.constant([[1.0, 1.0]]), cores, shape).numpy().tolist()
    [[9.0, 3.0, 3.0, 1.0]]
    """
    state = tf.expand_dims(hidden, -1)  # (n, columns left, words)
    words = 1
    for k in reversed(range(len(cores))):
        before = math.prod(shape.width_factors[:k])
        v, d, (left, right) = shape.id_factors[k], shape.width_factors[k], shape.outer[k : k + 2]
        state = tf.reshape(state, [-1, before, d * right, words])
        state = tf.reshape(tf.transpose(state, [0, 1, 3, 2]), [-1, d * right])
        core = tf.transpose(tf.reshape(cores[k], [v * left, d * right]))
        state = tf.reshape(tf.matmul(state, core), [-1, before, words, v, left])
        state = tf.transpose(state, [0, 1, 4, 3, 2])  # (n, columns left, rank, digit, words)
        words *= v
    return tf.reshape(state, [-1, words])


def factors_of(width: int, count: int) -> tuple[int, ...]:
    """Integer factors of a width, as equal as possible, in ascending order.

    >>> factors_of(256, 3), factors_of(7, 3)
    ((4, 8, 8), (1, 1, 7))
    """
    checks.integer_in("width", width, 1)
    divisors = [n for n in range(1, width + 1) if width % n == 0]
    choices = itertools.combinations_with_replacement(divisors, count - 1)
    found = (
        tuple(sorted((*some, width // math.prod(some))))
        for some in choices
        if width % math.prod(some) == 0
    )
    return min(found, key=lambda factors: (sum(factors), factors))


def bases_for(count: int, digits: int) -> tuple[int, ...]:
    """Bases, as equal as possible, whose product is at least `count`.

    >>> bases_for(10_000, 3), bases_for(1, 2)
    ((22, 22, 21), (1, 1))
    """
    bases = [math.ceil(round(count ** (1 / digits), 9))] * digits
    for k in reversed(range(digits)):
        others = math.prod(bases) // bases[k]
        bases[k] = max(1, -(-count // others))
    return tuple(sorted(bases, reverse=True))
