"""UD English EWT: web texts with a part of speech for each word. Free, with attribution."""

import os

from benchmarks.data.tagged import TaggedCorpus, make_corpus, read_conllu
from kerascompact.datasets.base import Known, data_dir, read_known

SOURCE = "github.com/UniversalDependencies/UD_English-EWT at 15d613d, en_ewt-ud-*.conllu, gzipped"
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
    folder, splits = data_dir(data), {}
    for split, known in FILES.items():
        text = read_known(known, folder, SOURCE).decode()
        splits[split] = read_conllu(text, known.path, tags)
        if len(splits[split]) != known.rows:
            found = len(splits[split])
            raise ValueError(f"{known.path} must have {known.rows} sentences. Received: {found}.")
    return make_corpus("ud_english_ewt", splits, ABOUT)
