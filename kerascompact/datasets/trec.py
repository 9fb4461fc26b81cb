"""TREC data set: answer types of questions. Not packaged: no licence is stated."""

import os
from pathlib import Path

from kerascompact.core import checks
from kerascompact.datasets.base import Dataset, Known, data_dir, make_split, read_known
from kerascompact.datasets.splitting import hold_out

SOURCE = (
    "https://cogcomp.seas.upenn.edu/Data/QA/QC/, or github.com/nltk/nltk_data at 5db857e, "
    "packages/corpora/qc.zip"
)
ABOUT = "TREC questions. No licence stated; research use. Cite Li and Roth, COLING 2002."
FILES = {
    "train": Known(
        "trec/train.txt.gz",
        "e66d18cf5e6be7fc67a15ec7675d56801d9bc1ad7f7c7d0bef3f5c50840da9da",
        5_452,
    ),
    "test": Known(
        "trec/test.txt.gz",
        "c2935194eaf115d2e3d1fb748293c05f2fc8f6ddf288aa32947cb0fdde548e2f",
        500,
    ),
}


def load(
    data: str | os.PathLike[str] | None = None,
    fine: bool = False,
    dev: int = 500,
    seed: int = 0,
) -> Dataset:
    """Loads TREC: 5,452 questions to train on, `dev` of them held out, and 500 to test on.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        fine: 50 labels such as "LOC:city", rather than the six before the colon.
        dev: Rows of train held out as dev, of each class in proportion.
        seed: Seed of that choice.
    Raises: ValueError, if a file is missing or not the known one, or `dev` is out of its range.
    Example:
    >>> load().label_names  # doctest: +SKIP
    ('ABBR', 'DESC', 'ENTY', 'HUM', 'LOC', 'NUM')

    Reference: [Li and Roth, COLING 2002](https://aclanthology.org/C02-1150/).
    """
    checks.boolean("fine", fine)
    folder = data_dir(data)
    train_names, train_texts = _read(FILES["train"], folder, fine)
    test_names, test_texts = _read(FILES["test"], folder, fine)
    label_names = tuple(sorted(set(train_names)))
    whole = make_split(train_texts, train_names, label_names, FILES["train"])
    test = make_split(test_texts, test_names, label_names, FILES["test"])
    train, held = hold_out(whole, dev, seed)
    return Dataset("trec", train, held, test, label_names, ABOUT)


def _read(known: Known, folder: Path, fine: bool) -> tuple[list[str], list[str]]:
    # latin-1: one question has a byte that is no UTF-8; splitlines() would cut at U+0085
    lines = read_known(known, folder, SOURCE).decode("latin-1").removesuffix("\n").split("\n")
    names, texts = [], []
    for line in lines:
        label, _, question = line.partition(" ")
        names.append(label if fine else label.partition(":")[0])
        texts.append(question)
    return names, texts
