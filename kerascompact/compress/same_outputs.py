"""Whether a model with a shorter vocabulary answers as the model did for the tokens that stayed."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core.keras_graph import sources_of

# Tokens of a text where the model leaves their number open, and of all texts: logits are large.
LENGTH, TOKENS = 16, 128
CLOSE = {"float16": 2e-2, "bfloat16": 1e-1}  # of the largest number; 1e-4 in other types


def check_same_outputs(model: Any, copy: Any, tables: list[Any], ids: np.ndarray) -> None:
    """Compares both models on random tokens that stayed.

    A model for which no inputs can be made here, such as one of pictures, is not compared.

    Args:
        model: Functional model of the former ids.
        copy: Its copy, which has new ids.
        tables: Tables of the model that were cut.
        ids: The former id of each new one.

    Raises: ValueError, if outputs differ: something else reads the ids, too.

    >>> x = keras.Input((2,), dtype="int32")
    >>> model = keras.Model(x, keras.layers.Embedding(4, 2)(x))
    >>> check_same_outputs(model, model, [model.layers[1]], np.arange(4))
    """
    tokens = _token_inputs(model, tables)
    longest = max(LENGTH if n is None else n for one in model.inputs for n in (1, *one.shape[1:2]))
    rows = max(1, TOKENS // longest)
    new = {
        one.name: _example(one, rows, len(ids) if one.name in tokens else 0) for one in model.inputs
    }
    old = {
        name: ids[array.astype(int)].astype(array.dtype) if name in tokens else array
        for name, array in new.items()
    }
    try:
        wanted = _outputs(model, old)
    except (ValueError, TypeError, KeyError, RuntimeError, tf.errors.OpError):
        return
    close = CLOSE.get(keras.backend.standardize_dtype(model.compute_dtype), 1e-4)
    for before, after in zip(wanted, _outputs(copy, new), strict=True):
        apart = min(_distance(one, after) for one in _expected(before, after, ids))
        if apart > close:
            raise ValueError(
                "`model` must read the ids of tokens by the tables that are cut, "
                f"{', '.join(repr(one.name) for one in tables)}, and by nothing else, such as a "
                "larger table, a hash or a comparison, which would read the new ids. "
                f"Received: {model.name!r}, whose outputs would change by {apart:.1%}."
            )


def _expected(before: np.ndarray, after: np.ndarray, ids: np.ndarray) -> Iterator[np.ndarray]:
    """What an output may be: as it was, or of the tokens that stayed, whose probabilities and their
    logarithms are among fewer."""
    if before.shape == after.shape:
        yield before
        return
    kept = before[..., ids]
    with np.errstate(all="ignore"):
        yield from (kept, kept / kept.sum(axis=-1, keepdims=True))
        yield kept - np.log(np.exp(kept).sum(axis=-1, keepdims=True))


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    """Largest difference of two outputs, a share of the largest number; NaN is as NaN."""
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return float("inf")
    apart, scale = (float(np.nan_to_num(np.abs(x)).max(initial=0.0)) for x in (one - other, one))
    return apart / max(scale, 1e-3)


def _token_inputs(model: Any, tables: list[Any]) -> set[str]:
    """Names of the inputs that are ids of tokens."""
    found = {one.name for table in tables for one in sources_of(model, table)}
    whole = [
        one.name for one in model.inputs if "int" in keras.backend.standardize_dtype(one.dtype)
    ]
    if not found and len(whole) > 1:  # tables inside of layers: the names are those of keras-hub
        return {name for name in whole if "token" in name}
    return found or {*whole}


def _example(tensor: Any, rows: int, count: int) -> np.ndarray:
    """Numbers for an input: ids below `count`, ones for a mask, else zeros."""
    shape = [rows, *(LENGTH if n is None else n for n in tensor.shape[1:])]
    dtype = keras.backend.standardize_dtype(tensor.dtype)
    if count:
        return np.random.default_rng(0).integers(0, count, shape).astype(dtype)
    return np.full(shape, "mask" in tensor.name or dtype == "bool", dtype)


def _outputs(model: Any, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    given = [inputs[one.name] for one in model.inputs]
    nested: Any = given[0]
    if not isinstance(model, keras.Sequential):
        nested = keras.tree.pack_sequence_as(model.input, given)
    outputs = keras.tree.flatten(model(nested, training=False))
    return [keras.ops.convert_to_numpy(keras.ops.cast(one, "float32")) for one in outputs]
