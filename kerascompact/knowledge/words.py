"""Graph of words from any lexicon that lists related words."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from kerascompact.core import checks
from kerascompact.knowledge.graph import Graph


def word_graph(words: Sequence[str], related: Callable[[str], Iterable[str]]) -> Graph:
    """Relates each word to the words of the vocabulary that a lexicon names for it.

    Names are compared in lower case, with spaces for underscores in compounds. A name that stands
    for several ids, such as "Turkey" and "turkey", relates to each.

    Args:
        words: Word of each id, reserved ids included: `["<pad>", "<unk>", *vocabulary.words]`.
        related: Function from a word to the names of its related words, or to none.
    Returns: The graph of the related words.
    Raises: ValueError, if `words` is no list of `str`, or names are a single `str`.
    Example:
    >>> word_graph(["cat", "dog", "New York"], {"dog": ["cat", "cow"]}.get).pairs().tolist()
    [[0, 1]]
    """
    if isinstance(words, str) or not isinstance(words, Sequence) or not len(words):
        checks.fail("words", "a list of at least one str", words)
    ids: dict[str, list[int]] = {}
    for id, word in enumerate(words):
        if not isinstance(word, str):
            checks.fail(f"words[{id}]", "a str", word)
        ids.setdefault(plain(word), []).append(id)
    pairs = []
    for id, word in enumerate(words):
        names = related(word) or ()
        if isinstance(names, str):  # whose letters may be words, too
            checks.fail(f"related({word!r})", "a list of names, or None", names)
        pairs += [(id, other) for name in names for other in ids.get(plain(name), ())]
    return Graph.from_pairs(np.array(pairs, np.int64).reshape(-1, 2), len(words))


def plain(name: str) -> str:
    """A name as it is compared.

    >>> plain("New_York")
    'new york'
    """
    return name.lower().replace("_", " ")
