"""Regularizers: penalties of weights that Keras adds to the loss."""

from kerascompact.regularizers.orthogonality import Orthogonality

__all__ = ["Orthogonality"]
