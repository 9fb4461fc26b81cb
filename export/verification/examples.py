"""Examples of a data set in the formats that the file and Keras take."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.projection import Projection
from kerascompact.runtime import encoding
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.runtime.named_inputs import given_texts, named_inputs
from kerascompact.text.buckets import Buckets
from kerascompact.text.ngrams import projection_bits
from kerascompact.text.rules import named
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.text.wordpiece import WordPiece, is_tokenizer

Examples = list[Any]  # for each example, an array or a dictionary of arrays


def examples_of(
    data: Any,
    file: Interpreter,
    vocabulary: Vocabulary | Buckets | WordPiece | None = None,
    names: Sequence[str] = (),
    structure: Any = None,
) -> tuple[Examples, Examples]:
    """The inputs of the file, and those of Keras, which differ if the file takes text.

    Args:
        data: An array `(examples, length)`, or texts; for several inputs see `named_inputs`.
        file: File that will be run on the examples.
        vocabulary: Vocabulary of the model, for a file that takes text and has one; a file knows
            its buckets itself.
        names: Names of the model's inputs in its order; empty, if only the file has names.
        structure: Names of the inputs, nested as the model takes them, see `named_inputs`.

    Raises: ValueError, if the data do not fit the file.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> file = Interpreter(kerascompact.export.convert(model))
    >>> given, asked = examples_of([[1, 2, 3, 4]], file)
    >>> given[0].tolist(), asked[0].tolist()
    ([1, 2, 3, 4], [1, 2, 3, 4])
    """
    if is_tokenizer(vocabulary) and not isinstance(vocabulary, WordPiece):
        vocabulary = WordPiece(vocabulary)
    if file.text is not None:
        return _texts(data, file, vocabulary)
    known = {*names} == {*file.inputs}  # another exporter may give the inputs other names
    order, structure = (names, structure) if known else (file.input_order, None)
    ranks = {name: len(file.inputs[name]["shape_signature"]) for name in order}
    arrays = named_inputs("data", data, ranks, structure)
    for name, array in arrays.items():  # as Keras gives or takes a last axis of one number
        if array.ndim == ranks[name] + 1 and array.shape[-1] == 1:
            arrays[name] = array[..., 0]
        elif array.ndim == ranks[name] - 1 and file.inputs[name]["shape_signature"][-1] == 1:
            arrays[name] = array[..., None]
    if len(arrays) == 1:
        ((name, array),) = arrays.items()
        if array.ndim < min(ranks[name], 2):  # an input of (batch,) has a number for each example
            checks.fail("data", "an array (examples, length) with at least one example", data)
        return [*array], [*array]
    count = len(arrays[order[0]])
    examples = [{name: array[place] for name, array in arrays.items()} for place in range(count)]
    return examples, examples


def _texts(
    data: Any, file: Interpreter, vocabulary: Vocabulary | Buckets | WordPiece | None
) -> tuple[Examples, Examples]:
    """The bytes of texts for the file, and the ids or bits of their words for Keras."""
    facts, known = file.text or {}, (file.metadata or {}).get("vocabulary") or {}
    if "buckets" in facts:
        buckets = Buckets(**facts["buckets"])
        if vocabulary not in (None, buckets):
            checks.fail("vocabulary", f"None, or that of the file, {buckets!r}", vocabulary)
        vocabulary = buckets
    elif "projection" not in facts and (
        not isinstance(vocabulary, Vocabulary | WordPiece)
        or vocabulary.sha256 != known.get("sha256")
    ):
        checks.fail("vocabulary", "that of the model, since the file takes text", vocabulary)
    given, asked = [], []
    for text in given_texts("data", data):
        numbers, used = encoding.encode(text, facts["max_bytes"])
        given.append(numbers[0])
        written = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        read = written[:used].decode("utf-8", "surrogateescape")
        if vocabulary is None or "projection" in facts:
            asked.append(_bits(read, facts))
            continue
        if isinstance(vocabulary, WordPiece):
            asked.append(_pieces(vocabulary, read, facts))
            continue
        ids = vocabulary.encode(read, facts["length"])
        asked.append(ids[: facts["max_words"]] if len(ids) else np.zeros(1, np.int32))
    return given, asked


def _pieces(tokenizer: WordPiece, text: str, facts: dict[str, Any]) -> Any:
    """The inputs of a model of pieces: ids, or a dictionary of them, their mask and segments."""
    ids = tokenizer.encode(text, facts["length"])
    if facts["max_words"] is not None and len(ids) > facts["max_words"]:
        ids = tokenizer.encode(text, facts["max_words"])
    ids = ids if len(ids) else np.array([tokenizer.padding], np.int32)
    tokens = len(tokenizer.encode(text)) if facts["length"] else len(ids)
    mask = (np.arange(len(ids)) < tokens).astype(np.int32)
    found = {"ids": ids, "mask": mask, "segments": np.zeros_like(ids)}
    inputs = {name: found[role] for name, role in facts["inputs"].items()}
    return inputs if len(inputs) > 1 else ids


def _bits(text: str, facts: dict[str, Any]) -> np.ndarray:
    """The bits of the words of a text, or of the entire text, as a text-in file computes them."""
    projection, together = Projection(**facts["projection"]), facts["together"]
    words = [word.encode("utf-8", "surrogateescape") for word in named(facts["rules"]).tokens(text)]
    words = words[: facts["length"] or facts["max_words"]]
    if together:
        return projection_bits(words, projection, together=True)
    bits = np.zeros((facts["length"] or max(1, len(words)), projection.num_bits), np.uint8)
    if words:
        bits[: len(words)] = projection_bits(words, projection)
    return bits
