"""Files are read, checked, run and drawn in a process where TensorFlow and Keras do not load."""

import subprocess
import sys
from pathlib import Path

from kerascompact import export

BARE = """
import importlib, pkgutil, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "keras", "tf_keras", "tensorflow_text"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
import kerascompact

rooms = [importlib.import_module(f"kerascompact.{name}") for name in ("tflite", "runtime", "tools")]
for room in rooms:
    for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
        if module.name != "kerascompact.tools.bench_process":  # reads commands from stdin
            importlib.import_module(module.name)
file = sys.argv[1]
from kerascompact import runtime, tflite, tools
from kerascompact.tools.bench import bench
print(runtime.TextClassifier(file).predict("how would you say fly in italian").label)
print(tools.inspect(file).num_bytes == tools.diagnose(file).num_bytes)
print("text" in tflite.read_metadata(file))
print(tools.inspect(file).custom)
print(len(bench(file, runs=1, rounds=1)))
"""


def test_reads_and_runs_files_where_tensorflow_and_keras_are_blocked(tmp_path):
    file = Path(export.__file__).parent / "testvectors" / "intents.tflite"
    done = subprocess.run(
        [sys.executable, "-c", BARE, str(file)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["translate", "True", "True", "[]", "1"], done.stderr
