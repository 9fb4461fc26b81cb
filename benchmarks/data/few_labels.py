"""Data sets of which few texts have a label: samples drawn by a seed, the others without labels."""

from typing import NamedTuple

import numpy as np

from kerascompact import datasets
from kerascompact.datasets.base import Dataset, Split
from kerascompact.datasets.splitting import hold_out
from kerascompact.search.preparing import dev_share

SETS = {"ag_news": 12_000, "imdb": 8_000, "trec": 12_000, "clinc150": 15_000}  # most rows used
LABELS = {"trec": (60, 600), "clinc150": (1500, 15_000)}  # ten and a hundred of each class
COUNTS = 100, 300, 1000, 3000
MOST_TESTED = 5_000  # texts of the test split, the same for all


class Sample(NamedTuple):
    """Texts with a label, split into train and dev, with the test split; and those without."""

    labelled: Dataset
    unlabelled: list[str]


def sample(name: str, labels: int, seed: int, data: str | None = None) -> Sample:
    """Draws the texts that keep their labels, of a fixed part of the training split.

    Args:
        name: Data set.
        labels: Number of labels, those of dev included.
        seed: Seed of the draw; of many classes each has as many.
        data: Folder of the data sets.
    """
    whole = datasets.load(name, data)
    rows = np.random.default_rng(0).permutation(len(whole.train.texts))[: SETS[name]]
    rows = np.random.default_rng(seed).permutation(rows)
    if name in LABELS:  # the first of each class, then the second of each, and so on
        found = whole.train.labels[rows]
        order = np.argsort(found, kind="stable")
        first = np.searchsorted(found[order], found[order])
        place = np.empty(len(rows), int)
        place[order] = np.arange(len(rows)) - first
        rows = rows[np.argsort(place, kind="stable")]
    drawn = _split(whole.train, rows[:labels])
    train, dev = hold_out(drawn, round(dev_share(labels) * labels), seed)
    tested = np.sort(np.random.default_rng(1).permutation(len(whole.test.texts))[:MOST_TESTED])
    test = _split(whole.test, tested)
    names = f"{name}, {labels} labels"
    labelled = Dataset(names, train, dev, test, whole.label_names, whole.about)
    return Sample(labelled, _split(whole.train, rows[labels:]).texts)


def _split(split: Split, rows: np.ndarray) -> Split:
    return Split([split.texts[row] for row in rows], split.labels[rows])
