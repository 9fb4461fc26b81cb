"""English Wikipedia as running words. Not in the package: its licence is share-alike."""

import os
from collections import Counter
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.datasets.base import Known, data_dir, read_known

SOURCE = "github.com/Vibhas-hs-edu/WikiTasks at 52b1f16, text/AA (WikiExtractor's output), packed"
ABOUT = (
    "34,800 articles of the English Wikipedia, created in early 2018, by its contributors, "
    "CC BY-SA 3.0 and GFDL. A small and biased part (people, sports, places): in place of enwik9."
)
FILES = {  # rows: articles
    "articles": Known(
        "wiki_en_recent/articles.txt.xz",
        "e98abd2b8ea035c2e5d03703de896f8008afb52b889c61b5ed8b4d3c10040317",
        34_800,
    )
}
DIGITS = b"zero one two three four five six seven eight nine".split()
_KEPT = bytes(
    byte + 32 if 65 <= byte <= 90 else byte if 97 <= byte <= 122 else 32 for byte in range(256)
)


class Words(NamedTuple):
    """A text as ids: `ids` `(tokens,)` int32, `texts` the number of the article each is in.

    `words[i]` is the word of id `i`, the most frequent first, and `counts[i]` how often it is
    there. Other words have been left out. `tokens` says how many there were with these.
    """

    words: tuple[str, ...]
    counts: np.ndarray
    ids: np.ndarray
    texts: np.ndarray
    tokens: int


def normalize(text: bytes) -> bytes:
    """Words of `a` to `z` with spaces between: lower case, digits spelled out, nothing else.

    >>> normalize(b"In 2019, Caf\\xc3\\xa9s: a list.").split()
    [b'in', b'two', b'zero', b'one', b'nine', b'caf', b's', b'a', b'list']

    Reference: [Mahoney, about the test data](http://mattmahoney.net/dc/textdata), `wikifil.pl`,
    which the paper's text went through.
    """
    for digit, name in enumerate(DIGITS):
        text = text.replace(str(digit).encode(), b" " + name + b" ")
    return text.translate(_KEPT)


def load(
    data: str | os.PathLike[str] | None = None,
    num_words: int = 100_000,
    tokens: int | None = None,
) -> Words:
    """Loads the articles, each with its title, as ids of the most frequent words.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        num_words: How many words at most; the paper has 100,000. Of words as frequent, those that
            are first in the alphabet.
        tokens: Read so many tokens only, from the start.
    Raises: ValueError, if the file is missing or not the known one, or a number is out of range.
    Example:
    >>> load(num_words=3).words  # doctest: +SKIP
    ('the', 'of', 'one')

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 3.1.
    """
    checks.integer_in("num_words", num_words, 2)
    if tokens is not None:
        checks.integer_in("tokens", tokens, 2)
    text = normalize_articles(read_known(FILES["articles"], data_dir(data), SOURCE))
    known = FILES["articles"]
    if len(text) != known.rows:
        raise ValueError(f"{known.path} must have {known.rows} articles. Received: {len(text)}.")
    return encode(text, num_words, tokens)


def normalize_articles(text: bytes) -> list[list[bytes]]:
    """The words of each article; a blank line is between two articles.

    >>> normalize_articles(b"A\\nA is a letter.\\n\\nB\\nB is one.\\n")
    [[b'a', b'a', b'is', b'a', b'letter'], [b'b', b'b', b'is', b'one']]
    """
    return [normalize(article).split() for article in text.strip(b"\n").split(b"\n\n")]


def encode(articles: list[list[bytes]], num_words: int, tokens: int | None = None) -> Words:
    """Counts the words of articles, and numbers the most frequent.

    >>> found = encode([[b"b", b"a", b"b"], [b"c", b"b"]], num_words=2)
    >>> found.words, found.counts.tolist(), found.ids.tolist(), found.texts.tolist(), found.tokens
    (('b', 'a'), [3, 1], [0, 1, 0, 0], [0, 0, 0, 1], 5)
    """
    if tokens is not None:
        kept, left = [], tokens
        for article in articles:
            kept.append(article[:left])
            left -= len(kept[-1])
            if not left:
                break
        articles = kept
    counter: Counter[bytes] = Counter()
    for article in articles:
        counter.update(article)
    chosen = sorted(counter, key=lambda word: (-counter[word], word))[:num_words]
    number = {word: id for id, word in enumerate(chosen)}
    total = sum(map(len, articles))
    ids = np.fromiter(
        (number.get(word, -1) for article in articles for word in article), np.int32, total
    )
    texts = np.repeat(np.arange(len(articles), dtype=np.int32), [len(a) for a in articles])
    there = ids >= 0
    counts = np.array([counter[word] for word in chosen], np.int64)
    names = tuple(word.decode("ascii") for word in chosen)
    return Words(names, counts, ids[there], texts[there], total)
