"""What a model's layers cost: the paper's count, the bits that are stored, the float32 table."""

from typing import NamedTuple

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.core.embedding import BaseEmbedding
from kerascompact.core.keras_graph import all_layers, direct_layers, inner_layers
from kerascompact.core.storage import kib, total_bits
from kerascompact.forms.base import Form


class Row(NamedTuple):
    """One layer. `paper_bits` is the stored bits where no paper counts otherwise."""

    layer: str
    kind: str
    paper_bits: int
    stored_bits: int
    float32_bits: int


class Summary(NamedTuple):
    """The layers that store anything, and their sums. Printing it gives a table in KiB."""

    rows: list[Row]

    @property
    def paper_bits(self) -> int:
        return sum(row.paper_bits for row in self.rows)

    @property
    def stored_bits(self) -> int:
        return sum(row.stored_bits for row in self.rows)

    @property
    def float32_bits(self) -> int:
        return sum(row.float32_bits for row in self.rows)

    def __str__(self) -> str:
        total = Row("total", "", self.paper_bits, self.stored_bits, self.float32_bits)
        width = max([5, *(len(row.layer) for row in self.rows)])
        kinds = max([4, *(len(row.kind) for row in self.rows)])
        head = f"{'layer':<{width}}  {'kind':<{kinds}}"
        lines = [f"{head}  paper KiB  stored KiB  {'stored bits':>12}  float32 KiB   ratio"]
        for row in [*self.rows, total]:
            ratio = row.float32_bits / row.stored_bits if row.stored_bits else 1.0
            lines.append(
                f"{row.layer:<{width}}  {row.kind:<{kinds}}  {kib(row.paper_bits):9.2f}  "
                f"{kib(row.stored_bits):10.2f}  {row.stored_bits:12,}  "
                f"{kib(row.float32_bits):11.2f}  {ratio:5.1f}x"
            )
        return "\n".join(lines)


def summary(model: keras.Model) -> Summary:
    """Counts what each layer of a model stores once it is exported.

    A compact embedding is counted as it freezes; a form as it is; any other layer by its weights.
    The float32 equivalent of an embedding is its table, `32 V d` bits. The paper's count of
    cluster embeddings is `v ceil(log2 k) + 32 (k m + o)` bits with `o` the other parameters, and
    `v` without the words that have vectors of their own; the paper's MB is 2^20 bytes.

    Args:
        model: A built Keras model, trained or frozen.

    Returns: A `Summary`; `print(summary(model))` shows the table.

    Raises: ValueError, if the model has no weights yet.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> summary(model).stored_bits  # 9 codes of 2 bits, 3 x 2 floats
    210

    Reference: [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116), appendix A.
    """
    if not isinstance(model, keras.Model):
        checks.fail("model", "a keras.Model", model)
    if not model.built:
        raise ValueError(
            "`model` must be built before its size is known: call it on data, or train it. "
            f"Received: model={model.name!r} without weights."
        )
    return Summary(_rows(model, set()))


def _rows(layer: keras.layers.Layer, seen: set[int]) -> list[Row]:
    """Rows of the layers inside `layer`, opening those that have an embedding somewhere within."""
    rows: list[Row] = []
    for inner in direct_layers(layer):
        if id(inner) in seen:
            continue  # shared: stored once
        seen.add(id(inner))
        if isinstance(inner, BaseEmbedding):
            rows.append(_embedding_row(inner))
        elif any(isinstance(deep, BaseEmbedding) for deep in all_layers(inner)):
            rows.extend(_rows(inner, seen))
        elif inner.weights:
            rows.append(_plain_row(inner, inner.weights))
    inside = {id(w) for inner in inner_layers(layer) for w in inner.weights}
    own = [weight for weight in layer.weights if id(weight) not in inside]
    return [*rows, _plain_row(layer, own)] if own else rows


def _plain_row(layer: keras.layers.Layer, weights: list[keras.Variable]) -> Row:
    bits = sum(8 * _item_size(weight) * int(np.prod(weight.shape)) for weight in weights)
    return Row(layer.name, type(layer).__name__, bits, bits, bits)


def _embedding_row(layer: keras.layers.Layer) -> Row:
    form = layer if isinstance(layer, Form) else layer.to_form()
    stored = total_bits(form.storage())
    paper = stored if form.paper_bits is None else form.paper_bits
    table = form.float32_bits
    return Row(layer.name, type(layer).__name__, paper, stored, table)


def _item_size(weight: keras.Variable) -> int:
    return np.dtype(keras.backend.standardize_dtype(weight.dtype)).itemsize
