"""SNIPS data set: seven intents of a voice assistant. Nearly solved, so good for a quick check."""

import csv
import io
import os
from pathlib import Path

from kerascompact.datasets.base import Dataset, Known, data_dir, make_split, read_known
from kerascompact.datasets.splitting import hold_out

SOURCE = "github.com/sonos/nlu-benchmark at b86ac7f, 2017-06-custom-intent-engines"
ABOUT = "SNIPS intents, CC0 1.0. Cite Coucke et al., arXiv 2018."
FILES = {
    "train": Known(
        "snips/train.csv.gz",
        "71ed7ab4267361cf834c3698a14a75ecba4e775fdd45cf4d16230a476a4d6c1a",
        13_784,
    ),
    "test": Known(
        "snips/validate.csv.gz",
        "5814bb263fc667cf0847512a41c08d43a02e6de43a498f9164e021e420be63cc",
        700,
    ),
}


def load(data: str | os.PathLike[str] | None = None, dev: int = 700, seed: int = 0) -> Dataset:
    """Loads SNIPS: 13,784 queries to train on, `dev` of them held out, and 700 to test on.

    The published "validate" part is the test split, as in most papers.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        dev: Rows of train held out as dev, of each class in proportion.
        seed: Seed of that choice.
    Raises: ValueError, if a file is missing or not the known one, or `dev` is out of its range.
    Example:
    >>> len(load().label_names)  # doctest: +SKIP
    7

    Reference: [Coucke et al., 2018](https://arxiv.org/abs/1805.10190).
    """
    folder = data_dir(data)
    rows = {name: _read(known, folder) for name, known in FILES.items()}
    label_names = tuple(sorted({intent for intent, _ in rows["train"]}))
    splits = {
        name: make_split([t for _, t in rows[name]], [i for i, _ in rows[name]], label_names, known)
        for name, known in FILES.items()
    }
    train, held = hold_out(splits["train"], dev, seed)
    return Dataset("snips", train, held, splits["test"], label_names, ABOUT)


def _read(known: Known, folder: Path) -> list[tuple[str, str]]:
    text = read_known(known, folder, SOURCE).decode()
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return [(row["intent"], row["text"]) for row in rows]
