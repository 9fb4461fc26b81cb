"""Losses of a trained model with each part stored in each way, one at a time."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from rich.progress import track

from kerascompact import export
from kerascompact.compress.tables import values_of
from kerascompact.core import checks
from kerascompact.core.keras_graph import copy_with, graph_inputs, graph_outputs, reached_layers
from kerascompact.export.embedding_forms import is_embedding
from kerascompact.export.kernel_rounding import round_kernels
from kerascompact.search.parts import KEPT, Candidate, Part, counts_of, settings_of, stored_bytes
from kerascompact.search.tuning import compile_with_loss, has_loss

INT8 = "int8"  # kernels with a scale for each output


class _OnData(keras.Model):
    """The graph of a model, whose loss leaves out penalties of weights and activations.

    Forms have no penalties: with them, candidates would be ranked by their norms.
    """

    @property
    def losses(self) -> list[Any]:
        return []


def sample(
    model: keras.Model, data: Any, samples: int, seed: int
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The examples on which losses are measured, and those for fine-tuning."""
    if not isinstance(data, tuple) or len(data) != 2:
        checks.fail("data", "a pair (inputs, targets), as a tuple", data)
    x = _arrays(data[0], len(model.inputs))
    y = _arrays(data[1], len(model.outputs)) if has_loss(model) else None
    if y is None and has_loss(model):
        checks.fail("data", "a pair with targets, for the model's loss", data)
    count = _examples(x, y)
    rows = np.random.default_rng(seed).permutation(count)
    rest = rows[samples:] if count >= 2 * samples else rows

    def part(places: np.ndarray) -> tuple[Any, Any]:
        inputs = keras.tree.map_structure(lambda array: array[places], x)
        if not has_loss(model):
            with _naming_data():
                return inputs, model.predict(inputs, verbose=0)
        targets = keras.tree.map_structure(lambda one: None if one is None else one[places], y)
        return inputs, targets

    return part(rows[:samples]), part(rest)


@contextlib.contextmanager
def _naming_data() -> Iterator[None]:
    """Makes a `ValueError` of what TensorFlow says of an id beyond its table, or such a class."""
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        said = [one for one in str(error).splitlines() if "not in [" in one or "range" in one]
        received = "; ".join(said) or type(error).__name__
        raise ValueError(f"`data` must be what the model takes. Received: {received}") from error


def _arrays(given: Any, ports: int) -> Any:
    """Inputs or targets as arrays: lists of numbers become one array for each of the ports."""
    if isinstance(given, Mapping):
        return {name: _arrays(one, 1) for name, one in given.items()}
    if isinstance(given, list | tuple):
        if len(given) == ports > 1:
            return type(given)(_arrays(one, 1) for one in given)
        several = ports > 1 or len(given) == 1  # else a list of rows
        if several and any(np.ndim(one) for one in keras.tree.flatten(given)):
            return keras.tree.map_structure(lambda one: _arrays(one, 1), given)
    try:
        return None if given is None else np.asarray(given)
    except ValueError:
        return checks.fail("data", "arrays, or lists whose rows have one length", given)


def _examples(x: Any, y: Any) -> int:
    """The number of examples, which each array has a row for."""
    arrays = [one for one in keras.tree.flatten((x, y)) if one is not None]
    counts = [len(one) if np.ndim(one) else 0 for one in arrays]
    if not counts or not min(counts):
        checks.fail("data", "arrays of at least one example", (x, y))
    if len(set(counts)) > 1:
        numbers = ", ".join(f"{count:,}" for count in dict.fromkeys(counts))
        raise ValueError(
            "`data` must be arrays with a row for each example, targets as many as inputs. "
            f"Received: arrays of {numbers} rows."
        )
    return counts[0]


def _on_data(model: keras.Model, copy: keras.Model) -> keras.Model:
    """The graph of a copy of a model, compiled with the model's loss, on data alone."""
    graph = _OnData(graph_inputs(copy), graph_outputs(copy), name="on_data")
    compile_with_loss(model, graph, "sgd", metrics=False)
    return graph


def _evaluated(graph: keras.Model, x: Any, y: Any) -> float:
    return graph.evaluate(x, y, verbose=0, return_dict=True)["loss"]


def loss_of(model: keras.Model, copy: keras.Model, x: Any, y: Any) -> float:
    """Loss of a copy of a model on data, without penalties; infinite, if it is no number."""
    loss = _evaluated(_on_data(model, copy), x, y)
    return loss if np.isfinite(loss) else float("inf")


def measured(
    model: keras.Model, parts: list[Part], x: Any, y: Any, seed: int, verbose: bool
) -> tuple[float, list[list[Candidate]], dict[str, list[Candidate]]]:
    """The loss as trained, and the candidates of each part with their losses, one at a time.

    Numbers are exchanged within one copy of the model, so that it is traced once.

    Returns: The loss; candidates of each part; those of the other kernels by the layer's name.
    """
    copy = copy_with(model, lambda layer: None)
    pairs = zip(reached_layers(model), reached_layers(copy), strict=True)
    twins = {id(layer): Part(twin) for layer, twin in pairs}
    graph = _on_data(model, copy)
    with _naming_data():
        base = _evaluated(graph, x, y)
    if not np.isfinite(base):
        checks.fail("data", "inputs and targets on which the model's loss is finite", base)
    found = []
    for part in parts:
        twin, table = twins[id(part.layer)], part.table
        candidates = [Candidate(KEPT, None, table.nbytes, base)]
        if not is_embedding(twin.layer):
            candidates = _rounded(graph, [twin.layer], x, y, base)
        settings = settings_of(part, seed, counts_of(model, part, x))
        for name, make in track(settings.items(), part.layer.name, disable=not verbose):
            try:
                form = make()
            except ValueError:  # the table is too small for the method's sizes
                continue
            twin.assign(values_of(form))
            loss = _evaluated(graph, x, y)
            if np.isfinite(loss):
                candidates.append(Candidate(name, form, stored_bytes(form), loss))
        twin.assign(table)
        found.append(candidates)
    kernels: dict[str, list[Candidate]] = {}
    for name, layers in _others(copy, [twins[id(part.layer)].layer for part in parts]).items():
        if candidates := _rounded(graph, layers, x, y, base):
            kernels[name] = candidates
    return base, found, kernels


def _rounded(graph: keras.Model, layers: list[Any], x: Any, y: Any, base: float) -> list[Candidate]:
    """Kernels of layers as they are and as int8; none, if they are too small to be rounded."""
    rounded = [one for layer in layers for one in round_kernels(layer, by_inputs=False)]
    numbers = sum(one.codes.size for one in rounded)
    loss = _evaluated(graph, x, y) if rounded else base
    for one in rounded:
        one.variable.assign(one.before)
    made = [Candidate(KEPT, None, 4 * numbers, base), Candidate(INT8, None, numbers, loss)]
    return [one for one in made if numbers and np.isfinite(one.loss)]


def _others(model: keras.Model, parts: list[Any]) -> dict[str, list[Any]]:
    """Layers that are no parts and no embeddings, by their names; those of one name together."""
    found: dict[str, list[Any]] = {}
    for layer in reached_layers(model):
        if not is_embedding(layer) and not any(layer is part for part in parts):
            found.setdefault(layer.name, []).append(layer)
    return found


def recipe_of(kernels: Mapping[str, str]) -> export.Recipe:
    """The recipe of a file whose tables are forms: only the other kernels are left to it.

    Args:
        kernels: "int8" or "float32" for each layer.

    >>> recipe_of({"lstm": "int8", "head": "float32"}).float_layers
    ('head',)
    """
    if INT8 not in kernels.values():
        return export.Recipe("compact", "float32")
    floats = tuple(name for name, kept in kernels.items() if kept == KEPT)
    return export.Recipe("compact", "float32", INT8, float_layers=floats)
