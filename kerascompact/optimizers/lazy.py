"""Optimizers that update only the rows of a table that the batch has touched."""

from typing import Any

import keras

from kerascompact.core.keras_graph import copy_weight_decay_exclusions
from kerascompact.core.registration import register
from kerascompact.optimizers.lazy_step import LazyStep


@register
class LazyAdam(LazyStep, keras.optimizers.Adam):
    """Adam that updates only the rows of an embedding that are in the batch.

    For a gradient that comes as rows (`tf.IndexedSlices`): rows of repeated ids are summed first,
    `g_i = sum_{j: id_j = i} g_j`, then Adam updates `m`, `v` and the variable at these rows only.
    Every other gradient is updated as `keras.optimizers.Adam` does.

    Stock Keras 3 never sums the rows of repeated ids, so its second moment on an embedding is
    `sum g_j^2` instead of `(sum g_j)^2`: on embeddings its Adam is not Adam. It also rewrites all
    rows of `m`, `v` and the table at each step. A plain table profits as well, most as
    `layers.Embedding`: `keras.layers.Embedding` copies its table at each step.

    It takes the arguments of `keras.optimizers.Adam`; `lazy` says how they act on rows.

    Example:
    >>> model = keras.Sequential([keras.layers.Embedding(9, 2), keras.layers.Flatten()])
    >>> model.compile(LazyAdam(0.01), "mse")
    >>> history = model.fit(np.array([[1, 1]]), np.zeros((1, 4)), verbose=0)

    Reference: [Kingma & Ba, ICLR 2015](https://arxiv.org/abs/1412.6980), algorithm 1.
    Differs: a row that is not in the batch gets no momentum tail, and its moments do not decay.
    """


@register
class LazySGD(LazyStep, keras.optimizers.SGD):
    """Gradient descent that updates only the rows of an embedding that are in the batch.

    `w_i -= rate g_i` for the rows `i` in the batch; with momentum `m`,
    `u_i = m u_i - rate g_i`, `w_i += u_i` (Nesterov: `w_i += m u_i - rate g_i`), at these rows
    only. Clipping acts on the summed gradient of a row and keeps rows; with
    `global_clipnorm` stock Keras makes a full table of it.

    It takes the arguments of `keras.optimizers.SGD`; `lazy` says how they act on rows.

    Example:
    >>> model = keras.Sequential([keras.layers.Embedding(9, 2), keras.layers.Flatten()])
    >>> model.compile(LazySGD(1.0, global_clipnorm=5.0), "mse")
    >>> history = model.fit(np.array([[1, 1]]), np.zeros((1, 4)), verbose=0)

    Reference: [Sutskever et al., ICML 2013](https://proceedings.mlr.press/v28/sutskever13.html),
    sec. 2. Differs: a row that is not in the batch gets no momentum tail.
    """


def lazy_class(kind: type) -> Any:
    """The lazy class of a Keras optimizer's class, `Lazy<name>`, registered with Keras.

    >>> lazy_class(keras.optimizers.Adam)
    <class 'kerascompact.optimizers.lazy.LazyAdam'>
    """
    if kind not in _CLASSES:
        _CLASSES[kind] = derived_class(LazyStep, kind, f"Lazy{kind.__name__}", __name__)
    return _CLASSES[kind]


def derived_class(step: type, kind: type, name: str, module: str) -> Any:
    """A class with the step of one and the formulas of another, registered with Keras."""
    text = f"`{kind.__name__}` with the step of `{step.__name__}`.\n\n    Args: its own.\n    "
    made = register(type(name, (step, kind), {"__module__": module, "__doc__": text}))
    return made


def class_named(classes: dict[type, type], module: str, name: str) -> type:
    """A class that was made in a module, as an attribute of it: `pickle` and `copy` look there.

    Args:
        classes: The classes of the module, made so far.
        module: Name of the module, for the error message.
        name: Name of the class.

    Raises: AttributeError, if no class has that name.
    """
    for made in reversed([*classes.values()]):
        if made.__name__ == name:
            return made
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def __getattr__(name: str) -> Any:
    return class_named(_CLASSES, __name__, name)


_CLASSES: dict[type, type] = {
    keras.optimizers.Adam: LazyAdam,
    keras.optimizers.SGD: LazySGD,
}
# Optimizers that update each entry separately, from its gradient and its slots.
ELEMENTWISE = (
    keras.optimizers.SGD,
    keras.optimizers.Adam,
    keras.optimizers.AdamW,
    keras.optimizers.Nadam,
    keras.optimizers.Adamax,
    keras.optimizers.Adagrad,
    keras.optimizers.Adadelta,
    keras.optimizers.RMSprop,
    keras.optimizers.Ftrl,
    keras.optimizers.Lion,
)
for _kind in ELEMENTWISE:
    lazy_class(_kind)  # so that a saved model finds the class


def lazy(optimizer: Any) -> Any:
    """Makes an optimizer update only the rows of embeddings that are in the batch.

    Only the rows of a table that have a gradient are updated, and only these rows of the slots
    (momenta, accumulators); the rows of repeated ids are summed first, which stock Keras 3 does not
    do: its Adam, Adagrad and RMSprop take `sum g_j^2` for `(sum g_j)^2`. It helps any layer whose
    gradient comes as rows, such as `layers.Embedding`, or `keras.layers.Embedding`, which still
    copies its table; other weights are updated as usual.

    Clipping by norm, value and global norm acts on summed rows and keeps rows. Weight decay shrinks
    only updated rows. Constraints of rows (Keras' `NonNeg`, and norms with `axis=1`) apply to
    updated rows, and to all when `fit` ends; any other constraint, such as a norm with `axis=0`,
    applies to the entire table at each step.

    Schedules, `LossScaleOptimizer`, `loss_scale_factor`, `MultiOptimizer`, files and `jit_compile`
    work as with the stock optimizer. A layer's table in bfloat16 that other optimizers refuse
    (`KDCodeEmbedding`) has slots in bfloat16; rows are updated in float32 and rounded at random, by
    the number of the step (`ops.bfloat16`). On several devices (`tf.distribute.MirroredStrategy`,
    `training.MultiWorkerStrategy`) each replica sends the rows of its part of the batch; they are
    summed, then clipped, so that weights are those of one device with the entire batch.

    Limits: an average of the weights (`use_ema`), `gradient_accumulation_steps`, an L2 regularizer
    on the table or a softmax tied to it make each step update the entire table.
    `LossScaleOptimizer` costs one boolean per entry, for its check of overflow. On several devices,
    Keras can neither accumulate gradients, nor overwrite weights by their average during training,
    nor compile by XLA.

    Args:
        optimizer: Name of an optimizer, such as "rmsprop", or an instance that has made no step:
            `SGD`, `Adam`, `AdamW`, `Nadam`, `Adamax`, `Adagrad`, `Adadelta`, `RMSprop`, `Ftrl`,
            `Lion`, or of a derived class that treats every entry separately.

    Returns: An optimizer of a class `Lazy<name>` derived from the given one, with its config.
        `LossScaleOptimizer` and `MultiOptimizer` wrap such optimizers.
    Raises: ValueError, for an optimizer whose step on an entry depends on other rows (`Lamb`,
        `Adafactor`, `Muon`, ...), or one that has been built; under `ParameterServerStrategy`,
        `TPUStrategy` or a `keras.distribution`, when it is made or takes a step; for `use_ema` or
        `gradient_accumulation_steps` with a table in bfloat16, when it is built.

    Example:
    >>> lazy("adagrad").name, type(lazy(keras.optimizers.AdamW(1e-3))).__name__
    ('adagrad', 'LazyAdamW')

    Differs: a row that is not in the batch gets no momentum tail, and its moments do not decay.
    With `use_ema` the averages are of weights that meet their constraint; Keras' are of those
    before it.
    """
    optimizer = keras.optimizers.get(optimizer)
    if isinstance(optimizer, LazyStep):
        return optimizer
    kind = type(optimizer)
    if not isinstance(optimizer, ELEMENTWISE):
        raise ValueError(
            "`optimizer` must be one that updates every entry by itself, or rows would depend on "
            "rows that are not in the batch: "
            + ", ".join(known.__name__ for known in ELEMENTWISE)
            + f", or one derived from these. Received: {kind.__name__}. "
            "(MultiOptimizer and LossScaleOptimizer go around lazy optimizers.)"
        )
    if optimizer.built:
        raise ValueError(
            "`optimizer` must be new: its state would be lost. "
            f"Received: {optimizer.name!r}, which has been built."
        )
    made = lazy_class(kind).from_config(optimizer.get_config())
    copy_weight_decay_exclusions(optimizer, made)
    return made
