"""Find what makes a .tflite file larger than it need be, and how many bytes could be saved."""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.tflite", help="file of any exporter")
    parser.add_argument(
        "--limit", type=float, default=0.1, metavar="SHARE",
        help="exit status 1 if more than this share of the bytes could be saved, or if the file "
        "needs Flex or custom operators (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.core import checks
    from kerascompact.tasks.folder import naming
    from kerascompact.tools.doctor import diagnose

    if arguments.limit != 0:
        checks.number("limit", arguments.limit, above=0, up_to=1)
    with naming(arguments.file):
        found = diagnose(arguments.file)
    if arguments.json:
        content = found._asdict() | {"saved": found.saved, "memory": found.memory}
        content["findings"] = [finding._asdict() for finding in found.findings]
        print(json.dumps(content, indent=2))
    else:
        print(found)
    return 0 if found.is_healthy(arguments.limit) else 1
