"""What README says is so: the code runs, its names and links lead somewhere."""

import re
from pathlib import Path

import pytest

import kerascompact
from kerascompact import layers
from kerascompact.layers.recurrent.base import SparseRecurrent

CHECKOUT = Path(__file__).parents[1]
README, RESULTS, METHODS = (
    (CHECKOUT / name).read_text("utf-8") for name in ("README.md", "RESULTS.md", "docs/methods.md")
)


@pytest.mark.slow
def test_code_runs(tmp_path, monkeypatch, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert "argmax agreement 1.000000" in capsys.readouterr().out
    assert (tmp_path / "intents.tflite").exists()


def test_a_table_of_ones_own_is_loaded_as_it_says(tmp_path, monkeypatch):
    (call,) = re.findall(r"your own: (.*)$", README, re.MULTILINE)
    rows = "".join(f"text {i},{'yes' if i % 2 else 'no'}\n" for i in range(40))
    (tmp_path / "reviews.csv").write_text("text,label\n" + rows)
    monkeypatch.chdir(tmp_path)
    assert eval(call, {"datasets": kerascompact.datasets}).label_names == ("no", "yes")


def test_rooms_that_it_names_are_attributes_of_the_package():
    """In its code, and in its prose: `training.choose_words`, "`knowledge` says which words"."""
    parts = {path.stem for path in (CHECKOUT / "kerascompact").iterdir()}
    named = set(
        re.findall(r"^from kerascompact import (.*)$", README, re.MULTILINE).pop().split(", ")
    )
    for quoted in re.findall(r"`([^`\n]+)`", README):
        found = re.match(r"(?:from |help\()?(?:kerascompact\.)?(\w+)(?:\.\w|$)", quoted)
        named |= {found[1]} & parts if found else set()
    assert {"compress", "export", "forms", "knowledge", "layers", "training"} <= named
    assert named <= set(dir(kerascompact))


@pytest.mark.parametrize("text", [README, RESULTS], ids=["README", "RESULTS"])
def test_every_link_leads_somewhere(text):
    for target in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", text):
        assert (CHECKOUT / target).exists(), target


def stored_layers():
    for name in layers.__all__:
        layer = getattr(layers, name)
        recurrent = isinstance(layer, type) and issubclass(layer, SparseRecurrent)
        if recurrent or name.endswith("Embedding"):
            yield name


@pytest.mark.parametrize("name", list(stored_layers()))
def test_methods_has_a_line_for_every_embedding_and_recurrent_layer(name):
    assert f"`{name}`" in README.split("## Methods")[1].split("## Read on")[0]
    assert f"`{name}`" in METHODS.split("## Beside the layers")[0], "with its bits"


def test_is_one_screen():
    assert len(README.splitlines()) <= 100
