"""The Kotlin and Swift sources of `export/android` and `export/ios`, where a compiler is.

What is our own in them (bytes of a text, metadata of a file) runs over the test vectors; what calls
the phone's runtime is compiled against the signatures in `apps/`.
"""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.product import vectors
from kerascompact.tflite import read_metadata
from packed_files import with_deflated_metadata

ROOT = Path(__file__).parents[2]
APPS = Path(__file__).parent / "apps"
MODEL = ROOT / vectors.OUT / vectors.MODEL
WRITTEN = json.loads((ROOT / vectors.OUT / vectors.VECTORS).read_text(encoding="utf-8"))


def run(*command, given=None):
    done = subprocess.run(
        [*map(str, command)], input=given, capture_output=True, timeout=600, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def line(vector):
    """A vector as both programs read it."""
    if "raw" in vector:
        return f"r {bytes.fromhex(vector['raw']).hex(' ')}"
    units = vector.get("utf16")
    if units is None:
        units = np.frombuffer(vector["text"].encode("utf-16-le"), np.uint16)
    return f"u {' '.join(f'{unit:x}' for unit in units)}"


def check(*program, folder):
    lines = "".join(f"{line(vector)}\n" for vector in WRITTEN["vectors"])
    size = WRITTEN["max_bytes"]
    small = folder / "small.tflite"
    small.write_bytes(with_deflated_metadata(MODEL.read_bytes()))
    found, *_ = run(*program, small, size, given="").splitlines()
    metadata, *rows = run(*program, MODEL, size, given=lines).splitlines()
    for written in (json.loads(found), json.loads(metadata)):
        assert {k: v for k, v in written.items() if k != "crc32"} == read_metadata(MODEL)
    assert len(rows) == len(WRITTEN["vectors"])
    for row, vector in zip(rows, WRITTEN["vectors"], strict=True):
        expected = vector["numbers"] + [0] * (size - len(vector["numbers"]))
        assert [*map(int, row.split())] == expected, vector


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("kotlinc"), reason="needs kotlinc: apt install kotlin")
def test_kotlin(tmp_path):
    names = ("TextIn.kt", "TextClassifier.kt")
    sources = [*(ROOT / "export" / "android" / name for name in names), *sorted(APPS.glob("*.kt"))]
    run("kotlinc", *sources, "-include-runtime", "-d", tmp_path / "app.jar")
    check("java", "-cp", tmp_path / "app.jar", "VectorsKt", folder=tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("swiftc"), reason="needs swiftc: apt install swiftlang")
def test_swift(tmp_path):
    runtime = ("-emit-module", "-emit-library", "-static", "-module-name", "TensorFlowLite")
    run(
        *("swiftc", *runtime, APPS / "TensorFlowLite.swift"),
        *("-emit-module-path", tmp_path / "TensorFlowLite.swiftmodule"),
        *("-o", tmp_path / "libTensorFlowLite.a"),
    )
    names = ("TextIn.swift", "TextClassifier.swift")
    sources = [*(ROOT / "export" / "ios" / name for name in names), APPS / "main.swift"]
    linked = ("-I", tmp_path, "-L", tmp_path, "-lTensorFlowLite")
    run("swiftc", *sources, *linked, "-o", tmp_path / "app")
    check(tmp_path / "app", folder=tmp_path)


def test_sources_name_the_metadata_that_files_have():
    metadata = read_metadata(MODEL)
    assert metadata["text"]["max_bytes"] == WRITTEN["max_bytes"] and metadata["labels"]
    for name in ("android/TextClassifier.kt", "ios/TextIn.swift", "web/package/runtime.js"):
        source = (ROOT / "export" / name).read_text(encoding="utf-8")
        assert all(word in source for word in ("text", "max_bytes", "labels")), name
