"""Optimizers that treat the gradient of an embedding as rows."""

from kerascompact.optimizers.lazy import LazyAdam, LazySGD

__all__ = ["LazyAdam", "LazySGD"]
