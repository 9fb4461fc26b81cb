"""Compression of a trained model's embeddings; a form as a model of its own."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from kerascompact.compress.base import Compressor
from kerascompact.compress.tables import embeddings_of, quantized_in, values_of
from kerascompact.core import checks
from kerascompact.core.keras_graph import copy_with, is_one_table, is_stock_embedding
from kerascompact.forms.base import Form
from kerascompact.forms.reversible import reversible


def compress_model(
    model: keras.Model,
    compressor: Compressor,
    counts: Any = None,
    layers: Sequence[str] | None = None,
) -> keras.Model:
    """Copies a trained model, with its Keras embeddings replaced by compressed forms.

    Everything else is kept, with its weights: the copy evaluates, trains on around the compressed
    embeddings (whose forms have nothing to train), saves, and converts with `export.convert`.
    Embeddings inside other layers are compressed, too. A model of a class of its own, such as those
    of keras-hub, keeps its class and methods (`generate`), but cannot be saved as a .keras file.
    A `keras.layers.ReversibleEmbedding` that the model reads with and scores words with becomes one
    form that does both; a head of its own is compressed like the table.

    Args:
        model: Functional or Sequential model, built; it is not changed.
        compressor: Any of `kerascompact.compress`.
        counts: How often each word occurs, `(V,)`; a dictionary by layer name, if several tables
            are compressed.
        layers: Names of the `keras.layers.Embedding`s to compress. Default: all; those that are
            too small for the compressor, such as BERT's two segments, are kept, with a warning.

    Returns: The copy, compiled as the model was, but with plain SGD.

    Raises: ValueError, if the model is subclassed or not built, has no such embedding, holds NaN,
        or the compressor fits none of its tables, or not one of `layers` (the error names it).

    >>> from kerascompact.compress import ScalarQuantization
    >>> ids = keras.Input((4,), dtype="int32")
    >>> model = keras.Model(ids, keras.layers.Embedding(9, 2, name="words")(ids))
    >>> type(compress_model(model, ScalarQuantization(4)).get_layer("words")).__name__
    'DenseForm'
    """
    if not isinstance(compressor, Compressor):
        checks.fail("compressor", "a Compressor, such as ScalarQuantization()", compressor)
    if not isinstance(model, keras.Model):
        checks.fail("model", "a keras.Model", model)
    plain = [layer for layer in embeddings_of(model) if is_stock_embedding(layer)]
    chosen = {id(layer) for layer in _named(plain, layers, quantized_in(model))}
    by_name = _counts_by_name(counts, [layer.name for layer in plain if id(layer) in chosen])

    left: dict[int, tuple[str, str]] = {}  # by layer: its name, and why it stays
    reached: set[int] = set()

    def replace(layer: keras.layers.Layer) -> Form | None:
        if id(layer) not in chosen:
            return None
        reached.add(id(layer))
        try:
            table, weights = compressor.checked(values_of(layer), by_name.get(layer.name))
        except ValueError as error:
            raise _cannot(layer.name, error) from error
        config = dict(name=layer.name, dtype=layer.dtype_policy)

        def compressed(rows: Any, **options: Any) -> Form:
            rows = keras.ops.convert_to_numpy(rows).astype(np.float32)
            return compressor.compress(rows, weights, **config, **options)

        try:
            if is_one_table(layer):
                return compressed(table, mask_zero=layer.mask_zero)
            return reversible(layer, compressed, dtype=layer.dtype_policy)
        except ValueError as error:
            if layers is not None or len(left) + 1 == len(chosen):
                raise _cannot(layer.name, error, [name for name, _ in left.values()]) from error
            why = f"a table of {len(table)} rows and {table.shape[1]} columns: {error}"
            left[id(layer)] = layer.name, why
            return None

    copy = copy_with(model, replace)
    for layer in plain:
        if id(layer) in chosen - reached:
            reason = ValueError(f"it is inside a function that a layer of {model.name!r} holds.")
            if layers is not None or len(left) + 1 == len(chosen):
                raise _cannot(layer.name, reason, [name for name, _ in left.values()])
            left[id(layer)] = layer.name, str(reason)
    if left:
        reasons = " ".join(f"Layer {name!r}, {why}" for name, why in left.values())
        message = f"{len(left)} of {len(chosen)} embeddings cannot be compressed, and stay as they "
        warnings.warn(f"{message}are. {reasons}", stacklevel=2)
    return copy


def form_model(form: Form, sequence_length: int | None = None) -> keras.Model:
    """Wraps a form into a model that only looks up vectors.

    Save it with `save("vectors.keras")`, or for phones with `export.save(model, "vectors.tflite",
    recipe="float32")`, which stores what the form stores; "int8" also rounds float codebooks.

    Args:
        form: Form that a compressor returned.
        sequence_length: Number of ids of an input; `None`: any.

    Returns: Model, ids int32 `(batch, length)` -> vectors `(batch, length, d)`.
    Raises: ValueError, if `form` is no form or `sequence_length` no integer >= 1.

    >>> from kerascompact.compress import ScalarQuantization
    >>> form = ScalarQuantization().fit(np.eye(4))
    >>> form_model(form).predict(np.array([[3, 1]]), verbose=0).shape
    (1, 2, 4)
    """
    if not isinstance(form, Form):
        checks.fail("form", "a stored form", form)
    if sequence_length is not None:
        sequence_length = checks.integer_in("sequence_length", sequence_length, 1)
    ids = keras.Input((sequence_length,), dtype="int32", name="ids")
    return keras.Model(ids, form(ids), name=f"{form.name}_vectors")


def _cannot(name: str, error: ValueError, others: Collection[str] = ()) -> ValueError:
    more = f" (nor can {', '.join(map(repr, others))})" if others else ""
    return ValueError(f"Layer {name!r} cannot be compressed{more}: {error}")


def _named(plain: list[Any], names: Sequence[str] | None, quantized: str) -> list[Any]:
    found = ", ".join(repr(layer.name) for layer in plain) or "none"
    if names is None:
        if not plain:
            received = quantized or "none"
            raise ValueError(
                f"`model` must have a plain keras.layers.Embedding. Received: {received}."
            )
        return plain
    if isinstance(names, str):
        names = [names]
    for name in names:
        if name not in [layer.name for layer in plain]:
            checks.fail("layers", f"names of its plain Embeddings, {found}", name)
    if not names:
        checks.fail("layers", f"names of its plain Embeddings, {found}", names)
    return [layer for layer in plain if layer.name in names]


def _counts_by_name(counts: Any, names: list[str]) -> dict[str, np.ndarray]:
    if counts is None:
        return {}
    if len({*names}) < len(names):
        raise ValueError(
            f"The compressed layers must have different names, so that each has its own `counts`. "
            f"Received: {', '.join(map(repr, names))}."
        )
    if isinstance(counts, Mapping):
        for name in counts:
            if name not in names:
                expected = f"counts of the compressed layers, {', '.join(map(repr, names))}"
                checks.fail("counts", expected, name)
        return dict(counts)
    if len(names) > 1:
        expected = f"a dictionary by layer name, since several are compressed: {', '.join(names)}"
        checks.fail("counts", expected, type(counts))
    return {names[0]: counts}
