"""The cluster embedding paper's experiments, on the data that can be had.

IMDB: Table 3 of [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116): NLTK's wordpunct
tokens in lower case, 400 of them, 3,000 words, LSTM of 50, Adam at 1e-3, no dropout.
"""

from kerascompact.benchmarks.runs import Spec

IMDB = Spec("imdb", "standard", "lstm", size=3000, length=400, width=8)
CLUSTERS = IMDB._replace(width=5, clusters=50, options=(("logit_scale", 100.0),))
IMDB_TABLE_3 = (
    IMDB,
    CLUSTERS._replace(method="cluster"),
    CLUSTERS._replace(method="adjustment"),
    CLUSTERS._replace(method="mixture", unique=300),
)
# What the paper prints, in percent, in the same order.
IMDB_PAPER = {"SE": 86.84, "CE": 85.58, "CAE": 86.94, "ME": 88.22}


def imdb(seeds: tuple[int, ...] = (0, 1, 2)) -> list[Spec]:
    """Every method and seed of Table 3."""
    return [spec._replace(seed=seed) for seed in seeds for spec in IMDB_TABLE_3]
