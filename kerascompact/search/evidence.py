"""Evidence of dev scores: what the few, noisy trainings of a setting say of it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

FEW = 4  # settings, from which nothing is learned about the others
Scores = Mapping[int, Sequence[tuple[int, float]]]  # pairs of fold and score of each setting


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


def estimates(scores: Scores, rows: int) -> dict[int, Estimate]:
    """Expected scores of settings: the best of many single scores is there by luck.

    `score = M + setting + fold + noise`, with normal settings, folds and noises, all solved
    together: a setting is drawn to the mean `M` of the good ones by how little is known of it, and
    a fold whose rows are hard is told from a setting whose first score was lucky, since all
    settings are in the sum.

    Args:
        scores: Pairs of fold and score of each setting.
        rows: Number of dev rows behind a score.

    >>> lucky, steady = [(0, 0.90)], [(0, 0.88), (1, 0.87), (2, 0.88)]
    >>> found = estimates({1: lucky, 2: steady, 3: [(0, 0.86)], 4: [(0, 0.85)]}, 500)
    >>> found[1].mean < 0.9, found[1].spread > found[2].spread
    (True, True)

    Reference: [Henderson, 1975](https://doi.org/10.2307/2529430), mixed model equations.
    """
    if not scores:
        return {}
    keys = list(scores)
    triples = [(row, fold, score) for row, key in enumerate(keys) for fold, score in scores[key]]
    places, folds, values = (np.array(column) for column in zip(*triples, strict=True))
    counts = np.bincount(places)
    means = np.bincount(places, values) / counts
    best = float(means.max())
    flips = max(best * (1 - best), 0.25 / max(rows, 1)) / max(rows, 1)  # coins as many as rows
    noise = _noise(places, folds, values, flips)
    good = np.argsort(-means)[: max(FEW, len(means) // 2)]
    between = noise
    if len(good) >= FEW:
        luck = noise * float(np.mean(1 / counts[good]))
        between = max(float(np.var(means[good])) - luck, noise / 4)
    among = np.isin(places, good)
    middle, level, inverse = _solved(places[among], folds[among], values[among], (
        len(keys), noise, between, flips / 2
    ))  # fmt: skip
    result = {}
    for row, key in enumerate(keys):
        if row in good:
            mean, variance = middle + level[row], float(inverse[row, row])
        else:  # far below: as it is
            mean, variance = float(means[row]), noise / counts[row]
        result[key] = Estimate(float(mean), float(np.sqrt(variance)), int(counts[row]))
    return result


def _solved(
    places: np.ndarray,
    folds: np.ndarray,
    values: np.ndarray,
    sizes: tuple[int, float, float, float],
) -> tuple[float, np.ndarray, np.ndarray]:
    """The mean, the effects of settings and folds, and their covariances."""
    settings, noise, between, of_folds = sizes
    length = settings + int(folds.max()) + 1
    design = np.zeros((len(values), length + 1))
    each = np.arange(len(values))
    design[each, places] = design[each, settings + folds] = design[:, -1] = 1
    prior = np.full(length + 1, 1 / between)
    prior[settings:] = 1 / of_folds
    prior[-1] = 0  # nothing is known of the mean
    inverse = np.linalg.inv(design.T @ design / noise + np.diag(prior))
    found = inverse @ (design.T @ values) / noise
    return float(found[-1]), found[:-1], inverse


def _noise(places: np.ndarray, folds: np.ndarray, values: np.ndarray, flips: float) -> float:
    """Variance of the score of one training, from settings that were trained again."""
    again = np.bincount(places)[places] > 1
    freedom = int(again.sum()) - len(set(places[again])) - len(set(folds[again])) + 1
    if freedom <= 0:
        return flips
    one = np.eye(int(places.max()) + 1)[places[again]]
    two = np.eye(int(folds.max()) + 1)[folds[again]]
    design = np.concatenate([one, two], axis=1)
    fit = design @ np.linalg.lstsq(design, values[again], rcond=None)[0]
    squares = float(np.sum((values[again] - fit) ** 2))
    return max((squares + FEW * flips) / (freedom + FEW), flips / 2)
