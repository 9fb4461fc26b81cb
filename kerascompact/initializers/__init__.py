"""How weights start, where it decides what they become."""

from kerascompact.initializers import anchors
from kerascompact.initializers.common_code import CommonCode

__all__ = ["CommonCode", "anchors"]
