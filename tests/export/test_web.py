"""The page of `export/web`: its encoder in Node, the whole of it in headless Chromium.

What is missing makes a test skip, with the command that brings it.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.product import example_forms, parity
from kerascompact import export
from kerascompact.tflite import read_metadata
from packed_files import with_deflated_metadata

WEB = Path(__file__).parents[2] / "export" / "web"
NODE = shutil.which("node")
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")

needs_node = pytest.mark.skipif(NODE is None, reason="needs node: apt install nodejs")
needs_packages = pytest.mark.skipif(
    not (WEB / "node_modules" / "playwright-core").is_dir(),
    reason="needs the packages of export/web/package-lock.json: make web, or npm ci there",
)
needs_chromium = pytest.mark.skipif(
    not Path(CHROMIUM).is_file(), reason="needs Chromium: apt install chromium, or set CHROMIUM"
)


def node(script, *arguments):
    done = subprocess.run(
        [NODE, script, *arguments], cwd=WEB, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_node
def test_the_encoder_gives_pythons_numbers_and_reads_the_labels():
    assert "the numbers are those of Python" in node("encoding.mjs")


@needs_node
def test_deflated_metadata_are_read(tmp_path):
    data = (Path(export.__file__).parent / "testvectors" / "intents.tflite").read_bytes()
    small = with_deflated_metadata(data)
    assert len(small) < len(data) - 1000
    (tmp_path / "small.tflite").write_bytes(small)
    script = tmp_path / "read.mjs"
    script.write_text(
        f"import {{readMetadata}} from '{(WEB / 'package' / 'textin.js').as_uri()}';\n"
        "import {readFileSync} from 'node:fs';\n"
        f"const file = new Uint8Array(readFileSync('{tmp_path / 'small.tflite'}'));\n"
        "console.log(JSON.stringify(readMetadata(file)));\n"
    )
    found = json.loads(node(str(script)))
    assert len(found.pop("crc32")) == 8 and found == read_metadata(small) == read_metadata(data)


@pytest.mark.slow
@needs_node
@needs_packages
def test_the_npm_package_is_small_typed_and_gives_pythons_answers_in_node():
    types = subprocess.run(["npm", "run", "--silent", "types"], cwd=WEB, capture_output=True)
    assert types.returncode == 0, types.stdout
    report = json.loads(node("packed.mjs").splitlines()[-1])
    assert report["texts"] >= 100 and report["tagged"] >= 100 and report["bytes"] < 20_480
    assert report["largest_difference"] < 1e-5


@pytest.mark.slow
@needs_node
@needs_packages
@needs_chromium
def test_the_page_predicts_what_python_does():
    report = json.loads(node("drive.mjs").splitlines()[-1])
    assert report["texts"] >= 100 and report["typed"] >= 100
    assert report["largest_difference"] < 1e-5  # see TOLERANCE in drive.mjs


@pytest.mark.slow
@needs_node
@needs_packages
@needs_chromium
def test_files_are_chosen_by_keyboard_on_a_narrow_screen_without_a_network(tmp_path):
    picture = tmp_path / "page.png"
    report = json.loads(node("gallery.mjs", "--screenshot", str(picture)).splitlines()[-1])
    assert report["tagged"] >= 100 and report["largest_difference"] < 1e-5
    assert picture.read_bytes()[1:4] == b"PNG"


@pytest.mark.slow
@needs_node
@needs_packages
@needs_chromium
def test_a_browser_runs_other_forms(tmp_path):
    few = example_forms.cases(("codes, LSTM", "sparse rows"))
    rows = parity.compare(few, parity.commands("browser", tmp_path))
    assert [row["form"] for row in rows] == ["codes, LSTM", "sparse rows"]
    assert all(row["where"].startswith("Chromium") for row in rows)


def test_what_is_fetched_is_pinned():
    wanted = json.loads((WEB / "package.json").read_text())
    locked = json.loads((WEB / "package-lock.json").read_text())["packages"]
    for name, version in {**wanted["dependencies"], **wanted["devDependencies"]}.items():
        assert locked[f"node_modules/{name}"]["version"] == version
    assert all("integrity" in facts for name, facts in locked.items() if name)


def test_the_page_loads_nothing_from_elsewhere():
    scripts = sorted(WEB.glob("package/*.js"))
    assert len(scripts) >= 5
    for name in (WEB / "index.html", WEB / "app.js", *scripts):
        assert "://" not in name.read_text(encoding="utf-8"), name
