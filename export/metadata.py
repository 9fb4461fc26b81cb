"""Metadata that a file gets: labels, vocabulary, embeddings, recipe."""

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import all_layers
from kerascompact.core.storage import total_bits
from kerascompact.forms.base import Form
from kerascompact.forms.logits import LogitsForm
from kerascompact.forms.row_scaled_table import RowScaledForm
from kerascompact.text.buckets import Buckets
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.text.wordpiece import WordPiece
from kerascompact.tflite.passes.embedding_lookup import RowScaledTable

UNORDERED = (str, Mapping, set, frozenset)  # no list, though a loop goes over each


def of_labels(labels: Any, shapes: Sequence[tf.TensorShape]) -> list[str] | None:
    """Checks the labels against the shapes of the model's outputs.

    Args:
        labels: Names of the classes, or `None`.
        shapes: Shape of each output.

    Raises: ValueError, if they are not names or not as many as the outputs.
    """
    if labels is None:
        return None
    given, ordered = labels, isinstance(labels, Iterable) and not isinstance(labels, UNORDERED)
    labels = list(labels) if ordered else [None]
    if not all(isinstance(one, str) and one for one in labels):
        checks.fail("labels", "a list of non-empty strings in the order of the outputs", given)
    if len(shapes) == 1 and shapes[0][-1] is not None and shapes[0][-1] != len(labels):
        raise ValueError(
            f"`labels` must name each of the model's {shapes[0][-1]} outputs. "
            f"Received: {len(labels)} labels."
        )
    return labels


def of_outputs(
    labels: Any, shapes: Sequence[tf.TensorShape], are_sigmoids: bool, of_text: bool = False
) -> bool | None:
    """Entry for labels of which a text may have several or none; `None` if it has one.

    Warns of one label for an output that is no sigmoid.

    Args:
        labels: Names of the classes, or `None`.
        shapes: Shape of each output.
        are_sigmoids: Whether the model has one output, of sigmoids.
        of_text: Whether the file takes text, so that readers number labels that have no names.

    >>> of_outputs(["a", "b"], [tf.TensorShape((1, 2))], are_sigmoids=True)
    True
    """
    if labels is None and not of_text or len(shapes) != 1:
        return None
    if labels is not None and shapes[0][-1] == 1 and not are_sigmoids:
        warnings.warn(
            "`labels` name one class, and readers of the file take the output for its probability, "
            "but the model ends without a sigmoid: add keras.layers.Activation('sigmoid').",
            stacklevel=2,
        )
    return True if are_sigmoids and shapes[0][-1] != 1 else None


def of_batch(batch_size: int | None) -> int | str | None:
    """Entry for the examples per run: `None` for 1, which nearly every file has.

    >>> of_batch(1), of_batch(8), of_batch(None)
    (None, 8, 'any')
    """
    return "any" if batch_size is None else None if batch_size == 1 else batch_size


def of_vocabulary(
    vocabulary: Vocabulary | Buckets | WordPiece | None,
) -> dict[str, Any] | None:
    """Entry for a vocabulary: its size, token rules and checksum; none for buckets.

    Buckets have no words; their arguments are in the entry of the text input.
    """
    if not isinstance(vocabulary, Vocabulary | WordPiece):
        return None
    return {
        "size": len(vocabulary),
        "rules": vocabulary.rules,
        "bytes": vocabulary.num_bytes,
        "sha256": vocabulary.sha256,
    }


def of_embeddings(forms: Sequence[Form]) -> list[dict[str, Any]]:
    """Entries for forms: kind, sizes and bits; equal forms of two models get one entry."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for form in forms:
        facts = {
            "form": type(form).__name__,
            # rows of a head are outputs, not words
            "input_dim": None if isinstance(form, LogitsForm) else form.input_dim,
            "output_dim": form.output_dim,
            "stored_bits": total_bits(form.storage()),
            "paper_bits": form.paper_bits,
        }
        found.setdefault((form.name, str(facts), _sha256(form)), facts)
    return list(found.values())


def _sha256(form: Form) -> str:
    digest = hashlib.sha256()
    for weight in form.weights:
        digest.update(keras.ops.convert_to_numpy(weight).tobytes())
    return digest.hexdigest()


def precisions(forms: Sequence[Form]) -> set[str]:
    """Precisions of the tables of forms and of all forms inside them."""
    layers = [layer for form in forms for layer in all_layers(form)]
    return {layer.precision for layer in layers if hasattr(layer, "precision")}


def row_scaled_tables(forms: Sequence[Form]) -> list[RowScaledTable]:
    """The tables that have a scale for each row or block, for the pass `embedding_lookup`."""
    found = [layer for form in forms for layer in all_layers(form)]
    return [
        RowScaledTable(form.table.numpy(), form.scale.numpy(), form.precision, form.block)
        for form in found
        if isinstance(form, RowScaledForm)
    ]
