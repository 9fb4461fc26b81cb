"""The Penn Treebank with tags: NLTK's sample, and all of it for those who have the licence."""

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.data.tagged import Sentence, TaggedCorpus, make_corpus, read_brackets
from kerascompact.core import checks
from kerascompact.datasets.base import Known, data_dir, read_known

SOURCE = "github.com/nltk/nltk_data at 5db857e, packages/corpora/treebank.zip"
ABOUT = (
    "A sample of the Penn Treebank, 199 articles of the Wall Street Journal. LDC 1995, "
    "non-commercial use only. Cite Marcus et al., Computational Linguistics 1993."
)
FILES = {  # rows: sentences
    "corpus": Known(
        "nltk_data/corpora/treebank.zip",
        "9da92d76c3666cfb6cddeaed0f7e86b344cce0f0928a286d439e555f19c37399",
        3_914,
    )
}
SECTIONS = {"train": range(19), "dev": range(19, 22), "test": range(22, 25)}  # of tagging papers


def load(data: str | os.PathLike[str] | None = None) -> TaggedCorpus:
    """Loads the sample: 94,084 words in 3,914 sentences.

    By article, which nobody else's split is: the first 159 to train on, 20 for dev, 20 to test on.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
    Raises: ValueError, if the file is missing or not the known one.

    Reference: [Marcus et al., Computational Linguistics 1993](https://aclanthology.org/J93-2004).
    """
    known = FILES["corpus"]
    packed = zipfile.ZipFile(io.BytesIO(read_known(known, data_dir(data), SOURCE)))
    names = sorted(name for name in packed.namelist() if name.endswith(".mrg"))
    articles = [
        read_brackets(packed.read(name).decode("latin-1"), f"{known.path}/{name}") for name in names
    ]
    found = sum(map(len, articles))
    if found != known.rows:
        raise ValueError(f"{known.path} must have {known.rows} sentences. Received: {found}.")
    held = max(1, len(articles) // 10 + 1)
    return make_corpus(
        "treebank_sample",
        {
            "train": sum(articles[: -2 * held], []),
            "dev": sum(articles[-2 * held : -held], []),
            "test": sum(articles[-held:], []),
        },
        ABOUT,
    )


def load_wsj(
    path: str | os.PathLike[str], sections: Mapping[str, range] = SECTIONS
) -> TaggedCorpus:
    """Loads the Wall Street Journal part of LDC's Treebank-3, from a copy of your own.

    Args:
        path: The folder `parsed/mrg/wsj`, with a folder `00` to `24` for each section, and files
            `wsj_*.mrg` in it.
        sections: Of each split; those of tagging papers (0 to 18, 19 to 21, 22 to 24), unless they
            are given.
    Raises: ValueError, if a section is missing or a file damaged.

    Reference: [LDC99T42](https://catalog.ldc.upenn.edu/LDC99T42).
    """
    folder = Path(path)
    splits: dict[str, list[Sentence]] = {}
    for split in ("train", "dev", "test"):
        if split not in sections:
            checks.fail("sections", "the sections of 'train', 'dev' and 'test'", dict(sections))
        splits[split] = []
        for section in sections[split]:
            files = sorted((folder / f"{section:02d}").glob("*.mrg"))
            if not files:
                raise ValueError(
                    f"There is no section {section:02d} of .mrg files in {folder}. `path` must be "
                    "the folder parsed/mrg/wsj of LDC99T42."
                )
            for file in files:
                splits[split] += read_brackets(file.read_text("latin-1"), file)
    return make_corpus("wsj", splits, "Penn Treebank, LDC99T42; licensed.")
