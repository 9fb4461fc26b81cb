"""Measure latency, load time and memory of .tflite files, side by side in one run."""

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE.tflite", help="file to measure")
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE.tflite",
        help="a file to compare with; both take turns",
    )  # fmt: skip
    parser.add_argument(
        "--runs", type=int, default=1000, metavar="N", help="timed runs per file (%(default)s)"
    )
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N",
        help="threads that the runtime may use (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--sequence-length", type=int, default=32, metavar="N",
        help="ids, or words in a text, where the file leaves it open (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--ids", type=int, metavar="N",
        help="random ids are below N (default: the file's vocabulary size)",
    )  # fmt: skip
    parser.add_argument(
        "--texts", type=Path, metavar="FILE",
        help="texts to run on, one per line, for files that take text (default: made-up words)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.tools.bench import bench

    files = [arguments.file, *([arguments.baseline] if arguments.baseline else [])]
    if arguments.texts is not None and not any(map(_takes_text, files)):
        raise ValueError(f"`--texts` must be left out: {arguments.file} takes no text.")
    found = bench(
        *files,
        runs=arguments.runs,
        num_threads=arguments.threads,
        sequence_length=arguments.sequence_length,
        num_ids=arguments.ids,
        texts=_texts(arguments.texts),
    )
    if arguments.json:
        print(json.dumps([timing._asdict() for timing in found], indent=2))
        return 0

    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    threads = f"{arguments.threads} thread" + "s" * (arguments.threads > 1)
    table = Table(title=f"{found[0].runs:,} runs in turns, {threads}", title_justify="left")
    table.add_column("")
    columns = [timing.name for timing in found]
    for name in columns:
        table.add_column(escape(name), justify="right", overflow="fold")
    if len(found) > 1:
        table.add_column("ratio", justify="right")
    for label, field, scale, digits in (
        ("file, bytes", "num_bytes", 1, 0),
        ("load, ms", "load_ms", 1, 2),
        ("first run, ms", "first_ms", 1, 2),
        ("p50, us", "p50_us", 1, 1),
        ("p90, us", "p90_us", 1, 1),
        ("p99, us", "p99_us", 1, 1),
        ("memory, KiB", "resident", 1024, 0),
        ("memory without files, KiB", "anonymous", 1024, 0),
    ):
        values = [getattr(timing, field) for timing in found]
        cells = ["-" if v is None else f"{v / scale:,.{digits}f}" for v in values]
        if len(found) > 1:
            cells.append(f"{values[0] / values[1]:.2f}" if values[0] and values[1] else "-")
        table.add_row(label, *cells)
    Console().print(table)
    return 0


def _takes_text(path: Path) -> bool:
    from kerascompact.tasks.folder import naming
    from kerascompact.tflite import flatbuffer
    from kerascompact.tflite.metadata import metadata_of_graph

    with naming(path):
        return "text" in metadata_of_graph(flatbuffer.read(path)[1])


def _texts(path: Path | None) -> list[str] | None:
    if path is None:
        return None
    from kerascompact.tasks.folder import naming

    with naming(path):
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
        texts = [line.removesuffix("\r") for line in lines if line.strip()]
        if not texts:
            raise ValueError("it has no text")
    return texts
