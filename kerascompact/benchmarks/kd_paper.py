"""Text classification of the KD codes paper, on the data that can be had.

Table 2 of [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464): fastText's classifier (mean
of the words' vectors, softmax), unigrams, d = 300, K = D = 32, codes composed by a sum without a
hidden layer. All words of the training split, but IMDB's, whose 20,000 most frequent are kept and
whose texts are cut at 200 tokens. The paper does not guide the codes of texts ("the direct
optimization is already satisfying enough", sec. 4). These are guided, by the full table (PDG):
without it 1 to 3 points of dev accuracy were lost, since a word that is met once moves to letters
of its own.
"""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from kerascompact.benchmarks import results
from kerascompact.benchmarks.cluster_paper import SEEDS, with_seeds
from kerascompact.benchmarks.runs import TEACHER, Spec, run_all, size_again

BASE = Spec(
    "trec", "standard", "mean", size=8007, length=40, width=300,
    epochs=10, batch_size=64, learning_rate=3e-3, dropout=0.5,
)  # fmt: skip
BASES = (
    BASE,
    BASE._replace(
        dataset="clinc150", size=5088, length=32, epochs=40, batch_size=128, learning_rate=1e-2
    ),
    BASE._replace(
        dataset="ag_news", size=33_963, length=100, batch_size=128, epochs=3, dropout=0.0
    ),
    BASE._replace(dataset="imdb", size=20_000, length=200, batch_size=256, epochs=3, dropout=0.0),
)
KD = {"cardinality": 32, "code_length": 32, "batch_norm": True}
METHODS: dict[str, dict[str, Any]] = {
    "full": {"method": "standard", "options": TEACHER},
    "low rank 10x": {"method": "low_rank", "options": (("ratio", 0.1),)},
    "low rank 20x": {"method": "low_rank", "options": (("ratio", 0.05),)},
    "KD": {"method": "kd"},
}
# Learning rates of KD codes, by dev.
RATES = {"trec": 1e-2, "clinc150": 3e-3, "ag_news": 1e-2, "imdb": 1e-2}


def spec_of(base: Spec, name: str) -> Spec:
    """A method of `METHODS` on a set."""
    spec = base._replace(**METHODS[name])
    if name != "KD":
        return spec
    guided = {"guidance": 1000.0, "teacher_rate": base.learning_rate}
    return spec._replace(learning_rate=RATES[base.dataset], options=(*KD.items(), *guided.items()))


def specs(seeds: Iterable[int] = SEEDS) -> list[Spec]:
    """Every method on every set, seed by seed."""
    return with_seeds([spec_of(base, name) for base in BASES for name in METHODS], seeds)


def name_of(row: dict[str, Any]) -> str:
    """The method of a row, as the paper's table calls it.

    >>> name_of({"spec": {"method": "low_rank", "options": {"ratio": 0.05}}})
    'low rank 20x'
    """
    method = row["spec"]["method"]
    if method == "low_rank":
        return f"low rank {1 / row['spec']['options']['ratio']:.0f}x"
    return {"standard": "full", "kd": "KD"}[method]


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs, or goes on with, the benchmark."""
    if arguments.sizes:
        size_again(name, arguments.data)
        return results.rows(name)
    return run_all(
        specs(arguments.seeds or SEEDS), name, data_dir=arguments.data, verbose=arguments.verbose
    )


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per set and method, mean and spread over seeds, accuracies in percent."""
    lines = [
        "| data set | embedding | words | seeds | dev | test: soft | hard | file "
        "| parameters (M) | Mbit, paper | file KB | us |",
        "|" + "---|" * 12,
    ]
    for group in sorted(results.by_seed(rows), key=_place):
        first = group[0]
        spec = first["spec"]
        cells = [spec["dataset"], name_of(first), f"{spec['size']:,}", str(len(group))]
        cells += [results.percent(group, f"{kind}_accuracy") for kind in results.KINDS]
        cells += [
            f"{first['embedding_parameters'] / 1e6:.3f}",
            f"{8 * first['paper_bytes'] / 1e6:.2f}",
            f"{first['file_bytes'] / 1000:,.0f}",
            f"{results.spread(group, 'microseconds')[0]:,.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _place(group: list[dict[str, Any]]) -> tuple[int, int]:
    """Where in the table: the order of sets and methods above, whatever ran first."""
    sets, methods = [base.dataset for base in BASES], list(METHODS)
    return sets.index(group[0]["spec"]["dataset"]), methods.index(name_of(group[0]))
