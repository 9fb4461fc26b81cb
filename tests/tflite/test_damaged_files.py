"""Thousands of damaged files: an error or an answer, never the end of the process.

All in a process of its own, which a crash of the runtime would take with it.
"""

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from benchmarks.product.damage import damaged
from export_models import file_of, text_file
from form_examples import sparse
from kerascompact import export
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.metadata_schema import METADATA_NAME

SCRIPT = """
import sys
import numpy as np
from benchmarks.product.damage import damaged
from kerascompact import tools
from kerascompact.runtime.classifier import TextClassifier
from kerascompact.tools.doctor import diagnose
from kerascompact.runtime.interpreter import Interpreter

count, seed, paths = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]


def run(data, path):
    file, inputs = Interpreter(data), {}
    for name, port in file.inputs.items():
        shape = [7 if n == -1 else int(n) for n in port["shape_signature"]]
        inputs[name] = np.ones(shape, port["dtype"])
    found = [*file.run(inputs).values()]
    if path.endswith("text_in.tflite"):
        found.append(TextClassifier(data).predict("word1, and word7").probabilities)
    return found


for path in paths:
    data = open(path, "rb").read()
    expected, refused, other = run(data, path), 0, 0
    for number, copy in enumerate(damaged(data, count, seed)):
        print(path, number, file=sys.stderr, flush=True)  # the last, if this process dies
        try:
            tools.inspect(copy)
            diagnose(copy)
            found = run(copy, path)
            same = [len(a) == len(b) and np.array_equal(a, b) for a, b in zip(found, expected)]
            other += not all(same)
        except ValueError:
            refused += 1
    print(refused, other)
assert "tensorflow" not in sys.modules
"""


def of_others(data):
    """A file of ours without our metadata, and so without checksum."""
    model = flatbuffer.parse(data)
    for entry in model.metadata:
        if entry.name == METADATA_NAME:
            model.buffers[entry.buffer].data = None
    model.metadata = [e for e in model.metadata if e.name != METADATA_NAME]
    return flatbuffer.pack(model)


def stock():
    """An image model and TensorFlow's own converter, with variables and quantized weights."""
    model = keras.Sequential(
        [
            keras.Input((8, 8, 2)),
            keras.layers.Conv2D(4, 3, strides=2),
            keras.layers.AveragePooling2D(2),
            keras.layers.Flatten(),
            keras.layers.Dense(64),
            keras.layers.Dense(64, activation="softmax"),
        ]
    )
    spec = tf.TensorSpec((1, 8, 8, 2), name="x")
    function = tf.function(lambda x: {"y": model(x)}).get_concrete_function(spec)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return converter.convert()


def lookup(form):
    ids = keras.Input((None,), dtype="int32", name="ids")
    return keras.Model(ids, form(ids))


OURS = ("ids", "text_in")
FILES = {
    "ids": lambda: file_of("mean"),
    "text_in": text_file,
    "clusters": lambda: of_others(file_of("mean")),
    "loop": lambda: of_others(file_of("lstm")),
    "sparse": lambda: of_others(export.convert(lookup(sparse()[0]))),
    "bytes": lambda: of_others(text_file()),
    "stock": stock,
}


SHORT = (*OURS, "clusters")  # the rest are converted for the long test alone


def check(count, seed, folder, names=tuple(FILES)):
    """For each file, how many damaged copies were refused, and how many answered another."""
    paths = [folder / f"{name}.tflite" for name in names]
    for path, name in zip(paths, names, strict=True):
        path.write_bytes(FILES[name]())
    folders = [str(Path(__file__).parents[1]), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(count), str(seed), *map(str, paths)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(folders)},
    )
    assert done.returncode == 0, (seed, done.returncode, done.stderr[-300:])
    found = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return dict(zip(names, found, strict=True))


def test_no_damage_ends_the_process(tmp_path):
    for name, (refused, other) in check(20, 0, tmp_path, SHORT).items():
        # of a file of others, some bits are of a weight, of a name or of padding
        assert refused > 8, name
        if name in OURS:  # but for damage to the checksum's own name, all is refused
            assert other == 0 and refused >= 19, name


@pytest.mark.slow
def test_no_damage_ends_the_process_in_thousands(tmp_path):
    found = check(4000, 1, tmp_path)
    assert all(found[name][1] == 0 for name in OURS)


def test_damage_is_damage():
    """All copies but a few, which overwrite a number by itself, differ from the file."""
    data = np.random.default_rng(0).integers(0, 256, 999, np.uint8).tobytes()
    copies = [*damaged(data, 80)]
    assert sum(copy != data for copy in copies) >= 75
    assert copies == [*damaged(data, 80)] and copies != [*damaged(data, 80, seed=1)]
