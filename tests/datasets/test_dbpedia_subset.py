"""The DBpedia subset from a tiny file in its format, and the real one where it is."""

import numpy as np
import pytest

from kerascompact.datasets import dbpedia_subset

ROWS = "".join(f'{n % 14},"article {n} , a ""text"""\n' for n in range(56))


@pytest.fixture
def folder(store):
    return store(dbpedia_subset, "rows", ROWS.encode(), 56)


def test_rows_are_held_out_by_seed(folder):
    data = dbpedia_subset.load(folder, dev=14, test=14)
    splits = (data.train, data.dev, data.test)
    assert [np.bincount(split.labels).tolist() for split in splits] == [
        [2] * 14,
        [1] * 14,
        [1] * 14,
    ]
    numbers = [int(text.split()[1]) for split in splits for text in split.texts]
    assert sorted(numbers) == list(range(56))
    assert all(data.label_names[n % 14] == data.label_names[label] for n, label in zip(
        numbers, np.concatenate([split.labels for split in splits]), strict=True
    ))  # fmt: skip
    assert data.test.texts[0].endswith(' , a "text"')
    again, other = (dbpedia_subset.load(folder, dev=14, test=14, seed=seed) for seed in (0, 1))
    assert again.test.texts == data.test.texts != other.test.texts


def test_rejects(folder):
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 42\]"):
        dbpedia_subset.load(folder, test=43)
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 28\]"):
        dbpedia_subset.load(folder, dev=29, test=14)


def test_the_real_one(real_data):
    data = dbpedia_subset.load(real_data)
    splits = (data.train, data.dev, data.test)
    assert [set(np.bincount(split.labels)) for split in splits] == [{700}, {100}, {200}]
    labels = {t[:20]: label for split in splits for t, label in zip(*split, strict=True)}
    assert data.label_names[labels["Clifford Thomas Ward"]] == "Artist"
