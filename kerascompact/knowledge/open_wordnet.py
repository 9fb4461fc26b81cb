"""Graph of English words from tables of Open English WordNet."""

import gzip
import io
import os
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from kerascompact.core import checks
from kerascompact.knowledge.graph import Graph
from kerascompact.knowledge.words import plain, word_graph

RELATIONS = ("synonyms", "hypernyms", "hyponyms", "similar", "parts", "wholes")


class OpenWordNet:
    """Open English WordNet, read from two tables.

    `synsets.tsv` has a row for each synset, with a header and at least the columns `synset`,
    `members` (names separated by `|`), `hypernym`, `similar`, `mero_part` and `mero_member`
    (synsets separated by commas). `senses.tsv` has the columns `lemma` and `synsets` (separated by
    commas). Either may end in `.gz`.

    Args:
        folder: Path of the folder of both files.
    Raises: ValueError, if a file is missing or damaged, or lacks a column (the error names file
        and line).
    Example:
    >>> wordnet = OpenWordNet("open_english_wordnet")  # doctest: +SKIP
    >>> sorted(wordnet.related("nimbleness", ["hypernyms"]))  # doctest: +SKIP
    ['gracefulness', 'intelligence']

    Reference: [McCrae et al., GWC 2019](https://aclanthology.org/2019.gwc-1.31); the tables are
    made from github.com/globalwordnet/english-wordnet, src/yaml.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not isinstance(folder, str | os.PathLike):
            checks.fail("folder", "the path of a folder", folder)
        self._members: dict[str, list[str]] = {}
        self._links: dict[str, dict[str, list[str]]] = {name: {} for name in RELATIONS[1:]}
        self._synsets: dict[str, list[str]] = {}
        folder = Path(folder)
        columns = ("synset", "members", "hypernym", "similar", "mero_part", "mero_member")
        for synset, members, above, similar, parts, of_group in _rows(folder, "synsets", columns):
            self._members[synset] = members.split("|") if members else []
            self._link(synset, above, "hypernyms", "hyponyms")
            self._link(synset, similar, "similar", "similar")
            for found in (parts, of_group):
                self._link(synset, found, "parts", "wholes")
        for lemma, synsets in _rows(folder, "senses", ("lemma", "synsets")):
            self._synsets.setdefault(plain(lemma), []).extend(filter(None, synsets.split(",")))

    def related(self, word: str, relations: Collection[str] = RELATIONS[:3]) -> set[str]:
        """Names of the words one step from `word`.

        Args:
            word: Word in upper or lower case; inflected forms are not found.
            relations: Some of "synonyms", "hypernyms", "hyponyms", "similar" (of adjectives),
                "parts" and "wholes" (members of groups included). The tables have no antonyms.
        Raises: ValueError, if a relation is unknown.
        """
        if isinstance(relations, str) or not relations:
            checks.fail("relations", "a list of at least one relation", relations)
        for relation in relations:
            checks.choice("relations", relation, RELATIONS)
        names: set[str] = set()
        for synset in self._synsets.get(plain(word), ()):
            for relation in relations:
                if relation == "synonyms":
                    names.update(self._members.get(synset, ()))
                else:
                    for other in self._links[relation].get(synset, ()):
                        names.update(self._members.get(other, ()))
        return names

    def _link(self, synset: str, others: str, there: str, back: str) -> None:
        for other in filter(None, others.split(",")):
            self._links[there].setdefault(synset, []).append(other)
            self._links[back].setdefault(other, []).append(synset)


def open_wordnet_graph(
    words: Sequence[str],
    source: OpenWordNet | str | os.PathLike[str],
    relations: Collection[str] = RELATIONS[:3],
) -> Graph:
    """Relates words that are one step apart in Open English WordNet, as `wordnet_graph` does.

    Args:
        words: Word of each id, reserved ids included, see `word_graph`.
        source: An `OpenWordNet`, or the folder of its tables.
        relations: Names of relations that `OpenWordNet.related` takes.
    Returns: The graph of the related words.
    Raises: ValueError, if a table is missing or damaged, or a relation is unknown.
    Example:
    >>> words = ["agility", "nimbleness", "street"]
    >>> open_wordnet_graph(words, "open_english_wordnet").pairs().tolist()  # doctest: +SKIP
    [[0, 1]]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.3.
    Differs: inflected words have no relations, and there are no antonyms and no proper names.
    """
    wordnet = source if isinstance(source, OpenWordNet) else OpenWordNet(source)
    wordnet.related("", relations)  # refuses them before any word is looked up
    return word_graph(words, lambda word: wordnet.related(word, relations))


def _rows(folder: Path, name: str, columns: tuple[str, ...]) -> Iterator[list[str]]:
    """The named columns of each row of `name.tsv` or `name.tsv.gz`."""
    packed, path = folder / f"{name}.tsv.gz", folder / f"{name}.tsv"
    path = packed if packed.is_file() else path
    if not path.is_file():
        raise ValueError(
            f"There is no {name}.tsv or {name}.tsv.gz in {folder}. Make it from the yaml files of "
            "github.com/globalwordnet/english-wordnet, as `OpenWordNet` describes."
        )
    lines = _text(path)
    header = next(lines, "").rstrip("\n").split("\t")
    missing = [column for column in columns if column not in header]
    if missing:
        raise ValueError(f"{path}, line 1: there is no column {missing[0]!r}.")
    places = [header.index(column) for column in columns]
    for number, line in enumerate(lines, start=2):
        if not line.strip():  # such as one more at the end
            continue
        row = line.rstrip("\n").split("\t")
        if len(row) != len(header):
            raise ValueError(
                f"{path}, line {number}: {len(header)} columns expected. Received: {len(row)}."
            )
        yield [row[place] for place in places]


def _text(path: Path) -> io.StringIO:
    data = path.read_bytes()
    try:
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        return io.StringIO(data.decode("utf-8-sig"), newline=None)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: the file is damaged ({error}).") from error
