"""IMDB data set: positive and negative film reviews. Not packaged: no licence is stated."""

import csv
import io
import os
from pathlib import Path

from kerascompact.datasets.base import (
    Dataset,
    Known,
    Split,
    data_dir,
    make_split,
    read_known,
)
from kerascompact.datasets.splitting import hold_out

LABEL_NAMES = ("negative", "positive")
SOURCE = (
    "https://ai.stanford.edu/~amaas/data/sentiment/ (one CSV per split, label,rating,id,text), or "
    "github.com/dax44/AMLM at 05fb214, data/aclImdb"
)
ABOUT = "IMDB large movie reviews. No licence stated; research use. Cite Maas et al., ACL 2011."
FILES = {
    "train": Known(
        "imdb/train.csv.xz",
        "e104a0519aa3e389b341cff1475c21d94cc71a06a8f3b1491b40fbd0394a821c",
        25_000,
    ),
    "test": Known(
        "imdb/test.csv.xz",
        "5f104341d9fcd183579e5dc3132d5f70a4dd354f478cc061bdf1e907a8baf441",
        25_000,
    ),
}


def load(data: str | os.PathLike[str] | None = None, dev: int = 2_000, seed: int = 0) -> Dataset:
    """Loads IMDB: 25,000 reviews to train on, `dev` of them held out, and 25,000 to test on.

    The texts are as in the original, `<br />` tags included.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        dev: Rows of train held out as dev, half of each class; 2,000 as in the papers.
        seed: Seed of that choice.
    Raises: ValueError, if a file is missing or not the known one, or `dev` is out of its range.
    Example:
    >>> len(load(dev=2_000).train.texts)  # doctest: +SKIP
    23000

    Reference: [Maas et al., ACL 2011](https://aclanthology.org/P11-1015/).
    """
    folder = data_dir(data)
    train, held = hold_out(_read(FILES["train"], folder), dev, seed)
    return Dataset("imdb", train, held, _read(FILES["test"], folder), LABEL_NAMES, ABOUT)


def _read(known: Known, folder: Path) -> Split:
    text = read_known(known, folder, SOURCE).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    names = [LABEL_NAMES[int(row["label"])] for row in rows]
    return make_split([row["text"] for row in rows], names, LABEL_NAMES, known)
