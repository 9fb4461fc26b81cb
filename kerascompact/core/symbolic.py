"""Keras' symbolic stage: a call that only shows shapes, without data."""

import keras


def in_symbolic_scope() -> bool:
    """Whether Keras calls us for shapes only, such as a loss when `fit` builds a model.

    The tensors of such a call are placeholders that no layer has made.

    >>> in_symbolic_scope()
    False
    """
    with keras.SymbolicScope() as scope:
        return scope.original_scope is not None
