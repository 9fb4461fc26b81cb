"""How weights start, where it decides what they become."""

from kerascompact.initializers import anchors
from kerascompact.initializers.common_code import CommonCode
from kerascompact.initializers.half_normal import HalfNormal
from kerascompact.initializers.orthogonal_rows import OrthogonalRows

__all__ = ["CommonCode", "HalfNormal", "OrthogonalRows", "anchors"]
