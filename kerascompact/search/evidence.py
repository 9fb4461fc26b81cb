"""Evidence of dev scores: what the few, noisy trainings of a setting say of it."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

FEW = 4  # settings, from which nothing is learned about the others


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


def estimates(scores: Mapping[int, Sequence[tuple[int, float]]], rows: int) -> dict[int, Estimate]:
    """Expected scores of settings, each drawn to the mean of the good ones by how little is known.

    The best of many single scores is there by luck. With `k` trainings of mean `m`, noise `s^2` of
    a training and good settings around `M` with variance `t^2`, the expected score is
    `(k m / s^2 + M / t^2) / (k / s^2 + 1 / t^2)`. Folds whose rows are harder are put on the level
    of fold 0 first, by the settings that have both.

    Args:
        scores: Pairs of fold and score of each setting.
        rows: Number of dev rows behind a score.

    >>> lucky, steady = [(0, 0.90)], [(0, 0.88), (1, 0.87), (2, 0.88)]
    >>> found = estimates({1: lucky, 2: steady, 3: [(0, 0.86)], 4: [(0, 0.85)]}, 500)
    >>> found[1].mean < 0.9, found[1].spread > found[2].spread
    (True, True)

    Reference: [Efron and Morris, 1973](https://doi.org/10.1080/01621459.1973.10481350), empirical
    Bayes.
    """
    if not scores:
        return {}
    levels = fold_levels(scores)
    level = {key: [score - levels[fold] for fold, score in found] for key, found in scores.items()}
    means = {key: float(np.mean(found)) for key, found in level.items()}
    noise = _noise(level, max(means.values()), rows)
    good = sorted(means, key=lambda key: -means[key])[: max(FEW, len(means) // 2)]
    middle = float(np.mean([means[key] for key in good]))
    by_luck = noise * float(np.mean([1 / len(level[key]) for key in good]))
    between = max(float(np.var([means[key] for key in good])) - by_luck, noise / 4)
    if len(good) < FEW:
        between = noise
    result = {}
    for key, found in level.items():
        certainty = len(found) / noise + 1 / between
        mean = (len(found) * means[key] / noise + middle / between) / certainty
        result[key] = Estimate(mean, math.sqrt(1 / certainty), len(found))
    return result


def fold_levels(scores: Mapping[int, Sequence[tuple[int, float]]]) -> dict[int, float]:
    """How much higher the scores of each fold are than those of fold 0, for the same settings.

    >>> fold_levels({1: [(0, 0.5), (1, 0.625)], 2: [(0, 0.25)]})
    {0: 0.0, 1: 0.125}
    """
    differences: dict[int, list[float]] = {0: []}
    for found in scores.values():
        first = dict(found).get(0)
        for fold, score in found:
            differences.setdefault(fold, [])
            if fold and first is not None:
                differences[fold].append(score - first)
    return {fold: float(np.mean(some)) if some else 0.0 for fold, some in differences.items()}


def _noise(levels: Mapping[int, Sequence[float]], best: float, rows: int) -> float:
    """Variance of the score of one training: at least that of as many coin flips as rows."""
    flips = max(best * (1 - best), 0.25 / max(rows, 1)) / max(rows, 1)
    repeated = [np.asarray(found) for found in levels.values() if len(found) > 1]
    freedom = sum(len(found) - 1 for found in repeated)
    if not freedom:
        return flips
    squares = sum(float(np.sum((found - found.mean()) ** 2)) for found in repeated)
    return max((squares + FEW * flips) / (freedom + FEW), flips / 2)
