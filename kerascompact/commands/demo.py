"""Search the best files for 16, 32 and 64 KiB on CLINC150, and ask them; about three minutes."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kerascompact.datasets import Dataset

BUDGETS = "16KiB,32KiB,64KiB"
EXAMPLES = (
    "how much money is in my savings account",
    "please wake me up at seven tomorrow",
    "what's the weather like in lisbon",
)
FEW = 450  # texts of each split of a quick demo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--out", type=Path, default=Path("demo-output"), metavar="DIR",
        help="folder to write (%(default)s)",
    )  # fmt: skip
    add("--minutes", type=float, default=3, help="time of the search (%(default)s)")
    add("--quick", action="store_true", help="few texts, one training a file: does it run?")


def run(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from kerascompact import datasets
    from kerascompact.commands.source import printed_warnings
    from kerascompact.core import checks
    from kerascompact.runtime import TextClassifier
    from kerascompact.search import text_classifier
    from kerascompact.tasks.folder import check_writable

    checks.number("minutes", arguments.minutes, above=0)
    check_writable(arguments.out)
    data = datasets.load("clinc150")
    if arguments.quick:
        data = fewer(data)
    console = Console()
    queries = f"{len(data.train.texts):,} queries to train on, {len(data.test.texts):,} to test"
    console.print(f"CLINC150: {len(data.label_names)} intents, {queries}.")
    console.print(f"Budgets of the entire file: {BUDGETS}.")
    limits: dict[str, Any] = {"workers": 1, "trials": 3} if arguments.quick else {}
    with printed_warnings():
        found = text_classifier(data, BUDGETS, arguments.minutes, **limits)
    found.save(arguments.out)
    console.print(found.table())
    console.print(found.why, markup=False, highlight=False)
    for name, best in found.by_budget.items():
        classifier = TextClassifier(best.file)
        for text in EXAMPLES:
            answer = classifier.predict(text)
            shown = f"{answer.label} ({answer.probability:.0%})"
            console.print(f"{name}: {text!r} -> {shown}", markup=False, soft_wrap=True)
    seconds = found.facts["seconds"]
    console.print(f"{seconds:.0f} seconds. Everything is in {arguments.out}.", soft_wrap=True)
    return 0


def fewer(data: "Dataset") -> "Dataset":
    """A data set with every so many texts of each split."""
    parts = {}
    for name in ("train", "dev", "test"):
        split = getattr(data, name)
        step = max(1, len(split.texts) // FEW)
        parts[name] = type(split)(split.texts[::step], split.labels[::step])
    return replace(data, **parts)
