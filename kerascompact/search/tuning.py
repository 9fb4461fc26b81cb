"""Fine-tuning of a compacted model with the rounded numbers of its file."""

import contextlib
from collections.abc import Collection
from typing import Any

import keras
import numpy as np

from kerascompact import export
from kerascompact.core.keras_graph import (
    compile_like,
    copy_weight_decay_exclusions,
    graph_inputs,
    graph_outputs,
    inner_layers,
    parts_of,
)

BATCH = 32
RATE = 1e-3  # of a model without an optimizer of its own


def tuned(
    model: keras.Model,
    copy: keras.Model,
    recipe: export.Recipe,
    x: Any,
    y: Any,
    epochs: int,
    fixed: Collection[str] = (),
) -> keras.Model:
    """Trains a copy of a model whose tables are forms; codes and scales stay as they are.

    Args:
        model: Model whose optimizer, loss and first rate are used; without a loss, the mean squared
            distance to `y`.
        copy: The copy, which is trained.
        recipe: Recipe of its file.
        x: Inputs.
        y: Targets.
        epochs: Epochs, over which the rate falls to zero.
        fixed: Names of layers that stay as they are.

    Returns: The model to freeze.
    """
    with contextlib.suppress(ValueError):  # no table has integers: only the rest is trained
        copy = export.quantization_aware(copy, recipe)
    for layer in inner_layers(copy):
        if layer.name in fixed:
            layer.trainable = False
    graph = copy
    if not has_loss(model):  # a class of its own may have a step or a loss for other targets
        graph = keras.Model(graph_inputs(copy), graph_outputs(copy))
    steps = epochs * -(-len(keras.tree.flatten(x)[0]) // BATCH)
    compile_with_loss(model, graph, optimizer_of(model, steps, copy), metrics=False)
    graph.optimizer.build(graph.trainable_variables)  # or the step is traced twice
    graph.fit(x, y, batch_size=BATCH, epochs=epochs, verbose=0)
    return copy


def has_loss(model: keras.Model) -> bool:
    """Whether a model is compiled with a loss.

    >>> has_loss(keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]))
    False
    """
    return bool(model.compiled) and model.loss is not None


def compile_with_loss(
    model: keras.Model, copy: keras.Model, optimizer: Any, metrics: bool = True
) -> None:
    """`compile_like`; without a loss, with the mean squared distance.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> compile_with_loss(model, model, "sgd")
    >>> model.loss
    'mse'
    """
    if has_loss(model):
        compile_like(model, copy, optimizer, metrics)
    else:
        keras.Model.compile(copy, optimizer, "mse")


def optimizer_of(
    model: keras.Model, steps: int, copy: keras.Model | None = None
) -> keras.optimizers.Optimizer:
    """The optimizer of a model from its start, with a rate that falls from its first to zero.

    Each optimizer of a `MultiOptimizer` keeps its own first rate, and the weights that it excludes
    from weight decay; weights of the copy that is trained are known by their paths.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> model.compile(keras.optimizers.SGD(0.5), "mse")
    >>> float(optimizer_of(model, 10).learning_rate)
    0.5
    """
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        optimizer = keras.optimizers.Adam(RATE)
    inner = getattr(optimizer, "inner_optimizer", optimizer)  # behind a scale of the loss
    made = type(inner).from_config(inner.get_config())
    weights = {weight.path: weight for weight in ([] if copy is None else copy.weights)}
    copies = [(one, weights[one.path]) for one in model.weights if one.path in weights]
    for old, new in zip(parts_of(inner), parts_of(made), strict=False):
        rate = new.get_config()["learning_rate"]
        if isinstance(rate, dict):
            rate = keras.optimizers.schedules.deserialize(rate)(0)
        rate = float(np.asarray(rate))
        new.learning_rate = keras.optimizers.schedules.PolynomialDecay(rate, steps, 0.0)
        copy_weight_decay_exclusions(old, new, copies)
    if inner is not optimizer:  # layers may have small floats where the model's policy has none
        return type(optimizer)(made, optimizer.initial_scale, optimizer.dynamic_growth_steps)
    return made
