"""Sparse recurrent layers in time: training steps, and files on one thread.

Arms: the dense LSTM of equal width, the one of equal parameters, `SparseLSTM` as it trains (Keras'
LSTMs side by side), and the loop over stacked segments that it is in a file. All sparse arms have
the same numbers, and the benchmark checks that they give the same outputs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.clusters.speed import step_seconds
from benchmarks.lib import runner
from kerascompact import export
from kerascompact.forms import FrozenRNN
from kerascompact.layers import SparseLSTM, equal_parameters
from kerascompact.ops.segments import num_parameters
from kerascompact.runtime.interpreter import Interpreter

ROUNDS = 100

# Runs alone, without TensorFlow and without kerascompact, as an app does.
_CHILD = """
import json, sys, time
import numpy as np
from ai_edge_litert.interpreter import Interpreter

def load(number):
    file = Interpreter(f"{sys.argv[1]}/{number}.tflite", num_threads=1)
    file.allocate_tensors()
    random = np.random.default_rng(0)
    for one in file.get_input_details():
        file.set_tensor(one["index"], random.normal(size=one["shape"]).astype(np.float32))
    file.invoke()
    return file

def seconds(file, times):
    start = time.thread_time()  # of this thread alone, however busy the machine is
    for _ in range(times):
        file.invoke()
    return (time.thread_time() - start) / times

files = [load(number) for number in range(int(sys.argv[2]))]
turns = [max(1, int(1e-3 / seconds(file, 3))) for file in files]
times = [list(map(seconds, files, turns)) for _ in range(int(sys.argv[3]))]
print(json.dumps(np.median(times, axis=0).tolist()))
"""


class Case(NamedTuple):
    """A layer, and the text it reads."""

    input_dim: int
    units: int
    num_segments: int
    gamma: float
    steps: int
    batch_size: int

    @property
    def dense_units(self) -> int:
        """Units of the dense LSTM of as many parameters."""
        lengths = [self.units // self.num_segments] * self.num_segments
        wanted = num_parameters(self.input_dim, lengths, self.gamma)
        room = self.input_dim + 1
        return round((np.sqrt(room**2 + wanted) - room) / 2)


_AWD = equal_parameters((1150, 1150), 1725, units=1725, num_segments=3)
CASES = {
    "width 256": Case(300, 256, 4, 0.4, 32, 20),
    "AWD-LSTM, layer 2": Case(1725, _AWD.units, 3, _AWD.gamma, 70, 20),
}


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures everything anew: rows of another day's machine do not compare."""
    rows = []
    for case in CASES:
        for row in [*training(case), *latency(case)]:
            rows.append(runner.keep(name, row, table))
    return rows


def training(name: str, steps: int = 15) -> list[dict[str, Any]]:
    """Milliseconds of a training step of every arm, with and without `jit_compile`.

    `ratio` is to the dense LSTM of equal width with the same `jit_compile`.
    """
    case, rows = CASES[name], []
    random = np.random.default_rng(0)
    x = random.normal(size=(case.batch_size, case.steps, case.input_dim)).astype(np.float32)
    y = random.normal(size=(case.batch_size, case.steps, 1)).astype(np.float32)
    for jit_compile in (False, True):
        base = None
        for arm in ARMS:
            keras.utils.set_random_seed(0)
            model = keras.Sequential([keras.Input(x.shape[1:]), *_trainable(arm, case)])
            model.compile(keras.optimizers.SGD(0.01), "mse", jit_compile=jit_compile)
            seconds = step_seconds(model, x, y, steps)
            base = base or seconds
            rows.append(
                {
                    "kind": "training step",
                    "case": name,
                    **case._asdict(),
                    "arm": arm,
                    "jit_compile": jit_compile,
                    "parameters": sum(
                        int(np.prod(weight.shape)) for weight in model.layers[0].trainable_weights
                    ),
                    "milliseconds": round(1000 * seconds, 2),
                    "ratio": round(seconds / base, 2),
                }
            )
            keras.backend.clear_session()
    return rows


def latency(name: str, rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Microseconds and bytes of every arm as a file, reading a text, and one step of it.

    A text: `steps` vectors in one run, from no state to the last output. A step: one vector, with
    the states in and out. Processor time of one thread; the files take turns.

    Raises: ValueError, if the sparse arms do not give the same outputs.
    """
    case, rows = CASES[name], []
    for steps in (case.steps, 1):
        x = np.random.default_rng(1).normal(size=(1, steps, case.input_dim)).astype(np.float32)
        models = {arm: _file_model(arm, case, steps) for arm in ARMS}
        files = {arm: Interpreter(export.convert(made, "float32")) for arm, made in models.items()}
        feeds = {arm: _feed(file, x) for arm, file in files.items()}
        outputs = {arm: file.run(feeds[arm])["output"] for arm, file in files.items()}
        difference = float(np.abs(outputs[SEPARATE] - outputs[LOOP]).max())
        if not difference < 1e-4:  # outputs below 1, of sums over all steps
            raise ValueError(f"The loop differs from {SEPARATE!r} by {difference}.")
        seconds = in_turns([files[arm].data for arm in ARMS], rounds)
        for arm, taken in zip(ARMS, seconds, strict=True):
            weights = 4 * sum(int(np.prod(w.shape)) for w in models[arm].weights)
            rows.append(
                {
                    "kind": "file, a text" if steps > 1 else "file, a step",
                    "case": name,
                    **case._asdict(),
                    "arm": arm,
                    "parameters": weights // 4,
                    "weight_bytes": weights,
                    "file_bytes": len(files[arm].data),
                    "largest_difference": difference,
                    "microseconds": round(1e6 * taken, 1),
                    "ratio": round(taken / seconds[0], 2),
                }
            )
    return rows


DENSE, EQUAL = "dense, equal width", "dense, equal parameters"
SEPARATE, LOOP = "segments side by side", "one loop"
ARMS = (DENSE, EQUAL, SEPARATE, LOOP)


def _sparse(case: Case, **config: Any) -> SparseLSTM:
    keras.utils.set_random_seed(0)
    layer = SparseLSTM(case.units, case.num_segments, case.gamma, name="sparse", **config)
    layer.build((None, None, case.input_dim))
    return layer


def _trainable(arm: str, case: Case) -> list[keras.layers.Layer]:
    layer: keras.layers.Layer
    if arm in (DENSE, EQUAL):
        units = case.units if arm == DENSE else case.dense_units
        layer = keras.layers.LSTM(units, return_sequences=True)
    else:
        layer = _sparse(case, return_sequences=True)
    if arm == LOOP:  # the form with its weights to be trained
        form = layer.to_form()
        layer = FrozenRNN.from_config({**form.get_config(), "trainable": True})
        layer.build((None, None, case.input_dim))
        layer.set_weights(form.get_weights())
    return [layer, keras.layers.Dense(1)]


def _file_model(arm: str, case: Case, steps: int) -> keras.Model:
    """A layer alone; for a single step with its states as inputs and outputs."""
    inputs = keras.Input((steps, case.input_dim), name="vectors")
    if arm in (DENSE, EQUAL):
        units = case.units if arm == DENSE else case.dense_units
        outputs = keras.layers.LSTM(units, name="output")(inputs)
    elif arm == LOOP:
        outputs = keras.layers.Identity(name="output")(_sparse(case)(inputs))
    else:  # what a user would build of Keras' layers
        layer, parts = _sparse(case), []
        for number, start in enumerate(layer.cell.starts):
            own = keras.layers.LSTM(layer.lengths[number], name=f"lstm_{number}")
            parts.append(own(inputs[..., start : start + layer.cell.width]))
            own.set_weights(layer.segments[number].get_weights())
        outputs = keras.layers.Concatenate(name="output")(parts)
    model = keras.Model(inputs, outputs)
    return model if steps > 1 else export.with_states(model)


def _feed(file: Interpreter, x: np.ndarray) -> dict[str, np.ndarray]:
    shapes = {name: facts["shape"] for name, facts in file.inputs.items()}
    return {name: x if name == "vectors" else np.zeros(s, np.float32) for name, s in shapes.items()}


def in_turns(files: list[bytes], rounds: int) -> list[float]:
    """Median seconds of a run of each file, a millisecond of runs in a turn, on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(files):
            (Path(folder) / f"{number}.tflite").write_bytes(data)
        command = [sys.executable, "-c", _CHILD, folder, str(len(files)), str(rounds)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"The files cannot be timed: {done.stderr[-300:]}")
    return json.loads(done.stdout.splitlines()[-1])


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: time of each arm, and its ratio to the dense LSTM of equal width."""
    lines = [
        "| case | what | arm | parameters | jit_compile | time | ratio | file bytes |",
        "|" + "---|" * 8,
    ]
    for row in rows:
        jit, size = row.get("jit_compile", ""), row.get("file_bytes")
        taken = f"{row['milliseconds']:.1f} ms" if "milliseconds" in row else None
        lines.append(
            f"| {row['case']} | {row['kind']} | {row['arm']} | {row['parameters']:,} | {jit} "
            f"| {taken or format(row['microseconds'], '.1f') + ' us'} | {row['ratio']:.2f} "
            f"| {'' if size is None else format(size, ',')} |"
        )
    return "\n".join(lines)
