"""List the words nearest to a word by the cosine of their vectors; to any word, in a projection."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from kerascompact.training.neighbours import NearestWords


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("word", nargs="+", metavar="WORD", help="words to find neighbours of")
    parser.add_argument(
        "--model", required=True, metavar="FILE",
        help="a .keras file, or word vectors: GloVe, word2vec or fastText's .vec as text "
        "(.gz, .xz), word2vec's .bin",
    )  # fmt: skip
    parser.add_argument(
        "--words", metavar="FILE",
        help="words to search, one per line, for a .keras file; with a table of vectors, the id of "
        "a word is its line number minus one, as in vocabulary.txt",
    )  # fmt: skip
    parser.add_argument(
        "--layer", metavar="NAME", help="which embedding, if a .keras file has several"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="search only the first N words")
    parser.add_argument(
        "--top", type=int, default=6, metavar="N", help="neighbours per word (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.core import checks

    checks.integer_in("top", arguments.top, 1)
    if arguments.limit is not None:
        checks.integer_in("limit", arguments.limit, 1)
    nearest, vectors = _read(arguments)
    for word, found in zip(
        arguments.word, nearest.of(arguments.word, vectors, arguments.top), strict=True
    ):
        print(word + "\t" + "\t".join(f"{near} {cosine:.3f}" for near, cosine in found))
    return 0


def _read(arguments: argparse.Namespace) -> "tuple[NearestWords, np.ndarray]":
    """The words to search, and the vectors of the words on the command line."""
    from kerascompact.compress import read_table
    from kerascompact.tasks import folder
    from kerascompact.training.neighbours import NearestWords

    path = Path(arguments.model)
    if path.suffix.lower() == ".tflite":
        raise ValueError(f"--model must be a .keras file or word vectors. Received: {path}.")
    if path.suffix.lower() != ".keras":
        if arguments.words is not None or arguments.layer is not None:
            raise ValueError("--words and --layer are for .keras files only.")
        table = read_table(path, limit=arguments.limit)
        if table.words is None:
            raise ValueError(f"{path} has no words: give a .keras file, or word vectors.")
        return NearestWords(table.words, table.vectors), _vectors(arguments.word, table)
    if arguments.words is None:
        raise ValueError("A .keras file needs --words, the words to search.")
    ids, words = _words(Path(arguments.words), arguments.limit)
    layer = _embedding(folder.load_model(path), arguments.layer, path)
    if hasattr(layer, "vectors"):
        return NearestWords(words, layer.vectors(words)), layer.vectors(arguments.word)
    table = read_table(layer if not hasattr(layer, "to_form") else layer.to_form())
    if max(ids) >= len(table.vectors):
        raise ValueError(
            f"{arguments.words} has {max(ids) + 1} lines, and {path} vectors of "
            f"{len(table.vectors)} words."
        )
    table = table._replace(vectors=table.vectors[ids], words=words)
    return NearestWords(words, table.vectors), _vectors(arguments.word, table)


def _vectors(wanted: Sequence[str], table: Any) -> "np.ndarray":
    number = {word: row for row, word in reversed(list(enumerate(table.words)))}
    missing = [word for word in wanted if word not in number]
    if missing:
        raise ValueError(
            f"{missing[0]!r} is not among the words of {table.name}; only a projection has vectors "
            "for any word."
        )
    return table.vectors[[number[word] for word in wanted]]


def _words(path: Path, limit: int | None) -> tuple[list[int], list[str]]:
    """Ids and words of a text file or a vocabulary file, without padding and unknown word."""
    from kerascompact.tasks.folder import naming

    with naming(path):
        lines = path.read_bytes().decode("utf-8-sig").removesuffix("\n").split("\n")
        cells = [line.removesuffix("\r").split("\t")[0] for line in lines]
        none = {"", "<pad>", "<unk>", *_empty_slots(path, lines[0])}
        found = [(i, w) for i, w in enumerate(cells) if w not in none][:limit]
        if not found:
            raise ValueError("it has no words.")
    return [id for id, _ in found], [word for _, word in found]


def _empty_slots(path: Path, first: str) -> list[str]:
    """Names of the slots that hold no word, in a file of words in slots."""
    from kerascompact.text.inputs import PAD
    from kerascompact.text.vocabulary import NUM_RESERVED, TAGS, Vocabulary

    if not first.startswith(f"{PAD}\t") or first.split("\t")[3:4] != [TAGS]:
        return []
    words = Vocabulary.load(path)
    return [w for place, w in enumerate(words.words, NUM_RESERVED) if words.id_of(w) != place]


def _embedding(model: Any, name: str | None, path: Path) -> Any:
    """The only embedding of a model that is in no other, or the one with this name."""
    from kerascompact.compress.tables import embeddings_of
    from kerascompact.core.embedding import BaseEmbedding
    from kerascompact.core.keras_graph import all_layers, inner_layers
    from kerascompact.forms import Form

    known = [layer for layer in all_layers(model) if isinstance(layer, BaseEmbedding)]
    found = [layer for layer in known if not isinstance(layer, Form)] + embeddings_of(model)
    if name is None:
        parts = [part for layer in found for part in inner_layers(layer)]
        found = [layer for layer in found if not any(layer is part for part in parts)]
    else:
        found = [layer for layer in found if layer.name == name]
    if len(found) != 1:
        names = ", ".join(repr(layer.name) for layer in found) or "none"
        raise ValueError(
            f"{path} must have one embedding, or --layer names one of several. Found: {names}."
        )
    return found[0]
