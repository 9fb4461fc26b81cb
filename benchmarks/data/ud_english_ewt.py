"""UD English EWT: web texts with a part of speech for each word. Free, with attribution."""

import os
from collections.abc import Callable
from typing import TypeVar

from benchmarks.data.tagged import TaggedCorpus, TaggedText, make_corpus, read_conllu, read_texts
from kerascompact.datasets.base import Known, data_dir, read_known, verified

T = TypeVar("T")

SOURCE = "github.com/UniversalDependencies/UD_English-EWT at 15d613d, en_ewt-ud-*.conllu"
ABOUT = (
    "Universal Dependencies English Web Treebank, CC BY-SA 4.0. Cite Silveira et al., LREC 2014."
)
FILES = {  # rows: sentences
    "train": Known(
        "ud_english_ewt/en_ewt-ud-train.conllu.gz",
        "4861d76b9c49cb3524dfdf7d02e78c1d6a4c4e6fb892f9e6128cc671a6f195a8",
        12_544,
    ),
    "dev": Known(
        "ud_english_ewt/en_ewt-ud-dev.conllu.gz",
        "24656b4a407808e7b9e42959b2e39e18ae5580bfbf3b27938d6873dabaed8845",
        2_001,
    ),
    "test": Known(
        "ud_english_ewt/en_ewt-ud-test.conllu.gz",
        "0506bfdbccef68634d5429369e67a7d4418b2340bd2b2ddcfca8373514af83bc",
        2_077,
    ),
}
# Of the same files, unpacked, as the source has them.
UNPACKED = {
    "train": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
    "dev": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
    "test": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
}


def load(data: str | os.PathLike[str] | None = None, tags: str = "xpos") -> TaggedCorpus:
    """Loads the treebank: 204,577, 25,147 and 25,094 words.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        tags: `"xpos"`, 49 tags of the Penn Treebank's kind, or `"upos"`, 17 universal ones.
    Raises: ValueError, if a file is missing or not the known one.
    Example:
    >>> len(load().tag_names)  # doctest: +SKIP
    49

    Reference: [Silveira et al., LREC 2014](https://aclanthology.org/L14-1067).
    """
    return make_corpus("ud_english_ewt", _splits(data, read_conllu, tags), ABOUT)


def load_texts(
    data: str | os.PathLike[str] | None = None, tags: str = "upos"
) -> dict[str, list[TaggedText]]:
    """Loads the sentences of each split as they were written, for a model that cuts them itself.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        tags: As for `load`.
    Raises: ValueError, if a file is missing or not the known one.
    """
    return _splits(data, read_texts, tags)


def _splits(
    data: str | os.PathLike[str] | None, read: Callable[[str, str, str], list[T]], tags: str
) -> dict[str, list[T]]:
    folder, splits = data_dir(data), {}
    for split, known in FILES.items():
        plain = folder / known.path.removesuffix(".gz")
        if plain.is_file():
            content = verified(plain.read_bytes(), UNPACKED[split], plain)
        else:
            content = read_known(known, folder, SOURCE)
        splits[split] = read(content.decode(), known.path, tags)
        if len(splits[split]) != known.rows:
            found = len(splits[split])
            raise ValueError(f"{known.path} must have {known.rows} sentences. Received: {found}.")
    return splits
