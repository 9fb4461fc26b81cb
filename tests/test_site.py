"""The site: pages of all methods, links that lead somewhere, numbers that results have."""

import configparser
import importlib
import re
import venv
from pathlib import Path

import keras
import numpy as np
import pytest

import kerascompact
from builds import ROOT, run
from test_readme import stored_layers

DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in DOCS.rglob("*.md")}
NAV = (ROOT / "mkdocs.yml").read_text("utf-8").split("\nnav:\n")[1]
WITH_VERSIONS = {"index.md", "apps.md", "several_devices.md"}  # numbers of other kinds
RESULTS = "\n".join(path.read_text("utf-8") for path in ROOT.glob("benchmarks/*/RESULTS.md"))


def test_every_page_is_in_the_navigation_once():
    named = re.findall(r"([\w/]+\.md)", NAV)
    made = {"contributing.md", "changelog.md", "security.md"}  # from files at the top
    assert len(named) == len(set(named))
    assert set(named) - made == set(PAGES)


@pytest.mark.parametrize("name", list(stored_layers()))
def test_every_method_has_a_page(name):
    titled = [page for page, text in PAGES.items() if f"`{name}`" in text.splitlines()[0]]
    assert len(titled) == 1 and titled[0].startswith("methods/")
    text = PAGES[titled[0]]
    assert f"]({titled[0]})" in PAGES["methods.md"]
    for part in ("**Bits.**", "**Take it**", "**Do not take it**", "## The paper beside ours"):
        assert part in text, part


def anchors(text):
    """Anchors of the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)", PAGES[page]):
        path = (DOCS / page).parent / target if target else DOCS / page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text("utf-8")), (target, anchor)


@pytest.mark.parametrize("page", sorted({*PAGES} - WITH_VERSIONS))
def test_numbers_stand_in_results(page):
    """Accuracies and perplexities, ours and the papers'."""
    text = re.sub(r"`[^`\n]*`|^```.*?^```", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    for number in re.findall(r"(?<![\d.,])\d+\.\d\d(?![\d.])", text):
        assert re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d.])", RESULTS), number


@pytest.mark.slow
def test_code_of_the_guide_runs(tmp_path, monkeypatch, capsys):
    """The model of "Your own Keras model", and the compressor of "Trained tables" on it."""
    monkeypatch.chdir(tmp_path)
    ids = np.random.default_rng(0).integers(2, 4000, (256, 32))
    names = {f"{kind}_{part}": value for part in ("train", "test")
             for kind, value in (("x", ids), ("y", ids[:, 0] % 150))}  # fmt: skip
    (code,) = re.findall(r"```python\n(.*?)```", PAGES["keras_models.md"], re.DOTALL)
    exec(compile(code, "keras_models.md", "exec"), names)
    assert "argmax agreement 1.000000" in capsys.readouterr().out
    assert (tmp_path / "model.tflite").exists()
    (code,) = re.findall(r"```python\n(.*?)```", PAGES["methods/trained_tables.md"], re.DOTALL)
    plain = keras.Sequential([keras.Input((32,), dtype="int32"), keras.layers.Embedding(4000, 32)])
    exec(compile(code, "trained_tables.md", "exec"), {"model": plain})
    assert (tmp_path / "small.tflite").stat().st_size < 40_000


@pytest.mark.slow
def test_builds_strictly_and_has_every_public_name(tmp_path):
    """With the extra `docs`, from the package index; nothing of the package is imported."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    needed = setup["options.extras_require"]["docs"].split("\n")[1:]
    venv.create(tmp_path / "env", with_pip=True)
    python, site = tmp_path / "env" / "bin" / "python", tmp_path / "site"
    done = run("-m", "pip", "install", "--quiet", *needed, python=python)
    assert done.returncode == 0, done.stderr
    done = run("-m", "mkdocs", "build", "--strict", "--site-dir", site, python=python)
    assert done.returncode == 0, done.stderr
    built = {path.parent.relative_to(site).as_posix(): path.read_text("utf-8")
             for path in site.rglob("index.html")}  # fmt: skip
    everything = "\n".join(built.values())
    for room in dir(kerascompact):
        if room[0] == "_":
            continue
        for name in getattr(importlib.import_module(f"kerascompact.{room}"), "__all__", ()):
            assert f'id="kerascompact.{room}.{name}"' in everything, f"{room}.{name}"
    assert "&gt;&gt;&gt;" not in re.sub(r"<code.*?</code>", "", everything, flags=re.DOTALL)
    assert 'src="../mixture-phone.svg"' in built["methods/mixture"]
    for folder in ("results/product", "tutorials/7_a_budget", "changelog", "security"):
        assert "<h1" in built[folder]
    assert (Path(site) / "methods" / "mixture-phone.svg").read_text().count("<circle") > 10
