"""MRDA from tiny files in its format, and the real one where it is."""

import numpy as np
import pytest

from kerascompact.datasets import mrda

ROWS = b"fe016|okay.|F|fg|fg\nfe016|so um|F|fh|fh\nme1|is it?|Q|qy|qy\nme1|yes .|S|s|s^aa\n"


@pytest.fixture
def folder(store):
    store(mrda, "train", ROWS, 4)
    store(mrda, "dev", b"a|uh-huh.|B|b|b\n", 1)
    return store(mrda, "test", b"a|but i|D|%-|%--\n", 1)


def test_utterances_and_basic_tags(folder):
    data = mrda.load(folder)
    assert data.train.texts == ["okay.", "so um", "is it?", "yes ."]
    assert data.train.labels.tolist() == [3, 3, 4, 0]
    names = [data.label_names[split.labels[0]] for split in (data.dev, data.test)]
    assert names == ["backchannel", "disruption"]
    assert mrda.load(folder, train_rows=2).train.labels.tolist() == [3, 3]


def test_rejects(folder, store):
    with pytest.raises(ValueError, match=r"`train_rows` must be an integer in \[1, 4\]"):
        mrda.load(folder, train_rows=5)
    store(mrda, "dev", b"a|b|S|s|s\na|b|X|s|s\n", 2)
    with pytest.raises(ValueError, match="val.txt.gz, line 2: expected five cells"):
        mrda.load(folder)


def test_the_real_one(real_data):
    data = mrda.load(real_data)
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [75_067, 16_433, 16_702]
    assert np.bincount(data.train.labels).tolist() == [45_099, 10_265, 9_739, 5_324, 4_640]
