"""The cluster embedding paper's experiments, on the data that can be had.

IMDB: Table 3 of [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116): NLTK's wordpunct
tokens in lower case, 400 of them, 3,000 words, LSTM of 50, Adam from 1e-3, no dropout.
AG News: the two budgets of Table 2, on 21 % of its training data. CLINC150 and TREC: at equal bytes
of the file. The last three choose sizes on dev with one seed, then measure test with three.
"""

from collections.abc import Iterable
from typing import Any

from kerascompact.benchmarks.runs import Spec, run_all
from kerascompact.benchmarks.text_task import logit_scale

SEEDS = (0, 1, 2)
KIB = 1024

IMDB = Spec("imdb", "standard", "lstm", size=3000, length=400, width=8)
CLUSTERS = IMDB._replace(width=5, clusters=50, options=(("logit_scale", 100.0),))
IMDB_TABLE_3 = (
    IMDB,
    CLUSTERS._replace(method="cluster"),
    CLUSTERS._replace(method="adjustment"),
    CLUSTERS._replace(method="mixture", unique=300),
)

AG_NEWS = Spec("ag_news", "standard", "lstm", 3000, 64, 5, rules="kim", epochs=6)
AG_NEWS_BUDGETS = (0.05, 0.1)  # MB of model by the paper's formula
# Sizes (v, m, k, u) that fill a budget; the LSTM takes 0.041 to 0.048 MB of it.
AG_NEWS_SIZES: dict[tuple[str, float], list[tuple[int, int, int, int]]] = {
    ("standard", 0.05): [(2500, 1, 0, 0), (1150, 2, 0, 0), (700, 3, 0, 0), (340, 5, 0, 0)],
    ("cluster", 0.05): [(9800, 5, 32, 0), (12900, 5, 16, 0), (5000, 5, 100, 0), (7300, 5, 64, 0)],
    ("adjustment", 0.05): [(1550, 3, 32, 0), (1400, 4, 16, 0), (1650, 2, 50, 0)],
    ("mixture", 0.05): [(6600, 5, 32, 100), (8000, 5, 16, 100), (5000, 4, 32, 250)],
    ("standard", 0.1): [(1770, 8, 0, 0), (2960, 5, 0, 0), (5070, 3, 0, 0), (7700, 2, 0, 0)],
    ("cluster", 0.1): [(20000, 10, 256, 0), (20000, 10, 100, 0), (20000, 5, 64, 0)],
    ("adjustment", 0.1): [(11000, 5, 100, 0), (10500, 8, 100, 0), (7500, 8, 500, 0)],
    ("mixture", 0.1): [(20000, 10, 100, 500), (20000, 5, 64, 1000), (15000, 8, 100, 1000)],
}

CLINC150 = Spec("clinc150", "standard", "mean", 2000, 32, 16, epochs=20, learning_rate=1e-2)
TREC = Spec("trec", "standard", "mean", 3000, 32, 8, epochs=20, learning_rate=5e-3)
FILE_BUDGETS = {"clinc150": (32 * KIB, 64 * KIB), "trec": (16 * KIB, 32 * KIB)}


def sized(base: Spec, method: str, sizes: Iterable[tuple[int, int, int, int]]) -> list[Spec]:
    """One spec for each (v, m, k, u)."""
    return [
        base._replace(method=method, size=v, width=m, clusters=k, unique=u) for v, m, k, u in sizes
    ]


def with_seeds(specs: Iterable[Spec], seeds: Iterable[int]) -> list[Spec]:
    """Every spec with every seed, seed by seed."""
    specs = list(specs)
    return [spec._replace(seed=seed) for seed in seeds for spec in specs]


def best_within(found: Iterable[dict[str, Any]], key: str, budget: float) -> dict[str, Any]:
    """The row that is best on dev among those whose `key` is within the budget."""
    fitting = [row for row in found if row[key] <= budget]
    if not fitting:
        raise ValueError(f"`found` must hold a row with {key} <= {budget}. Received: none.")
    return max(fitting, key=lambda row: row["dev_accuracy"])


def imdb(seeds: Iterable[int] = SEEDS, **options: Any) -> list[dict[str, Any]]:
    """Table 3: every method at the paper's sizes."""
    return run_all(with_seeds(IMDB_TABLE_3, seeds), "imdb", **options)


def ag_news(seeds: Iterable[int] = SEEDS, **options: Any) -> list[dict[str, Any]]:
    """Table 2 at both budgets: sizes chosen on dev, test measured with every seed."""
    chosen = []
    for (method, budget), sizes in AG_NEWS_SIZES.items():
        specs = sized(_clusters(AG_NEWS, method), method, sizes)
        found = run_all(specs, "ag_news_dev", test=False, **options)
        chosen.append(_spec(best_within(found, "model_mb", budget)["spec"]))
    return run_all(with_seeds(chosen, seeds), "ag_news", **options)


def at_equal_bytes(
    base: Spec, seeds: Iterable[int] = SEEDS, **options: Any
) -> list[dict[str, Any]]:
    """ME against SE in files of equal bytes: sizes chosen on dev, test with every seed."""
    sizes = {
        "standard": [(v, m, 0, 0) for v in (500, 1000, 2000) for m in (2, 4, 8, 16)],
        "mixture": [
            (v, m, k, u)
            for v in (2000, 4000)
            for m in (8, 16)
            for k in (50, 150)
            for u in (50, 300)
        ],
    }
    name = base.dataset
    chosen = []
    for method, grid in sizes.items():
        specs = sized(_clusters(base, method), method, grid)
        found = run_all(specs, f"{name}_dev", test=False, **options)
        for budget in FILE_BUDGETS[name]:
            chosen.append(_spec(best_within(found, "file_bytes", budget)["spec"]))
    return run_all(with_seeds(dict.fromkeys(chosen), seeds), name, **options)


def clinc150(seeds: Iterable[int] = SEEDS, **options: Any) -> list[dict[str, Any]]:
    """150 intents, a mean classifier."""
    return at_equal_bytes(CLINC150, seeds, **options)


def trec(seeds: Iterable[int] = SEEDS, **options: Any) -> list[dict[str, Any]]:
    """Six kinds of questions, a mean classifier."""
    return at_equal_bytes(TREC, seeds, **options)


def _clusters(base: Spec, method: str) -> Spec:
    if method == "standard":
        return base
    return base._replace(options=(("logit_scale", logit_scale(base.learning_rate)),))


def _spec(facts: dict[str, Any]) -> Spec:
    return Spec(**{**facts, "options": tuple(facts["options"].items())})
