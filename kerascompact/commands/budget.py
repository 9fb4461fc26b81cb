"""Options of `train --budget`: a search for the best files within budgets of bytes."""

import argparse
import importlib
import os
import sys
from pathlib import Path
from typing import Any

# Options that only a search reads, and their defaults.
OF_SEARCH: dict[str, object] = dict.fromkeys(
    ("minutes", "metric", "workers", "vectors", "teacher", "unlabelled", "distil")
) | {"resume": False, "storage": ""}
MINUTES = 10.0  # of a search, by default
# Options of `train` that fix what a search chooses.
CHOSEN = (
    "method", "model", "recipe", "rules", "vocabulary_size", "sequence_length", "width", "dropout",
    "epochs", "batch_size", "learning_rate", "jit_compile",
)  # fmt: skip


def add_budget(parser: argparse.ArgumentParser) -> None:
    """Adds `--budget` and its companions to a command."""
    group = parser.add_argument_group("search within a budget of bytes")
    add = group.add_argument
    add(
        "--budget", metavar="BYTES",
        help="size of the entire file, text in: 64KiB, 64KB or 65536; several: 16KiB,64KiB. The "
        "method, the model and the other settings are then chosen by a search",
    )  # fmt: skip
    add("--minutes", type=float, help=f"time of the search ({MINUTES:g})")
    add(
        "--metric", choices=("accuracy", "macro_f1", "micro_f1"),
        help="what is compared on dev (accuracy; micro_f1 with several labels a text)",
    )  # fmt: skip
    add("--workers", type=int, help="processes that train at once (one a core, at most 4)")
    add("--resume", action="store_true", help="go on with the search in --out")
    add(
        "--storage", default="", metavar="ADDRESS",
        help="Optuna storage that several machines share: a path or postgresql://... (in --out, or "
        "with --resume where the search has it)",
    )  # fmt: skip
    add(
        "--vectors", metavar="FILE|NAME",
        help="pre-trained word vectors, for few labels: a file of word2vec, GloVe, fastText or "
        "model2vec, or glove50 or wordllama if their packages are installed; several with commas",
    )  # fmt: skip
    add(
        "--teacher", metavar="FILE|MODULE:NAME",
        help="what small models learn from: a .tflite file that takes text, or a Python function "
        "from a list of texts to probabilities, in the order of labels.txt: alphabetical, or by "
        "value if all are whole numbers",
    )  # fmt: skip
    add(
        "--unlabelled", type=Path, metavar="FILE",
        help="more texts, one a line, that teachers give labels for",
    )  # fmt: skip
    add(
        "--distil", action=argparse.BooleanOptionalAction,
        help="soft labels of larger models (with vectors, a teacher, texts without a label, or "
        "fewer than 4,000 texts)",
    )  # fmt: skip


def refuse(arguments: argparse.Namespace) -> None:
    """Refuses what only a search reads.

    Raises: ValueError, naming the option.
    """
    for name, default in OF_SEARCH.items():
        if getattr(arguments, name) != default:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} needs --budget: it is an option of the search.")


def run(arguments: argparse.Namespace, defaults: dict[str, object]) -> int:
    """Searches and writes.

    Args:
        arguments: The parsed command line.
        defaults: Default of each option that a search chooses.

    Raises: ValueError, if one of these was given.
    """
    from rich.console import Console

    from kerascompact.commands import source
    from kerascompact.core import checks
    from kerascompact.core.files import texts_of
    from kerascompact.runtime import vocabulary_file
    from kerascompact.search import budget, text_classifier
    from kerascompact.search.found import FRONTIER, TRIALS
    from kerascompact.search.preparing import dev_share
    from kerascompact.search.task import TASK
    from kerascompact.search.text_classifier import MOST_MINUTES
    from kerascompact.tasks import folder

    for name, default in defaults.items():
        if getattr(arguments, name) != default:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} cannot be given with --budget: the search chooses it.")
    sizes = budget.several(arguments.budget)
    minutes = MINUTES if arguments.minutes is None else arguments.minutes
    checks.number("minutes", minutes, above=0, up_to=MOST_MINUTES)
    folder.check_writable(arguments.out, TRIALS, FRONTIER)
    places = [arguments.out / budget.shown(size) for size in sizes]
    for place in places if len(sizes) > 1 else [arguments.out]:
        folder.check_writable(place, *folder.NAMES)
        vocabulary_file.check(place / folder.FILE, None, arguments.resume)  # before hours of work
    teacher = _teacher(arguments.teacher)
    loaded = source.dataset(arguments, arguments.seed, False, dev_share)
    try:
        with source.printed_warnings():
            found = text_classifier(
                loaded,
                arguments.budget,
                minutes,
                seed=arguments.seed,
                metric=arguments.metric,
                vectors=arguments.vectors,
                teacher=teacher,
                unlabelled=texts_of(arguments.unlabelled) if arguments.unlabelled else [],
                distil=arguments.distil,
                workers=arguments.workers,
                folder=arguments.out / "search",
                resume=arguments.resume,
                storage=arguments.storage,
                dev_alone=bool(getattr(arguments, "dev", None)),
            )
    except KeyboardInterrupt as stop:
        begun = (arguments.out / "search" / TASK).exists()
        hint = ". The same command with --resume goes on." if begun else ""
        raise KeyboardInterrupt(hint) from stop
    found.save(arguments.out)
    console = Console()
    console.print(found.table())
    console.print(found.why, markup=False, highlight=False)
    several = len(found.by_budget) > 1
    for name, best in found.by_budget.items():
        path = arguments.out / name if several else arguments.out
        print(f"{path / folder.FILE}: {len(best.file):,} bytes")
    return 0


def _teacher(name: str | None) -> Any:
    """The path of a file, or the function of a module, which may be in this folder."""
    if name is None or name.endswith(".tflite"):
        return name
    module, _, function = name.rpartition(":")
    if not all([*module.split("."), function]):  # an empty name, which cannot be imported
        raise ValueError(
            f"--teacher must be a .tflite file or MODULE:NAME of a function. Received: {name!r}."
        )
    sys.path.insert(0, os.getcwd())
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--teacher {name}: {error}.") from error
    finally:
        sys.path.pop(0)
