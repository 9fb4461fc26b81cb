"""One file in a process of its own, which runs it when told to: see `bench`.

Reads commands from stdin, a JSON list each, and answers with a line of JSON.
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
    """Bytes of this process in memory: all, and those that are no file's; Linux only.

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
    """A file and inputs for it.

    Args:
        path: The file; the runtime maps it into memory, as an app does.
        inputs: An .npz, of an array `(examples, ...)` for each input, in their order.
        num_threads: Threads of the runtime.
    """

    def __init__(self, path: str, inputs: str, num_threads: int) -> None:
        self.path, self.num_threads = path, num_threads
        with np.load(inputs) as arrays:
            self.inputs = [arrays[name] for name in arrays.files]
        self.runtime: Any = None
        self.count = 0

    def load(self) -> dict[str, float]:
        """Maps the file, plans its memory and runs it once: seconds, and bytes of memory."""
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
        """Seconds of each run, without those that copy the input there."""
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
