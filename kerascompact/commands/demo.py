"""Train two models on CLINC150, export, verify; one table and one picture."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path("demo-output"), metavar="DIR", help="(%(default)s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one epoch on a few hundred rows, to see that it runs"
    )


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.commands.folder import check_writable

    check_writable(arguments.out)
    from kerascompact.tasks.demo import demo

    demo(arguments.out, quick=arguments.quick)
    return 0
