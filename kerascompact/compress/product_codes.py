"""Few bits a number, after training: one small codebook for every group of a row's numbers."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor, in_units
from kerascompact.core import checks
from kerascompact.forms.base import Form
from kerascompact.forms.product_codes import LARGEST, LEVELS, ProductCodesForm
from kerascompact.ops.kmeans import nearest
from kerascompact.ops.lloyd import lloyd

MOST_BITS = 12  # of a code: 4,096 vectors
LENGTHS_PAY = 64  # bits of a row beside which the eight of its length are few
SMALLEST = 2.0**-20  # a length, as a share of the largest


class ProductCodes(Compressor):
    """Stores every `g` numbers of a row as one code of `b g` bits, with one codebook for all.

    `E[i, j] ~ s_i c_j B[k(i, j // g), j mod g]`: columns are divided by their root mean square
    `c_j`, rows by theirs (`s_i`, of 256 values that grow by a constant factor), and `K = 2^(b g)`
    centroids of k-means over all groups of numbers are the codebook, rounded to eight bits. Errors
    are weighted by what `s_i` and `c_j` make of them.

    That is closer than integers with a scale per column: a row has its own range, as in
    `RowScaledForm`, and the values lie where the numbers are. For 4,000 x 32 normal numbers, the
    relative error is 0.086 at 4 bits (0.096 with `group=1`, a list of 16 values, and 0.115 with
    `ScalarQuantization(4)`), 0.16 at 3 and 0.30 at 2; without lengths of rows, 0.089 and 0.099. For
    words of a trained classifier, whose lengths differ much, it is 0.068 in place of 0.18 at 4
    bits.

    Args:
        bits: Bits `b` of a number, 1 to 8.
        group: Numbers `g` of a code, with `b g` at most 12; at most the width. Default: what fills
            a byte, and 3 for 3 bits.
        row_scales: Whether rows have lengths of their own, 8 bits each. Default: with 64 bits or
            more in a row's codes.
        seed: Seed of the first centroids.
        iterations: Largest number of iterations of k-means.
        max_points: Groups of numbers that k-means learns from, drawn from all.

    Storage: `V ceil(d / g) b g + 8 K g + 32 d` bits; with lengths of rows `8 V + 32 * 256` more.
    Raises: ValueError, if an argument is wrong, or the table has fewer groups than centroids.

    >>> table = np.random.default_rng(0).normal(size=(500, 8))
    >>> form = ProductCodes(bits=2).fit(table)
    >>> form.storage()[0].shape, form.storage()[0].bits
    ((500, 2), 8)

    Reference: [Jegou et al., TPAMI 2011](https://hal.inria.fr/inria-00514462), sec. II;
    [Joulin et al., 2016](https://arxiv.org/abs/1612.03651), sec. 3.2 (lengths apart).
    Differs: one codebook for all places, as factors make the columns alike.
    """

    def __init__(
        self,
        bits: int = 4,
        group: int | None = None,
        row_scales: bool | None = None,
        seed: int = 0,
        iterations: int = 25,
        max_points: int = 32_768,
    ) -> None:
        self.bits = checks.integer_in("bits", bits, 1, 8)
        if group is not None:
            group = checks.integer_in("group", group, 1, MOST_BITS // self.bits)
        self.group = group
        self.row_scales = row_scales
        if row_scales is not None:
            self.row_scales = checks.boolean("row_scales", row_scales)
        self.seed = checks.integer_in("seed", seed, 0)
        self.iterations = checks.integer_in("iterations", iterations, 1)
        self.max_points = checks.integer_in("max_points", max_points, 2)

    def form_of(self, rows: int, width: int, **config: Any) -> ProductCodesForm:
        """The form of a table of this size, without numbers: what it will store.

        Args:
            rows: Vocabulary size `V`.
            width: Embedding width `d`.
            **config: Further arguments of the form.
        """
        usual = 3 if self.bits == 3 else 8 // self.bits
        group = min(self.group or usual, width)
        scales = self.row_scales
        if scales is None:
            scales = self.bits * width >= LENGTHS_PAY
        form = ProductCodesForm(rows, width, 2 ** (self.bits * group), group, scales, **config)
        form.build()
        return form

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> Form:
        made = self.form_of(*table.shape, **form)
        directions, group = made.directions, made.group
        groups = made.input_dim * directions.code_length
        most = int(np.log2(groups)) // group
        if not most:
            expected = f"one of {2**group} or more groups of {group} numbers"
            checks.fail("table", expected, f"{groups} groups")
        checks.integer_in("bits", self.bits, 1, most)
        table, unit = in_units(table)
        columns = _mean_squares(table, counts, 0)
        rows, levels, row_codes = _lengths(table / columns, made.row_scales)
        units = np.divide(table, rows[:, None] * columns, where=rows[:, None] > 0, out=0 * table)
        beyond = directions.output_dim - made.output_dim
        points = np.pad(units, ((0, 0), (0, beyond))).reshape(-1, group)
        shares = np.square(np.pad(columns, (0, beyond)).reshape(-1, group)).mean(axis=1)
        each = np.square(rows, dtype=np.float64) * (1 if counts is None else counts)
        weights = np.outer(each, shares).reshape(-1)
        if not weights.any():
            weights[:] = 1
        centroids = self._centroids(points, weights, directions.cardinality)
        step = np.float32(np.abs(centroids).max() / LARGEST) or np.float32(1)
        book = np.rint(centroids / step)
        codes = nearest(points, (book * step).astype(np.float32)).reshape(made.input_dim, -1)
        columns = unit * step * columns
        return ProductCodesForm.from_codes(codes, book, columns, row_codes, levels, **form)

    def _centroids(self, points: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
        """The codebook, from a sample of the groups."""
        most = max(self.max_points, count)
        if len(points) > most:
            chosen = np.random.default_rng(self.seed).choice(len(points), most, replace=False)
            if weights[chosen].any():
                points, weights = points[chosen], weights[chosen]
        options = {"seed": self.seed, "iterations": self.iterations}
        return lloyd(points, count, weights / weights.max(), **options)


def _mean_squares(table: np.ndarray, counts: np.ndarray | None, axis: int) -> np.ndarray:
    """Root mean square of each column, in float32; 1 for a column of zeros."""
    squares = np.average(np.square(table, dtype=np.float64), axis=axis, weights=counts)
    found = np.sqrt(squares).astype(np.float32)
    return np.where(found > 0, found, 1).astype(np.float32)


def _lengths(
    table: np.ndarray, wanted: bool
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Lengths of rows rounded to levels, the levels, and the level of each row; or ones.

    Level 0 is 0, for rows of zeros; the others grow by a constant factor.
    """
    if not wanted:
        return np.ones(len(table), np.float32), None, None
    exact = np.sqrt(np.mean(np.square(table, dtype=np.float64), axis=1))
    if not exact.any():
        return exact.astype(np.float32), np.zeros(LEVELS, np.float32), exact.astype(np.int32)
    largest = exact.max()
    smallest = max(exact[exact > 0].min(), SMALLEST * largest)
    levels = np.r_[0, np.geomspace(smallest, largest, LEVELS - 1)].astype(np.float32)
    middles = np.sqrt(levels[1:-1] * levels[2:])
    codes = np.where(exact < smallest / 2, 0, 1 + np.searchsorted(middles, exact))
    return levels[codes], levels, codes
