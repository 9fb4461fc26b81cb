"""Runs files on the runtime, one after the other, and says what came of each.

`python -m benchmarks.product.fuzz_child FOLDER START`
"""

import signal
import sys
from pathlib import Path

import numpy as np

from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer

SECONDS = 5  # of CPU for one file: a damaged loop may never end, which is no crash
LARGE = 2**24  # entries of a tensor, past which a file is left out: memory is not the question


def run(data: bytes) -> str:
    """Whether a file "ran", was "refused", or is too "large" to be run."""
    try:
        for graph in flatbuffer.parse(data).subgraphs:
            for tensor in graph.tensors:
                if tensor.shape is not None and np.prod([float(n) for n in tensor.shape]) > LARGE:
                    return "large"
        file = Interpreter(data)
        shapes = {
            name: [3 if n == -1 else int(n) for n in port["shape_signature"]]
            for name, port in file.inputs.items()
        }
        if any(np.prod([float(n) for n in shape]) > LARGE for shape in shapes.values()):
            return "large"
        file.run({name: np.ones(shapes[name], port["dtype"]) for name, port in file.inputs.items()})
    except ValueError:
        return "refused"
    return "ran"


def main(folder: str, start: int) -> None:
    """Prints a line for each file, from number `start` on."""
    for path in sorted(Path(folder).iterdir())[start:]:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # ends the process
        print(run(path.read_bytes()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
