"""Losses of a trained model with each part stored in each way, one at a time."""

from typing import Any

import keras
import numpy as np
from rich.progress import track

from kerascompact import export
from kerascompact.compress.tables import values_of
from kerascompact.core import checks
from kerascompact.core.keras_graph import copy_with, reached_layers
from kerascompact.search.parts import KEPT, Candidate, Part, counts_of, settings_of, stored_bytes
from kerascompact.search.tuning import compile_like


def sample(
    model: keras.Model, data: Any, samples: int, seed: int
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The examples on which losses are measured, and those for fine-tuning."""
    if not isinstance(data, tuple) or len(data) != 2:
        checks.fail("data", "a pair (inputs, targets)", type(data).__name__)
    x, y = keras.tree.map_structure(lambda one: None if one is None else np.asarray(one), data)
    count = len(keras.tree.flatten(x)[0])
    if not count:
        checks.fail("data", "at least one example", "none")
    rows = np.random.default_rng(seed).permutation(count)
    rest = rows[samples:] if count >= 2 * samples else rows

    def part(places: np.ndarray) -> tuple[Any, Any]:
        inputs = keras.tree.map_structure(lambda array: array[places], x)
        if not model.compiled:
            return inputs, model.predict(inputs, verbose=0)
        targets = keras.tree.map_structure(lambda one: None if one is None else one[places], y)
        return inputs, targets

    return part(rows[:samples]), part(rest)


def _compiled(model: keras.Model, copy: keras.Model) -> keras.Model:
    if model.compiled:
        compile_like(model, copy, "sgd")
    else:
        copy.compile("sgd", "mse")
    return copy


def loss_of(model: keras.Model, copy: keras.Model, x: Any, y: Any) -> float:
    """Loss of a copy of a model; infinite, if it is no number."""
    loss = _compiled(model, copy).evaluate(x, y, verbose=0, return_dict=True)["loss"]
    return loss if np.isfinite(loss) else float("inf")


def measured(
    model: keras.Model, parts: list[Part], x: Any, y: Any, seed: int, verbose: bool
) -> tuple[float, list[list[Candidate]]]:
    """The loss as trained, and the candidates of each part with their losses, one at a time.

    Rows are exchanged within one copy of the model, so that it is traced once.
    """
    copy = copy_with(model, lambda layer: None)
    pairs = zip(reached_layers(model), reached_layers(copy), strict=True)
    twins = {id(layer): Part(twin) for layer, twin in pairs}
    base = loss_of(model, copy, x, y)
    found = []
    for part in parts:
        twin, table = twins[id(part.layer)], part.table
        candidates = [Candidate(KEPT, None, table.nbytes, base)]
        settings = settings_of(part, seed, counts_of(model, part, x))
        for name, make in track(settings.items(), part.layer.name, disable=not verbose):
            try:
                form = make()
            except ValueError:  # the table is too small for the method's sizes
                continue
            twin.assign(values_of(form))
            loss = copy.evaluate(x, y, verbose=0, return_dict=True)["loss"]
            if np.isfinite(loss):
                candidates.append(Candidate(name, form, stored_bytes(form), loss))
        twin.assign(table)
        found.append(candidates)
    rounded = export.freeze(copy, recipe_of("int8")).model
    numbers = _kernel_numbers(model, parts)
    kernels = [
        Candidate(KEPT, None, 4 * numbers, base),
        Candidate("int8", None, numbers, loss_of(model, rounded, x, y)),
    ]
    return base, [*found, kernels]


def _kernel_numbers(model: keras.Model, parts: list[Part]) -> int:
    inside = {id(part.variable) for part in parts}
    others = [w for w in model.weights if id(w) not in inside and len(w.shape) > 1]
    return sum(int(np.prod(weight.shape)) for weight in others)


def recipe_of(kernels: str) -> export.Recipe:
    """The recipe of a file whose tables are forms: only the other kernels are left to it."""
    return export.Recipe("compact", "float32", kernels)
