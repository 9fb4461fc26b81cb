"""AG News from a tiny file in its format, and the real one where it is."""

import numpy as np
import pytest

from kerascompact.datasets import ag_news

TRAIN = "".join(
    f'{n % 4 + 1},"{"Title" if letter in "AD" else ""}","{letter} {n}, news",{letter}\n'
    for letter in "ABCDE"
    for n in range(8)
)
TEST = '"3","Fears for T N pension","Unions say"\n"4","The Race","a second\\team"\n'


@pytest.fixture
def folder(store):
    store(ag_news, "train", TRAIN.encode(), 40)
    return store(ag_news, "test", TEST.encode(), 2)


def test_load(folder):
    data = ag_news.load(folder, dev=4)
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [28, 4, 2]
    assert set(data.dev.labels) == {0, 1, 2, 3}
    assert data.test.texts == ["Fears for T N pension Unions say", "The Race a second\\team"]
    assert data.test.labels.tolist() == [2, 3]
    assert data.label_names == ("World", "Sports", "Business", "Sci/Tech")
    rows = dict(zip(data.train.texts, data.train.labels, strict=True))
    rows |= dict(zip(data.dev.texts, data.dev.labels, strict=True))
    assert rows["Title A 1, news"] == 1
    assert rows["B 6, news"] == 2  # no title, no leading space
    assert not any("E " in text for text in rows)
    assert "32 of the 120,000 rows" in data.about


def test_sources(folder):
    data = ag_news.load(folder, sources="EA", dev=4)
    assert len(data.train.texts) == 12
    assert {text.split()[-3] for text in data.train.texts} == {"A", "E"}


@pytest.mark.parametrize("sources", ["", "F", "AA", "abcd", None, ["A"]])
def test_rejects_sources(folder, sources):
    with pytest.raises(ValueError, match="`sources` must be distinct letters of 'ABCDE'"):
        ag_news.load(folder, sources=sources, dev=4)


def test_a_missing_folder_of_the_set(tmp_path):
    with pytest.raises(ValueError, match=r"train_subset\.csv\.gz. Get it from github"):
        ag_news.load(tmp_path)


@pytest.mark.slow
def test_real_file(real_data):
    data = ag_news.load(real_data)
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [23_571, 2_000, 7_600]
    assert np.bincount(data.test.labels).tolist() == [1_900] * 4
    assert "(21%)" in data.about
    counts = [len(ag_news.load(real_data, sources=letter, dev=4).train.texts) for letter in "ABCDE"]
    assert counts == [4_990 - 4, 9_548 - 4, 7_019 - 4, 4_014 - 4, 14_600 - 4]
