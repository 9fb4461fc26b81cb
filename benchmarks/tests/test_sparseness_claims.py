"""Comparisons in the prose of the predefined-sparseness page, computed again from its rows."""

from benchmarks.lib import results
from benchmarks.lib.experiments import ROOT
from benchmarks.sparseness.tagging import best_groups

RESULTS = " ".join((ROOT / "benchmarks/sparseness/RESULTS.md").read_text("utf-8").split())


def test_awd_lstm_never_averaged_before_finetuning():
    assert not any(row["train_averaged"] for row in results.rows("awd_300k"))
    assert "in neither row had averaging begun before finetuning" in RESULTS


def test_awd_lstm_is_better_as_soon_as_it_is_averaged():
    """An epoch is worse than the best one more than five epochs ago; the next is averaged."""
    begun, gained = set(), set()
    for row in results.rows("awd_50k"):
        dev = row["train_dev_by_epoch"]
        worse = [n for n in range(6, len(dev)) if dev[n] > min(dev[: n - 5])]
        assert row["train_averaged"]
        begun.add(worse[0] + 2)
        gained.add(round(min(dev[: worse[0] + 1]) - dev[worse[0] + 1]))
    assert (min(begun), max(begun), min(gained), max(gained)) == (18, 24, 20, 37)
    assert "The first averaged epoch, the 18th to 24th, is 20 to 37 points below" in RESULTS


def test_order_of_reciting_is_that_of_the_page():
    best: dict[tuple[int, str], float] = {}
    for row in results.rows("memorisation_warm"):
        place = row["spec"]["part"], row["spec"]["kind"]
        best[place] = max(best.get(place, 0), row["accuracy"])
        assert row["by_epoch"][-1] - row["by_epoch"][-41] > 0.01  # still rises
    order = sorted(best, key=lambda place: -best[place])
    assert order[:3] == [(2, "sparse embedding"), (2, "sparse"), (2, "dense")]
    assert order[3] == (3, "dense")
    numbers = [round(100 * best[place]) for place in order]
    assert numbers == [79, 62, 58, 43, 32, 32]
    assert (
        "recites 79 %, sparse LSTMs around a narrow embedding 62 %, the dense model 58 %" in RESULTS
    )
    assert "the dense model is first, 43 %, before both sparse ones, 32 %" in RESULTS
    curves = {row["spec"]["kind"]: row["by_epoch"] for row in results.rows("memorisation_long")}
    parts = {
        kind: [round(100 * curve[n]) for n in (149, 299, 599)] for kind, curve in curves.items()
    }
    assert parts == {
        "sparse embedding": [23, 43, 62],
        "sparse": [30, 43, 52],
        "dense": [30, 43, 49],
    }
    assert (
        "recites 62 %, sparse LSTMs around a narrow embedding 52 %, the dense model 49 %" in RESULTS
    )
    assert "it is last, 23 % where the others have 30, after half all are level, 43 %" in RESULTS


def test_order_of_sparse_vectors_that_are_tuned():
    groups = best_groups(results.rows("tagging"))
    test = {
        (density, order): results.spread(group, "test_accuracy")[0]
        for (width, density, order, units), group in groups.items()
        if (width, units) == (20, 10)
    }
    for density, text in (
        (0.25, "that dev prefers after 20 epochs it is {} and {} at 0.25"),
        (0.1, "(paper: 1.8 and 6.3), {} and {} at density 0.1"),
    ):
        gains = [100 * (test[density, "up"] - test[density, order]) for order in (None, "down")]
        assert text.format(*(f"{gain:.1f}" for gain in gains)) in RESULTS


def test_a_larger_lstm_loses_less_by_short_vectors():
    groups = best_groups(results.rows("tagging"))
    test = {key: 100 * results.spread(one, "test_accuracy")[0] for key, one in groups.items()}
    full, short, sparse = (
        test[width, density, "up", 50] for width, density in ((50, 1.0), (2, 1.0), (50, 0.04))
    )
    before = test[20, 0.1, "up", 10] - test[2, 1.0, "up", 10]
    said = "cost {:.1f} points as short vectors (paper: 2.1) and {:.1f} as sparse ones"
    assert said.format(full - short, full - sparse) in RESULTS
    assert f"whose lead falls from {before:.1f} to {sparse - short:.1f}" in RESULTS
