"""Process of `bench` that runs one file when it gets a command.

Reads commands from stdin, one JSON list per line, and answers each with a line of JSON.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from kerascompact.runtime.interpreter import bare

STATUS = Path("/proc/self/status")
FIELDS = {"resident": "VmRSS:", "anonymous": "RssAnon:"}


def memory() -> dict[str, int]:
    """Memory of this process in bytes, with and without mapped files; empty except on Linux.

    >>> found = memory()
    >>> not found or found["resident"] >= found["anonymous"] > 0
    True
    """
    if not STATUS.is_file():
        return {}
    lines = [line.split() for line in STATUS.read_text("utf-8").splitlines()]
    found = {words[0]: words[1] for words in lines if len(words) > 1}
    return {name: 1024 * int(found[field]) for name, field in FIELDS.items()}


class Child:
    """Runs one file on given inputs and measures it.

    Args:
        path: Path of the file, which the runtime maps into memory, as an app does.
        inputs: Path of an .npz with an array `(examples, ...)` for each input, in their order.
        num_threads: Threads that the runtime may use.
    """

    def __init__(self, path: str, inputs: str, num_threads: int) -> None:
        self.path, self.num_threads = path, num_threads
        with np.load(inputs) as arrays:
            self.inputs = [arrays[name] for name in arrays.files]
        self.runtime: Any = None
        self.count = 0

    def load(self) -> dict[str, float]:
        """Maps the file, plans its memory and runs it once; returns seconds and memory growth."""
        before, start = memory(), time.perf_counter()
        self.runtime = bare(self.path, self.num_threads)
        ports = self.runtime.get_input_details()
        for port, array in zip(ports, self.inputs, strict=True):
            if tuple(port["shape"]) != array.shape[1:]:
                self.runtime.resize_tensor_input(port["index"], array.shape[1:])
        self.runtime.allocate_tensors()
        self.ports = [port["index"] for port in ports]
        loaded = time.perf_counter()
        (first,) = self.run(1)
        after = memory()
        grown = {name: after[name] - before[name] for name in after}
        return {"load": loaded - start, "first": first, **grown}

    def run(self, times: int) -> list[float]:
        """Runs the file and returns the seconds of each run, without copying the inputs."""
        seconds = []
        for _ in range(times):
            for port, array in zip(self.ports, self.inputs, strict=True):
                self.runtime.set_tensor(port, array[self.count % len(array)])
            self.count += 1
            start = time.perf_counter()
            self.runtime.invoke()
            seconds.append(time.perf_counter() - start)
        return seconds


def main(path: str, inputs: str, num_threads: str) -> None:
    """Answers commands until stdin ends."""
    child = Child(path, inputs, int(num_threads))
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        try:
            answer = {"answer": getattr(child, command)(*arguments)}
        except (RuntimeError, ValueError, MemoryError) as error:
            answer = {"error": (str(error) or "no memory").splitlines()[0]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
