"""IMDB from a tiny file in its format, and the real one where it is."""

import numpy as np
import pytest

from kerascompact.datasets import imdb

HEADER = "label,rating,id,text\n"
TRAIN = HEADER + "".join(
    f'{n // 5},{n},neg/{n},"It ""is"" bad,<br />very\n{n}"\n' for n in range(10)
)
TEST = HEADER + "1,9,pos/0_9,caf\u00e9\n0,1,neg/0_1,no\n"


@pytest.fixture
def folder(store):
    store(imdb, "train", TRAIN.encode(), 10)
    return store(imdb, "test", TEST.encode(), 2)


def test_load(folder):
    data = imdb.load(folder, dev=4)
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [6, 4, 2]
    assert data.dev.labels.tolist() == [0, 0, 1, 1]
    assert data.train.texts[0].startswith('It "is" bad,<br />very\n')
    assert data.test.texts == ["caf\u00e9", "no"]
    assert data.test.labels.tolist() == [1, 0]
    assert data.label_names == ("negative", "positive")


def test_dev_is_seeded(folder):
    first, again, other = (imdb.load(folder, dev=4, seed=seed).dev.texts for seed in (0, 0, 1))
    assert first == again != other


def test_rejects(folder):
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 8\]"):
        imdb.load(folder, dev=9)
    (folder / "imdb" / "test.csv.xz").unlink()
    with pytest.raises(ValueError, match=r"no file .*test\.csv\.xz. Get it from https://ai\.stan"):
        imdb.load(folder, dev=4)


def test_counts_the_rows(store):
    store(imdb, "train", TRAIN.encode(), 10)
    folder = store(imdb, "test", TEST.encode(), 3)
    with pytest.raises(ValueError, match=r"imdb/test\.csv\.xz must have 3 rows. Received: 2"):
        imdb.load(folder, dev=4)


@pytest.mark.slow
def test_real_file(real_data):
    data = imdb.load(real_data)
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [23_000, 2_000, 25_000]
    assert np.bincount(data.dev.labels).tolist() == [1_000, 1_000]
    assert np.bincount(data.test.labels).tolist() == [12_500, 12_500]
    assert sum("<br />" in text for text in data.test.texts) > 10_000
