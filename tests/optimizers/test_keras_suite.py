"""Keras' own optimizer tests, from the installed Keras, with lazy classes in place of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kerascompact.optimizers.lazy import ELEMENTWISE

TESTS = Path(__file__).parents[1]
MODULES = [kind.__name__.lower() for kind in ELEMENTWISE]
MODULES += ["optimizer", "optimizer_sparse", "multi_optimizer", "loss_scale_optimizer"]
# What these say of Keras' own classes is not to be true of others.
EXCLUDED = [
    "test_optimizer_auto_naming",  # a lazy class has its own default name, `lazy_adam`
    "(MultiOptimizerTest and test_serialization)",  # a file names the lazy class
    "test_sparse_gradients",  # counts the calls by which Keras itself writes rows
]


@pytest.mark.slow
def test_keras_own_tests_pass(tmp_path):
    # Classes of Keras are replaced, so in a process of its own.
    modules = [f"keras.src.optimizers.{name}_test" for name in MODULES]
    options = ["-q", "-W", "ignore", "-p", "lazy_in_keras", "-p", "no:cacheprovider"]
    chosen = ["-c", os.devnull, "-k", " and ".join(f"not {name}" for name in EXCLUDED)]
    command = [sys.executable, "-m", "pytest", *options, *chosen]
    path = os.pathsep.join([str(TESTS), *sys.path])
    run = subprocess.run(
        [*command, f"--rootdir={tmp_path}", "--pyargs", *modules],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    last = run.stdout.strip().splitlines()[-1]
    assert run.returncode == 0, run.stdout[-5000:]
    passed = int(re.search(r"(\d+) passed", last).group(1))
    assert passed > 150, last  # 182 in Keras 3.15
