"""Numbers of words per vector length, for a given density of a table."""

from collections.abc import Sequence

import numpy as np

from kerascompact.core import checks


def bin_widths(width: int, bins: int | Sequence[int] | None, first: int | None) -> list[int]:
    """Widths of the bins that a vector is cut into.

    Args:
        width: Width of a vector, `k`.
        bins: Number of bins of nearly equal width; a list of widths; or `None`: one per dimension.
        first: Width of the first bin, which every word has; the others share what is left.

    Raises: ValueError, if that gives no bins of `k` dimensions together.

    >>> bin_widths(20, 3, None), bin_widths(20, 3, 4), bin_widths(4, None, 2)
    ([7, 7, 6], [4, 8, 8], [2, 1, 1])
    """
    if first is not None:
        first = checks.integer_in("min_width", first, 1, width)
    rest = width - (first or 0)
    if bins is None:
        return [*([first] if first else []), *([1] * rest)]
    if isinstance(bins, list | tuple | np.ndarray):
        widths = [checks.integer_in("bins", size, 1, width) for size in bins]
        if sum(widths) != width or first not in (None, widths[0]):
            expected = f"widths whose sum is {width}"
            checks.fail("bins", expected + (f", the first {first}" if first else ""), bins)
        return widths
    low = 1 if first is None else 1 + (rest > 0)
    number = checks.integer_in("bins", bins, low, rest + (first is not None))
    parts = number - (first is not None)
    sizes = [len(part) for part in np.array_split(np.arange(rest), parts)] if parts else []
    return [*([first] if first else []), *sizes]


def words_per_bin(density: float, widths: Sequence[int], words: int) -> tuple[list[int], float]:
    """Solves `sum_m kappa_m alpha^m = density k` for `alpha`, in whole words.

    `words alpha^m` words have an entry in each of the `kappa_m` dimensions of bin `m`. The
    equation is solved in rounded numbers, by bisection, since the number of entries grows with
    `alpha`. It differs from `density k words` by half a word of one bin.

    Args:
        density: Density `delta_E` in `[kappa_0 / k, 1]`.
        widths: Width `kappa_m` of each bin.
        words: Number of words `V`.

    Returns: Number of words of each bin, in descending order, and `alpha`.
    Raises: ValueError, if `density` is too small for the first bin, which all words have.

    >>> words_per_bin(0.2, [1] * 20, 44_000)[0][::10]  # in the first bin and in the eleventh
    [44000, 2505]

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), eq. 1.
    """
    width = sum(widths)
    density = checks.number("density", density, above=0, up_to=1)
    if density * width < widths[0] * (1 - 1e-9):
        expected = f"at least {widths[0] / width:g}, the share of the first bin, which all words"
        checks.fail("density", f"{expected} have", density)
    powers, target = np.arange(len(widths)), density * width * words

    def counts(alpha: float) -> np.ndarray:
        return np.rint(words * alpha**powers).astype(np.int64)

    def error(alpha: float) -> float:
        return abs(float(counts(alpha) @ np.asarray(widths)) - target)

    low, high = 0.0, 1.0
    for _ in range(60):  # until they are neighbours
        middle = (low + high) / 2
        if counts(middle) @ np.asarray(widths) <= target:
            low = middle
        else:
            high = middle
    alpha = min((low, high), key=error)
    return counts(alpha).tolist(), alpha
