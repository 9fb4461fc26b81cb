"""Optimizers that treat the gradient of an embedding as rows."""

from kerascompact.optimizers.lazy import LazyAdam

__all__ = ["LazyAdam"]
