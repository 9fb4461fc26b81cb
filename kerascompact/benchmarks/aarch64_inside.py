"""Runs files on whatever processor this is; needs nothing but numpy and ai_edge_litert.

`python aarch64_inside.py FOLDER OUT`: every `NAME.tflite` of the folder on the rows of `NAME.npy`,
one after the other; the outputs go to `OUT/NAME.npy`. The last line says where that was.
"""

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np


def run(file: bytes, rows: np.ndarray) -> np.ndarray:
    """The only output of a file for each row."""
    from ai_edge_litert.interpreter import Interpreter  # a second under emulation

    runner = Interpreter(model_content=file, num_threads=1).get_signature_runner()
    (name,) = runner.get_input_details()
    outputs = []
    for row in rows:
        (output,) = runner(**{name: row[None]}).values()
        outputs.append(output[0].copy())
    return np.stack(outputs)


def main(argv: list[str]) -> int:
    """Runs every file of a folder."""
    folder, out = map(Path, argv)
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("*.tflite")):
        outputs = run(path.read_bytes(), np.load(path.with_suffix(".npy")))
        np.save(out / f"{path.stem}.npy", outputs)
    print(json.dumps({"machine": platform.machine(), "litert": version("ai-edge-litert")}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
