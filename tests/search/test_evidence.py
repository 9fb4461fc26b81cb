"""Expected scores of settings, against a simulation whose truth is known."""

import numpy as np

from kerascompact.search.evidence import estimates

ROWS = 500


def simulated(random, settings=24):
    """True scores, and the scores that a search sees: one of each, eight of some by luck."""
    truth = random.normal(0.86, 0.01, settings)
    hard = random.normal(0, 0.01, 8)  # folds
    seen = truth[:, None] + hard + random.normal(0, 0.015, (settings, 8))
    return truth, seen


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
    for _ in range(200):
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
    assert estimates({5: [(0, 1.0)]}, 3)[5].mean == 1.0
