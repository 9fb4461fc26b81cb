"""Random inputs that fit a `.tflite` file of any exporter."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.runtime import encoding
from kerascompact.runtime.named_inputs import given_texts, named_inputs, of_type
from kerascompact.tflite.graph_edits import dims_of
from kerascompact.tflite.layout import TYPE_NAMES
from kerascompact.tflite.metadata import metadata_of_graph
from kerascompact.tools.input_ids import are_float_ids, id_bound, input_names, position_bounds

LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def random_inputs(
    model: Any,
    count: int = 16,
    *,
    sequence_length: int = 32,
    num_ids: int | None = None,
    texts: Sequence[str | bytes] | None = None,
    seed: int = 0,
    graph: int = 0,
) -> dict[str, np.ndarray]:
    """Draws inputs for a model: ids within its vocabulary, texts, or normally distributed numbers.

    Args:
        model: `ModelT` of the schema.
        count: How many examples to draw.
        sequence_length: Size of dimensions that the file leaves open, except for the batch, which
            is 1; and words in a text.
        num_ids: Ids are below this number. Default: the vocabulary size in kerascompact's metadata,
            or the number of rows of the table that an input looks up; of the smallest table, if
            that cannot be told. A position in a text that is generated is within its cache.
        texts: Texts for a file that takes text. Default: made-up words.
        seed: Seed of the random numbers.
        graph: Number of the graph whose inputs are drawn, if the file has several models.

    Returns: An array `(count, ...)` for each input of the graph, in their order.

    Raises: ValueError, if an argument does not fit the file.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> ids = keras.Input((4,), dtype="int32", name="ids")
    >>> model = keras.Model(ids, ClusterEmbedding(9, 2, num_clusters=3)(ids))
    >>> parsed = kerascompact.tflite.flatbuffer.parse(kerascompact.export.convert(model))
    >>> random_inputs(parsed, 3)["0 ids"].shape
    (3, 1, 4)
    """
    checks.integer_in("count", count, 1)
    checks.integer_in("sequence_length", sequence_length, 1)
    if num_ids is not None:
        checks.integer_in("num_ids", num_ids, 1)
    random = np.random.default_rng(seed)
    metadata = metadata_of_graph(model, graph)
    takes_text = metadata.get("text")
    if texts is not None and (takes_text is None or not len(texts)):
        checks.fail("texts", "None, or at least one text for a file that takes text", texts)
    own, positions, found = model.subgraphs[graph], position_bounds(model, graph), {}
    for place, index in enumerate(own.inputs):
        tensor = own.tensors[index]
        name = f"{place} {(tensor.name or b'').decode('utf-8', 'replace')}"
        if takes_text is not None and len(own.inputs) == 1:
            given = (
                [_words(random, sequence_length) for _ in range(count)] if texts is None else texts
            )
            found[name] = _encoded([given[i % len(given)] for i in range(count)], takes_text)
        else:
            shape = (count, *_shape(tensor, sequence_length))
            most = positions.get(int(index)) or num_ids
            most = most or id_bound(model, metadata, own, int(index))
            if are_float_ids(model, own, int(index)):
                found[name] = random.integers(0, most, shape).astype(np.float32)
            else:
                found[name] = _numbers(tensor, shape, most, random)
    return found


def given_inputs(
    model: Any, data: Any, argument: str = "data", graph: int = 0
) -> dict[str, np.ndarray]:
    """Arranges a user's examples as inputs of a file, in the format of `random_inputs`.

    Args:
        model: `ModelT` of the schema.
        data: An array; for several inputs a dictionary of arrays by name, or a list or tuple of
            arrays in the order of the model that the file was made from (in the order of the file,
            if the metadata do not have it). A list or array of texts, if the file takes text. The
            names are those in the signature, or those of the tensors, which `inspect` shows.
        argument: Name of the argument with the data, for errors.
        graph: Number of the graph whose inputs they are, if the file has several models.

    Returns: An array `(batches, examples of a batch, ...)` for each input of the graph, in their
        order. The last batch is filled up with the first examples, see `num_given`.

    Raises: ValueError, if the data do not fit the file.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> ids = keras.Input((4,), dtype="int32", name="ids")
    >>> model = keras.Model(ids, ClusterEmbedding(9, 2, num_clusters=3)(ids))
    >>> parsed = kerascompact.tflite.flatbuffer.parse(kerascompact.export.convert(model))
    >>> given_inputs(parsed, [[1, 2, 3, 4], [5, 6, 7, 8]])["0 ids"].shape
    (2, 1, 4)
    """
    if metadata_of_graph(model, graph).get("text") is not None:
        texts = given_texts(argument, data)
        return random_inputs(model, len(texts), texts=texts, graph=graph)
    own, names = model.subgraphs[graph], input_names(model, graph)
    arrays = _given_arrays(model, data, argument, graph)
    return {
        f"{place} {names[index]}": _in_batches(
            argument, names[index], arrays[names[index]], own.tensors[index]
        )
        for place, index in enumerate(own.inputs)
    }


def num_given(model: Any, data: Any, argument: str = "data", graph: int = 0) -> int:
    """Number of a user's examples: `given_inputs` repeats some, to fill up the last batch.

    Args:
        model: `ModelT` of the schema.
        data: The examples: an array, several by name or in the model's order, or texts, see
            `given_inputs`.
        argument: Name of the argument with the data, for errors.
        graph: Number of the graph whose inputs they are.

    Returns: How many examples there are, before batches are filled up.

    Raises: ValueError, if the data do not fit the file.

    >>> ids = keras.Input((4,), dtype="int32", name="ids")
    >>> model = keras.Model(ids, keras.layers.Embedding(9, 2)(ids))
    >>> file = kerascompact.export.convert(model, "float32", batch_size=3)
    >>> parsed = kerascompact.tflite.flatbuffer.parse(file)
    >>> rows = [[1, 2, 3, 4]] * 4
    >>> num_given(parsed, rows), given_inputs(parsed, rows)["0 ids"].shape
    (4, (2, 3, 4))
    """
    if metadata_of_graph(model, graph).get("text") is not None:
        return len(given_texts(argument, data))
    return len(next(iter(_given_arrays(model, data, argument, graph).values())))


def _given_arrays(model: Any, data: Any, argument: str, graph: int) -> dict[str, np.ndarray]:
    """A user's array `(examples, ...)` for each input, by its name."""
    own, names = model.subgraphs[graph], input_names(model, graph)
    shown = {n: (own.tensors[n].name or b"").decode("utf-8", "replace") for n in names}
    told = metadata_of_graph(model, graph).get("inputs", [])
    order = told if {*told} == {*names.values()} else [*names.values()]
    tensors = {name: own.tensors[index] for index, name in names.items()}
    if isinstance(data, Mapping) and {*data} == {*shown.values()}:
        data = {names[n]: data[name] for n, name in shown.items()}
    ranks = {name: len(dims_of(tensors[name])) for name in order}
    return named_inputs(argument, data, ranks)


def _in_batches(argument: str, name: str, array: np.ndarray, tensor: Any) -> np.ndarray:
    """Batches of the input's size and type from an array `(examples, ...)`.

    The last batch is filled up with the first examples. Where the batch size is open, it is 1.
    """
    wanted = dims_of(tensor)[1:]
    fits = array.ndim == len(wanted) + 1 and all(
        n in (-1, found) for n, found in zip(wanted, array.shape[1:], strict=True)
    )
    if not fits:
        checks.fail(argument, f"rows of shape {wanted} for {name!r}", array.shape[1:])
    converted = of_type(argument, name, array, TYPE_NAMES[tensor.type].lower())
    size = max([1, *dims_of(tensor)[:1]])
    places = np.arange(-(-len(array) // size) * size) % len(array)
    one = (size,) if dims_of(tensor) else ()
    return converted[places].reshape(-1, *one, *array.shape[1:])


def _shape(tensor: Any, sequence_length: int) -> list[int]:
    dims = dims_of(tensor)
    return [(1 if axis == 0 and len(dims) > 1 else sequence_length) if n == -1 else n
            for axis, n in enumerate(dims)]  # fmt: skip


def _numbers(
    tensor: Any, shape: tuple[int, ...], num_ids: int, random: np.random.Generator
) -> np.ndarray:
    dtype = TYPE_NAMES[tensor.type].lower()
    if dtype.startswith("float"):
        return random.normal(size=shape).astype(dtype)
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype not in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        raise ValueError(f"The file has an input of type {dtype}, which cannot be drawn at random.")
    limits = np.iinfo(dtype)
    quantized = tensor.quantization is not None and tensor.quantization.scale is not None
    if quantized:  # these integers are numbers, not ids
        return random.integers(limits.min, int(limits.max) + 1, shape).astype(dtype)
    return random.integers(0, min(num_ids, int(limits.max) + 1), shape).astype(dtype)


def _words(random: np.random.Generator, count: int) -> str:
    """A text of made-up words of 2 to 9 letters, in which frequent letters are frequent."""
    chances = 1 / np.arange(1, len(LETTERS) + 1)
    lengths = random.integers(2, 10, count)
    letters = random.choice([*LETTERS], lengths.sum(), p=chances / chances.sum())
    return " ".join("".join(part) for part in np.split(letters, np.cumsum(lengths)[:-1]))


def _encoded(texts: Sequence[str | bytes], facts: dict[str, Any]) -> np.ndarray:
    """The bytes of each text, padded to the longest, so that all have one shape."""
    rows = [encoding.encode(text, facts["max_bytes"]).numbers[0] for text in texts]
    longest = max(map(len, rows))
    return np.stack([np.pad(row, (0, longest - len(row))) for row in rows])[:, None]
