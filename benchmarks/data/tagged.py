"""Sentences with a tag for each word: what tagging sets share, and readers of three formats."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks

Sentence = list[tuple[str, str]]  # words and their tags
COLUMNS = {"upos": 3, "xpos": 4}  # of CoNLL-U

_BRACKET = re.compile(r"[()]")
_LEAF = re.compile(r"\(([^()\s]+)\s+([^()\s]+)\)")


class TaggedSplit(NamedTuple):
    """Words of each sentence, and the numbers of their tags, int32 `(words,)` each.

    >>> TaggedSplit([["it", "rains"]], [np.array([0, 1], np.int32)]).num_words
    2
    """

    words: list[list[str]]
    tags: list[np.ndarray]

    @property
    def num_words(self) -> int:
        """Words of all sentences."""
        return sum(map(len, self.words))


@dataclass(frozen=True)
class TaggedCorpus:
    """A tagging data set in memory.

    Args:
        name: Of the set.
        train, dev, test: The three splits.
        tag_names: Name of tag 0, of tag 1, ..., in alphabetical order.
        about: Source, terms and what to cite, in a line or two.
    """

    name: str
    train: TaggedSplit
    dev: TaggedSplit
    test: TaggedSplit
    tag_names: tuple[str, ...]
    about: str


def make_corpus(name: str, splits: Mapping[str, Sequence[Sentence]], about: str) -> TaggedCorpus:
    """Numbers the tags of all three splits.

    Raises: ValueError, if a split has no sentence.

    >>> one = [[("it", "PRP"), ("rains", "VBZ")]]
    >>> corpus = make_corpus("one", {"train": one, "dev": one, "test": one}, "")
    >>> corpus.tag_names, corpus.dev.tags[0].tolist()
    (('PRP', 'VBZ'), [0, 1])
    """
    for split, sentences in splits.items():
        if not len(sentences):
            checks.fail(split, "sentences, at least one", list(sentences))
    every = (tag for sentences in splits.values() for sentence in sentences for _, tag in sentence)
    tag_names = tuple(sorted(set(every)))
    number = {tag: index for index, tag in enumerate(tag_names)}

    def made(sentences: Sequence[Sentence]) -> TaggedSplit:
        words = [[word for word, _ in sentence] for sentence in sentences]
        tags = [np.array([number[tag] for _, tag in sentence], np.int32) for sentence in sentences]
        return TaggedSplit(words, tags)

    train, dev, test = (made(splits[split]) for split in ("train", "dev", "test"))
    return TaggedCorpus(name, train, dev, test, tag_names, about)


def read_conllu(text: str, where: str | Path, tags: str = "xpos") -> list[Sentence]:
    r"""Reads CoNLL-U: ten columns with tabs between, a blank line after each sentence.

    Lines that begin with `#` are comments. Ids with `-` (several words written as one) and with
    `.` (words that are not written) are passed over.

    Args:
        text: Of the file.
        where: The file, for errors.
        tags: Which tags, `"upos"` (universal) or `"xpos"` (of the language).
    Raises: ValueError, naming the line that has not ten columns, or no word or tag.

    >>> read_conllu("1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n", "a.conllu")
    [[('Go', 'VB')]]

    Reference: [the format](https://universaldependencies.org/format.html).
    """
    column = COLUMNS[checks.choice("tags", tags, tuple(COLUMNS))]

    def word_of(line: str, number: int) -> tuple[str, str] | None:
        if line.startswith("#"):
            return None
        cells = line.split("\t")
        if len(cells) != 10:
            raise ValueError(
                f"{where}, line {number}: must have 10 columns. Received: {len(cells)}."
            )
        if "-" in cells[0] or "." in cells[0]:
            return None
        return cells[1], cells[column]

    return _sentences(text, word_of, where)


class TaggedText(NamedTuple):
    """A sentence as it was written, with its words: `starts`, the first character of each; `tags`.

    >>> TaggedText("It rains.", [0, 3, 8], ["PRON", "VERB", "PUNCT"]).text
    'It rains.'
    """

    text: str
    starts: list[int]
    tags: list[str]


def read_texts(text: str, where: str | Path, tags: str = "xpos") -> list[TaggedText]:
    r"""Reads CoNLL-U with the sentences as they were written, `# text = ...`.

    A word that the sentence does not have, where an editor put one in, is left out.

    Args:
        text: Of the file.
        where: The file, for errors.
        tags: As for `read_conllu`.
    Raises: ValueError, if a sentence has no such line, and as `read_conllu`.

    >>> rows = "1\tca\t_\tAUX" + "\t_" * 6 + "\n2\tn't\t_\tPART" + "\t_" * 6
    >>> read_texts("# text = can't\n" + rows, "a.conllu", "upos")
    [TaggedText(text="can't", starts=[0, 2], tags=['AUX', 'PART'])]
    """
    found = []
    for block in text.strip().split("\n\n"):
        said = re.search(r"^# text = (.*)$", block, re.MULTILINE)
        if said is None:
            raise ValueError(f"{where}: a sentence has no line '# text = ...'.")
        place, starts, names = 0, [], []
        for word, tag in (pair for words in read_conllu(block, where, tags) for pair in words):
            while said[1][place : place + 1].isspace():
                place += 1
            if said[1].startswith(word, place):
                starts.append(place)
                names.append(tag)
                place += len(word)
        found.append(TaggedText(said[1], starts, names))
    return found


def read_columns(text: str, where: str | Path) -> list[Sentence]:
    r"""Reads a word and its tag in each line, more columns ignored, a blank line after a sentence.

    Raises: ValueError, naming the line that has fewer than two columns.

    >>> read_columns("He PRP B-NP\nruns VBZ B-VP\n\n", "a.txt")
    [[('He', 'PRP'), ('runs', 'VBZ')]]
    """

    def word_of(line: str, number: int) -> tuple[str, str]:
        cells = line.split()
        if len(cells) < 2:
            raise ValueError(
                f"{where}, line {number}: must have a word and a tag. Received: {line!r}."
            )
        return cells[0], cells[1]

    return _sentences(text, word_of, where)


def _sentences(
    text: str, word_of: Callable[[str, int], tuple[str, str] | None], where: str | Path
) -> list[Sentence]:
    """Runs of lines that hold words; `word_of` gives `None` for a line that holds none."""
    found: list[Sentence] = [[]]
    for number, line in enumerate(text.split("\n"), 1):  # not splitlines(): U+0085 may be in a word
        if not line.strip():
            found.append([])
            continue
        pair = word_of(line, number)
        if pair is not None:
            if not all(pair):
                raise ValueError(f"{where}, line {number}: an empty word or tag.")
            found[-1].append(pair)
    return [sentence for sentence in found if sentence]


def read_brackets(text: str, where: str | Path) -> list[Sentence]:
    """Reads the words of bracketed trees, a sentence for each tree; traces (`-NONE-`) left out.

    Raises: ValueError, if brackets do not match.

    >>> read_brackets("( (S (NP (PRP It)) (VP (VBZ rains) (NP (-NONE- *)))))", "wsj_0001.mrg")
    [[('It', 'PRP'), ('rains', 'VBZ')]]

    Reference: [Marcus et al., Computational Linguistics 1993](https://aclanthology.org/J93-2004).
    """
    found: list[Sentence] = []
    depth = start = 0
    for bracket in _BRACKET.finditer(text):
        if bracket.group() == "(":
            start = bracket.start() if depth == 0 else start
            depth += 1
            continue
        depth -= 1
        if depth < 0:
            break
        if depth == 0:
            leaves = _LEAF.findall(text[start : bracket.end()])
            found.append([(word, tag) for tag, word in leaves if tag != "-NONE-"])
    if depth:
        raise ValueError(f"{where}: brackets do not match, the file is damaged.")
    return [sentence for sentence in found if sentence]
