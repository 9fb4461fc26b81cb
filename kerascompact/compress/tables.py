"""Trained embedding tables, read from arrays, layers, models and files."""

import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact.core import arrays, checks
from kerascompact.core.keras_graph import all_layers, direct_layers, is_stock_embedding
from kerascompact.forms.base import Form
from kerascompact.forms.logits import LogitsForm
from kerascompact.ops.vocabulary_chunks import rows_in_chunks
from kerascompact.text.word_vector_files import read_word_vectors


class Table(NamedTuple):
    """Vectors `(V, d)` float32, the words if the source names them, and the name of the source."""

    vectors: np.ndarray
    words: list[str] | None
    name: str


def read_table(source: Any, layer: str | None = None, limit: int | None = None) -> Table:
    """Reads an embedding table from an array, a layer, a model or a file.

    Args:
        source: An array `(V, d)`; a `keras.Model`, its `Embedding` layer, or a stored form; or a
            file: `.npy`, `.keras`, or word vectors as `read_word_vectors` takes them.
        layer: Name of the embedding, where a model has several.
        limit: Largest number of rows to read, from the first; `None`: all.

    Returns: A `Table`; the vectors are a copy.

    Raises: ValueError, if there is no table, several to choose from, or the file is damaged or of
        another kind (also a `.npy` file of Python objects, since reading it would run its
        code); OSError.

    >>> read_table(np.eye(3), limit=2).vectors.shape
    (2, 3)
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Embedding(9, 2, name="words")])
    >>> read_table(model).name
    'words'
    """
    if limit is not None:
        limit = checks.integer_in("limit", limit, 1)
    words = None
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        name, ending = path.name, path.suffix.lower()
        if ending == ".npy":
            vectors = arrays.load_npy(path)
        elif ending == ".keras":
            return _of_model(_keras_model(path), layer, limit, str(path))
        else:
            vectors, words = read_word_vectors(path, limit)
    elif isinstance(source, keras.layers.Layer):
        return _of_model(source, layer, limit, "The model")
    else:
        name, vectors = "table", np.asarray(source)
    if layer is not None:
        checks.fail("layer", "None: only Keras models have layers", layer)
    return Table(_checked(vectors[:limit] if vectors.ndim else vectors, name), words, name)


def _checked(vectors: np.ndarray, name: str) -> np.ndarray:
    if vectors.ndim != 2 or 0 in vectors.shape or not np.issubdtype(vectors.dtype, np.floating):
        raise ValueError(
            f"{name} must be a matrix (V, d) of floats. "
            f"Received: an array of shape {vectors.shape} and type {vectors.dtype}."
        )
    with np.errstate(over="ignore"):  # numbers beyond float32 are reported as infinite
        return checks.finite(name, np.array(vectors, np.float32))


def _keras_model(path: Path) -> keras.Model:
    with open(path, "rb"):  # Keras has no clear error for a missing file
        pass
    try:
        return keras.saving.load_model(path, compile=False)
    except (ValueError, TypeError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} is not a Keras model that can be loaded: {line}") from error


def _of_model(model: Any, layer: str | None, limit: int | None, owner: str) -> Table:
    found = embeddings_of(model)
    names = ", ".join(repr(inner.name) for inner in found)
    names = names or quantized_in(model)
    names = names or "none; of layers that train, only `keras.layers.Embedding` has a table"
    if layer is not None:
        found = [inner for inner in found if inner.name == layer]
    if len(found) != 1:
        wanted = "an embedding, and `layer` its name if there are several"
        raise ValueError(
            f"{owner} must have {wanted if layer is None else f'one embedding {layer!r}'}. "
            f"Its embeddings: {names}."
        )
    (chosen,) = found
    return Table(_checked(values_of(chosen)[:limit], chosen.name), None, chosen.name)


def embeddings_of(model: Any) -> list[Any]:
    """Keras' own embeddings and forms with a row for each word, in a model or as the layer itself.

    >>> [layer.name for layer in embeddings_of(keras.layers.Embedding(9, 2, name="words"))]
    ['words']
    """
    if isinstance(model, Form):  # a form may be made of forms
        has_table = model.input_dim is not None and not isinstance(model, LogitsForm)
        return [model] if has_table else []
    if is_stock_embedding(model):
        return [model]
    return [embedding for layer in direct_layers(model) for embedding in embeddings_of(layer)]


def quantized_in(model: Any) -> str:
    """What a message says of embeddings that Keras quantized; "" if there are none.

    >>> layer = keras.layers.Embedding(9, 2, name="words")
    >>> layer.build()
    >>> layer.quantize("int8")
    >>> quantized_in(layer)
    "'words', which Keras has quantized; take the model before `quantize`"
    """
    embeddings = [one for one in all_layers(model) if isinstance(one, keras.layers.Embedding)]
    names = ", ".join(repr(one.name) for one in embeddings if one.quantization_mode)
    return names and f"{names}, which Keras has quantized; take the model before `quantize`"


def values_of(layer: Any) -> np.ndarray:
    """The table `(V, d)` float32 that an embedding or a form stands for."""
    if not layer.built:
        raise ValueError(f"Layer {layer.name!r} has no weights yet: call it or train it first.")
    if isinstance(layer, Form):
        return rows_in_chunks(layer.lookup, layer.input_dim, "float32", 1024)
    return keras.ops.convert_to_numpy(layer.embeddings).astype(np.float32)
