"""Writes a `.tflite` file, and the words of its model beside it."""

import os
from pathlib import Path
from typing import Any

import keras

from kerascompact.core import checks, files
from kerascompact.export import preconditions
from kerascompact.export.converter import convert
from kerascompact.export.freezing import Frozen
from kerascompact.runtime import vocabulary_file
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.metadata import metadata_of


def save(
    model: keras.Model | Frozen | bytes,
    path: str | os.PathLike[str],
    *,
    vocabulary: Vocabulary | None = None,
    **options: Any,
) -> Path:
    """Converts a model and writes the file, and `vocabulary.txt` into the same folder.

    Args:
        model: A Keras model, a `Frozen`, or bytes from `convert`.
        path: Path of the `.tflite` file. An error never leaves half a file.
        vocabulary: Vocabulary of the model, which several files of a folder may share.
        **options: Arguments of `convert`, if `model` is not bytes.

    Returns: The path of the file.

    Raises: ValueError, as for `convert`, or if bytes have another vocabulary or options, or if
        `vocabulary.txt` belongs to another file; OSError, if a file cannot be written.

    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> save(model, "small.tflite", recipe="float32").name
    'small.tflite'
    """
    if isinstance(model, bytes):
        if options:
            expected = "absent, if `model` is bytes, which are converted already"
            checks.fail("options", expected, sorted(options))
        preconditions.check_listed(vocabulary)
        known = (metadata_of(flatbuffer.parse(model)) or {}).get("vocabulary") or {}
        if vocabulary is not None and known.get("sha256", vocabulary.sha256) != vocabulary.sha256:
            raise ValueError(
                "`vocabulary` must be the one that the file was converted with, SHA-256 "
                f"{known['sha256'][:12]}... Received: one of SHA-256 {vocabulary.sha256[:12]}..."
            )
        data = model
    else:
        data = convert(model, vocabulary=vocabulary, **options)
    if vocabulary is not None and b"TFLITE_METADATA" not in data:  # the words are inside
        vocabulary_file.check(Path(path), vocabulary)
        vocabulary.save(Path(path).parent / vocabulary_file.NAME)
    return files.write_bytes(path, data)
