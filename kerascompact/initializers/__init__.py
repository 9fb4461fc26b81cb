"""Initializers of embedding weights, and the choice of anchors."""

from kerascompact.initializers import anchors
from kerascompact.initializers.common_code import CommonCode
from kerascompact.initializers.half_normal import HalfNormal
from kerascompact.initializers.orthogonal_rows import OrthogonalRows

__all__ = ["CommonCode", "HalfNormal", "OrthogonalRows", "anchors"]
