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
from kerascompact.runtime.named_inputs import given_texts
from kerascompact.tflite import flatbuffer
from kerascompact.tools.random_inputs import given_inputs, random_inputs

LOADS = 5  # of which the median is reported
WARM_UP = 10  # runs that are not counted


class Timing(NamedTuple):
    """What `bench` measured of one file; `None` for memory that the system does not tell.

    Args:
        name: Of the file.
        num_bytes: Of the file.
        runs: That were timed.
        load_ms: From the file to planned memory, the median of five times.
        first_ms: Of the first run, in which the runtime packs weights.
        p50_us: Half of the runs took at most this many microseconds; 90 and 99 of a hundred of them
            `p90_us` and `p99_us`.
        resident: Bytes by which the process grew from before it loaded the file to after its
            first run, the parts of the file that were read among them.
        anonymous: Those of them that are of no file.
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

    What else the machine does meets all files alike: they run in `rounds`, some runs of each file
    in turn, while the others' processes wait. Inputs are the rows of `data`, or drawn anew for each
    of 16 examples by `random_inputs`; every example has the same shape.

    Args:
        *files: Paths of `.tflite` files.
        runs: Of each file, timed.
        rounds: Turns of each file.
        num_threads: Threads of the runtime.
        sequence_length: Ids of an example, or words of a text, where the file leaves it open.
        num_ids: Ids are below; `None`: the vocabulary of the file.
        texts: For files that take text; `None`: made-up words.
        data: Rows to run on, one in each run, in place of random inputs: an array, or for several
            inputs what `model.fit` takes: a list or tuple of arrays in the order of the model, or a
            dictionary of them by name.
        seed: Seed of the random inputs.

    Returns: A `Timing` of each file.

    Raises: ValueError, if a file is damaged, needs other operators than the built-in ones, or ends
        its process; OSError.

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
    """Checks a file, too: what is damaged is not run."""
    try:
        model = flatbuffer.read(file)[1]
        custom = {n for n in flatbuffer.operator_names(model) if n.startswith("CUSTOM:")}
        if custom:
            names = ", ".join(sorted(name.removeprefix("CUSTOM:") for name in custom))
            raise ValueError(
                f"it must run on built-in operators. Received: one that needs {names}."
            )
        takes_text = (flatbuffer.metadata_of(model) or {}).get("text") is not None
        if data is not None and not takes_text:
            return given_inputs(model, data)
        if data is not None:
            options = {**options, "texts": given_texts("data", data)}
        if not takes_text:
            options = {**options, "texts": None}
        return random_inputs(model, **options)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


@contextlib.contextmanager
def _child(file: Path, inputs: Path, num_threads: int) -> Iterator[Any]:
    """A process that runs the file; call it with a command."""
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
            raise ValueError(f"{file}: the process that ran it ended with {process.wait()}.")
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
    first = child("load")  # memory is that of the first time
    loads = [first, *(child("load") for _ in range(LOADS - 1))]
    child("run", WARM_UP)
    load, run = (float(np.median([one[key] for one in loads])) for key in ("load", "first"))
    memory = first.get("resident"), first.get("anonymous")
    size = file.stat().st_size
    return Timing(file.name, size, 0, 1e3 * load, 1e3 * run, 0.0, 0.0, 0.0, *memory)


def _timing(timing: Timing, seconds: list[float]) -> Timing:
    p50, p90, p99 = (float(1e6 * x) for x in np.percentile(seconds, [50, 90, 99]))
    return timing._replace(runs=len(seconds), p50_us=p50, p90_us=p90, p99_us=p99)
