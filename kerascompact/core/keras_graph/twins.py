"""Twins: copies of layers by their weights and attributes, not by their configurations."""

import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import keras
import tensorflow as tf

from kerascompact.core.keras_graph.kinds import is_graph
from kerascompact.core.keras_graph.layers import SMALL_FLOATS, inner_layers, maker_of
from kerascompact.core.keras_graph.wiring import run_graph

# What Keras makes for each object, and what belongs to the graph that a layer was called in.
OWN = {"_tracker", "build", "quantize", "get_config", "_inbound_nodes", "_outbound_nodes"}
STORES = (
    "_trainable_variables",
    "_non_trainable_variables",
    "_layers",
    "_metrics",
    "_seed_generators",
)
# Functions that Keras and keras-hub trace for a model, and make again when they are missing.
TRACED = {"train_function", "test_function", "predict_function", "generate_function"}
OF_FIT = {"optimizer", *TRACED}


class CannotCopyError(ValueError):
    """A layer has no twin, and its configuration does not make it again."""


class Twins:
    """Makes twins of layers and models, one of each.

    `twin(x) = layer(x)`: a twin has the class of its layer, equal weights of its own, and the same
    other attributes, also those that the configuration lacks. Layers inside, in any attribute, are
    replaced or become twins, too. Only a layer with a function that holds a layer, which a twin
    would share, is copied by its configuration.

    Args:
        replace: What stands in the place of a layer, or `None` for a twin; called once for each
            layer, from the outside to the inside.
        float32: Whether twins compute in float32, and have float32 numbers for smaller floats.
        adapt: Changes, given a layer and its twin, the twin before it is called, such as its sizes.

    >>> dense = keras.layers.Dense(2)
    >>> dense.build((None, 3))
    >>> twin = Twins(lambda layer: None).of(dense)
    >>> twin.kernel is dense.kernel, bool(np.all(twin.kernel == dense.kernel))
    (False, True)
    """

    def __init__(
        self,
        replace: Callable[[keras.layers.Layer], keras.layers.Layer | None],
        float32: bool = False,
        adapt: Callable[[keras.layers.Layer, keras.layers.Layer], None] | None = None,
    ) -> None:
        self._replace, self._adapt = replace, adapt
        self._float32 = float32
        self._made: dict[int, tuple[Any, Any]] = {}  # with the old one, which keeps its id alive
        self._replacements: list[Any] = []

    def of(self, layer: Any) -> Any:
        """The twin of a layer, a model, or an operation between layers; or its replacement."""
        if not isinstance(layer, keras.layers.Layer):
            return layer  # an operation, such as a mask's comparison
        if id(layer) in self._made:
            return self._made[id(layer)][1]
        new = self._replace(layer)
        if new is not None:
            self._replacements.append(new)
            return self._keep(layer, new)
        return self._graph(layer) if is_graph(layer) else self._layer(layer)

    def _keep(self, old: Any, new: Any) -> Any:
        self._made[id(old)] = (old, new)
        return new

    def _graph(self, model: Any) -> keras.Model:
        """The twin of a functional or Sequential model."""
        given = [_input_like(x) for x in model.inputs]
        if isinstance(model, keras.Sequential):
            layers = [self.of(layer) for layer in model.layers]
            return self._keep(model, keras.Sequential([*given, *layers], name=model.name))
        outputs = run_graph(model, given, copy=self.of)
        inputs = keras.tree.pack_sequence_as(model.input, given)
        plain = keras.Model(inputs, outputs, name=model.name)
        if type(model) is type(plain):
            return self._keep(model, plain)
        twin = self._keep(model, _unmade(model))
        for name, value in vars(model).items():
            if name not in vars(plain) and name not in OWN | OF_FIT:
                vars(twin)[name] = self._value(value, twin, keep=True)
        vars(twin).update({k: v for k, v in vars(plain).items() if k not in {"build", "quantize"}})
        vars(twin).update(dict.fromkeys(TRACED))
        if self._float32 and twin.compute_dtype in SMALL_FLOATS:
            twin.dtype_policy = "float32"
        return self._guarded(twin, model)

    def _layer(self, layer: Any) -> keras.layers.Layer:
        if any(map(_hides_a_layer, _attributes(layer).values())):
            return self._by_config(layer)
        twin = self._keep(layer, _unmade(layer))
        for name, value in _attributes(layer).items():
            made = self._value(value, twin)
            if name in STORES:
                vars(twin)[name].extend(made)  # the tracker has the list itself
            else:
                vars(twin)[name] = made
        vars(twin).update(_inbound_nodes=[], _outbound_nodes=[])
        tracker = twin._tracker
        for name, (_, store) in tracker.config.items():
            tracker.stored_ids[name] = {id(one) for one in store}
        if self._float32 and twin.compute_dtype in SMALL_FLOATS:
            twin.dtype_policy = "float32"
        if self._adapt is not None:
            self._adapt(layer, twin)
        return self._guarded(twin, layer)

    def _by_config(self, layer: Any) -> keras.layers.Layer:
        config = layer.get_config()
        if self._float32 and layer.compute_dtype in SMALL_FLOATS:
            config["dtype"] = "float32"
        twin = self._keep(layer, type(layer).from_config(config))
        if layer.built:
            twin.build_from_config(layer.get_build_config() or {})
            given, made = ([w.shape for w in one.weights] for one in (layer, twin))
            if given != made:
                raise CannotCopyError(
                    f"Layer {layer.name!r} has a function that holds a layer, so that it is copied "
                    f"by its configuration, and that does not build its {len(given)} weights."
                )
            twin.set_weights(layer.get_weights())
        return twin

    def _guarded(self, twin: Any, old: Any) -> Any:
        """The twin, which cannot be saved if its class would rebuild layers that were replaced."""
        inside = {id(layer) for layer in inner_layers(twin)}
        replaced = any(id(layer) in inside for layer in self._replacements)
        if replaced or "get_config" in vars(old):
            vars(twin)["get_config"] = lambda: _refuse_to_save(twin)
        return twin

    def _value(self, value: Any, owner: Any, keep: bool = False) -> Any:
        """What a twin has in the place of an attribute's value.

        Args:
            value: The value.
            owner: The twin.
            keep: Whether layers without weights that have no twin yet, such as a tokenizer, are
                shared.
        """
        if isinstance(value, keras.layers.Layer):
            shared = keep and id(value) not in self._made and not value.weights
            return value if shared else self.of(value)
        if isinstance(value, keras.Variable | keras.random.SeedGenerator | tf.Variable):
            if id(value) not in self._made:
                self._keep(value, self._number(value, owner))
            return self._made[id(value)][1]
        if isinstance(value, types.MethodType) and isinstance(value.__self__, keras.layers.Layer):
            return types.MethodType(value.__func__, self.of(value.__self__))
        if isinstance(value, dict):
            made = {key: self._value(one, owner, keep) for key, one in value.items()}
            return _tracked(type(value), made, owner)
        if isinstance(value, list | tuple | set):
            items = [self._value(one, owner, keep) for one in value]
            if isinstance(value, tuple):
                return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
            return _tracked(type(value), items if isinstance(value, list) else set(items), owner)
        return value

    def _number(self, value: Any, owner: Any) -> Any:
        """A variable of its own with an equal number, or such a seed."""
        if isinstance(value, tf.Variable):
            return tf.Variable(value, trainable=value.trainable)
        guard: Any = getattr(value, "constraint", None)
        if hasattr(guard, "before_copy"):
            guard.before_copy()
        twin = object.__new__(type(value))
        vars(twin).update(vars(value))
        if isinstance(value, keras.random.SeedGenerator):
            twin.state = self._value(value.state, owner)
            return twin
        for name in [name for name in vars(twin) if name.startswith("_self_")]:
            del vars(twin)[name]  # of TensorFlow's checkpoints
        if self._float32 and value.dtype in SMALL_FLOATS:
            twin._dtype = "float32"
        twin._initialize(tf.cast(tf.convert_to_tensor(value.value), twin._dtype))
        if hasattr(guard, "of_copy"):  # it knows variables beside its own
            self._keep(value, twin)
            twin.constraint = guard.of_copy(twin, lambda other: self._value(other, owner))
        return twin


def _unmade(layer: Any) -> Any:
    """A layer of the same class, before its `__init__`."""
    kind: Any = type(layer)
    return kind.__new__(kind)


def _attributes(layer: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(layer).items() if name not in OWN}


def _tracked(kind: type, made: Any, owner: Any) -> Any:
    """A container of one of Keras' kinds, which tells the owner what is added later; or a plain."""
    if not kind.__name__.startswith("Tracked"):
        return made
    container = kind(made)
    container.tracker = owner._tracker
    return container


def _hides_a_layer(value: Any) -> bool:
    """Whether a value holds a layer or variable where a twin cannot exchange it.

    >>> import functools
    >>> dense = keras.layers.Dense(2)
    >>> _hides_a_layer(functools.partial(map, dense)), _hides_a_layer(abs), _hides_a_layer([dense])
    (True, False, False)
    """
    if isinstance(value, dict | list | tuple | set):
        return any(map(_hides_a_layer, value.values() if isinstance(value, dict) else value))
    if isinstance(value, (*_HOLDERS, type, types.ModuleType)):
        return False
    if isinstance(value, tf.Module):  # such as a layer of tf_keras
        return True
    if isinstance(value, types.MethodType):
        return not isinstance(value.__self__, keras.layers.Layer) and _hides_a_layer(value.__self__)
    return any(isinstance(one, _HOLDERS) for one in _inside(value))


def _inside(value: Any) -> Iterator[Any]:
    """What a function closes over, or the attributes of an object of Python."""
    function = getattr(value, "python_function", value)  # of a tf.function
    if isinstance(function, types.MethodType):
        yield function.__self__
    elif isinstance(function, types.FunctionType):
        for cell in function.__closure__ or ():
            yield from _flat(cell.cell_contents)
    elif type(value).__module__ == "functools":
        yield from (*value.args, *value.keywords.values())
    else:
        for one in getattr(value, "__dict__", {}).values():
            yield from _flat(one)


def _flat(value: Any) -> list[Any]:
    return keras.tree.flatten(value) if isinstance(value, dict | list | tuple) else [value]


def _refuse_to_save(twin: Any) -> NoReturn:
    kind = type(twin).__name__
    raise ValueError(
        f"A copy of a {kind} with other layers inside cannot be saved as a .keras file: from its "
        f"configuration, {kind} would rebuild the layers that were replaced. Save the model that "
        "it was made from, or convert the copy with `export.save`; `keras.Model(copy.input, "
        f"copy.output)` can be saved if it is a model. Received: {twin.name!r}."
    )


_HOLDERS = (keras.layers.Layer, keras.Variable, keras.random.SeedGenerator)


def set_array(variable: keras.Variable, array: Any) -> None:
    """Gives a variable numbers of another shape.

    >>> variable = keras.Variable(np.zeros((3, 2)))
    >>> set_array(variable, np.ones((1, 2)))
    >>> variable.numpy().tolist()
    [[1.0, 1.0]]
    """
    found: Any = variable
    found._shape, found._ndim, found._value = tuple(array.shape), array.ndim, None
    found._initialize(tf.cast(array, found.dtype))


def _input_like(tensor: Any) -> Any:
    """An input that takes what another one does: sparse, ragged, or none at all."""
    layer = maker_of(tensor)
    kinds = {name: getattr(layer, name, False) for name in ("sparse", "ragged", "optional")}
    return keras.Input(batch_shape=tensor.shape, dtype=tensor.dtype, name=tensor.name, **kinds)
