import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).with_name("tfmot_models.py")
NAMES = re.findall(r"^def (test_\w+)", CHECKS.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def process():
    """All checks, in one process of their own: in it `tf.keras` is Keras 2."""
    if importlib.util.find_spec("tensorflow_model_optimization") is None:
        pytest.skip("tensorflow-model-optimization is not installed")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", str(CHECKS)]
    return subprocess.run(command, capture_output=True, text=True, cwd=CHECKS.parents[2]).stdout


@pytest.mark.parametrize("name", NAMES)
def test_in_a_process_of_its_own(process, name):
    found = re.findall(rf"::{name}(?:\[.*?\])? (\w+)", process)
    assert found and set(found) == {"PASSED"}, process


def test_this_process_stays_with_keras_3():
    code = "import sys, kerascompact.export as e; e.from_tf_keras; import kerascompact.layers; "
    code += "assert not {'tf_keras', 'tensorflow_model_optimization'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
