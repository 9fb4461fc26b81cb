"""Size table of a model: for each layer, stored bits, the paper's count and float32 bits."""

from collections.abc import Mapping
from typing import NamedTuple

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.core.embedding import BaseEmbedding
from kerascompact.core.keras_graph import all_layers, direct_layers, inner_layers
from kerascompact.core.storage import kib, total_bits
from kerascompact.forms.base import Form


class LayerSize(NamedTuple):
    """Size of one layer.

    Args:
        layer: Name of the layer.
        kind: Class of the layer.
        paper_bits: Bits by the formula of the method's paper; if it has none, the stored bits of a
            table, and 32 for each float of other layers.
        stored_bits: Bits that the exported file stores. Floats of other layers are float32 there,
            also those that Keras holds in half precision.
        float32_bits: Bits of the float32 table that the layer replaces.

    Example:
    >>> LayerSize("embedding", "CodebookForm", 210, 210, 576).stored_bits
    210
    """

    layer: str
    kind: str
    paper_bits: int
    stored_bits: int
    float32_bits: int


class Summary(NamedTuple):
    """Sizes of all layers that store anything; printing it gives a table in KiB.

    `stored_bits = sum(layer.stored_bits for layer in layers)`, and so on.

    Args:
        layers: Size of each layer that stores anything.

    Example:
    >>> one = LayerSize("embedding", "CodebookForm", 210, 210, 576)
    >>> Summary([one, one]).stored_bits
    420
    """

    layers: list[LayerSize]

    @property
    def paper_bits(self) -> int:
        return sum(layer.paper_bits for layer in self.layers)

    @property
    def stored_bits(self) -> int:
        return sum(layer.stored_bits for layer in self.layers)

    @property
    def float32_bits(self) -> int:
        return sum(layer.float32_bits for layer in self.layers)

    def __str__(self) -> str:
        total = LayerSize("total", "", self.paper_bits, self.stored_bits, self.float32_bits)
        width = max([5, *(len(size.layer) for size in self.layers)])
        kinds = max([4, *(len(size.kind) for size in self.layers)])
        head = f"{'layer':<{width}}  {'kind':<{kinds}}"
        lines = [f"{head}  paper KiB  stored KiB  {'stored bits':>12}  float32 KiB   ratio"]
        for size in [*self.layers, total]:
            ratio = size.float32_bits / size.stored_bits if size.stored_bits else 1.0
            lines.append(
                f"{size.layer:<{width}}  {size.kind:<{kinds}}  {kib(size.paper_bits):9.2f}  "
                f"{kib(size.stored_bits):10.2f}  {size.stored_bits:12,}  "
                f"{kib(size.float32_bits):11.2f}  {ratio:5.1f}x"
            )
        return "\n".join(lines)


def summary(model: keras.Model, rounded: Mapping[int, int] | None = None) -> Summary:
    """Counts the bits that each layer of a model stores when it is exported.

    A compact embedding counts as its form, a form as its arrays, any other layer as its weights.
    The float32 equivalent of an embedding is its table, `32 V d` bits. For cluster embeddings, the
    paper counts `v ceil(log2 k) + 32 (k m + o)` bits, with `o` other parameters and without words
    in `v` that have vectors of their own; its MB is 2^20 bytes.

    Args:
        model: Built Keras model, trained or frozen.
        rounded: Bits of the kernels that a file has as integers, by the `id` of their variables:
            `export.freeze(model, recipe).summary()` knows them. Default: all are as in Keras.

    Returns: A `Summary`; `print(summary(model))` shows the table.

    Raises: ValueError, if the model has no weights yet.

    Example:
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
    return Summary(_sizes(model, set(), rounded or {}))


def _sizes(
    layer: keras.layers.Layer, seen: set[int], rounded: Mapping[int, int]
) -> list[LayerSize]:
    """Sizes of the layers inside `layer`; layers that contain an embedding are split up."""
    sizes: list[LayerSize] = []
    for inner in direct_layers(layer):
        if id(inner) in seen:
            continue  # a shared layer is stored once
        seen.add(id(inner))
        if isinstance(inner, BaseEmbedding):
            sizes.append(_embedding_size(inner))
            seen.update(map(id, inner.weights))
        elif any(isinstance(deep, BaseEmbedding) for deep in all_layers(inner)):
            sizes.extend(_sizes(inner, seen, rounded))
        else:
            sizes.extend(_new_weights(inner, inner.weights, seen, rounded))
    inside = {id(w) for inner in inner_layers(layer) for w in inner.weights}
    own = [weight for weight in layer.weights if id(weight) not in inside]
    return [*sizes, *_new_weights(layer, own, seen, rounded)]


def _new_weights(
    layer: keras.layers.Layer,
    weights: list[keras.Variable],
    seen: set[int],
    rounded: Mapping[int, int],
) -> list[LayerSize]:
    """The size of a layer's weights that are not seen yet, if there are any: layers may share."""
    new = [weight for weight in weights if id(weight) not in seen]
    seen.update(map(id, new))
    return [_plain_size(layer, new, rounded)] if new else []


def _plain_size(
    layer: keras.layers.Layer, weights: list[keras.Variable], rounded: Mapping[int, int]
) -> LayerSize:
    sizes = [8 * _item_size(weight) * int(np.prod(weight.shape)) for weight in weights]
    pairs = zip(weights, sizes, strict=True)
    stored = sum(rounded.get(id(weight), bits) for weight, bits in pairs)
    return LayerSize(layer.name, type(layer).__name__, sum(sizes), stored, sum(sizes))


def _embedding_size(layer: keras.layers.Layer) -> LayerSize:
    form = layer if isinstance(layer, Form) else layer.to_form()
    stored = total_bits(form.storage())
    paper = stored if form.paper_bits is None else form.paper_bits
    table = form.float32_bits
    return LayerSize(layer.name, type(layer).__name__, paper, stored, table)


def _item_size(weight: keras.Variable) -> int:
    name = keras.backend.standardize_dtype(weight.dtype)
    return 4 if "float" in name else np.dtype(name).itemsize
