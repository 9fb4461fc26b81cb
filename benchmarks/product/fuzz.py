"""Damaged files through the validator, `inspect` and `diagnose`: refused or read, never a crash.

Small files of six kinds are damaged by bytes and by structure. What is read all the same goes to
the runtime, in a process of its own, by a sample of it.
"""

import argparse
import contextlib
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import keras
import numpy as np
import tensorflow as tf

from benchmarks.lib import results, runner
from benchmarks.lib.experiments import ROOT
from benchmarks.product.damage import KINDS, damaged
from benchmarks.product.structure_damage import restructured
from kerascompact import layers
from kerascompact.export import convert
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.metadata_schema import METADATA_NAME
from kerascompact.tools.doctor import diagnose
from kerascompact.tools.inspector import inspect

SEEDS = (0, 1)
BY_BYTES, BY_STRUCTURE = 12_500, 4_500  # files of each kind and seed: 204,000 in all
RUN = 80  # of those that are read, of each kind and seed, how many the runtime gets
# A validator that refuses says so by a ValueError with these words; NumPy's own do not count.
OURS = "`flatbuffer` must"
# What a fault in our code raises, and is counted; any other error ends the run.
FAULTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RuntimeError,
    TypeError, struct.error,
)  # fmt: skip


def _lookup(embedding: keras.layers.Layer, recipe: str) -> bytes:
    ids = keras.Input((None,), dtype="int32", name="ids")
    return convert(keras.Model(ids, embedding(ids)), recipe)


def _classes() -> bytes:
    ids = keras.Input((3,), dtype="int32", name="ids")
    vectors = keras.layers.Flatten()(keras.layers.Embedding(12, 4)(ids))
    model = keras.Model(ids, keras.layers.Dense(5, "softmax")(vectors))
    return convert(model, "int8", labels=list("abcde"))


def _foreign(function: Callable[[Any], Any], *shape: int) -> bytes:
    """TensorFlow's own converter, after our writer: files that have no metadata of ours."""
    spec = tf.TensorSpec(shape, name="x")
    concrete = tf.function(lambda x: {"y": function(x)}).get_concrete_function(spec)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
    converter.exclude_conversion_metadata = True
    model = flatbuffer.parse(converter.convert())
    flatbuffer.slim(model)
    return flatbuffer.pack(model)


def _loop(x: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x * 1.5), (0, x))[1]


def _image(x: tf.Tensor) -> tf.Tensor:
    kernel = tf.constant(np.linspace(-1, 1, 2 * 2 * 1 * 3).reshape(2, 2, 1, 3), tf.float32)
    return tf.nn.avg_pool2d(tf.nn.conv2d(x, kernel, 1, "VALID"), 2, 1, "VALID")


SOURCES: dict[str, Callable[[], bytes]] = {
    "lookup": lambda: _lookup(keras.layers.Embedding(12, 4), "float32"),
    "blocks": lambda: _lookup(keras.layers.Embedding(12, 4), "blocks"),
    "codes": lambda: _lookup(layers.ClusterEmbedding(12, 4, 5), "int4"),
    "classes": _classes,
    "loop": lambda: _foreign(_loop, 1, 2),
    "image": lambda: _foreign(_image, 1, 4, 4, 1),
}


def without_checksum(data: bytes) -> bytes:
    """The file without metadata of ours, whose checksum would refuse all damage to bytes."""
    model = flatbuffer.parse(data)
    for entry in model.metadata or []:
        if entry.name == METADATA_NAME:
            model.buffers[entry.buffer].data = None
    model.metadata = None
    return flatbuffer.pack(model)


@contextlib.contextmanager
def parsed_once() -> Iterator[None]:
    """Within it, a file that is read again is not parsed again: that is most of the time."""
    whole = flatbuffer.read
    known: list[Any] = [None, None]

    def read(file: bytes) -> tuple[bytes, Any]:
        if known[0] is not file:
            known[:] = file, None
            try:
                known[1] = whole(file)
            except ValueError as error:
                known[1] = error
        if isinstance(known[1], ValueError):
            raise known[1]
        return known[1]

    with mock.patch.object(flatbuffer, "read", read):
        yield


def outcome(data: bytes) -> str:
    """What comes of a file: "read", "refused", or what was not caught."""
    found = []
    for reads in (
        flatbuffer.read,
        lambda file: str(inspect(file)),
        lambda file: str(diagnose(file)),
    ):
        try:
            reads(data)
            found.append("read")
        except ValueError as error:
            found.append("refused" if str(error).startswith(OURS) else repr(error)[:200])
        except FAULTS as error:
            found.append(repr(error)[:200])
    wrong = [one for one in found if one not in ("read", "refused")]
    if wrong:
        return wrong[0]
    return "read" if found == ["read"] * 3 else "refused"


def files(data: bytes, by: str, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Damaged copies with the name of the damage, by "bytes" or by "structure"."""
    if by == "structure":
        yield from restructured(data, count, seed)
        return
    for number, copy in enumerate(damaged(without_checksum(data), count, seed)):
        yield KINDS[number % len(KINDS)].__name__, copy


def measure(source: str, by: str, count: int, seed: int, run: int) -> dict[str, Any]:
    """One row: counts of what came of `count` files, for each kind of damage."""
    keras.utils.set_random_seed(0)
    data, start = SOURCES[source](), time.process_time()
    kinds: dict[str, Counter[str]] = {}
    read, uncaught = [], Counter[str]()
    for kind, copy in files(data, by, count, seed):
        with parsed_once():
            came = outcome(copy)
        counted = came if came in ("read", "refused") else "uncaught"
        kinds.setdefault(kind, Counter())[counted] += 1
        if counted == "uncaught":
            uncaught[came] += 1
        if came == "read":
            read.append((kind, copy))
    spread = read[:: max(1, len(read) // run)][:run] if run else []
    total = sum(kinds.values(), Counter())
    return {
        "files": count, "file_bytes": len(data), "read": total["read"], "refused": total["refused"],
        "uncaught": dict(uncaught), "kinds": {kind: dict(n) for kind, n in sorted(kinds.items())},
        "cpu_seconds": round(time.process_time() - start, 1), "runtime": in_runtime(spread),
    }  # fmt: skip


def in_runtime(given: list[tuple[str, bytes]]) -> dict[str, Any]:
    """Counts of what the runtime does with files that were read; the names of fatal damage.

    A file that ends the process is left behind, and the next process goes on after it.
    """
    counts, fatal = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for number, (_, data) in enumerate(given):
            (Path(folder) / f"{number:05}.tflite").write_bytes(data)
        start = 0
        while start < len(given):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.product.fuzz_child", folder, str(start)],
                capture_output=True,
                text=True,
                cwd=ROOT,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            lines = [line for line in done.stdout.split() if line in ("ran", "refused", "large")]
            counts.update(lines)
            start += len(lines)
            if start < len(given):
                ended = signal.Signals(-done.returncode).name if done.returncode < 0 else "error"
                counts["endless" if ended == "SIGPROF" else "crashed"] += 1
                fatal[f"{given[start][0]}: {ended}"] += 1
                start += 1
    return {**counts, "fatal": dict(fatal)}


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Damages files of each kind by bytes and by structure; one row for each and each seed."""
    specs = [
        {"source": source, "by": by, "files": count, "seed": seed}
        for seed in arguments.seeds or SEEDS
        for source in SOURCES
        for by, count in (("bytes", BY_BYTES), ("structure", BY_STRUCTURE))
    ]

    def one(spec: dict[str, Any]) -> dict[str, Any]:
        return measure(spec["source"], spec["by"], spec["files"], spec["seed"], RUN)

    runner.run_all(name, specs, one, table)
    return results.rows(name)


def table(rows: list[dict[str, Any]]) -> str:
    """A line for each kind of file and damage, and one for all."""
    lines = [
        "| file | damage | files | refused | read | uncaught | to the runtime | ran | refused "
        "| too large | endless | crashed |",
        "|" + "---|" * 12,
    ]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["spec"]["source"], row["spec"]["by"])):
        groups.setdefault((row["spec"]["source"], row["spec"]["by"]), []).append(row)
    for (source, by), own in [*groups.items(), (("all", ""), rows)]:
        sums = [sum(row[key] for row in own) for key in ("files", "refused", "read")]
        sums.append(sum(sum(row["uncaught"].values()) for row in own))
        runtime = sum((Counter(_counts(row)) for row in own), Counter[str]())
        sums.append(sum(runtime.values()))
        sums += [runtime[how] for how in ("ran", "refused", "large", "endless", "crashed")]
        lines.append(f"| {source} | {by} | " + " | ".join(f"{n:,}" for n in sums) + " |")
    return "\n".join(lines)


def _counts(row: dict[str, Any]) -> dict[str, int]:
    return {key: value for key, value in row["runtime"].items() if key != "fatal"}
