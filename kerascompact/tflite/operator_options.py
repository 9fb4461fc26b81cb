"""Checks of operator options that can crash the runtime, which does not check them."""

import re
from typing import Any

from kerascompact.tflite.layout import schema

# Options that an operator needs: without them it would call itself or divide by zero.
NEEDED = {
    "WHILE": "WhileOptionsT", "IF": "IfOptionsT", "CALL_ONCE": "CallOnceOptionsT",
    "SPLIT": "SplitOptionsT", "SPLIT_V": "SplitVOptionsT", "PACK": "PackOptionsT",
    "UNPACK": "UnpackOptionsT", "CONV_2D": "Conv2DOptionsT", "CONV_3D": "Conv3DOptionsT",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptionsT", "TRANSPOSE_CONV": "TransposeConvOptionsT",
    "AVERAGE_POOL_2D": "Pool2DOptionsT", "MAX_POOL_2D": "Pool2DOptionsT",
    "L2_POOL_2D": "Pool2DOptionsT", "DEPTH_TO_SPACE": "DepthToSpaceOptionsT",
    "SPACE_TO_DEPTH": "SpaceToDepthOptionsT",
}  # fmt: skip
# Options that repeat the number of inputs or outputs.
COUNTED = {
    "SPLIT": ("numSplits", "outputs"),
    "SPLIT_V": ("numSplits", "outputs"),
    "PACK": ("valuesCount", "inputs"),
    "UNPACK": ("num", "outputs"),
}
_POSITIVE = re.compile("stride[DHW]|dilation[DHW]Factor|filter(Width|Height)|blockSize")


def check_options(name: str, operator: Any) -> None:
    """Checks the options of one operator.

    Args:
        name: Name of the operator, such as "SPLIT".
        operator: `OperatorT` of the schema.

    Raises: ValueError, naming the option.

    >>> check_options("SPLIT", schema.OperatorT())
    Traceback (most recent call last):
        ...
    ValueError: SPLIT without its options
    """
    options = operator.builtinOptions
    if name not in NEEDED:
        return
    if not isinstance(options, getattr(schema, NEEDED[name])):
        raise ValueError(f"{name} without its options")
    if name in COUNTED:
        field, ports = COUNTED[name]
        found, wanted = getattr(options, field), len(getattr(operator, ports))
        if found != wanted:
            raise ValueError(f"{name} with {field}={found} and {wanted} {ports}")
    for field, value in vars(options).items():
        if _POSITIVE.fullmatch(field) and value < 1:
            raise ValueError(f"{name} with {field}={value}")
