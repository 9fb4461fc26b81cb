"""The set that ships: counts, labels, licence, and a damaged file."""

import importlib.resources

import numpy as np
import pytest

from kerascompact.datasets import clinc150


def test_in_scope():
    data = clinc150.load()
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [15_000, 3_000, 4_500]
    for split, per_class in ((data.train, 100), (data.dev, 20), (data.test, 30)):
        assert np.bincount(split.labels).tolist() == [per_class] * 150
        assert split.labels.dtype == np.int32
        assert all(isinstance(text, str) and text for text in split.texts)
    assert data.label_names == tuple(sorted(data.label_names)) and len(data.label_names) == 150
    assert data.name == "clinc150"
    assert "CC BY 3.0" in data.about and "Larson et al." in data.about


def test_out_of_scope_is_one_more_label():
    inside, data = clinc150.load(), clinc150.load(out_of_scope=True)
    assert data.label_names == (*inside.label_names, "oos")
    for split, before, count in (
        (data.train, inside.train, 100),
        (data.dev, inside.dev, 100),
        (data.test, inside.test, 1_000),
    ):
        assert np.count_nonzero(split.labels == 150) == count
        kept = [t for t, y in zip(split.texts, split.labels, strict=True) if y != 150]
        assert kept == before.texts


def test_some_rows():
    data = clinc150.load()
    names = [data.label_names[label] for label in data.test.labels]
    assert names[data.test.texts.index("how would you say fly in italian")] == "translate"


def test_licence_and_attribution_ship_with_it():
    folder = importlib.resources.files("kerascompact.datasets") / "clinc150_data"
    assert "Attribution 3.0" in (folder / "LICENSE").read_text(encoding="utf-8")
    attribution = (folder / "ATTRIBUTION.txt").read_text(encoding="utf-8")
    for word in ("Larson", "CC BY 3.0", "clinc/oos-eval", "Changes:"):
        assert word in attribution


def test_a_damaged_file_is_refused(monkeypatch):
    known = clinc150.FILES["dev"]
    monkeypatch.setitem(clinc150.FILES, "dev", known._replace(sha256="0" * 64))
    with pytest.raises(ValueError, match=r"val\.csv\.gz is damaged, or another.*sha256=000"):
        clinc150.load()


def test_rejects_out_of_scope():
    with pytest.raises(ValueError, match="`out_of_scope` must be True or False"):
        clinc150.load(out_of_scope="yes")
