"""List the operators, the constants and the metadata of a .tflite file, byte by byte."""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.tflite")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--plot", metavar="FILE.png", help="draw its parts, as large as their bytes (.svg, .pdf)"
    )


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.commands.folder import naming
    from kerascompact.tools.inspector import inspect

    with naming(arguments.file):
        found = inspect(arguments.file)
    if arguments.json:
        content = {**found._asdict(), "tensors": [tensor._asdict() for tensor in found.tensors]}
        print(json.dumps(content, indent=2))
    else:
        print(found)
    if arguments.plot is not None:
        from kerascompact.tools.treemap import draw

        draw(arguments.file, arguments.plot)
    return 0
