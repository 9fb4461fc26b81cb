"""Expected scores of settings, against a simulation whose truth is known."""

import numpy as np
import pytest

from kerascompact.search.evidence import Known
from kerascompact.search.evidence import estimates as of_settings

ROWS = 500


def estimates(scores, rows):
    """Expected scores of settings of one budget."""
    known = [Known(9, str(key), found) for key, found in scores.items()]
    return dict(zip(scores, of_settings(known, rows), strict=True))


def simulated(random, settings=24):
    """True scores, and the scores that a search sees: one of each, eight of some by luck."""
    truth = random.normal(0.86, 0.01, settings)
    hard = random.normal(0, 0.01, 8)  # folds
    seen = truth[:, None] + hard + random.normal(0, 0.015, (settings, 8))
    return truth, seen


@pytest.mark.slow
def test_picks_better_than_the_largest_mean():
    """Of settings that were trained once or a few times."""
    random, gain = np.random.default_rng(0), []
    for _ in range(300):
        truth, seen = simulated(random)
        counts = random.choice([1, 1, 1, 2, 4], len(truth))
        scores = {i: list(enumerate(seen[i, :k])) for i, k in enumerate(counts)}
        expected = estimates(scores, ROWS)
        by_mean = max(scores, key=lambda i: np.mean(seen[i, : counts[i]]))
        gain.append(truth[max(expected, key=lambda i: expected[i].mean)] - truth[by_mean])
    assert np.mean(gain) > 2 * np.std(gain) / np.sqrt(len(gain)) > 0


def test_expects_what_new_texts_give():
    """The best ones' expected scores are not those of luck."""
    random, off, lucky = np.random.default_rng(1), [], []
    for _ in range(40):
        truth, seen = simulated(random)
        scores = {i: [(0, seen[i, 0])] for i in range(len(truth))}
        expected = estimates(scores, ROWS)
        best = max(expected, key=lambda i: expected[i].mean)
        level = float(np.mean(seen[:, 0] - truth))  # that of fold 0
        off.append(expected[best].mean - level - truth[best])
        lucky.append(seen[best, 0] - level - truth[best])
    assert abs(np.mean(off)) < 0.5 * np.mean(lucky)


def test_more_trainings_are_more_certain():
    scores = {0: [(0, 0.8)], 1: [(0, 0.8), (1, 0.8), (2, 0.8)], 2: [(0, 0.7)], 3: [(0, 0.75)]}
    found = estimates(scores, ROWS)
    assert found[1].spread < found[0].spread and found[1].trainings == 3
    assert found[1].mean > found[0].mean  # both are drawn down, the first by less
    assert 0.7 < found[2].mean < 0.8


def test_a_hard_fold_is_told_from_a_lucky_score():
    """All fall by as much on fold 1, or only the one that was best on fold 0 does."""
    first = [0.84, 0.85, 0.86, 0.9, 0.83, 0.87]
    hard = {i: [(0, score), (1, score - 0.04)] for i, score in enumerate(first)}
    lucky = {i: [(0, score)] for i, score in enumerate(first)} | {3: [(0, 0.9), (1, 0.83)]}
    alone = {i: [(0, score)] for i, score in enumerate(first)}
    expected = [estimates(scores, ROWS)[3].mean for scores in (alone, hard, lucky)]
    middle = [estimates(scores, ROWS)[5].mean for scores in (alone, hard, lucky)]
    assert expected[2] < expected[0] - 0.003
    lead = np.subtract(expected, middle)
    assert lead[1] > lead[0] > 2 * lead[2]


def test_without_a_training():
    assert estimates({}, ROWS) == {}
    assert estimates({5: [(0, 1.0)]}, 3)[5].mean == pytest.approx(1.0)


def test_what_parameters_gave_in_other_budgets_counts():
    """One score each: the setting that was good in all budgets is expected to be the best."""
    random = np.random.default_rng(2)
    known = []
    for budget, level in ((1, 0.80), (2, 0.84), (3, 0.86)):
        for parameters in range(8):
            score = level + random.normal(0, 0.004) + 0.015 * (parameters == 5)
            score += 0.02 * (budget == 2 and parameters == 3)  # by luck
            known.append(Known(budget, str(parameters), [(0, score)]))
    found = of_settings(known, ROWS)
    of_two = [
        (one.mean, k.parameters) for one, k in zip(found, known, strict=True) if k.budget == 2
    ]
    assert max(of_two)[1] == "5"
    by_budget = [
        max(o.mean for o, k in zip(found, known, strict=True) if k.budget == b) for b in (1, 2, 3)
    ]
    assert by_budget == sorted(by_budget)


def test_spreads_are_those_of_the_equations():
    """Against the posterior computed by conditioning a joint normal distribution."""
    scores = [[(0, 0.5), (1, 0.52)], [(0, 0.55)], [(1, 0.51)], [(0, 0.53), (1, 0.5)]]
    found = of_settings([Known(1, str(i), one) for i, one in enumerate(scores)], 400)
    pairs = [(i, fold, value) for i, one in enumerate(scores) for fold, value in one]
    flips = found_best(scores) * (1 - found_best(scores)) / 400
    noise, between = recomputed(scores, flips)
    setting, fold, value = (np.array(column) for column in zip(*pairs, strict=True))
    same = setting[:, None] == setting
    flat = 1e4  # the prior of the mean
    covariance = flat + between * same + flips / 2 * (fold[:, None] == fold) + noise * np.eye(6)
    for i, one in enumerate(found):
        with_it = flat + between * (setting == i)
        gain = np.linalg.solve(covariance, with_it)
        assert abs(gain @ value - one.mean) < 1e-4
        assert abs(np.sqrt(flat + between - gain @ with_it) - one.spread) < 1e-4


def found_best(scores):
    return max(np.mean([value for _, value in one]) for one in scores)


def recomputed(scores, flips):
    """Variances of noise and of settings: two-way residuals of 0 and 3, and spread of the means."""
    table = np.array([[0.5, 0.52], [0.53, 0.5]])
    fit = table.mean(1, keepdims=True) + table.mean(0) - table.mean()
    noise = max((np.sum((table - fit) ** 2) + 4 * flips) / (1 + 4), flips / 2)
    means = [np.mean([value for _, value in one]) for one in scores]
    between = np.var(means) - noise * np.mean([1 / len(one) for one in scores])
    return noise, max(between, noise / 4)
