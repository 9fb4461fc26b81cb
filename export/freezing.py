"""Freezing: every compact layer of a model becomes the form that ships."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.core.keras_graph import copy_with, is_graph, is_stock_embedding
from kerascompact.export.recipe import Recipe, resolve
from kerascompact.export.trainable_form import TrainableForm
from kerascompact.forms.base import Form
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.row_scaled_table import RowScaledForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.projection import ProjectionEmbedding
from kerascompact.layers.recurrent.base import SparseRecurrent
from kerascompact.tflite.passes import kernels


def freeze(model: keras.Model, recipe: str | Recipe = "float32") -> keras.Model:
    """Returns a copy of a trained model with its compact layers frozen, as the file will hold them.

    The copy evaluates, saves and loads like any Keras model; its outputs are those of `model` with
    hard assignments, up to the rounding of tables and kernels that the recipe asks for. What is
    frozen already stays; a `keras.layers.Embedding` becomes a `DenseForm` or a `RowScaledForm`.
    Sparse LSTMs and GRUs become one loop each. A model trained in mixed precision ships in float32.

    Args:
        model: Functional or Sequential model, built; its own layers are not changed.
        recipe: The name of a recipe, such as "int8", or a `Recipe`.

    Raises: ValueError, if the model is subclassed (`convert` and `verify` take those) or not built.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> type(freeze(model).layers[0]).__name__
    'CodebookForm'
    """
    recipe = resolve(recipe)
    check_reachable(model, "frozen; `convert` and `verify` take them anywhere")

    def replace(layer: keras.layers.Layer) -> keras.layers.Layer | None:
        if is_embedding(layer):
            return as_form(layer, recipe)
        if type(layer) is keras.layers.Lambda:
            return _same_function(layer)
        return _one_loop(layer)

    frozen = copy_with(model, replace, _float32)
    if recipe.kernels != "float32":
        round_kernels(frozen, recipe.kernels != "dynamic")
    return frozen


def is_embedding(layer: Any) -> bool:
    """Whether a layer ships as a form: a compact embedding, a form, or Keras' own `Embedding`."""
    known = CompactEmbedding | ProjectionEmbedding | Form
    return is_stock_embedding(layer) or isinstance(layer, known)


def as_form(layer: keras.layers.Layer, recipe: Recipe) -> Form:
    """The form of one embedding under a recipe; always a layer of its own, never `layer` itself."""
    form: Form
    if isinstance(layer, TrainableForm):
        form = layer.settled()
    elif isinstance(layer, Form):
        form = type(layer).from_config(_float32(layer))
        form.build()
        form.set_weights(layer.get_weights())
    elif isinstance(layer, CompactEmbedding | ProjectionEmbedding):
        form = layer.to_form()
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
    plain = type(form) is DenseForm and form.precision == "float32"
    if plain and recipe.stock_table != "columns":
        return _by_rows(form, recipe)
    return form if recipe.tables == "float32" else form.stored_as(recipe.tables)


def _by_rows(form: DenseForm, recipe: Recipe) -> RowScaledForm:
    """A table with scales for each row, or for each block of a row."""
    config = {key: getattr(form, key) for key in ("mask_zero", "paper_bits", "name")}
    block = 32 if recipe.stock_table == "blocks" else None
    return RowScaledForm.from_table(form.table_values("table"), recipe.tables, block, **config)


def round_kernels(model: Any, by_inputs: bool = True) -> list[tuple[Any, np.ndarray]]:
    """Rounds the kernels of a model, its embeddings aside, to what int8 in a file stands for.

    Args:
        model: Its variables are assigned to.
        by_inputs: Whether a dense kernel may have scales for each input: not, if it stays int8
            where it is multiplied.

    Returns: Each variable that was changed, and its numbers before.
    """
    changed: dict[int, tuple[Any, np.ndarray]] = {}
    for layer in _others(model):
        if getattr(layer, "rounds_itself", False):  # as it was trained to
            continue
        for variable in layer._trainable_variables + layer._non_trainable_variables:
            if variable.dtype != "float32":
                continue
            outputs, inputs = _outputs_of(layer, variable), by_inputs and _is_last(layer, model)
            axis = kernels.axis_of_scales(variable.shape, outputs, inputs)
            if axis is None:
                continue
            before = keras.ops.convert_to_numpy(variable)
            variable.assign(kernels.rounded(before, axis))
            changed.setdefault(id(variable), (variable, before))
    return list(changed.values())


def _others(layer: keras.layers.Layer) -> Iterator[Any]:
    """A layer and every layer inside that is no embedding and in none."""
    yield layer
    for inner in layer._flatten_layers(recursive=False, include_self=False):
        if not is_embedding(inner):
            yield from _others(inner)


def _is_last(layer: Any, model: Any) -> bool:
    """Whether it is a dense layer of a graph's outputs.

    Into others the converter may fold what multiplies their outputs, as a normalization does behind
    a dropout: integers with a scale for each input would be none any more.
    """
    if type(layer) is not keras.layers.Dense or not is_graph(model):
        return False
    outputs = keras.tree.flatten(model.outputs)
    return any(tensor._keras_history.operation is layer for tensor in outputs)


def _outputs_of(layer: Any, variable: Any) -> int:
    """The axis of a kernel's outputs."""
    kind = type(layer).__name__
    transposed = "Transpose" in kind or kind.startswith("Depthwise")
    return -2 if transposed or variable.name.startswith("depthwise") else -1


def check_reachable(model: Any, purpose: str) -> None:
    """Raises `ValueError` if a graph has an embedding that no copy of the graph would reach.

    Args:
        model: Any model.
        purpose: What the embeddings are to be, for the message.
    """
    inside = hidden(model) if is_graph(model) else None
    if inside is not None:
        raise ValueError(
            "`model` must have its embeddings in its own graph, or in models of its graph, to be "
            f"{purpose}. Received: {inside}, which holds an embedding inside."
        )


def hidden(model: Any) -> str | None:
    """The name of a layer that holds an embedding where a copy of the graph would not reach it."""
    for layer in model.layers:
        inner = layer.layer if type(layer) is keras.layers.TimeDistributed else layer
        if is_embedding(inner):
            continue
        found = hidden(inner) if is_graph(inner) else _holder(inner)
        if found is not None:
            return found
    return None


def _holder(layer: Any) -> str | None:
    return layer.name if any(True for _ in outermost(layer)) else None


def _same_function(layer: Any) -> keras.layers.Layer:
    """A `Lambda` with the same function, which a configuration would hold as bytes."""
    given = {"output_shape": layer._output_shape, "mask": layer.mask, "arguments": layer.arguments}
    return keras.layers.Lambda(layer.function, name=layer.name, dtype="float32", **given)


def _one_loop(layer: Any) -> keras.layers.Layer | None:
    """A sparse recurrent layer, or two in a `Bidirectional`, as one loop; `None` for others."""
    if isinstance(layer, SparseRecurrent):
        return layer.to_form()
    if type(layer) is not keras.layers.Bidirectional:
        return None
    sides = (layer.forward_layer, layer.backward_layer)
    if not all(isinstance(side, SparseRecurrent) for side in sides):
        return None
    forward, backward = (side.to_form() for side in sides)
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

    A functional or Sequential model gives its frozen copy. Any other, or one with an embedding
    inside a layer, or with a layer that has no configuration, is lent itself, its embeddings
    looking up in their forms until the block ends.
    """
    frozen = None
    if is_graph(model) and hidden(model) is None:
        with contextlib.suppress(NotImplementedError, TypeError):  # of configurations
            frozen = freeze(model, recipe)
    if frozen is not None:
        yield frozen, list(outermost(frozen))
        return
    swapped = [(layer, as_form(layer, recipe)) for layer in outermost(model)]
    lent = round_kernels(model, recipe.kernels != "dynamic") if recipe.kernels != "float32" else []
    try:
        for layer, form in swapped:
            layer.call = _without_training(form)
        model.make_predict_function(force=True)
        yield model, [form for _, form in swapped]
    finally:
        for layer, _ in swapped:
            layer.__dict__.pop("call", None)  # another model may share it, and have it back
        for variable, before in lent:
            variable.assign(before)
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
