"""Checks of codes that are given, not learned, and of arguments that do not apply to them."""

from typing import Any

import numpy as np

from kerascompact.core import checks

OF_LOGITS = {  # arguments that do not apply to given codes, and their defaults
    "temperature": 1.0,
    "straight_through": True,
    "inference": "hard",
    "entropy_weight": 0.0,
    "logits_batch_norm": False,
    "logit_scale": 10.0,
    "logits_initializer": None,
    "logits_dtype": "float32",
}


def fixed_codes(codes: Any, shape: tuple[int, int], cardinality: int) -> Any:
    """Checks given codes: "random", "fixed" or an int32 array.

    Args:
        codes: "random", "fixed" or an integer array `(V, D)`.
        shape: Numbers of ids and of letters, `(V, D)`.
        cardinality: Number of letters of the alphabet `K`.

    Raises: ValueError, if the array has another shape or a letter that is not in `[0, K)`.

    >>> fixed_codes([[1, 0], [2, 2]], (2, 2), 3).tolist()
    [[1, 0], [2, 2]]
    """
    if isinstance(codes, str):
        return checks.choice("codes", codes, ("random", "fixed"))
    codes = checks.ids_below("codes", np.asarray(codes), cardinality)
    if codes.shape != shape:
        raise ValueError(
            f"`codes` must have the shape {shape}, a code of {shape[1]} letters for each id. "
            f"Received: {codes.shape}."
        )
    return codes.astype(np.int32)


def codes_at_start(
    codes: Any, shape: tuple[int, int], cardinality: int, seed: int | None
) -> np.ndarray | None:
    """Initial codes `(V, D)`: given ones, random ones, or zeros that a file overwrites.

    `None` if `codes` is `None`: they are learned.

    >>> codes_at_start("fixed", (1, 3), 8, seed=None).tolist()
    [[0, 0, 0]]
    """
    if codes is None or isinstance(codes, np.ndarray):
        return codes
    if codes == "fixed":
        return np.zeros(shape, np.int32)
    return np.random.default_rng(seed).integers(0, cardinality, shape, np.int32)


def refuse_options_of_logits(guidance: Any, options: dict[str, Any]) -> None:
    """Raises `ValueError` for an option of a layer of fixed codes that would be ignored.

    Args:
        guidance: Guidance of the layer; `None`, or one without `logits_weight`.
        options: Values of the arguments in `OF_LOGITS`, which must be the defaults.

    >>> refuse_options_of_logits(None, dict(OF_LOGITS))
    """
    for name, default in OF_LOGITS.items():
        if options[name] != default:
            expected = f"left at {default!r} where `codes` are given, which have no logits"
            checks.fail(name, expected, options[name])
    if getattr(guidance, "logits_weight", 0):
        raise ValueError(
            "`guidance` must have logits_weight=0 where `codes` are given, which have no logits. "
            f"Received: logits_weight={guidance.logits_weight}."
        )
