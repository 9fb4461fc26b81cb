"""Converter from Keras models to the bytes of a `.tflite` file."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import kerascompact
from kerascompact.core import checks, files
from kerascompact.export import lstm_fusion, metadata, preconditions
from kerascompact.export.freezing import Frozen
from kerascompact.export.recipe import RECIPES, Recipe, resolve
from kerascompact.export.signature import SINGLE, Signature, Sizes, TextOptions, for_each, signature
from kerascompact.export.trace import to_tflite
from kerascompact.runtime import vocabulary_file
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.tflite import flatbuffer, tensor_names
from kerascompact.tflite.passes import embedding_lookup, int4, kernels


def convert(
    model: keras.Model | Frozen | dict[str, keras.Model | Frozen],
    recipe: str | Recipe | None = None,
    *,
    labels: Sequence[str] | dict[str, Sequence[str]] | None = None,
    vocabulary: Vocabulary | None = None,
    sequence_length: int | None = None,
    text: Vocabulary | str | None = None,
    batch_size: int | None = 1,
    max_bytes: int | None = None,
    max_words: int | None = None,
    fingerprint_bits: int = 32,
    inputs: dict[str, Any] | None = None,
    representative: Any = None,
    fused_lstm: bool = False,
    names: bool | None = None,
) -> bytes:
    """Converts a trained model into the bytes of a TFLite file of built-in operators only.

    Every compact embedding that is not frozen yet is frozen first, then its tables are stored as
    the recipe says, and the kernels of the other layers, too; no table is unpacked in memory. The
    batch is 1 unless `batch_size` says otherwise; a length that the model leaves open stays open.

    With `text`, the file takes the text itself: its input is `text`, int32 `(1, max_bytes)`, the
    UTF-8 bytes with zeros behind, and the words and their ids are found inside (see `TextToIds`).
    No bytes make it fail. The vocabulary costs 4 bytes a word for fingerprints and some 1.5 for
    ids (none in the file order of `training.choose_words`), and its words need not lie beside the
    file. A model that says something of every word gives one more output, `spans` `(1, words, 2)`:
    where each begins and ends, in bytes.

    Several models, by names, make one file of several signatures, which stores what they share
    once: a table, a kernel, or any other numbers that are the same. An app picks one by its name.
    `labels`, `inputs` and `representative` are dictionaries by these names then.

    Args:
        model: Trained Keras model: functional, Sequential, or subclassed (built), with any number
            of inputs and outputs and with compact layers wherever they sit; or what `freeze` made
            of it; or a dictionary of them by their names.
        recipe: The name of one of `RECIPES`, or a `Recipe`: "int8" stores tables and kernels as
            8-bit integers, "int4" the tables as 4-bit ones. `None`: that of a `Frozen`, or "int8".
        labels: Names of the classes, written into the file's metadata.
        vocabulary: Its size, token rules and SHA-256 are written into the metadata; the words
            are saved beside the file, see `save`.
        sequence_length: Fixes the length of the ids where the model leaves it open.
        batch_size: Rows of a run: 1, as a phone needs; another number; or `None` for a file whose
            inputs can be resized to any batch (`resize_tensor_input`), and take one row until they
            are. Any number costs 100 to 1,300 bytes more; with more rows than one, each code of a
            sum of codes costs 600. Keras' LSTM and GRU, and any layer that returns sequences from a
            loop, need a number, or `unroll=True`: TFLite must know the size of their list of
            states. A file that takes text takes one at a time.
        text: For a file that takes text, the model's vocabulary; or the name of the token rules of
            a model whose embedding is a `ProjectionEmbedding`, which has none.
        max_bytes: Bytes of a text in that file; `None`: any number.
        max_words: Words of a text at most, where the number of ids is open.
        fingerprint_bits: Of a word: 32, 40 or 64. With 3,000 known words a file takes one unknown
            word in 1.4 million for another, in 370 million, or in 2^64 / 3,000. Unknown pairs of
            words are many: `verify` says whether 32 are enough.
        inputs: Inputs of a subclassed model, a `keras.Input(...)` or an array for each name. A
            `call` of several arguments has their names, a `call` of a list their order. `None`, for
            a model of one input: ids of any length if it holds an embedding, otherwise numbers of
            the shape that it was called on or built for.
        representative: Rows of the training data, for recipes that compute with integers between
            the layers, such as "full_int8": an array, a dictionary of them for several inputs, or
            texts.
        fused_lstm: Makes one operator of each `keras.layers.LSTM` that TFLite has one for, see
            `lstm_fusion.fused`, in place of a loop. It takes fewer bytes, and integers; on x86 is
            slower, and LiteRT's `CompiledModel` does not run it.
        names: Names of inner tensors, for tools that show or quantize files: `True`: those of the
            converter, which say the layer; `False`: none, the smallest file, which litert-quantizer
            cannot read. `None`: `True` from 64 KiB on, below it numbers, with 11 to 22 bytes for
            each tensor the least that litert-quantizer reads.

    Returns: The file's bytes. Converting twice gives the same bytes.

    Raises: ValueError, if the model is not built, its labels do not fit its output, it needs an
        operator that plain TFLite does not have (with the layer that it is in), it cannot take
        text, or the recipe is not for such a model.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> convert(model)[4:8]
    b'TFL3'
    >>> len(Interpreter(convert({"vectors": model}), signature="vectors").inputs)
    1
    """
    models = model if isinstance(model, dict) else {SINGLE: model}
    if not models or not all(isinstance(name, str) and name for name in models):
        checks.fail("model", "a keras.Model, or a dictionary of them by their names", model)
    recipe = _recipe_of(models, recipe)
    preconditions.check_fused(fused_lstm, recipe)
    tensor_names.check(names)
    preconditions.check_batch(batch_size, text is not None, fused_lstm)
    several = isinstance(model, dict)
    trained = [one.trained if isinstance(one, Frozen) else one for one in models.values()]
    for one in trained:
        preconditions.check_model(one)
    if text is not None:
        vocabulary = preconditions.same_vocabulary(text, vocabulary)
    if vocabulary is not None:
        preconditions.check_vocabulary(trained, vocabulary)
    options = TextOptions(text, max_bytes, max_words, fingerprint_bits)
    sizes = Sizes(batch_size, sequence_length)
    arguments = {"labels": labels, "inputs": inputs, "representative": representative}
    own = {key: for_each(key, value, models, several) for key, value in arguments.items()}
    parts: dict[str, Signature] = {}
    known: list[np.ndarray] = []
    with contextlib.ExitStack() as stack:
        for name, made in models.items():
            one = Frozen.of(made, recipe)
            frozen, forms = stack.enter_context(one.shipped())
            known += one.kernels
            if fused_lstm:
                stack.enter_context(lstm_fusion.fused(frozen))
            rest = {key: values[name] for key, values in own.items()}
            function = f"serve_{len(parts):03}"
            parts[name] = signature(frozen, forms, recipe, sizes, options, function, **rest)
        parsed = flatbuffer.parse(to_tflite(parts, recipe.kernels))
        every = [form for part in parts.values() for form in part.forms]
        precisions, scales = metadata.precisions(every), metadata.scales(every)
        rows = metadata.rows(every)
        entries = {
            "kerascompact": kerascompact.__version__,
            "recipe": recipe.facts(),
            "vocabulary": metadata.of_vocabulary(vocabulary),
            "batch_size": metadata.of_batch(batch_size),
            **({} if several else parts[SINGLE].metadata),
        }
        if several:
            entries["embeddings"] = metadata.of_embeddings(every)
            entries["signatures"] = {
                name: {k: v for k, v in part.metadata.items() if v} for name, part in parts.items()
            }
    if rows:
        embedding_lookup.store_rows(parsed, rows)
    if precisions & {"int8", "int4"}:
        int4.dequantize_kernels_once(parsed)
    if "int4" in precisions:
        int4.store_tables_as_int4(parsed)
    if recipe.kernels in ("int8", "dynamic"):
        kernels.store_kernels_as_int8(parsed, known, recipe.kernels == "dynamic", scales)
    if fused_lstm:
        lstm_fusion.forget_states(parsed)
    flatbuffer.slim(parsed)
    flatbuffer.add_metadata(parsed, {k: v for k, v in entries.items() if v})
    data = tensor_names.pack(parsed, names)
    for name, part in parts.items():
        _check_runs(data, part.specs, name)
    return data


def _recipe_of(models: dict[str, Any], recipe: str | Recipe | None) -> Recipe:
    """The recipe that `convert` was given, or that its models were frozen with."""
    found = {one.recipe for one in models.values() if isinstance(one, Frozen)}
    if recipe is not None:
        found.add(resolve(recipe))
    if len(found) > 1:
        names = sorted(one.name for one in found)
        checks.fail("recipe", "the one that each model was frozen with, or None", names)
    return found.pop() if found else RECIPES["int8"]


def save(
    model: keras.Model | Frozen | bytes,
    path: str | os.PathLike[str],
    *,
    vocabulary: Vocabulary | None = None,
    **options: Any,
) -> Path:
    """Converts a model and writes it to `path`, its vocabulary beside it as `vocabulary.txt`.

    Args:
        model: A Keras model, a `Frozen`, or bytes from `convert`.
        path: The `.tflite` file; written whole or not at all.
        vocabulary: Saved beside the file, where other files with the same one may be.
        **options: Those of `convert`, if `model` is not bytes.

    Returns: The path written.

    Raises: ValueError, as `convert` does, if the vocabulary is not that of the bytes, or if it
        would take the place of another file's; OSError.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> save(model, "small.tflite", recipe="float32").name
    'small.tflite'
    """
    if isinstance(model, bytes):
        known = (flatbuffer.metadata_of(flatbuffer.parse(model)) or {}).get("vocabulary") or {}
        if vocabulary is not None and known.get("sha256", vocabulary.sha256) != vocabulary.sha256:
            raise ValueError(
                "`vocabulary` must be the one that the file was converted with, SHA-256 "
                f"{known['sha256'][:12]}... Received: one of SHA-256 {vocabulary.sha256[:12]}..."
            )
        data = model
    else:
        data = convert(model, vocabulary=vocabulary, **options)
    if vocabulary is not None:
        vocabulary_file.check(Path(path), vocabulary)
        vocabulary.save(Path(path).parent / vocabulary_file.NAME)
    return files.write_bytes(path, data)


def _check_runs(data: bytes, specs: dict[str, tf.TensorSpec], name: str) -> None:
    """A file that this runtime cannot run never leaves `convert`."""
    file = Interpreter(data, signature=name)
    shapes = {key: spec.shape.as_list() for key, spec in specs.items()}
    any_batch = any(shape[:1] == [None] for shape in shapes.values())
    for rows in (1, 2) if any_batch else (1,):
        zeros = {}
        for key, shape in shapes.items():
            sizes = [(4 if axis else rows) if n is None else n for axis, n in enumerate(shape)]
            zeros[key] = np.zeros(sizes, specs[key].dtype.as_numpy_dtype)
        file.run(zeros)
