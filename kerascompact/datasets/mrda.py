"""MRDA data set: dialogue acts of meetings. Not packaged: the corpus is for research only."""

import os
from pathlib import Path

from kerascompact.core import checks
from kerascompact.datasets.base import Dataset, Known, Split, data_dir, make_split, read_known

SOURCE = "github.com/NathanDuran/MRDA-Corpus at 58006b3, mrda_data/*_set.txt, each file gzipped"
ABOUT = (
    "Meeting Recorder Dialog Act corpus (ICSI meetings). Research use. Cite Shriberg et al., "
    "SIGdial 2004."
)
LABEL_NAMES = ("statement", "backchannel", "disruption", "floor grabber", "question")
TAGS = ("S", "B", "D", "F", "Q")
FILES = {
    "train": Known(
        "mrda/train.txt.gz",
        "e76f0456f7525fb9c160468108fb3a7dc1d831283002f0c2074b88b483f8c7d4",
        75_067,
    ),
    "dev": Known(
        "mrda/val.txt.gz",
        "9c100a0376ce7b35214b013011aa342e85491648c6d2071c5ddfd84df8c8b5c1",
        16_433,
    ),
    "test": Known(
        "mrda/test.txt.gz",
        "3445bb7442e6e387feab70d38b34467f42d18edd70cf2b605e06490b0038b08d",
        16_702,
    ),
}


def load(data: str | os.PathLike[str] | None = None, train_rows: int | None = None) -> Dataset:
    """Loads MRDA: train 75,067, dev 16,433 and test 16,702 utterances of five dialogue acts.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        train_rows: Keep the first so many utterances of train.
    Raises: ValueError, if a file is missing or not the known one, or has not so many rows.
    Example:
    >>> load().label_names  # doctest: +SKIP
    ('statement', 'backchannel', 'disruption', 'floor grabber', 'question')

    Reference: [Shriberg et al., SIGdial 2004](https://aclanthology.org/W04-2319/); with five tags
    [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 4.2.3.
    """
    folder = data_dir(data)
    train, dev, test = (_read(FILES[name], folder) for name in ("train", "dev", "test"))
    if train_rows is not None:
        checks.integer_in("train_rows", train_rows, 1, len(train.texts))
        train = Split(train.texts[:train_rows], train.labels[:train_rows])
    return Dataset("mrda", train, dev, test, LABEL_NAMES, ABOUT)


def _read(known: Known, folder: Path) -> Split:
    lines = read_known(known, folder, SOURCE).decode("utf-8").removesuffix("\n").split("\n")
    texts, tags = [], []
    for number, line in enumerate(lines, 1):
        cells = line.split("|")  # speaker, utterance, basic tag, general tag, full tag
        if len(cells) != 5 or cells[2] not in TAGS:
            raise ValueError(
                f"{known.path}, line {number}: expected five cells, the third one of {TAGS}."
            )
        texts.append(cells[1])
        tags.append(cells[2])
    return make_split(texts, tags, TAGS, known)
