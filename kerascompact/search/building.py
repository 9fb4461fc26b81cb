"""Untrained model of a setting."""

from typing import Any

import keras

from kerascompact import models
from kerascompact.core.keras_graph import copy_with, maker_of
from kerascompact.forms import DenseForm, LogitsForm
from kerascompact.search.setting import Setting
from kerascompact.tasks.methods import METHODS, build_embedding, logit_scale


def build(
    setting: Setting, num_ids: int, num_classes: int, seed: int = 0, multi_label: bool = False
) -> keras.Model:
    """Builds the model of a setting, untrained.

    Args:
        setting: The setting; its `words` may be more than there are.
        num_ids: Number of ids of the vocabulary.
        num_classes: Number of classes.
        seed: Seed of the weights and of the dropout.
        multi_label: Whether a text may have several classes or none.

    Returns: Model, ids `(batch, length)` -> probabilities `(batch, num_classes)`.

    Raises: ValueError, if the method refuses the sizes.

    >>> build(Setting(words=50, width=4), 50, 3).output_shape
    (None, 3)
    """
    keras.utils.set_random_seed(seed)
    method = METHODS[setting.method]
    options: dict[str, Any] = {**method.fixed, **dict(setting.options)}
    if "clusters" in options:
        options["logit_scale"] = logit_scale(setting.learning_rate)
    embedding = build_embedding(setting.method, num_ids, setting.width, **options)
    if setting.model == "cnn":
        return models.text_cnn(
            embedding,
            num_classes,
            filter_sizes=setting.filter_sizes,
            num_filters=setting.units,
            dropout=setting.dropout,
            multi_label=multi_label,
            head_rank=setting.head_rank or None,
        )
    return models.mean_classifier(
        embedding,
        num_classes,
        hidden_units=setting.units if setting.model == "hidden" else None,
        dropout=setting.dropout,
        multi_label=multi_label,
        head_rank=setting.head_rank or None,
        skip_unknown=setting.skip_unknown,
        pooling=setting.model if setting.model in ("weighted", "mean_and_max") else "mean",
    )


def with_form_head(model: keras.Model) -> keras.Model:
    """A copy whose output layer is a form, which a recipe stores and trains as it does tables.

    >>> with_form_head(build(Setting(words=50, width=4), 50, 3)).layers[-1].part.output_dim
    4
    """
    head = maker_of(model.outputs[0])

    def replace(layer: keras.layers.Layer) -> keras.layers.Layer:
        if layer is not head:
            return layer
        kernel, bias = (keras.ops.convert_to_numpy(one) for one in (layer.kernel, layer.bias))
        width, classes = kernel.shape
        arrays = {"table": kernel.T}
        part = DenseForm.from_arrays(arrays, input_dim=classes, output_dim=width)
        return LogitsForm.over(part, bias, layer.activation, name=layer.name)

    return copy_with(model, replace)
