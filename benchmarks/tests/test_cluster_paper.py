import math

import pytest

from benchmarks.clusters import cluster_paper
from benchmarks.clusters.cluster_paper import AG_NEWS_SIZES, best_within, sized, with_seeds


def model_mb(method, v, m, k, u, classes=4):
    """Appendix A by hand: pointers of ceil(log2 k) bits, 32 bits for all else, LSTM of 50."""
    pointers = (v - u) * math.ceil(math.log2(k)) if k else 0
    vectors = {
        "standard": v * m, "cluster": k * m, "adjustment": k * m + v, "mixture": (k + u) * m
    }[method]  # fmt: skip
    width = m + (method == "adjustment")
    other = 4 * 50 * (width + 50 + 1) + 50 * classes + classes
    return (pointers + 32 * (vectors + other)) / 8 / 2**20


@pytest.mark.parametrize("method, budget", AG_NEWS_SIZES)
def test_sizes_fit_the_papers_budget(method, budget):
    for size in AG_NEWS_SIZES[method, budget]:
        assert model_mb(method, *size) <= budget, size


def test_specs_of_table_3_are_the_papers():
    shown = [spec.label for spec in cluster_paper.IMDB_TABLE_3]
    assert shown == [
        "SE(m=8, v=3000)",
        "CE(k=50, m=5, v=3000)",
        "CAE(k=50, m=5, v=3000)",
        "ME(k=50, m=5, u=300, v=3000)",
    ]


def test_best_within_takes_the_best_on_dev_that_fits():
    rows = [{"b": 1, "dev_accuracy": 0.1}, {"b": 2, "dev_accuracy": 0.3}]
    rows.append({"b": 3, "dev_accuracy": 0.9})
    assert best_within(rows, "b", 2) is rows[1]
    with pytest.raises(ValueError, match="must hold a row with b <= 0"):
        best_within(rows, "b", 0)


def test_specs_by_size_and_seed():
    specs = with_seeds(sized(cluster_paper.TREC, "cluster", [(9, 2, 3, 0), (8, 2, 3, 0)]), (4, 5))
    assert [(spec.size, spec.seed) for spec in specs] == [(9, 4), (8, 4), (9, 5), (8, 5)]
