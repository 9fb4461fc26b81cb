"""The checkout, the wheel and the type checker see the same package."""

import ast
import configparser
import importlib
import re
import tarfile
import zipfile

import pytest

from builds import ROOT, build, checkout_copy, run

ROOMS = [
    "compress",
    "datasets",
    "export",
    "forms",
    "initializers",
    "knowledge",
    "layers",
    "models",
    "optimizers",
    "regularizers",
    "runtime",
    "search",
    "size",
    "text",
    "tflite",
    "tools",
    "training",
]


def declared_version() -> str:
    """The version as setuptools reads it: a literal in the source, nothing imported."""
    tree = ast.parse((ROOT / "kerascompact" / "__init__.py").read_text(encoding="utf-8"))
    (value,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"
    )
    return ast.literal_eval(value)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist of a copy of this checkout, and the wheel made from nothing but that sdist."""
    copy = checkout_copy(tmp_path_factory.mktemp("copy"))
    out = tmp_path_factory.mktemp("out")
    sdist = build("sdist", copy, out)
    with tarfile.open(sdist) as archive:
        archive.extractall(copy / "unpacked", filter="data")
        names = {name.partition("/")[2] for name in archive.getnames()}
    wheel = build("wheel", next((copy / "unpacked").iterdir()), out)
    return names, wheel


def test_export_is_one_module():
    name = "kerascompact.export"
    assert importlib.import_module(name).__name__ == name
    with pytest.raises(ImportError, match="kerascompact.export"):
        importlib.import_module("export")


def test_wheel_holds_the_package_and_nothing_else(built):
    names = set(zipfile.ZipFile(built[1]).namelist())
    files = {name for name in names if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in files} == {"kerascompact"}
    sources = {path.relative_to(ROOT / "export") for path in (ROOT / "export").rglob("*.py")}
    assert sources
    assert files >= {f"kerascompact/export/{path.as_posix()}" for path in sources}
    assert "kerascompact/py.typed" in files
    assert not [name for name in files if name.endswith(".jsonl")]
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_sdist_is_without_the_benchmarks(built):
    assert (ROOT / "benchmarks" / "run.py").exists() and "kerascompact/cli.py" in built[0]
    assert not [name for name in built[0] if name.startswith("benchmarks")]


def test_wheel_and_sdist_hold_the_data_and_its_licence(built):
    folder = ROOT / "kerascompact" / "datasets"
    data = {path.relative_to(ROOT).as_posix() for path in folder.rglob("*.csv.gz")}
    data |= {path.relative_to(ROOT).as_posix() for path in folder.rglob("LICENSE*")}
    assert sum(name.endswith(".csv.gz") for name in data) == 3, "CLINC150: train, dev and test"
    assert any("LICENSE" in name for name in data)
    sdist, wheel = built
    assert data <= sdist
    assert data <= set(zipfile.ZipFile(wheel).namelist())


def test_wheel_declares_version_licence_python_and_script(built):
    wheel = zipfile.ZipFile(built[1])
    (folder,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    metadata = wheel.read(f"{folder}/METADATA").decode()
    assert f"Version: {declared_version()}\n" in metadata
    assert "License-Expression: Apache-2.0\n" in metadata
    assert "Requires-Python: >=3.11\n" in metadata
    scripts = configparser.ConfigParser()
    scripts.read_string(wheel.read(f"{folder}/entry_points.txt").decode())
    assert dict(scripts["console_scripts"]) == {"kerascompact": "kerascompact.cli:main"}


def test_console_script_exists():
    assert callable(importlib.import_module("kerascompact.cli").main)


def test_version_is_static():
    assert importlib.import_module("kerascompact").__version__ == declared_version()


def test_lower_bounds_are_the_tested_ones():
    setup = (ROOT / "setup.cfg").read_text()
    # The tools of others need newer runtimes than our lowest, and have an environment of their own;
    # what we do with keras-hub needs one that needs a newer Keras than our lowest. What makes the
    # site and the release runs no code of ours.
    setup = re.sub(r"^(others|hub|docs|release) =\n( .*\n)+", "", setup, flags=re.MULTILINE)
    bounds = re.findall(r"^ +([\w-]+) >= ([\d.]+)", setup, re.MULTILINE)
    tested = (ROOT / ".ci" / "lowest.txt").read_text().splitlines()
    assert {f"{name}=={version}.*" for name, version in bounds} == set(tested[1:])


def test_import_is_light():
    heavy = "{'tensorflow', 'keras', 'tensorflow_text', 'ai_edge_litert'}"
    done = run("-c", f"import kerascompact, sys; print(sorted({heavy} & set(sys.modules)))")
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_another_backend_is_refused_at_import():
    done = run("-c", "import kerascompact", KERAS_BACKEND="jax")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: kerascompact needs Keras 3 on the TensorFlow backend.")
    assert "backend='jax' (from the environment variable KERAS_BACKEND)" in last


def test_rooms_load_on_first_use_and_others_are_refused(monkeypatch):
    package = importlib.import_module("kerascompact")
    assert [name for name in dir(package) if name[0] != "_"] == ROOMS
    for name in ROOMS:
        monkeypatch.delitem(vars(package), name, raising=False)  # as before its first use
        assert getattr(package, name).__name__ == f"kerascompact.{name}"
    with pytest.raises(AttributeError, match="module 'kerascompact' has no attribute 'cellar'"):
        _ = package.cellar


@pytest.mark.slow
def test_rooms_load_in_a_new_process_without_keras_2():
    code = (
        "import kerascompact as k; rooms = [n for n in dir(k) if n[0] != '_']; "
        "print(*[getattr(k, n).__name__ for n in rooms]); "
        # Keras 2 and what makes `tf.keras` it stay away until they are asked for
        "import sys; k.export.from_tf_keras; "
        "print({'tf_keras', 'tensorflow_model_optimization'} & {*sys.modules})"
    )
    done = run("-c", code)  # a process in which no room is imported yet
    assert done.returncode == 0, done.stderr
    loaded, keras_2 = done.stdout.splitlines()
    assert keras_2 == "set()"
    assert loaded.split() == [f"kerascompact.{name}" for name in ROOMS]
