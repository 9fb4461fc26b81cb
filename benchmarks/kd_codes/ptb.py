"""Penn Treebank, Tables 1, 4 and 5 of the KD paper: which runs there are, and their table."""

import argparse
from pathlib import Path
from typing import Any

from benchmarks.data import ptb
from benchmarks.kd_codes import language
from benchmarks.kd_codes.language import Spec
from benchmarks.lib import results, runner

# Tables 1 and 5, small, at the setting of the paper's code.
PAPER = [
    Spec("standard"),
    Spec("kd_pdg"),
    Spec("kd"),
    Spec("low_rank", budget=0.1),
    Spec("kd_random"),
    Spec("kd_odg"),
    Spec("low_rank", budget=0.2),
    Spec("kd_pretrained"),  # of the table of the first run
]

# Tables 4 and 5 on a third of the text: every method, equal epochs.
_CUT = Spec("standard", train_tokens=300_000, epochs=5, hold=3)
CUT = [
    _CUT._replace(method=method, budget=budget)
    for method, budget in (
        ("standard", 0),
        ("kd_pdg", 0),
        ("kd", 0),
        ("kd_odg", 0),
        ("kd_random", 0),
        ("kd_pretrained", 0),
        ("low_rank", 0.1),
        ("low_rank", 0.2),
        ("low_rank_uniform", 0.2),
        ("kd_characters", 0),
        ("quantized", 8),
        ("quantized", 6),
        ("quantized", 4),
        ("product", 64),
        ("product", 128),
        ("product", 256),
    )
]

# Five epochs of the medium model, whose rate is halved in the fourth and in the fifth. At 0.7
# seconds a step that is more than an hour each.
MEDIUM = [Spec(method, "medium", epochs=5, hold=3) for method in ("standard", "kd", "kd_pdg")]
# The large model at the paper's setting; days on two cores.
LARGE = [
    Spec(method, "large", epochs=35, hold=14, decay=0.6)
    for method in ("standard", "low_rank", "kd", "kd_odg", "kd_pdg")
]
BENCHMARKS = {"ptb": PAPER, "ptb_300k": CUT, "ptb_medium": MEDIUM, "ptb_large": LARGE}


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row in `results/<name>.jsonl` yet.

    A run that was killed goes on at its last whole epoch, kept in the folder `arguments.work`;
    `arguments.epochs` cuts every run, to try a command.
    """

    def run(spec: Spec) -> dict[str, Any]:
        corpus = ptb.load(arguments.data, spec.train_tokens)
        return language.run(spec, corpus, Path(arguments.work), arguments.verbose)

    return runner.benchmark(name, BENCHMARKS[name], arguments, run, table)


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a line per embedding, mean and spread of perplexities over seeds, and sizes."""
    lines = [
        "| embedding | size | train tokens | epochs | seeds | train | dev | test | parameters "
        "| Mbit, paper | Mbit stored |",
        "|" + "---|" * 11,
    ]
    for group in results.by_seed(rows):
        row = group[0]
        spec = row["spec"]
        cells = [row["label"], spec["size"], f"{spec['train_tokens'] or 929_589:,}"]
        cells += [str(spec["epochs"]), str(len(group))]
        cells.append(results.number(group, "train_perplexity", ".1f"))
        cells += [results.number(group, f"{text}_perplexity") for text in ("dev", "test")]
        cells.append(f"{row['embedding_parameters']:,}")
        cells += [f"{row[bits] / 1e6:.2f}" for bits in ("paper_bits", "stored_bits")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
