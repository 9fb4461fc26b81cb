"""Evidence of dev scores: what the few, noisy trainings of settings say of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

FEW = 4  # settings, from which nothing is learned about the others
SHARED = 0.6  # of the variance of settings: what the same parameters have in common in all budgets


class Known(NamedTuple):
    """What was measured of a setting.

    Args:
        budget: Budget of its file.
        parameters: Its parameters as text; the same ones may be tried in several budgets.
        scores: Dev score of each training, with the number of the fold whose rows were dev.
    """

    budget: int
    parameters: str
    scores: Sequence[tuple[int, float]]


class Estimate(NamedTuple):
    """What is known of the score of a setting on new texts.

    Args:
        mean: Expected score.
        spread: Standard deviation of what it may be.
        trainings: Number of its trainings.
    """

    mean: float
    spread: float
    trainings: int


def estimates(settings: Sequence[Known], rows: int) -> list[Estimate]:
    """Expected scores of settings: the best of many single scores is there by luck.

    `score = budget + parameters + setting + fold + noise`, all but the first drawn from normal
    distributions around zero and solved together. So a setting is drawn to the mean of the good
    ones of its budget by how little is known of it; what its parameters gave in other budgets
    counts; and a fold whose rows are hard is told from a setting whose first score was lucky.
    Settings worse than half of their budget's stay as measured.

    Args:
        settings: The settings.
        rows: Number of dev rows behind a score.

    >>> lucky, steady = [(0, 0.90)], [(0, 0.88), (1, 0.87), (2, 0.88)]
    >>> scores = [lucky, steady, [(0, 0.86)], [(0, 0.85)]]
    >>> found = estimates([Known(9, str(n), one) for n, one in enumerate(scores)], 500)
    >>> found[0].mean < 0.9, found[0].spread > found[1].spread
    (True, True)

    Reference: [Henderson, 1975](https://doi.org/10.2307/2529430), mixed model equations.
    """
    if not settings:
        return []
    triples = [(row, *pair) for row, one in enumerate(settings) for pair in one.scores]
    places, folds, values = (np.array(column) for column in zip(*triples, strict=True))
    counts = np.bincount(places)
    means = np.bincount(places, values) / counts
    budgets = np.unique([one.budget for one in settings], return_inverse=True)[1]
    groups = np.unique([one.parameters for one in settings], return_inverse=True)[1]
    good = _good(means, budgets)
    best = float(means.max())
    flips = max(best * (1 - best), 0.25 / max(rows, 1)) / max(rows, 1)  # coins as many as rows
    noise = _noise(places, folds, values, flips)
    between = _between(means, counts, budgets, good, noise)
    # One column for each effect, one row for each score.
    effects = [(groups[places], SHARED * between), (places, (1 - SHARED) * between)]
    effects += [(folds, flips / 2), (budgets[places], np.inf)]
    design = np.concatenate([_columns(which) for which, _ in effects], axis=1)
    inverse_variance = np.concatenate(
        [np.full(int(which.max()) + 1, 1 / variance) for which, variance in effects]
    )
    among = good[places]
    kept = design[among]
    inverse = np.linalg.pinv(kept.T @ kept / noise + np.diag(inverse_variance), hermitian=True)
    solved = inverse @ (kept.T @ values[among]) / noise
    # What a setting gives on fold 0 and on any other is the same but for the fold's effect.
    sums = np.array([design[places == row][0] for row in range(len(settings))])
    sums[:, _slice_of_folds(effects)] = 0
    expected, variances = sums @ solved, np.einsum("ij,jk,ik->i", sums, inverse, sums)
    expected = np.where(good, expected, means)
    variances = np.where(good, variances, noise / counts)
    spreads = np.sqrt(np.maximum(variances, 0.0))
    return [
        Estimate(float(mean), float(spread), int(count))
        for mean, spread, count in zip(expected, spreads, counts, strict=True)
    ]


def _columns(which: np.ndarray) -> np.ndarray:
    return np.eye(int(which.max()) + 1)[which]


def _slice_of_folds(effects: Sequence[tuple[np.ndarray, float]]) -> slice:
    widths = [int(which.max()) + 1 for which, _ in effects]
    return slice(sum(widths[:2]), sum(widths[:3]))


def _good(means: np.ndarray, budgets: np.ndarray) -> np.ndarray:
    """Mask of the better half of the settings of each budget, of few all."""
    good = np.zeros(len(means), bool)
    for budget in np.unique(budgets):
        of_it = np.flatnonzero(budgets == budget)
        best = of_it[np.argsort(-means[of_it])]
        good[best[: max(FEW, len(best) // 2)]] = True
    return good


def _between(
    means: np.ndarray, counts: np.ndarray, budgets: np.ndarray, good: np.ndarray, noise: float
) -> float:
    """Variance of the true scores of the good settings of a budget."""
    found = []
    for budget in np.unique(budgets):
        of_it = good & (budgets == budget)
        if of_it.sum() >= FEW:
            found.append(np.var(means[of_it]) - noise * np.mean(1 / counts[of_it]))
    return max(float(np.mean(found)), noise / 4) if found else noise


def _noise(places: np.ndarray, folds: np.ndarray, values: np.ndarray, flips: float) -> float:
    """Variance of the score of one training, from settings that were trained again."""
    again = np.bincount(places)[places] > 1
    freedom = int(again.sum()) - len(set(places[again])) - len(set(folds[again])) + 1
    if freedom <= 0 or not again.any():
        return flips
    design = np.concatenate([_columns(places[again]), _columns(folds[again])], axis=1)
    fit = design @ np.linalg.lstsq(design, values[again], rcond=None)[0]
    squares = float(np.sum((values[again] - fit) ** 2))
    return max((squares + FEW * flips) / (freedom + FEW), flips / 2)
