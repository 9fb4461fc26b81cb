"""Packed codes of all words, in forms."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.storage import code_bits
from kerascompact.ops import bits


def add_codes(form: Any) -> None:
    """Declares the array of packed codes of a form, `code_length` codes for each word."""
    words, length = form.input_dim, form.code_length
    size = bits.rows_bytes(words, length, form.code_bits)
    shape = (words,) if length == 1 else (words, length)
    form.add_array("codes", (size,), "uint8", stored=(shape, form.code_bits))


def code_rows(
    form: Any, ids: tf.Tensor, codes_first: bool = False, beside: bool = False
) -> tf.Tensor:
    """Row of each code in the stacked codebooks, int32 `(..., D)`.

    Args:
        form: Form with packed codes.
        ids: Int32 ids `(...)`.
        codes_first: Whether to return `(D, ...)` instead.
        beside: Whether a shared codebook counts as a separate one for each code.
    """
    unpack = bits.unpack_columns if codes_first else bits.unpack_rows
    codes = unpack(form.codes.value, ids, form.code_bits, form.code_length)
    if form.num_codebooks == 1 and not beside:
        return codes
    first = np.arange(form.code_length, dtype=np.int32) * form.cardinality
    return codes + (first.reshape(-1, *[1] * ids.shape.rank) if codes_first else first)


def read_codes(
    codes: np.ndarray, codebooks: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Checks and packs codes and codebooks.

    Args:
        codes: Integers in `[0, K)`, `(V,)` or `(V, D)`.
        codebooks: Float vectors `(D, K, d')`, or `(K, d')` for a codebook that is shared.

    Returns: The arrays of a form, and the arguments that give its sizes.

    Raises: ValueError, if codes and codebooks do not fit.
    """
    codes, codebooks = np.asarray(codes), checks.finite("codebooks", np.asarray(codebooks))
    codes = codes[:, None] if codes.ndim == 1 else codes
    if codes.ndim != 2 or 0 in codes.shape:
        checks.fail("codes", "an array (V,) or (V, D) that is not empty", codes)
    length = codes.shape[1]
    if codebooks.ndim not in (2, 3) or (codebooks.ndim == 3 and len(codebooks) != length):
        raise ValueError(
            f"`codebooks` must have the shape ({length}, K, d'), one for each of the {length} codes"
            f" of an id, or (K, d'), one for all. Received: {codebooks.shape}."
        )
    cardinality, width = codebooks.shape[-2:]
    checks.ids_below("codes", codes, cardinality)
    arrays = {
        "codes": bits.pack_rows(codes, code_bits(cardinality)),
        "codebook": codebooks.reshape(-1, width),
    }
    sizes = {
        "input_dim": len(codes),
        "output_dim": width,
        "cardinality": cardinality,
        "code_length": length,
        "shared": length > 1 and codebooks.ndim == 2,
    }
    return arrays, sizes
