"""`datasets.load`: by name, with options."""

import pytest

from kerascompact import datasets
from kerascompact.datasets import trec


def test_names():
    names = "clinc150 imdb ag_news trec snips mrda dbpedia_subset"
    assert " ".join(datasets.NAMES) == names


def test_the_default_needs_no_folder(monkeypatch, tmp_path):
    assert datasets.load(data=tmp_path / "no").name == "clinc150"
    assert len(datasets.load("clinc150", out_of_scope=True).label_names) == 151


def test_options_reach_the_loader(store):
    store(trec, "train", b"A:x a\nA:x b\nB:y c\nB:y d\n", 4)
    folder = store(trec, "test", b"A:x e\n", 1)
    data = datasets.load("trec", folder, fine=True, dev=2)
    assert data.name == "trec" and data.label_names == ("A:x", "B:y")
    assert len(data.dev.texts) == 2


@pytest.mark.parametrize("name", ["mnist", None, 3, ["imdb"]])
def test_rejects_name(name):
    with pytest.raises(ValueError, match="`name` must be one of 'clinc150', 'imdb', 'ag_news'"):
        datasets.load(name)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", datasets.NAMES[1:])
def test_every_other_set_says_what_is_missing(name, tmp_path):
    with pytest.raises(
        ValueError, match=r"There is no file .*`data=`, `--data` or the environment"
    ):
        datasets.load(name, tmp_path)
