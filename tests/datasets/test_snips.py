"""SNIPS from a tiny file in its format, and the real one where it is."""

import numpy as np
import pytest

from kerascompact.datasets import snips

TRAIN = "intent,text\n" + "".join(
    f'{intent},"play {n}, rom\u00e1ntica"\n' for intent in ("PlayMusic", "GetWeather") for n in "ab"
)
TEST = "intent,text\nPlayMusic,play it\n"


def test_load(store):
    store(snips, "train", TRAIN.encode(), 4)
    folder = store(snips, "test", TEST.encode(), 1)
    data = snips.load(folder, dev=2)
    assert data.label_names == ("GetWeather", "PlayMusic")
    assert data.dev.labels.tolist() == data.train.labels.tolist() == [1, 0]
    assert sorted(data.train.texts + data.dev.texts) == sorted(
        ["play a, rom\u00e1ntica", "play b, rom\u00e1ntica"] * 2
    )
    assert data.test.texts == ["play it"] and data.test.labels.tolist() == [1]
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 2\]"):
        snips.load(folder, dev=3)


def test_a_missing_file(tmp_path):
    with pytest.raises(ValueError, match=r"snips.train\.csv\.gz. Get it from github\.com/sonos"):
        snips.load(tmp_path)


def test_real_file(real_data):
    data = snips.load(real_data)
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [13_084, 700, 700]
    assert np.bincount(data.test.labels).tolist() == [100] * 7
