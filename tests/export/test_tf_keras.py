import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).with_name("tfmot_models.py")
NAMES = re.findall(r"^def (test_\w+)", CHECKS.read_text(encoding="utf-8"), re.MULTILINE)


SLOW = {
    "test_masks_and_loops",
    "test_pruned",
    "test_clustered",
    "test_quantized",
    "test_other_forms_and_recipes",
}


def check(names):
    """Runs checks in one process of their own: in it `tf.keras` is Keras 2."""
    if importlib.util.find_spec("tensorflow_model_optimization") is None:
        pytest.skip("tensorflow-model-optimization is not installed")
    tests = [f"{CHECKS}::{name}" for name in names]
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, capture_output=True, text=True, cwd=CHECKS.parents[2]).stdout
    for name in names:
        found = re.findall(rf"::{name}(?:\[.*?\])? (\w+)", done)
        assert found and set(found) == {"PASSED"}, done


@pytest.mark.slow
def test_in_a_process_of_its_own():
    check([name for name in NAMES if name not in SLOW])


@pytest.mark.slow
def test_in_a_process_of_its_own_what_is_trained():
    assert set(NAMES) >= SLOW
    check(sorted(SLOW))
