"""Passes that make what comes from TensorFlow's converter smaller and faster."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerascompact.export import lstm_fusion, metadata
from kerascompact.export.recipe import Recipe
from kerascompact.export.signature import OF_INTEGERS
from kerascompact.forms.base import Form
from kerascompact.tflite.passes import (
    bit_products,
    embedding_lookup,
    gathered,
    int4,
    kernels,
    known_words,
    nibbles,
    one_hots,
    own_memory,
    repeats,
    requantize,
    tied_tables,
    word_logits,
)


def rewrite(
    parsed: Any,
    recipe: Recipe,
    forms: Sequence[Form],
    rounded: Sequence[np.ndarray],
    fused_lstm: bool = False,
) -> None:
    """Rewrites a parsed file in place, so that tables and kernels are as the recipe has them.

    A pass looks for what it knows in the graph, and leaves the rest as it is.

    Args:
        parsed: The file of TensorFlow's converter, from `flatbuffer.parse`.
        recipe: Its recipe.
        forms: The forms of all signatures.
        rounded: Kernels that the recipe has rounded, as they are in the frozen models.
        fused_lstm: Whether an LSTM is one operator.
    """
    if recipe.kernels not in OF_INTEGERS:
        tied_tables.read_from_tables(parsed)
    repeats.store_repeats_once(parsed)
    precisions = metadata.precisions(forms)
    if row_scaled := metadata.row_scaled_tables(forms):
        embedding_lookup.use_embedding_lookup(parsed, row_scaled)
        if recipe.kernels == "dynamic":
            word_logits.multiply_by_integers(parsed)
    if precisions & {"int8", "int4"}:
        int4.dequantize_kernels_once(parsed)
        bit_products.multiply_bits_by_integers(parsed)
    if "int4" in precisions:
        int4.store_tables_as_int4(parsed)
    if recipe.kernels not in OF_INTEGERS:  # a file of integers alone stays one
        nibbles.read_codes_as_int4(parsed)
    else:
        one_hots.share_scales(parsed)
        requantize.use_quantize(parsed)
    if recipe.kernels in ("int8", "dynamic"):
        gathered.store_tables_as_int8(parsed, rounded)
        kernels.store_kernels_as_int8(parsed, rounded, recipe.kernels == "dynamic")
    if fused_lstm:
        lstm_fusion.forget_states(parsed)
    known_words.leave_out(parsed)
    own_memory.give_own_memory(parsed)
