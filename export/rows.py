"""What the file gets and what Keras gets, row by row of a data set."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.projection import Projection
from kerascompact.export import utf8
from kerascompact.export.interpreter import Interpreter
from kerascompact.text.ngrams import projection_bits
from kerascompact.text.rules import named
from kerascompact.text.vocabulary import Vocabulary

Rows = list[Any]  # arrays, one for each row


def rows_of(data: Any, file: Interpreter, vocabulary: Vocabulary | None) -> tuple[Rows, Rows]:
    """The inputs of the file, and those of Keras: the same, unless the file takes text.

    Args:
        data: An array `(rows, length)`, or texts; a dictionary of arrays for several inputs.
        file: That will be run on them.
        vocabulary: The model's, for a file that takes text and knows words.

    Raises: ValueError, if they do not fit.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> file = Interpreter(kerascompact.export.convert(model))
    >>> given, asked = rows_of([[1, 2, 3, 4]], file, None)
    >>> given[0].tolist(), asked[0].tolist()
    ([1, 2, 3, 4], [1, 2, 3, 4])
    """
    if file.text is not None:
        return _texts(data, file, vocabulary)
    return _several(data, file) if len(file.inputs) > 1 else _rows(data)


def _several(data: Any, file: Interpreter) -> tuple[Rows, Rows]:
    """A dictionary of rows for each run of a file of several inputs."""
    names = sorted(file.inputs)
    if not isinstance(data, dict) or sorted(data) != names:
        checks.fail("data", f"a dictionary of arrays with the keys {names}", data)
    arrays = {name: np.asarray(array) for name, array in data.items()}
    sizes = {len(array) if array.ndim else 0 for array in arrays.values()}
    if len(sizes) != 1 or not min(sizes):
        checks.fail("data", "arrays of as many rows each, at least one", sorted(sizes))
    rows = [{name: array[row] for name, array in arrays.items()} for row in range(*sizes)]
    return rows, rows


def _rows(data: Any) -> tuple[Rows, Rows]:
    data = np.asarray(data)
    if data.ndim < 2 or len(data) == 0:
        checks.fail("data", "an array (rows, length) with at least one row", data)
    return list(data), list(data)


def _texts(data: Any, file: Interpreter, vocabulary: Vocabulary | None) -> tuple[Rows, Rows]:
    """What the file gets, and what Keras gets: the bytes of texts, and the ids or bits of words."""
    facts, known = file.text or {}, (file.metadata or {}).get("vocabulary") or {}
    if "projection" not in facts and (
        not isinstance(vocabulary, Vocabulary) or vocabulary.sha256 != known.get("sha256")
    ):
        checks.fail("vocabulary", "the model's, since the file takes text", vocabulary)
    if isinstance(data, str | bytes) or not isinstance(data, Sequence) or len(data) == 0:
        checks.fail("data", "a list of at least one text, since the file takes text", data)
    given, asked = [], []
    for text in data:
        numbers, used = utf8.encode(text, facts["max_bytes"])
        given.append(numbers[0])
        whole = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        read = whole[:used].decode("utf-8", "surrogateescape")
        if vocabulary is None or "projection" in facts:
            asked.append(_bits(read, facts))
            continue
        ids = vocabulary.encode(read, facts["length"])
        asked.append(ids[: facts["max_words"]] if len(ids) else np.zeros(1, np.int32))
    return given, asked


def _bits(text: str, facts: dict[str, Any]) -> np.ndarray:
    """The bits of the words of a text, or of all together, as a text-in file finds them."""
    projection, together = Projection(**facts["projection"]), facts["together"]
    words = [word.encode("utf-8", "surrogateescape") for word in named(facts["rules"]).tokens(text)]
    words = words[: facts["length"] or facts["max_words"]]
    if together:
        return projection_bits(words, projection, together=True)
    bits = np.zeros((facts["length"] or max(1, len(words)), projection.num_bits), np.uint8)
    if words:
        bits[: len(words)] = projection_bits(words, projection)
    return bits
