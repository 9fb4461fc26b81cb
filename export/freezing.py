"""Replaces every compact layer by the form it ships as."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.cloning import copy_with, is_graph
from kerascompact.core.stock import is_stock_embedding
from kerascompact.export.recipe import Recipe, resolve
from kerascompact.forms.base import Form
from kerascompact.forms.dense import DenseForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.projection import ProjectionEmbedding
from kerascompact.layers.recurrent.base import SparseRecurrent


def freeze(model: keras.Model, recipe: str | Recipe = "float32") -> keras.Model:
    """Returns a copy of a trained model with its compact layers frozen, as the file will hold them.

    The copy evaluates, saves and loads like any Keras model; its outputs are those of `model` with
    hard assignments, with "int8" and "int4" up to the rounding of the tables. What is frozen
    already stays; a plain `keras.layers.Embedding` becomes a `DenseForm`. Sparse LSTMs and GRUs
    become one loop each, of float32 weights. A model trained in mixed precision ships in float32.

    Args:
        model: Functional or Sequential model, built; its own layers are not changed.
        recipe: "float32", "int8", "int4" or a `Recipe`.

    Raises: ValueError, if the model is subclassed (`convert` and `verify` take those) or not built.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> type(freeze(model).layers[0]).__name__
    'CodebookForm'
    """
    recipe = resolve(recipe)

    def replace(layer: keras.layers.Layer) -> keras.layers.Layer | None:
        return as_form(layer, recipe) if is_embedding(layer) else _one_loop(layer)

    return copy_with(model, replace, _float32)


def is_embedding(layer: Any) -> bool:
    """Whether a layer ships as a form: a compact embedding, a form, or Keras' own `Embedding`."""
    known = CompactEmbedding | ProjectionEmbedding | Form
    return is_stock_embedding(layer) or isinstance(layer, known)


def as_form(layer: keras.layers.Layer, recipe: Recipe) -> Form:
    """The form of one embedding under a recipe; always a layer of its own, never `layer` itself."""
    form: Form
    if isinstance(layer, Form):
        form = type(layer).from_config(_float32(layer))
        form.build()
        form.set_weights(layer.get_weights())
    elif isinstance(layer, CompactEmbedding | ProjectionEmbedding):
        form = layer.freeze()
        form.dtype_policy = "float32"
    else:
        form = DenseForm.from_arrays(
            {"table": checks.finite("embeddings", keras.ops.convert_to_numpy(layer.embeddings))},
            input_dim=layer.input_dim,
            output_dim=layer.output_dim,
            mask_zero=layer.mask_zero,
            paper_bits=32 * layer.input_dim * layer.output_dim,
            name=layer.name,
            dtype="float32",
        )
    return form if recipe.tables == "float32" else form.quantize(recipe.tables)


def _one_loop(layer: Any) -> keras.layers.Layer | None:
    """A sparse recurrent layer, or two in a `Bidirectional`, as one loop; `None` for others."""
    if isinstance(layer, SparseRecurrent):
        return layer.freeze()
    if type(layer) is not keras.layers.Bidirectional:
        return None
    sides = (layer.forward_layer, layer.backward_layer)
    if not all(isinstance(side, SparseRecurrent) for side in sides):
        return None
    forward, backward = (side.freeze() for side in sides)
    both = keras.layers.Bidirectional(
        forward,
        merge_mode=layer.merge_mode,
        backward_layer=backward,
        name=layer.name,
        dtype="float32",
    )
    # It makes its forward layer anew, from the configuration.
    batch_size = forward.states[0].shape[0] if forward.stateful else None
    both.build((batch_size, None, forward.input_dim))
    both.forward_layer.set_weights(forward.get_weights())
    return both


def _float32(layer: keras.layers.Layer) -> dict[str, Any]:
    """The layer's configuration, computing in float32: TFLite has no float16 arithmetic on CPU."""
    config = layer.get_config()
    return config if layer.compute_dtype == "float32" else {**config, "dtype": "float32"}


@contextlib.contextmanager
def shipped(model: keras.Model, recipe: Recipe) -> Iterator[tuple[Any, list[Form]]]:
    """The model as it ships, for any kind of model, and its forms.

    A functional or Sequential model gives its frozen copy. A subclassed model is lent itself, its
    embeddings looking up in their forms until the block ends.
    """
    if is_graph(model):
        frozen = freeze(model, recipe)
        yield frozen, list(outermost(frozen))
        return
    swapped = [(layer, as_form(layer, recipe)) for layer in outermost(model)]
    try:
        for layer, form in swapped:
            layer.call = _without_training(form)
        model.make_predict_function(force=True)
        yield model, [form for _, form in swapped]
    finally:
        for layer, _ in swapped:
            del layer.call
        model.make_predict_function(force=True)


def outermost(layer: keras.layers.Layer) -> Iterator[Any]:
    """The embeddings of a model, wherever they sit, without those inside another."""
    for inner in layer._flatten_layers(recursive=False, include_self=False):
        if is_embedding(inner):
            yield inner
        else:
            yield from outermost(inner)


def _without_training(form: Form) -> Any:
    return lambda inputs, training=None, reverse=False: form.call(inputs, reverse)
