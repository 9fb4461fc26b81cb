"""Problems of a data set that cost accuracy or make it look better than it is, in sentences."""

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from kerascompact.datasets.base import Dataset, Split
from kerascompact.datasets.label_names import doubtful
from kerascompact.datasets.leaks import leaks
from kerascompact.text.rules import Rules, named
from kerascompact.text.scripts import without_spaces

MOST = 0.95  # share of the rows from which on one label is nearly all there is
LONG = 1000  # words from which on a text is very long
_LETTER = re.compile("[0-9A-Za-z]")  # a text with one of these has a token under all rules


def problems(dataset: Dataset, rules: str = "wordpunct") -> list[str]:
    """Examines a data set before a model is trained on it.

    Looks for texts of dev and test that are in train, equal texts with different labels, labels
    that can be read off the text, are written in two ways or stand several in a cell, labels with
    nearly all rows or with one, texts that are very
    long, have no token, were damaged by a wrong encoding or have no spaces between words. Texts are
    equal if their tokens are. Half a million short rows take 2 to 4 seconds.

    Args:
        dataset: Data set to examine.
        rules: Name of the token rules.
    Returns: A sentence for each problem, none if there are none.
    Raises: ValueError, if no rules have that name.
    Example:
    >>> train = Split(["up", "Down", "off"] * 2, np.array([0, 1, 1, 0, 1, 0], np.int32))
    >>> dev = Split(["down", "left"], np.array([1, 1], np.int32))
    >>> test = Split([], dev.labels[:0])
    >>> for line in problems(Dataset("mine", train, dev, test, ("louder", "softer"), "")):
    ...     print(line)
    dev: 1 of 2 texts (50.0 %) are in train; right answers to them say nothing of new texts.
    1 text has different labels in different rows (2 rows); no model gets all of them right.
    """
    token_rules = named(rules)
    names = [name for name in ("train", "dev", "test") if getattr(dataset, name).texts]
    splits = [getattr(dataset, name) for name in names]
    every = [text for split in splits for text in split.texts]
    # not lower(), in which a Greek sigma depends on what follows
    words = [text.casefold().split() for text in every]
    keys = _keys(every, words, token_rules)
    ends = np.cumsum([0, *(len(split.texts) for split in splits)])
    parts = dict(zip(names, (keys[a:b] for a, b in zip(ends, ends[1:], strict=False)), strict=True))
    return [
        *_repeated(parts),
        *_contradictions(keys, splits),
        *leaks(dataset.train, dataset.label_names, token_rules),
        *doubtful(dataset),
        *_counts(dataset),
        *_texts(every, words, token_rules),
    ]


def _keys(texts: list[str], words: list[list[str]], rules: Rules) -> list[str]:
    """Equal for texts with equal tokens; only those that may be equal are cut into tokens."""
    if rules.mediapipe or rules.name == "kim":  # these drop characters: any two may be equal
        return [" ".join(rules.tokens(text)) for text in texts]
    keys = ["".join(one) for one in words]
    counts = Counter(keys)
    known: dict[str, str] = {}
    for place, text in enumerate(texts):
        if counts[keys[place]] > 1:
            if text not in known:
                known[text] = " ".join(rules.tokens(text))
            keys[place] = known[text]
    return keys


def _repeated(parts: dict[str, list[str]]) -> Iterator[str]:
    """For dev and test: how many of the texts are in the splits before."""
    for name, other in (("dev", "train"), ("test", "train"), ("test", "dev")):
        if name in parts and other in parts:
            there = set(parts[other])
            count = sum(key in there for key in parts[name])
            if count:
                share = f"{100 * count / len(parts[name]):.1f} %"
                yield (
                    f"{name}: {count:,} of {len(parts[name]):,} texts ({share}) are in {other}; "
                    "right answers to them say nothing of new texts."
                )


def _contradictions(keys: list[str], splits: list[Split]) -> Iterator[str]:
    found: dict[str, object] = {}
    bad = set()
    labels = (one.tobytes() if one.ndim else int(one) for split in splits for one in split.labels)
    for key, label in zip(keys, labels, strict=True):
        if found.setdefault(key, label) != label:
            bad.add(key)
    if bad:
        rows = sum(key in bad for key in keys)
        texts = "1 text has" if len(bad) == 1 else f"{len(bad):,} texts have"
        yield (
            f"{texts} different labels in different rows ({rows:,} rows); no model gets all of "
            "them right."
        )


def _counts(dataset: Dataset) -> Iterator[str]:
    """Labels with nearly all of the rows of train, with one, or with none."""
    labels, names = dataset.train.labels, dataset.label_names
    rows = len(labels)
    if dataset.multi_label:
        counts = np.count_nonzero(labels, axis=0)
    else:
        counts = np.bincount(labels, minlength=len(names))
    for label in np.flatnonzero(counts > MOST * rows):
        share = f"{100 * counts[label] / rows:.1f} %"
        yield (
            f"{share} of the rows have the label {names[label]!r}: always giving it is right "
            "that often. Judge by macro_f1."
        )
    for count, what in ((0, "no row"), (1, "one row")):
        places = np.flatnonzero(counts == count)
        if len(places):
            some = ", ".join(repr(names[place]) for place in places[:3])
            more = ", ..." if len(places) > 3 else ""
            yield (
                f"{len(places):,} of {len(names):,} labels have {what} in train: {some}{more}. "
                "Nobody learns from so few; merge them or add rows."
            )


def _texts(texts: list[str], words: list[list[str]], rules: Rules) -> Iterator[str]:
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    if (lengths > LONG).any():
        yield (
            f"{np.count_nonzero(lengths > LONG):,} of {len(texts):,} texts have more than {LONG:,} "
            f"words, the longest {lengths.max():,}, half of them at most {np.median(lengths):,.0f}."
            " A model reads the first words only, up to its sequence length."
        )
    none = [text for text in texts if not _LETTER.search(text) and not rules.tokens(text)]
    if none:
        yield (
            f"{len(none):,} of {len(texts):,} texts have no token under the rules "
            f"{rules.name!r}, such as {none[0][:20]!r}. A model cannot tell them apart."
        )
    damaged = sum("\ufffd" in text for text in texts)
    if damaged:
        yield (
            f"{damaged:,} of {len(texts):,} texts have characters that were lost in another "
            "encoding (U+FFFD)."
        )
    if not rules.characters and without_spaces(texts):
        yield (
            "Most texts have no spaces between words, as in Chinese, Japanese or Thai: the rules "
            f"{rules.name!r} take a sentence for one word. Use the rules 'characters'."
        )
