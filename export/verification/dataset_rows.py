"""Rows of a data set as the file and as Keras take them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.projection import Projection
from kerascompact.runtime import encoding
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.runtime.named_inputs import given_texts, named_inputs
from kerascompact.text.ngrams import projection_bits
from kerascompact.text.rules import named
from kerascompact.text.vocabulary import Vocabulary

Rows = list[Any]  # arrays, one for each row


def rows_of(
    data: Any,
    file: Interpreter,
    vocabulary: Vocabulary | None = None,
    names: Sequence[str] = (),
    structure: Any = None,
) -> tuple[Rows, Rows]:
    """The inputs of the file, and those of Keras: the same, unless the file takes text.

    Args:
        data: An array `(rows, length)`, or texts; for several inputs see `named_inputs`.
        file: The file that will be run on them.
        vocabulary: The model's, for a file that takes text and knows words.
        names: The model's inputs in its order; none, if only the file knows them.
        structure: How the model takes them, see `named_inputs`.

    Raises: ValueError, if they do not fit.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> file = Interpreter(kerascompact.export.convert(model))
    >>> given, asked = rows_of([[1, 2, 3, 4]], file)
    >>> given[0].tolist(), asked[0].tolist()
    ([1, 2, 3, 4], [1, 2, 3, 4])
    """
    if file.text is not None:
        return _texts(data, file, vocabulary)
    known = {*names} == {*file.inputs}  # a file of another maker may call them differently
    order, structure = (names, structure) if known else (file.input_order, None)
    ranks = {name: len(file.inputs[name]["shape_signature"]) for name in order}
    arrays = named_inputs("data", data, ranks, structure)
    if len(arrays) == 1:
        (array,) = arrays.values()
        if array.ndim < 2:
            checks.fail("data", "an array (rows, length) with at least one row", data)
        return [*array], [*array]
    count = len(arrays[order[0]])
    rows = [{name: array[row] for name, array in arrays.items()} for row in range(count)]
    return rows, rows


def _texts(data: Any, file: Interpreter, vocabulary: Vocabulary | None) -> tuple[Rows, Rows]:
    """What the file gets, and what Keras gets: the bytes of texts, and the ids or bits of words."""
    facts, known = file.text or {}, (file.metadata or {}).get("vocabulary") or {}
    if "projection" not in facts and (
        not isinstance(vocabulary, Vocabulary) or vocabulary.sha256 != known.get("sha256")
    ):
        checks.fail("vocabulary", "the model's, since the file takes text", vocabulary)
    given, asked = [], []
    for text in given_texts("data", data):
        numbers, used = encoding.encode(text, facts["max_bytes"])
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
