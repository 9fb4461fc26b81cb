"""Input arrays by name, from data in any structure that `model.fit` takes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kerascompact.core import checks


def named_inputs(
    argument: str,
    data: Any,
    ranks: Mapping[str, int | None],
    structure: Any = None,
) -> dict[str, np.ndarray]:
    """Finds the array of each input of a model.

    Args:
        argument: Name of the argument with the data, for errors.
        data: A dictionary of arrays by input name; a list or tuple of arrays in the order of the
            inputs; or arrays nested as in `structure`. For one input, the array itself will do.
        ranks: Number of dimensions of each input, the batch included, in the order of the model's
            inputs; `None` if it is not known.
        structure: Names of the inputs, nested in lists, tuples and dictionaries as the model takes
            them. Default: a list of the names.

    Returns: The arrays by input name.

    Raises: ValueError, if the data have another structure, if the arrays differ in their number of
        examples, or if there are no examples.

    >>> found = named_inputs("data", ([[1], [2]], [[0.5], [1.5]]), {"ids": 2, "scores": 2})
    >>> {name: array.tolist() for name, array in found.items()}
    {'ids': [[1], [2]], 'scores': [[0.5], [1.5]]}
    """
    names = [*ranks]
    if isinstance(data, Mapping) and {*data} == {*names}:
        found = {name: data[name] for name in names}
    elif _nested(structure, names) and _fits(data, structure):
        found = dict(_leaves(data, structure))
    elif len(names) == 1 and not isinstance(data, Mapping):
        found = {names[0]: _only(data, ranks[names[0]])}
    elif isinstance(data, list | tuple) and len(data) == len(names) > 1:
        found = dict(zip(names, data, strict=True))
    else:
        expected = f"arrays for the inputs {names}, in a list or tuple of this order, or by name"
        checks.fail(argument, expected, data)
    arrays = {name: np.asarray(array) for name, array in found.items()}
    rows = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if len({*rows.values()}) != 1 or not min(rows.values()):
        many = "arrays of as many rows each, at least one"
        checks.fail(argument, many if len(rows) > 1 else "an array with at least one row", rows)
    return arrays


def of_type(argument: str, name: str, array: np.ndarray, dtype: Any) -> np.ndarray:
    """Converts the array of an input to the input's type.

    Args:
        argument: Name of the argument with the data, for errors.
        name: Name of the input, for errors.
        array: The array.
        dtype: Type of the input.

    Returns: The array in this type.

    Raises: ValueError, if the array does not hold numbers, or not the integers of the type.

    >>> of_type("data", "ids", np.array([[1.0, 2.0]]), "int32").tolist()
    [[1, 2]]
    """
    dtype = np.dtype(dtype)
    found = array
    if array.dtype.kind not in "SUOMm":
        with np.errstate(invalid="ignore", over="ignore"):
            found = array.astype(dtype)
    whole = dtype.kind in "iu"
    if found.dtype != dtype or (whole and not np.array_equal(array, found)):
        kind = "integers" if whole else "numbers"
        checks.fail(argument, f"{kind} of type {dtype} for {name!r}", array)
    return found


def given_texts(argument: str, data: Any) -> list[str | bytes]:
    """Checks the texts for a file that takes text.

    Args:
        argument: Name of the argument with the texts, for errors.
        data: A list, a tuple or a one-dimensional array of texts.

    Returns: The texts as a list.

    Raises: ValueError, if the data are something else or empty.

    >>> given_texts("data", np.array(["good", "bad"]))
    ['good', 'bad']
    """
    if isinstance(data, np.ndarray) and data.ndim == 1:
        data = data.tolist()
    texts = [*data] if isinstance(data, Sequence) and not isinstance(data, str | bytes) else []
    if not texts or not all(isinstance(text, str | bytes) for text in texts):
        checks.fail(argument, "a list of at least one text, since the file takes text", data)
    return texts


def _nested(structure: Any, names: list[str]) -> bool:
    """Whether the structure says more than the names; the examples of one input may be a list."""
    return isinstance(structure, Mapping) or (len(names) > 1 and structure is not None)


def _only(data: Any, rank: int | None) -> Any:
    """The array of a model with one input, which may be wrapped in a list."""
    alone = isinstance(data, list | tuple) and len(data) == 1
    return data[0] if alone and rank is not None and np.ndim(data[0]) == rank else data


def _fits(data: Any, structure: Any) -> bool:
    """Whether arrays are nested like the names in `structure`."""
    if isinstance(structure, str):
        return not isinstance(data, Mapping)
    if isinstance(structure, Mapping):
        same = isinstance(data, Mapping) and {*data} == {*structure}
        return same and all(_fits(data[key], inner) for key, inner in structure.items())
    same = isinstance(data, list | tuple) and len(data) == len(structure)
    return same and all(map(_fits, data, structure))


def _leaves(data: Any, structure: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(structure, str):
        yield structure, data
    elif isinstance(structure, Mapping):
        for key, inner in structure.items():
            yield from _leaves(data[key], inner)
    else:
        assert isinstance(structure, Sequence)
        for one, inner in zip(data, structure, strict=True):
            yield from _leaves(one, inner)
