"""Graph of English words from WordNet, through nltk."""

import contextlib
import os
import warnings
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.knowledge.graph import Graph
from kerascompact.knowledge.words import word_graph

RELATIONS = ("synonyms", "antonyms", "hypernyms", "hyponyms")
WHERE = (
    "Name the folder of a WordNet database with `source`: Debian and Ubuntu have one in the "
    "package wordnet-base, at {}, or download the one of nltk (10 MB) with `download=True`. "
    "Open English WordNet as tables works as well, see `open_wordnet_graph`."
)
DEBIAN = "/usr/share/wordnet"


def wordnet_graph(
    words: Sequence[str],
    source: Any = None,
    relations: Collection[str] = RELATIONS,
    download: bool = False,
) -> Graph:
    """Relates words that are one step apart in WordNet.

    A word is related to the other names of each of its synsets (synonyms), to the antonyms of
    itself in them, and to all names of the synsets right above and below (hypernyms and hyponyms,
    classes and instances alike). nltk looks up an inflected word by its base:
    "stocks" is related to "stock" and to all that "stock" is related to.

    Args:
        words: Word of each id, reserved ids included, see `word_graph`.
        source: A reader such as `nltk.corpus.wordnet`; or the folder of a WordNet database
            (`data.noun`, `index.noun`, ...); `None` for the one that nltk finds in its data path.
        relations: Some of "synonyms", "antonyms", "hypernyms", "hyponyms".
        download: Whether nltk may download its WordNet, if there is no `source` and it has none.
    Returns: The graph of the related words.
    Raises: ValueError, if WordNet is not found (the error says where to get it) or a relation is
        unknown; ImportError, without nltk (`pip install 'kerascompact[wordnet]'`).
    Example:
    >>> graph = wordnet_graph(["year", "summer", "street"])  # doctest: +SKIP
    >>> graph.pairs().tolist()  # doctest: +SKIP
    []

    Reference: [Miller, CACM 1995](https://doi.org/10.1145/219717.219748); as the graph of an
    embedding, [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.3 and E.1.
    """
    if isinstance(relations, str) or not relations:
        checks.fail("relations", "a list of at least one relation", relations)
    for relation in relations:
        checks.choice("relations", relation, RELATIONS)
    with open_wordnet(source, download) as reader:
        return word_graph(words, lambda word: related_names(reader, word, relations))


@contextlib.contextmanager
def open_wordnet(source: Any = None, download: bool = False) -> Iterator[Any]:
    """Opens the `source` of `wordnet_graph` as a reader of nltk.

    nltk reads only below the folders of `nltk.data.path`; a folder named here is one of them until
    the context ends.

    Raises: ValueError, if WordNet is not found.
    """
    if source is None:
        yield _of_nltk(checks.boolean("download", download))
    elif isinstance(source, str | os.PathLike):
        data = require("nltk.data", "wordnet")
        before = list(data.path)
        data.path.append(str(Path(source).resolve()))
        try:
            yield _of_folder(Path(source).resolve())
        finally:
            data.path[:] = before
    elif callable(getattr(source, "synsets", None)):
        yield source
    else:
        checks.fail("source", "a WordNet reader of nltk, or the path of a folder", source)


def related_names(reader: Any, word: str, relations: Collection[str] = RELATIONS) -> set[str]:
    """Names of the words one step from `word`, as WordNet writes them ("new_york")."""
    names: set[str] = set()
    for synset in reader.synsets(word.replace(" ", "_")):
        if "synonyms" in relations:
            names.update(synset.lemma_names())
        if "antonyms" in relations:
            for lemma in synset.lemmas():
                if _is_name_of(lemma.name(), word, reader, synset.pos()):
                    names.update(other.name() for other in lemma.antonyms())
        if "hypernyms" in relations:
            for above in (*synset.hypernyms(), *synset.instance_hypernyms()):
                names.update(above.lemma_names())
        if "hyponyms" in relations:
            for below in (*synset.hyponyms(), *synset.instance_hyponyms()):
                names.update(below.lemma_names())
    return names


def _is_name_of(name: str, word: str, reader: Any, pos: str) -> bool:
    """Whether a lemma of a synset is the word itself, or a base that the word was found by."""
    word = word.lower().replace(" ", "_")
    # `morphy` gives the first base, which of "found" is "found"; `synsets` takes them all.
    bases = reader._morphy(word, pos) if hasattr(reader, "_morphy") else [reader.morphy(word, pos)]
    return name.lower() in (word, *bases)


def _of_nltk(download: bool) -> Any:
    nltk = require("nltk", "wordnet")
    corpus = require("nltk.corpus", "wordnet").wordnet
    for attempt in range(2):
        try:
            corpus.ensure_loaded()
            return corpus
        except LookupError:
            if attempt or not download or not nltk.download("wordnet", quiet=True):
                break
    raise ValueError(f"nltk finds no WordNet on this machine. {WHERE.format(DEBIAN)}")


def _of_folder(folder: Path) -> Any:
    module = require("nltk.corpus.reader.wordnet", "wordnet")
    missing = [name for name in ("data.noun", "index.noun") if not (folder / name).is_file()]
    if missing:
        raise ValueError(f"There is no {missing[0]} in {folder}. {WHERE.format(DEBIAN)}")
    with warnings.catch_warnings():  # other languages than English are not asked for
        warnings.filterwarnings("ignore", "The multilingual functions", UserWarning)
        try:
            return _english_only(module.WordNetCorpusReader)(str(folder), None)
        except (OSError, module.WordNetError) as error:
            raise ValueError(f"{folder} is an incomplete WordNet database: {error}.") from error


def _english_only(reader: type) -> type:
    # nltk looks up in its own WordNet how the synsets of another are numbered, for other languages;
    # without that one it fails.
    return type("EnglishWordNet", (reader,), {"map_wn": lambda self, version="wordnet": None})
