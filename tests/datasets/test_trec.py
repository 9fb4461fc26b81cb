"""TREC from a tiny file in its format, and the real one where it is."""

import numpy as np
import pytest

from kerascompact.datasets import trec

TRAIN = "".join(
    f"{label} Where \xe9\x85 is {label} {n} ?\n"
    for label in ("LOC:city", "LOC:state", "NUM:date")
    for n in range(4)
)
TEST = "NUM:date When ?\nLOC:city Where : here ?\n"


@pytest.fixture
def folder(store):
    store(trec, "train", TRAIN.encode("latin-1"), 12)
    return store(trec, "test", TEST.encode("latin-1"), 2)


def test_coarse(folder):
    data = trec.load(folder, dev=3)
    assert data.label_names == ("LOC", "NUM")
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [9, 3, 2]
    assert data.dev.labels.tolist() == [0, 0, 1]
    assert data.test.texts == ["When ?", "Where : here ?"]
    assert data.test.labels.tolist() == [1, 0]
    assert data.train.texts[0].startswith("Where \xe9\x85 is LOC:city")


def test_fine(folder):
    data = trec.load(folder, fine=True, dev=3)
    assert data.label_names == ("LOC:city", "LOC:state", "NUM:date")
    assert data.dev.labels.tolist() == [0, 1, 2]
    assert data.test.labels.tolist() == [2, 0]


def test_rejects(folder):
    with pytest.raises(ValueError, match="`fine` must be True or False"):
        trec.load(folder, fine=1)
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 10\]"):
        trec.load(folder, dev=0)
    (folder / "trec" / "train.txt.gz").write_bytes(b"other")
    with pytest.raises(ValueError, match=r"train\.txt\.gz is damaged, or another version"):
        trec.load(folder)


def test_real_file(real_data):
    data = trec.load(real_data)
    assert data.label_names == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    counts = np.bincount(data.train.labels) + np.bincount(data.dev.labels)
    assert counts.tolist() == [86, 1162, 1250, 1223, 835, 896]
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [4_952, 500, 500]
    assert len(trec.load(real_data, fine=True).label_names) == 50
