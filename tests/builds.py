"""Sdists and wheels of a copy of the checkout, for tests."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = (
    *("setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"),
    *("CHANGELOG.md", "CITATION.cff", "SECURITY.md"),
)
FOLDERS = ("kerascompact", "export", "benchmarks", "wheels")


def run(*arguments, cwd=ROOT, python=sys.executable, timeout=300, **environment):
    return subprocess.run(
        [str(python), *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def checkout_copy(folder: Path) -> Path:
    """A copy to build in, which leaves no `build` folder in the checkout."""
    version = importlib.metadata.version("setuptools")
    if int(version.partition(".")[0]) < 77:
        pytest.skip(f"builds need setuptools >= 77, as `make test` installs; here is {version}")
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", "*.egg-info", "build", "dist")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
    return folder


def build(kind: str, source: Path, out: Path) -> Path:
    """Builds an "sdist" or a "wheel"."""
    code = f"from setuptools import build_meta as b; print(b.build_{kind}({str(out)!r}))"
    done = run("-c", code, cwd=source)
    assert done.returncode == 0, done.stderr
    return out / done.stdout.splitlines()[-1]
