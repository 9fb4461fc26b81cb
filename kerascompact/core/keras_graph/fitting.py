"""What `model.fit` keeps while it runs."""

from typing import Any


def has_validation_data(model: Any) -> bool:
    """Whether `fit` is running and has evaluated its `validation_data`.

    >>> import keras
    >>> has_validation_data(keras.Sequential([keras.layers.Dense(2)]))
    False
    """
    return getattr(model, "_eval_epoch_iterator", None) is not None


def evaluate_validation_data(model: Any, callbacks: list[Any]) -> dict[str, float]:
    """Evaluates a model once more on the `validation_data` of the `fit` that is running.

    Args:
        model: Model that is being fitted; `has_validation_data` holds.
        callbacks: Callbacks that the evaluation calls.

    Returns: A value for the loss and each metric, by its name.
    """
    return model.evaluate(
        callbacks=callbacks, verbose=0, return_dict=True, _use_cached_eval_dataset=True
    )
