"""Train two models on CLINC150, export and verify them; prints a table and draws a picture."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path("demo-output"), metavar="DIR",
        help="folder to write (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="one epoch on a few hundred texts, to see that it runs"
    )


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.tasks.folder import check_writable

    check_writable(arguments.out)
    from kerascompact.tasks.demo import demo

    demo(arguments.out, quick=arguments.quick)
    return 0
