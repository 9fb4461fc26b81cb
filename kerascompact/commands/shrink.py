"""Store the float tables and kernels of any .tflite file in fewer bytes, and check its answers."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE.tflite", help="file of any exporter")
    add("--out", "-o", type=Path, required=True, metavar="FILE.tflite", help="file to write")
    add(
        "--recipe", choices=("int8", "int4", "codes"), default="int8",
        help="how tables are stored; tables that codes would make no smaller become int4, and "
        "kernels int8 (%(default)s)",
    )  # fmt: skip
    add(
        "--calibrate", type=Path, metavar="FILE",
        help="examples to check the answers on, and to count ids on: a .npy file with a row for "
        "each, or a .npz file with an array for each input, by name; for a file that takes text a "
        ".txt file with a text in each line",
    )  # fmt: skip
    add(
        "--keep", action="append", default=[], metavar="NAME",
        help="leave this constant as it is (its name or the end of it); may be given again",
    )  # fmt: skip
    add(
        "--numbers-per-code", type=int, metavar="N",
        help="for --recipe codes: numbers for which a code of 8 bits stands (4)",
    )  # fmt: skip
    add(
        "--max-error", type=float, metavar="X",
        help="largest relative error of an output (int8: 0.05, int4: 0.3, codes: 0.5)",
    )  # fmt: skip
    add(
        "--min-agreement", type=float, default=0.0, metavar="SHARE",
        help="smallest share of equal classes on the examples (%(default)s)",
    )  # fmt: skip
    add("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.core import files
    from kerascompact.tasks.folder import check_writable, naming
    from kerascompact.tools.shrink import shrink
    from kerascompact.tools.smaller import NUMBERS_PER_CODE

    out, source = arguments.out, Path(arguments.file)
    if out.suffix.lower() != ".tflite":
        raise ValueError(f"--out must end in .tflite. Received: {str(out)!r}.")
    if out.is_dir():
        raise ValueError(f"{out} must be a file to write. Received: a folder.")
    if out.exists() and source.exists() and out.samefile(source):
        raise ValueError(f"{out} must be a file to write, and not the one that is read.")
    numbers = arguments.numbers_per_code
    if numbers is not None and arguments.recipe != "codes":
        raise ValueError(f"--numbers-per-code is not an option of --recipe {arguments.recipe}.")
    check_writable(out.parent)
    examples = None if arguments.calibrate is None else _examples(arguments.calibrate)
    with naming(source):
        found = shrink(
            source,
            arguments.recipe,
            calibrate=examples,
            keep=arguments.keep,
            numbers_per_code=NUMBERS_PER_CODE if numbers is None else numbers,
            max_error=arguments.max_error,
            min_agreement=arguments.min_agreement,
            steps=_steps,
        )
    files.write_bytes(out, found.data)
    if arguments.json:
        content = {
            "bytes_before": found.bytes_before,
            "bytes_after": len(found.data),
            "changes": [change._asdict() for change in found.changes],
            "outputs": [output._asdict() for output in found.outputs],
        }
        print(json.dumps(content, indent=2))
    else:
        print(found)
    return 0


def _examples(path: Path) -> Any:
    from kerascompact.core import arrays, files

    kind = path.suffix.lower()
    if kind == ".txt":
        return files.texts_of(path)
    return arrays.load_npz(path) if kind == ".npz" else arrays.load_npy(path)


def _steps(count: int, what: str) -> Iterable[int]:
    from rich.console import Console
    from rich.progress import track

    return track(range(count), description=what, console=Console(stderr=True), transient=True)
