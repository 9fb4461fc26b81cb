"""Questions about Keras models and layers: what kind is this, and how is it called?"""

import inspect
from typing import Any

import keras


def is_graph(model: Any) -> bool:
    """Whether a model is a graph of layers: functional, or Sequential and built.

    >>> dense = keras.layers.Dense(2)
    >>> is_graph(keras.Sequential([keras.Input((3,)), dense])), is_graph(keras.Sequential([dense]))
    (True, False)
    """
    if isinstance(model, keras.Sequential):
        return bool(model.built)
    return isinstance(model, keras.Model) and hasattr(model, "_operations_by_depth")


def is_stock_embedding(layer: Any) -> bool:
    """Whether a layer is Keras' `Embedding` or `ReversibleEmbedding` (or ours), and float.

    So is a subclass that looks up as they do: one with a name of its own, or other defaults.

    >>> is_stock_embedding(keras.layers.Embedding(9, 2)), is_stock_embedding(keras.layers.Dense(2))
    (True, False)
    """
    kinds = [kind for kind in (stock_reversible(), keras.layers.Embedding) if kind is not None]
    known = any(_works_as(type(layer), kind) for kind in kinds) or is_plain_table(type(layer))
    return known and not layer.quantization_mode  # a quantized one holds other weights


def _works_as(kind: type, stock: type) -> bool:
    """Whether a class is `stock`, or changes nothing of it but how a layer is made or described."""
    if not issubclass(kind, stock):
        return False
    own = {name for one in kind.mro()[: kind.mro().index(stock)] for name in vars(one)}
    own -= {"get_config", "from_config", "_api_export_path", "_api_export_symbol_id"}
    return not any(hasattr(stock, name) for name in own if name == "__call__" or name[:2] != "__")


def plain_table(kind: type) -> type:
    """Makes a subclass of Keras' embeddings count as one: same weights, same results.

    >>> plain_table(keras.layers.Embedding)
    <class 'keras.src.layers.core.embedding.Embedding'>
    """
    _PLAIN_TABLES.add(kind)
    return kind


_PLAIN_TABLES: set[type] = set()


def is_plain_table(kind: type) -> bool:
    """Whether `plain_table` was told of a class."""
    return kind in _PLAIN_TABLES


def is_one_table(layer: Any) -> bool:
    """Whether a table is all that there is to a Keras embedding: no head and no cap of logits.

    >>> is_one_table(keras.layers.Embedding(9, 2)), is_one_table(keras.layers.Dense(2))
    (True, False)
    """
    if not is_stock_embedding(layer):
        return False
    return getattr(layer, "tie_weights", True) and getattr(layer, "logit_soft_cap", None) is None


def in_symbolic_scope() -> bool:
    """Whether Keras calls us for shapes only, such as a loss when `fit` builds a model.

    The tensors of such a call are placeholders that no layer has made.

    >>> in_symbolic_scope()
    False
    """
    with keras.SymbolicScope() as scope:
        return scope.original_scope is not None


def stock_reversible() -> type[keras.layers.Layer] | None:
    """The class of Keras' own embedding that can be called in reverse, from Keras 3.13 on.

    >>> stock_reversible() in (None, getattr(keras.layers, "ReversibleEmbedding", None))
    True
    """
    return getattr(keras.layers, "ReversibleEmbedding", None)


def is_graph_of(layer: Any, model: Any) -> bool:
    """Whether a layer is the functional model that a Sequential model keeps of itself.

    >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    >>> is_graph_of(model.layers[0], model)
    False
    """
    return isinstance(model, keras.Sequential) and layer is model._functional


def graph_inputs(model: Any) -> Any:
    """The inputs of a graph of layers, in the structure that it is called with.

    >>> graph_inputs(keras.Sequential([keras.Input((3,), name="x"), keras.layers.Dense(2)])).name
    'x'
    """
    # A Sequential has no `input` until it was called on something, but it has `inputs`.
    return model.inputs[0] if isinstance(model, keras.Sequential) else model.input


def graph_outputs(model: Any) -> Any:
    """The outputs of a graph of layers, in the structure that it returns.

    >>> graph_outputs(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])).shape
    (None, 2)
    """
    return model.outputs[0] if isinstance(model, keras.Sequential) else model.output


def build_shapes(model: Any) -> dict[str, Any]:
    """The shapes that a model or layer was built for, by argument; empty if Keras knows none.

    >>> dense = keras.layers.Dense(2)
    >>> dense.build((None, 3))
    >>> build_shapes(dense), build_shapes(keras.layers.Dense(2))
    ({'input_shape': (None, 3)}, {})
    """
    return model._build_shapes_dict or {}


def required_arguments(model: Any) -> list[str]:
    """The names of the arguments that a subclassed model must be called with.

    >>> required_arguments(keras.layers.Attention())
    ['inputs']
    """
    parameters = inspect.signature(model.call).parameters.values()
    needed = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    return [name for name in needed if name not in ("training", "mask", "args", "kwargs")]
