"""Subset of the DBpedia ontology data set: classes of articles. Not packaged: share-alike terms."""

import csv
import io
import os

from kerascompact.datasets.base import (
    Dataset,
    Known,
    data_dir,
    make_split,
    read_known,
)
from kerascompact.datasets.splitting import hold_out

LABEL_NAMES = (
    "Company",
    "EducationalInstitution",
    "Artist",
    "Athlete",
    "OfficeHolder",
    "MeanOfTransportation",
    "Building",
    "NaturalPlace",
    "Village",
    "Animal",
    "Plant",
    "Album",
    "Film",
    "WrittenWork",
)
SOURCE = (
    "github.com/KEAML-JLU/DeepTextClustering at b84d28c, data/dbpedia/train.csv, gzipped as "
    "class,text without a header"
)
ABOUT = (
    "DBpedia ontology, 14,000 of the 630,000 rows; no official split. CC BY-SA 3.0 and GFDL. "
    "Cite Zhang et al., NeurIPS 2015."
)
FILES = {
    "rows": Known(
        "dbpedia14_subset/train.csv.gz",
        "15cc27ab8f59b4ee652e2415fd53f476b8c9f11df598889f18e5c94d02a57fa9",
        14_000,
    ),
}


def load(
    data: str | os.PathLike[str] | None = None,
    dev: int = 1_400,
    test: int = 2_800,
    seed: int = 0,
) -> Dataset:
    """Loads 14,000 articles of DBpedia, 1,000 of each class, `dev` and `test` of them held out.

    The texts are tokenised already, without titles. There is no official split, and it is a
    fortieth of the training data: numbers are not comparable with published ones.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        dev: Rows held out as dev, of each class in proportion.
        test: Rows held out as test, of each class in proportion.
        seed: Seed of both choices.
    Raises: ValueError, if the file is missing or not the known one, or `dev` or `test` is out of
        its range.
    Example:
    >>> len(load(dev=1_400, test=2_800).train.texts)  # doctest: +SKIP
    9800

    Reference: [Zhang et al., NeurIPS 2015](https://arxiv.org/abs/1509.01626), sec. 4.
    """
    known = FILES["rows"]
    text = read_known(known, data_dir(data), SOURCE).decode()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    names = [LABEL_NAMES[int(label)] for label, _ in rows]
    rest = make_split([text for _, text in rows], names, LABEL_NAMES, known)
    rest, tested = hold_out(rest, test, seed)
    train, held = hold_out(rest, dev, seed)
    return Dataset("dbpedia_subset", train, held, tested, LABEL_NAMES, ABOUT)
