"""CoNLL-2000: newspaper sentences with a part of speech for each word. Not in the package."""

import io
import os
import zipfile

from benchmarks.data.tagged import TaggedCorpus, make_corpus, read_columns
from kerascompact.core import checks
from kerascompact.datasets.base import Known, data_dir, read_known

SOURCE = "github.com/nltk/nltk_data at 5db857e, packages/corpora/conll2000.zip"
ABOUT = (
    "CoNLL-2000, the Wall Street Journal's sections 15 to 18 and 20; tags by the Brill tagger. "
    "No licence stated. Cite Tjong Kim Sang & Buchholz, CoNLL 2000."
)
FILES = {  # rows: sentences of train and test
    "corpus": Known(
        "nltk_data/corpora/conll2000.zip",
        "01e65164f268366e7caa0db92332a1955d081908c87016e2c7640c3c5279b7cd",
        10_948,
    )
}


def load(data: str | os.PathLike[str] | None = None, dev: int = 894) -> TaggedCorpus:
    """Loads the corpus: 8,936 sentences (211,727 words) to train on and 2,012 (47,377) to test on.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        dev: The last so many sentences of train are the dev split; a tenth, unless it is given.
    Raises: ValueError, if the file is missing or not the known one, or `dev` leaves no train.

    Reference: [Tjong Kim Sang & Buchholz, CoNLL 2000](https://aclanthology.org/W00-0726).
    """
    known = FILES["corpus"]
    packed = zipfile.ZipFile(io.BytesIO(read_known(known, data_dir(data), SOURCE)))
    train, test = (
        read_columns(packed.read(name).decode(), f"{known.path}/{name}")
        for name in ("conll2000/train.txt", "conll2000/test.txt")
    )
    if len(train) + len(test) != known.rows:
        found = len(train) + len(test)
        raise ValueError(f"{known.path} must have {known.rows} sentences. Received: {found}.")
    dev = checks.integer_in("dev", dev, 1, len(train) - 1)
    splits = {"train": train[:-dev], "dev": train[-dev:], "test": test}
    return make_corpus("conll2000", splits, ABOUT)
