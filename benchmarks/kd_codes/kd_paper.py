"""Text classification of the KD codes paper, on the data that can be had.

Table 2 of [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464): fastText's classifier (mean
of the words' vectors, softmax), unigrams, d = 300, K = D = 32, codes composed by a sum without a
hidden layer. All words of the training split, but IMDB's, whose 20,000 most frequent are kept and
whose texts are cut at 200 tokens. The paper does not guide the codes of texts ("the direct
optimization is already satisfying enough", sec. 4). These are guided, by the full table (PDG).
`kd_text_dev` trains codes without a guide, with and without batch normalization of their logits
(which the paper's code has), and measures them on dev.
"""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.clusters.cluster_paper import SEEDS
from benchmarks.lib import results
from benchmarks.lib.runner import with_seeds
from benchmarks.lib.text_runs import TEACHER, Spec, run_all, size_again
from kerascompact.tasks.methods import METHODS as BY_NAME

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
    BASE._replace(
        dataset="dbpedia_subset", size=46_332, length=100, batch_size=128, learning_rate=1e-2
    ),  # rate and dropout by dev, see `tried`
    BASE._replace(dataset="imdb", size=20_000, length=200, batch_size=256, epochs=3, dropout=0.0),
)
KD = {"cardinality": 32, "code_length": 32, "batch_norm": True}
METHODS: dict[str, dict[str, Any]] = {
    "SE": {"method": "standard", "options": TEACHER},
    "LR 10x": {"method": "low_rank", "options": {"ratio": 0.1}},
    "LR 20x": {"method": "low_rank", "options": {"ratio": 0.05}},
    "KD": {"method": "kd"},
    "KD, no guide, logits normalized": {"method": "kd"},  # on TREC's dev better than without
}
UNGUIDED = ("KD, no guide", "KD, no guide, logits normalized")  # in `kd_text_dev`
NORMALIZED = {**KD, "logits_batch_norm": True}
# Learning rates of KD codes, by dev.
RATES = {"trec": 1e-2, "clinc150": 3e-3, "ag_news": 1e-2, "dbpedia_subset": 3e-3, "imdb": 1e-2}


def spec_of(base: Spec, name: str) -> Spec:
    """A method of `METHODS` on a set."""
    spec = base._replace(**METHODS[name])
    if name == UNGUIDED[1]:
        return spec._replace(learning_rate=RATES[base.dataset], options=NORMALIZED)
    if name != "KD":
        return spec
    guided = {"guidance": 1000.0, "teacher_rate": base.learning_rate}
    return spec._replace(learning_rate=RATES[base.dataset], options={**KD, **guided})


def specs(seeds: Iterable[int] = SEEDS) -> list[Spec]:
    """Every method on every set, seed by seed."""
    return with_seeds([spec_of(base, name) for base in BASES for name in METHODS], tuple(seeds))


def tried() -> list[Spec]:
    """The trials on dev of DBpedia that chose its rates and dropout; seed 0."""
    base = next(base for base in BASES if base.dataset == "dbpedia_subset")
    specs = [
        spec_of(base, name)._replace(dropout=dropout, learning_rate=rate)
        for name in ("SE", "LR 10x", UNGUIDED[1])
        for dropout in (0.0, 0.5)
        for rate in (3e-3, 1e-2)
    ]
    guided = spec_of(base, "KD")
    return specs + [guided._replace(learning_rate=rate) for rate in (3e-3, 1e-2)]


def name_of(row: dict[str, Any]) -> str:
    """The method of a row, as the paper's table calls it.

    >>> name_of({"spec": {"method": "low_rank", "options": {"ratio": 0.05}}})
    'LR 20x'
    """
    method = row["spec"]["method"]
    if method == "low_rank":
        return f"{BY_NAME[method].abbreviation} {1 / row['spec']['options']['ratio']:.0f}x"
    options = row["spec"].get("options", {})
    if method == "kd" and "guidance" not in options:
        return UNGUIDED[bool(options.get("logits_batch_norm"))]
    return BY_NAME[method].abbreviation


def dev_specs(seeds: Iterable[int] = SEEDS) -> list[Spec]:
    """Codes without a guide on every set, seed by seed."""
    bases = [base._replace(method="kd", learning_rate=RATES[base.dataset]) for base in BASES]
    options = [KD, NORMALIZED]
    return with_seeds(
        [base._replace(options=one) for base in bases for one in options], tuple(seeds)
    )


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs, or goes on with, the benchmark; `kd_text_dev` leaves test untouched."""
    if name == "kd_text_dev":
        chosen = [*dev_specs(arguments.seeds or SEEDS), *tried()]
        return run_all(chosen, name, arguments.data, test=False, verbose=arguments.verbose)
    if arguments.sizes:
        size_again(name, arguments.data)
        return results.rows(name)
    return run_all(
        specs(arguments.seeds or SEEDS), name, data_dir=arguments.data, verbose=arguments.verbose
    )


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per set and method, mean and spread over seeds, accuracies in percent."""
    groups = sorted(results.by_seed(rows), key=_place)
    if all("file_accuracy" not in row for row in rows):  # `kd_text_dev`
        lines = ["| data set | embedding | rate | dropout | seeds | dev |", "|" + "---|" * 6]
        for group in groups:
            spec = group[0]["spec"]
            cells = [spec["dataset"], name_of(group[0]), f"{spec['learning_rate']:g}"]
            cells += [f"{spec['dropout']:g}", str(len(group))]
            lines.append(f"| {' | '.join(cells)} | {results.percent(group, 'dev_accuracy')} |")
        return "\n".join(lines)
    lines = [
        "| data set | embedding | words | seeds | dev | test: soft | hard | file "
        "| parameters (M) | Mbit, paper | file KB | us |",
        "|" + "---|" * 12,
    ]
    for group in groups:
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
    sets, guided = [base.dataset for base in BASES], [*METHODS][: -len(UNGUIDED) + 1]
    methods = [*guided, *UNGUIDED]
    return sets.index(group[0]["spec"]["dataset"]), methods.index(name_of(group[0]))
