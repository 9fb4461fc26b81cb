"""Text classification of the Anchor & Transform paper, on a public part of DBpedia.

The upper part of Table 9 of [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197): settings
and strengths of penalties as `anchors_text` has them, where dev of AG News chose them (those of 50
anchors for more, those of 10 for 20), ten epochs for as many steps as there, and all 46,332 words
of the training split. Nothing is chosen anew.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.anchors import anchors_text
from benchmarks.anchors.anchors_arms import ANT, ANT_50, DYNAMIC, FREE
from benchmarks.anchors.anchors_text import Spec
from benchmarks.clusters.cluster_paper import SEEDS

OF_AG_NEWS = (
    "SE",
    "sparse code 100",
    "k-SVD 180 of SE",
    "ANT 180, k-SVD of SE, tuned at 2e-4",
)
METHODS: dict[str, dict[str, Any]] = {
    **{name: anchors_text.METHODS[name] for name in OF_AG_NEWS},
    "ANT 80 clusters": {**ANT_50, "num_anchors": 80, "by": "clusters"},
    "ANT 100 dynamic": {**ANT_50, **DYNAMIC, "num_anchors": 100},
    "ANT 50 frequency, knowledge": anchors_text.METHODS["ANT 50 frequency, knowledge"],
    "ANT 20 frequency, knowledge": {**ANT, "num_anchors": 20, "by": "frequency", **FREE},
}
BASE = Spec("SE", {}, "dbpedia_subset", size=46_332, epochs=10)


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs, or goes on with, every method, seed by seed."""
    wanted = [
        BASE._replace(method=method, options=options, seed=seed)
        for seed in arguments.seeds or SEEDS
        for method, options in METHODS.items()
    ]
    return anchors_text.run_all(
        wanted,
        name,
        data_dir=arguments.data,
        verbose=arguments.verbose,
        work=Path(arguments.work),
    )


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: that of `anchors_text`."""
    return anchors_text.table(rows, METHODS)
