"""One version everywhere, bounds on what is required, and files that the package index takes."""

import configparser
import importlib.metadata
import json
import re
import venv

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import kerascompact
from builds import ROOT, checkout_copy, run

SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")


def listed(text):
    return [Requirement(line) for line in text.splitlines() if line and line[0] != "#"]


REQUIRED = listed(SETUP["options"]["install_requires"])


def test_one_version():
    version = kerascompact.__version__
    assert str(Version(version)) == version, "as the package index writes it"
    assert SETUP["metadata"]["version"] == "attr: kerascompact.__version__"
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == version
    latest = re.search(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert latest[1] == version
    page = json.loads((ROOT / "export" / "web" / "package" / "package.json").read_text())
    assert page["version"] == version


def test_citation_agrees_with_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["authors"] == [{"name": SETUP["metadata"]["author"]}]
    assert citation["license"] == SETUP["metadata"]["license_expression"]
    assert ", ".join(citation["keywords"]) == SETUP["metadata"]["keywords"]


def test_changelog_is_one_page():
    assert len((ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()) <= 80


@pytest.mark.parametrize("requirement", REQUIRED, ids=lambda requirement: requirement.name)
def test_bounds_hold_what_is_installed(requirement):
    operators = sorted(bound.operator for bound in requirement.specifier)
    assert operators == ["<", ">="]
    if requirement.marker is None or requirement.marker.evaluate():
        installed = importlib.metadata.version(requirement.name)
        assert requirement.specifier.contains(installed, prereleases=True), installed


def test_security_policy_says_where_to_report():
    policy = (ROOT / "SECURITY.md").read_text("utf-8")
    assert "private advisory" in policy
    for target in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", policy):
        assert (ROOT / target).exists(), target


@pytest.mark.slow
def test_the_package_index_takes_what_make_dist_builds(tmp_path):
    """With the tools of the extra `release`, from the package index."""
    copy, env = tmp_path / "copy", tmp_path / "env"
    copy.mkdir()
    checkout_copy(copy)
    venv.create(env, with_pip=True)
    python = env / "bin" / "python"
    tools = map(str, listed(SETUP["options.extras_require"]["release"]))
    for arguments in (
        ["pip", "install", "--quiet", *tools],
        ["build", "--outdir", "dist"],
        ["build", "--outdir", "dist", "wheels/runtime"],
    ):
        done = run("-m", *arguments, python=python, cwd=copy)
        assert done.returncode == 0, done.stderr
    files = sorted((copy / "dist").iterdir())
    stems = {re.sub(r"(-py3-none-any\.whl|\.tar\.gz)$", "", file.name) for file in files}
    version = kerascompact.__version__
    assert stems == {f"kerascompact-{version}", f"kerascompact_runtime-{version}"}
    assert len(files) == 4
    done = run("-m", "twine", "check", "--strict", *files, python=python, cwd=copy)
    assert done.returncode == 0 and done.stdout.count("PASSED") == 4, done.stdout
    wheels = [file for file in files if file.suffix == ".whl"]
    done = run("-m", "check_wheel_contents", *wheels, python=python, cwd=copy)
    assert done.returncode == 0, done.stdout
