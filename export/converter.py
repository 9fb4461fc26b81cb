"""Keras model -> the bytes of a `.tflite` file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import kerascompact
from kerascompact.core import checks, files
from kerascompact.core.cloning import is_graph
from kerascompact.core.storage import total_bits
from kerascompact.export import beside, flatbuffer, narrow
from kerascompact.export.freezing import shipped
from kerascompact.export.interpreter import Interpreter
from kerascompact.export.recipe import Recipe, resolve
from kerascompact.export.serving import Serve, input_specs, to_tflite
from kerascompact.export.text_in import TextIn, over_bits
from kerascompact.forms.base import Form
from kerascompact.text.vocabulary import Vocabulary


def convert(
    model: keras.Model,
    recipe: str | Recipe = "int8",
    *,
    labels: Sequence[str] | None = None,
    vocabulary: Vocabulary | None = None,
    sequence_length: int | None = None,
    text: Vocabulary | str | None = None,
    max_bytes: int | None = None,
    max_words: int | None = None,
    fingerprint_bits: int = 32,
) -> bytes:
    """Converts a trained model into the bytes of a TFLite file of built-in operators only.

    Every compact embedding that is not frozen yet is frozen first, then its tables are stored as
    the recipe says; no table is unpacked in memory. The batch is 1 (an LSTM needs that to do
    without Flex operators); a length that the model leaves open stays open.

    With `text`, the file takes the text itself: its input is `text`, int32 `(1, max_bytes)`, the
    UTF-8 bytes with zeros behind, and the words and their ids are found inside (see `TextToIds`).
    No bytes make it fail. The vocabulary costs 4 bytes a word for fingerprints and some 1.5 for
    ids, and its words need not lie beside the file. A model that says something of every word
    gives one more output, `spans` `(1, words, 2)`: where each begins and ends, in bytes.

    Args:
        model: Trained Keras model: functional, Sequential, or subclassed (built, one input of ids).
        recipe: "int8", "float32", "int4" or a `Recipe`.
        labels: Names of the classes, written into the file's metadata.
        vocabulary: Its size, token rules and SHA-256 are written into the metadata; the words
            are saved beside the file, see `save`.
        sequence_length: Fixes the length of the ids where the model leaves it open.
        text: For a file that takes text, the model's vocabulary; or the name of the token rules of
            a model whose embedding is a `ProjectionEmbedding`, which has none.
        max_bytes: Bytes of a text in that file; `None`: any number.
        max_words: Words of a text at most, where the number of ids is open.
        fingerprint_bits: Of a word: 32, or 64 for a file that never takes an unknown word for
            another (32: one unknown word in 1.4 million, with 3,000 known ones).

    Returns: The file's bytes. Converting twice gives the same bytes.

    Raises: ValueError, if the model is not built, its labels do not fit its output, it needs an
        operator that plain TFLite does not have, or it cannot take text.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> convert(model)[4:8]
    b'TFL3'
    """
    recipe = resolve(recipe)
    _check_model(model)
    if text is not None:
        vocabulary = _same_vocabulary(text, vocabulary)
    if vocabulary is not None:
        _check_vocabulary(model, vocabulary)
    with shipped(model, recipe) as (frozen, forms):
        text_in, form = None, None
        if isinstance(text, str):
            frozen, form = over_bits(frozen)
            if form.together and max_words is None:
                max_words = sequence_length
        specs = input_specs(frozen, sequence_length)
        if text is not None:
            text_in = TextIn(specs, text, form, max_bytes, max_words, fingerprint_bits)
        elif max_bytes is not None or max_words is not None:
            checks.fail("text", "a vocabulary, with `max_bytes` or `max_words`", text)
        module = Serve(frozen, forms, specs, text_in)
        specs = specs if text_in is None else text_in.specs
        if labels is not None:
            labels = _checked_labels(labels, module.output_shapes)
        parsed = flatbuffer.parse(to_tflite(module))
        precisions = _precisions(forms)
        metadata = {
            "kerascompact": kerascompact.__version__,
            "recipe": recipe._asdict(),
            "labels": labels,
            "vocabulary": _vocabulary_facts(vocabulary),
            "text": None if text_in is None else text_in.facts(),
            "embeddings": [_embedding_facts(form) for form in forms],
        }
    if precisions & {"int8", "int4"}:
        narrow.dequantize_kernels_once(parsed)
    if "int4" in precisions:
        narrow.store_tables_as_int4(parsed)
    flatbuffer.slim(parsed)
    flatbuffer.add_metadata(parsed, {k: v for k, v in metadata.items() if v})
    data = flatbuffer.pack(parsed)
    _check_runs(data, specs)
    return data


def save(
    model: keras.Model | bytes,
    path: str | os.PathLike[str],
    *,
    vocabulary: Vocabulary | None = None,
    **options: Any,
) -> Path:
    """Converts a model and writes it to `path`, its vocabulary beside it as `vocabulary.txt`.

    Args:
        model: A Keras model, or bytes from `convert`.
        path: The `.tflite` file; written whole or not at all.
        vocabulary: Saved beside the file, where other files with the same one may be.
        **options: Those of `convert`, if `model` is a Keras model.

    Returns: The path written.

    Raises: ValueError, as `convert` does, if the vocabulary is not that of the bytes, or if it
        would take the place of another file's; OSError.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> save(model, "small.tflite", recipe="float32").name
    'small.tflite'
    """
    if isinstance(model, bytes):
        facts = (flatbuffer.metadata_of(flatbuffer.parse(model)) or {}).get("vocabulary") or {}
        if vocabulary is not None and facts.get("sha256", vocabulary.sha256) != vocabulary.sha256:
            raise ValueError(
                "`vocabulary` must be the one that the file was converted with, SHA-256 "
                f"{facts['sha256'][:12]}... Received: one of SHA-256 {vocabulary.sha256[:12]}..."
            )
        data = model
    else:
        data = convert(model, vocabulary=vocabulary, **options)
    if vocabulary is not None:
        beside.check(Path(path), vocabulary)
        vocabulary.save(Path(path).parent / beside.NAME)
    return files.write_bytes(path, data)


def _check_model(model: Any) -> None:
    if not isinstance(model, keras.Model):
        checks.fail("model", "a keras.Model", model)
    if not model.built or (not is_graph(model) and not getattr(model, "_build_shapes_dict", None)):
        raise ValueError(
            f"`model` must be built before it is converted: call it on data, or train it. "
            f"Received: model={model.name!r} without weights."
        )
    for variable in model.weights:
        checks.finite(variable.path, keras.ops.convert_to_numpy(variable))


def _check_vocabulary(model: keras.Model, vocabulary: Vocabulary) -> None:
    sizes = [
        layer.input_dim
        for layer in model._flatten_layers()
        if isinstance(getattr(layer, "input_dim", None), int)
    ]
    if sizes and len(vocabulary) != max(sizes):
        raise ValueError(
            f"`vocabulary` must have as many ids as the embedding, {max(sizes)}. "
            f"Received: a vocabulary of {len(vocabulary)}."
        )


def _same_vocabulary(text: Any, vocabulary: Vocabulary | None) -> Vocabulary | None:
    if isinstance(text, str):  # of a projection
        return vocabulary
    if not isinstance(text, Vocabulary):
        checks.fail("text", "the kerascompact.text.Vocabulary of the model", text)
    if vocabulary is not None and vocabulary.sha256 != text.sha256:
        checks.fail("vocabulary", "that of `text`, or None", vocabulary)
    return text


def _checked_labels(labels: Sequence[str], shapes: list[tf.TensorShape]) -> list[str]:
    labels = list(labels)
    if not all(isinstance(label, str) and label for label in labels):
        checks.fail("labels", "a list of non-empty strings", labels)
    if len(shapes) == 1 and shapes[0][-1] is not None and shapes[0][-1] != len(labels):
        raise ValueError(
            f"`labels` must name each of the model's {shapes[0][-1]} outputs. "
            f"Received: {len(labels)} labels."
        )
    return labels


def _vocabulary_facts(vocabulary: Vocabulary | None) -> dict[str, Any] | None:
    if vocabulary is None:
        return None
    return {
        "size": len(vocabulary),
        "rules": vocabulary.rules,
        "bytes": vocabulary.num_bytes,
        "sha256": vocabulary.sha256,
    }


def _precisions(forms: list[Form]) -> set[str]:
    """What the tables of the forms, and of those inside them, are stored as."""
    layers = [layer for form in forms for layer in form._flatten_layers()]
    return {layer.precision for layer in layers if hasattr(layer, "precision")}


def _embedding_facts(form: Form) -> dict[str, Any]:
    return {
        "form": type(form).__name__,
        "input_dim": form.input_dim,
        "output_dim": form.output_dim,
        "stored_bits": total_bits(form.storage()),
        "paper_bits": form.paper_bits,
    }


def _check_runs(data: bytes, specs: dict[str, tf.TensorSpec]) -> None:
    """A file that this runtime cannot run never leaves `convert`."""
    zeros = {
        name: np.zeros([4 if n is None else n for n in spec.shape], spec.dtype.as_numpy_dtype)
        for name, spec in specs.items()
    }
    Interpreter(data).run(zeros)
