"""Benchmark of `.tflite` files side by side: latency, load time and memory."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.metadata import metadata_of_graph
from kerascompact.tools.random_inputs import given_inputs, random_inputs

LOADS = 5  # how often a file is loaded; the median is reported
WARM_UP = 10  # first runs that are not counted


class Timing(NamedTuple):
    """Latency, load time and memory of one file.

    Args:
        name: Name of the file.
        num_bytes: Size of the file in bytes.
        runs: Number of timed runs.
        load_ms: Milliseconds to map the file and to plan its memory, the median of five loads.
        first_ms: Milliseconds of the first run, in which the runtime packs weights.
        p50_us: Median latency in microseconds.
        p90_us: Latency that 90 % of the runs did not exceed, in microseconds.
        p99_us: Latency that 99 % of the runs did not exceed, in microseconds.
        resident: Bytes by which the process grew from before the load to after the first run,
            including pages of the file that were read; `None` if the system does not say.
        anonymous: The part of `resident` that does not belong to a file, or `None`.
    """

    name: str
    num_bytes: int
    runs: int
    load_ms: float
    first_ms: float
    p50_us: float
    p90_us: float
    p99_us: float
    resident: int | None
    anonymous: int | None


def bench(
    *files: str | os.PathLike[str],
    runs: int = 1000,
    rounds: int = 20,
    num_threads: int = 1,
    sequence_length: int = 32,
    num_ids: int | None = None,
    texts: Sequence[str] | None = None,
    data: Any = None,
    seed: int = 0,
) -> list[Timing]:
    """Measures files on the phone's runtime, each in a process of its own, taking turns.

    Each file runs a few times while the processes of the others wait, then the next file does, for
    `rounds` rounds; so other work of the machine slows all files alike. Inputs are the examples in
    `data`, all `texts`, or 16 random examples of `random_inputs`, all of one shape.

    Args:
        *files: Paths of `.tflite` files.
        runs: Timed runs of each file.
        rounds: How many turns each file gets.
        num_threads: Threads that the runtime may use.
        sequence_length: Ids in an example, or words in a text, where the file leaves it open.
        num_ids: Random ids are below this number. Default: the vocabulary size of the file.
        texts: Texts for the files that take text. Default: made-up words.
        data: Examples to run on instead of random inputs, one in each run: an array, or for several
            inputs a list or tuple of arrays in the order of the model, or a dictionary of arrays by
            name.
        seed: Seed of the random inputs.

    Returns: A `Timing` for each file.

    Raises: ValueError, if a file is damaged, needs operators that are not built in, or crashes its
        process; OSError, if a file cannot be read.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> (found,) = bench(kerascompact.export.save(model, "small.tflite"), runs=20, rounds=2)
    >>> found.runs, found.p50_us <= found.p90_us <= found.p99_us
    (20, True)
    """
    checks.integer_in("runs", runs, 1)
    checks.integer_in("rounds", rounds, 1)
    checks.integer_in("num_threads", num_threads, 1)
    if not files:
        checks.fail("files", "at least one path of a .tflite file", files)
    if data is not None and texts is not None:
        checks.fail("texts", "None, if `data` are given", texts)
    options: dict[str, Any] = {
        "sequence_length": sequence_length,
        "num_ids": num_ids,
        "texts": texts,
        "seed": seed,
    }
    if texts:
        options["count"] = len(texts)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        children = []
        for number, file in enumerate(files):
            inputs = folder / f"{number}.npz"
            np.savez(inputs, **_inputs(Path(file), data, options))  # type: ignore[arg-type]
            children.append(stack.enter_context(_child(Path(file), inputs, num_threads)))
        found = [_measured(Path(file), child) for file, child in zip(files, children, strict=True)]
        seconds: list[list[float]] = [[] for _ in children]
        for turn in range(min(rounds, runs)):
            times = (runs * (turn + 1)) // min(rounds, runs) - (runs * turn) // min(rounds, runs)
            for child, own in zip(children, seconds, strict=True):
                own.extend(child("run", times))
    return [_timing(timing, own) for timing, own in zip(found, seconds, strict=True)]


def _inputs(file: Path, data: Any, options: dict[str, Any]) -> dict[str, np.ndarray]:
    """The inputs of a file, which is checked first: a damaged file is not run."""
    try:
        model = flatbuffer.read(file)[1]
        custom = {n for n in flatbuffer.operator_names(model) if n.startswith("CUSTOM:")}
        if custom:
            names = ", ".join(sorted(name.removeprefix("CUSTOM:") for name in custom))
            raise ValueError(
                f"it must run on built-in operators. Received: a file that needs {names}."
            )
        if data is not None:
            return given_inputs(model, data)
        if metadata_of_graph(model).get("text") is None:
            options = {**options, "texts": None}
        return random_inputs(model, **options)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


@contextlib.contextmanager
def _child(file: Path, inputs: Path, num_threads: int) -> Iterator[Any]:
    """Starts a process that runs the file and yields a function that sends it a command."""
    command = [sys.executable, "-m", "kerascompact.tools.bench_process"]
    process = subprocess.Popen(
        [*command, str(file), str(inputs), str(num_threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # what the runtime logs
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )

    def call(*words: object) -> Any:
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(words) + "\n")
            process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise ValueError(f"{file}: its process ended with the status {process.wait()}.")
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(f"{file}: the file cannot be run: {answer['error']}")
        return answer["answer"]

    try:
        yield call
    finally:
        process.kill()
        process.communicate()


def _measured(file: Path, child: Any) -> Timing:
    first = child("load")  # memory is measured at the first load
    loads = [first, *(child("load") for _ in range(LOADS - 1))]
    child("run", WARM_UP)
    load, run = (float(np.median([one[key] for one in loads])) for key in ("load", "first"))
    memory = first.get("resident"), first.get("anonymous")
    size = file.stat().st_size
    return Timing(file.name, size, 0, 1e3 * load, 1e3 * run, 0.0, 0.0, 0.0, *memory)


def _timing(timing: Timing, seconds: list[float]) -> Timing:
    p50, p90, p99 = (float(1e6 * x) for x in np.percentile(seconds, [50, 90, 99]))
    return timing._replace(runs=len(seconds), p50_us=p50, p90_us=p90, p99_us=p99)
