"""kerascompact-runtime: the same code, with the requirements of those who only run files."""

import configparser
import json
import shutil
import venv

import pytest

from builds import ROOT, build, checkout_copy, run

RUNTIME = ROOT / "wheels" / "runtime"
VECTORS = ROOT / "export" / "testvectors"
MEGABYTES = 200  # of the environment; NumPy and LiteRT are 130 of them


def declared(folder):
    setup = configparser.ConfigParser()
    setup.read(folder / "setup.cfg")
    return setup


def lines(text):
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_declares_what_the_package_does():
    ours, theirs = declared(RUNTIME), declared(ROOT)
    required = lines(theirs["options"]["install_requires"])
    assert set(lines(ours["options"]["install_requires"])) < set(required)
    for extra, requirements in ours["options.extras_require"].items():
        assert requirements == theirs["options.extras_require"][extra]
    for section in ("options.packages.find", "options.package_data", "options.entry_points"):
        assert dict(ours[section]) == dict(theirs[section])
    same = ("version", "author", "license_expression", "classifiers", "project_urls")
    differing = {"Intended Audience :: Science/Research"}
    for name in same:
        found, wanted = (set(lines(setup["metadata"].get(name, ""))) for setup in (ours, theirs))
        assert wanted - differing == found, name
    assert ours["options"]["python_requires"] == theirs["options"]["python_requires"]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An environment that has the wheel and what it requires, from the package index."""
    copy, out = checkout_copy(tmp_path_factory.mktemp("copy")), tmp_path_factory.mktemp("out")
    build("sdist", copy / "wheels" / "runtime", out)
    wheel = build("wheel", copy / "wheels" / "runtime", out)
    folder = tmp_path_factory.mktemp("bare") / "env"
    venv.create(folder, with_pip=True)
    done = run("-m", "pip", "install", "--quiet", wheel, python=folder / "bin" / "python")
    assert done.returncode == 0, done.stderr
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
def test_commands_run_without_tensorflow(bare, tmp_path):
    def kerascompact(*arguments):
        command = bare / "bin" / "kerascompact"
        done = run(command, *arguments, python=bare / "bin" / "python", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    file = VECTORS / "intents.tflite"
    answered = json.loads((VECTORS / "vectors.json").read_text())["vectors"][0]
    label = kerascompact("predict", file, answered["text"]).split("\t")[0]
    assert label == answered["label"]
    found = json.loads(kerascompact("inspect", file, "--json"))
    assert found["num_bytes"] == file.stat().st_size
    diagnosis = json.loads(kerascompact("doctor", file, "--json", "--limit", "1"))
    assert 0 < diagnosis["saved"] < found["num_bytes"]
    (timing,) = json.loads(kerascompact("bench", file, "--runs", "20", "--json"))
    assert timing["p50_us"] > 0
    shrunk = json.loads(kerascompact("shrink", file, "--out", "small.tflite", "--json"))
    assert (tmp_path / "small.tflite").stat().st_size == shrunk["bytes_after"]
    assert shrunk["bytes_after"] < shrunk["bytes_before"]


@pytest.mark.slow
def test_what_trains_says_what_is_missing(bare, tmp_path):
    python = bare / "bin" / "python"
    done = run(bare / "bin" / "kerascompact", "demo", python=python, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "kerascompact: error: Training and exporting need the package 'ker"
    )
    done = run("-c", "from kerascompact import layers", python=python, cwd=tmp_path)
    assert done.stderr.splitlines()[-1].startswith("ImportError: kerascompact.layers: Training and")
    code = "from kerascompact.core.extras import require; require('matplotlib', 'plot')"
    done = run("-c", code, python=python, cwd=tmp_path)
    assert done.stderr.splitlines()[-1].endswith("pip install 'kerascompact-runtime[plot]'")


@pytest.mark.slow
def test_is_light(bare):
    packages = next((bare / "lib").glob("python*/site-packages"))
    names = {path.name for path in packages.iterdir()}
    assert "ai_edge_litert" in names and not {"tensorflow", "keras"} & names
    tools = [packages / "pip", packages / "setuptools"]  # of venv, not of ours
    files = [path for path in packages.rglob("*") if path.is_file() and not path.is_symlink()]
    ours = [path for path in files if not any(path.is_relative_to(tool) for tool in tools)]
    megabytes = sum(path.stat().st_size for path in ours) / 1e6
    print(f"{megabytes:.0f} MB")
    assert 50 < megabytes < MEGABYTES
