"""List the operators, constants and metadata of a .tflite file with their bytes."""

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.tflite", help="file of any exporter")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--plot", metavar="FILE.png", help="draw a treemap of the file (.png, .svg or .pdf)"
    )


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.core import checks
    from kerascompact.tasks.folder import naming
    from kerascompact.tools.inspector import inspect

    if arguments.plot is not None:
        checks.choice("plot", Path(arguments.plot).suffix.lower(), (".png", ".svg", ".pdf"))
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
