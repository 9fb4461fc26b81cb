"""AG News data set: topics of news items. Not packaged: non-commercial terms."""

import csv
import io
import os
from pathlib import Path

from kerascompact.core import checks
from kerascompact.datasets.base import (
    Dataset,
    Known,
    Split,
    data_dir,
    make_split,
    read_known,
)
from kerascompact.datasets.splitting import hold_out

LABEL_NAMES = ("World", "Sports", "Business", "Sci/Tech")
SOURCE = (
    "github.com/mhjabreel/CharCnn_Keras at 555590d, data/ag_news_csv (test), and for the part of "
    "train that is public the five repositories named in the data folder's README"
)
ABOUT = (
    "AG News, the full test set and {kept} of the 120,000 rows of train ({share:.0%}). "
    "Non-commercial research use. Cite Zhang et al., NeurIPS 2015."
)
FULL_TRAIN = 120_000
FILES = {
    "train": Known(
        "ag_news/train_subset.csv.gz",
        "de993290293fa855e27e5288e867ee8a8a17dcacdc03db928675583c945bdd6d",
        40_171,
    ),
    "test": Known(
        "ag_news/test.csv.gz",
        "a0687337e1d12c4c6e06e96e5ffaf0cdbfc59a2a20614bd7598a4f4b167b6eec",
        7_600,
    ),
}


def load(
    data: str | os.PathLike[str] | None = None,
    sources: str = "ABCD",
    dev: int = 2_000,
    seed: int = 0,
) -> Dataset:
    """Loads AG News: a part of train, `dev` rows of it held out, and the 7,600 rows of test.

    A text is the title, a space and the description; the description alone where the source of
    the row kept no title. Numbers are not comparable with those of the full train set: say "21 %
    of train".

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        sources: Which of the five sources of train rows to keep. A to D are original text, 25,571
            rows; E, 14,600 rows, is lower-cased without punctuation and has more of class 3.
        dev: Rows of train held out as dev, of each class in proportion.
        seed: Seed of that choice.
    Raises: ValueError, if a file is missing or not the known one, `sources` are not distinct
        letters from A to E, or `dev` is out of its range.
    Example:
    >>> len(load(dev=2_000).train.texts)  # doctest: +SKIP
    23571

    Reference: [Zhang et al., NeurIPS 2015](https://arxiv.org/abs/1509.01626), sec. 4.
    """
    good = isinstance(sources, str) and sources and set(sources) <= set("ABCDE")
    if not good or len(set(sources)) != len(sources):
        checks.fail("sources", "distinct letters of 'ABCDE'", sources)
    folder = data_dir(data)
    whole, letters = _read(FILES["train"], folder)
    kept = [index for index, letter in enumerate(letters) if letter in sources]
    train = Split([whole.texts[index] for index in kept], whole.labels[kept])
    train, held = hold_out(train, dev, seed)
    test, _ = _read(FILES["test"], folder)
    about = ABOUT.format(kept=f"{len(kept):,}", share=len(kept) / FULL_TRAIN)
    return Dataset("ag_news", train, held, test, LABEL_NAMES, about)


def _read(known: Known, folder: Path) -> tuple[Split, list[str]]:
    """The rows of a file, and the source letter of each (empty in test)."""
    text = read_known(known, folder, SOURCE).decode()
    texts, names, letters = [], [], []
    for label, title, description, *source in csv.reader(io.StringIO(text, newline="")):
        texts.append(f"{title} {description}" if title else description)
        names.append(LABEL_NAMES[int(label) - 1])
        letters.append("".join(source))
    return make_split(texts, names, LABEL_NAMES, known), letters
