"""Labels that can be read off the text: their names, or words that no other label has."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from kerascompact.datasets.base import Split
from kerascompact.text.rules import Rules

ROWS, CHARACTERS = 20_000, 4_000_000  # of train that are cut into tokens, at most
FEWEST = 10  # rows of a label in the sample; with fewer, a common word is chance
NEARLY = 0.95  # share of a label's texts
HARDLY = 0.01  # share of the other texts
PART = 0.1  # share of all texts; a few of 150 intents have a word of their own by nature
FASTTEXT = "__label__"
_BETWEEN = re.compile(r"[\W_]+")


def leaks(train: Split, label_names: Sequence[str], rules: Rules) -> Iterator[str]:
    """Sentences about labels whose name, or a word of their own, is in nearly all of their texts.

    Args:
        train: Split to examine; of many rows, a sample.
        label_names: Names of the labels.
        rules: Token rules.

    >>> from kerascompact.text.rules import WORDPUNCT
    >>> texts = [f"{i} spam" for i in range(20)] + [f"{i} so" for i in range(20)]
    >>> split = Split(texts, np.repeat([0, 1], 20))
    >>> [*leaks(split, ["spam", "ham"], WORDPUNCT)]  # doctest: +ELLIPSIS
    ["Nearly every text of the label 'spam' contains its name, which hardly any other text does...]
    """
    places = _sample(train.texts)
    if any(FASTTEXT in train.texts[place] for place in places):
        yield f"Texts contain {FASTTEXT!r}, fastText's mark of a label: take it out of the texts."
    tokens = [rules.tokens(train.texts[place]) for place in places]
    everywhere = Counter(word for row in tokens for word in set(row))
    names, words, with_name, with_word = [], [], 0, 0
    for label, rows in _rows_of(train.labels[places]):
        if min(len(rows), len(tokens) - len(rows)) < FEWEST:
            continue
        if _has_name(label_names[label], rows, tokens, rules):
            names.append(repr(label_names[label]))
            with_name += len(rows)
        elif word := _own_word(rows, tokens, everywhere):
            words.append(f"{label_names[label]!r} ({word!r})")
            with_word += len(rows)
    for found, count, what in ((names, with_name, "its name"), (words, with_word, "one word")):
        if count >= PART * len(tokens):
            labels = "the label" if len(found) == 1 else f"each of {len(found):,} labels"
            yield (
                f"Nearly every text of {labels} {', '.join(found[:3])} contains {what}, which "
                "hardly any other text does: if it came with the label, new texts will lack it."
            )


def _sample(texts: Sequence[str]) -> np.ndarray:
    """Places of a sample of the texts, in order; all, if they are few and short."""
    places = np.random.default_rng(0).permutation(len(texts))[:ROWS]
    ends = np.cumsum([len(texts[place]) for place in places])
    return np.sort(places[: max(FEWEST, np.searchsorted(ends, CHARACTERS))])


def _rows_of(labels: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Each label with its rows."""
    if labels.ndim == 2:
        yield from ((label, np.flatnonzero(labels[:, label])) for label in range(labels.shape[1]))
        return
    order = np.argsort(labels, kind="stable")
    found, starts = np.unique(labels[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, starts[1:]), strict=True)


def _own_word(rows: np.ndarray, tokens: list[list[str]], everywhere: Counter[str]) -> str | None:
    """A word that tells the label of these rows."""
    within = Counter(word for row in rows for word in set(tokens[row]))
    for word, count in within.most_common():
        if count < NEARLY * len(rows):
            return None
        if _tells(count, everywhere[word] - count, len(rows), len(tokens)):
            return word
    return None


def _tells(inside: int, outside: int, of_label: int, of_all: int) -> bool:
    """Whether nearly every text of a label has something, and hardly any other."""
    return inside >= NEARLY * of_label and outside <= HARDLY * (of_all - of_label)


def _has_name(name: str, rows: np.ndarray, tokens: list[list[str]], rules: Rules) -> bool:
    """Whether the name tells the label: as written, or its parts as words in a row."""
    forms = {" ".join(rules.tokens(form)) for form in (name, _BETWEEN.sub(" ", name))} - {""}
    is_own = np.zeros(len(tokens), bool)
    is_own[rows] = True
    inside = sum(_contains(tokens[row], forms) for row in rows)
    if inside < NEARLY * len(rows):
        return False
    outside = sum(_contains(tokens[row], forms) for row in np.flatnonzero(~is_own))
    return _tells(inside, outside, len(rows), len(tokens))


def _contains(tokens: list[str], forms: set[str]) -> bool:
    text = f" {' '.join(tokens)} "
    return any(f" {form} " in text for form in forms)
