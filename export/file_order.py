"""Vocabulary of a model in the order in which its file finds tokens, so that no ids are stored."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.compress.vocabulary import with_rows
from kerascompact.core.keras_graph import CannotCopyError, is_graph
from kerascompact.export.text_in import IDS, MASK, roles
from kerascompact.export.trace import called
from kerascompact.text.wordpiece import WordPiece

_EXAMPLES, _LENGTH = 16, 4  # an open length as short as `convert` runs a file with


def in_file_order(
    model: Any, tokenizer: WordPiece, specs: dict[str, tf.TensorSpec]
) -> keras.Model | None:
    """Copies a model so that its table has the rows in the order of a tokenizer's slots.

    Args:
        model: Trained model.
        tokenizer: Its tokenizer.
        specs: Inputs of the model.

    Returns: The copy; `None` if the model cannot be copied, has no plain table of the tokenizer's
        tokens, gives scores of them, or depends on the numbers of ids in another way.
    """
    roles(specs)  # refuses other inputs
    if not is_graph(model):
        return None
    if any(output.shape[-1] == len(tokenizer) for output in keras.tree.flatten(model.outputs)):
        return None
    try:
        order = tokenizer.order
        copy = with_rows(model, order, len(tokenizer))
    except (CannotCopyError, NotImplementedError, TypeError, ValueError):
        return None
    rng = np.random.default_rng(0)
    (length,) = {spec.shape[1] or _LENGTH for spec in specs.values()}
    ids = rng.integers(0, len(tokenizer), (_EXAMPLES, length))
    around = [*tokenizer.before, *tokenizer.after, tokenizer.unknown]
    ids[:, : len(around)] = around[:length]
    ids[_EXAMPLES // 2 :, length // 2 :] = tokenizer.padding
    new = np.argsort(order)[ids]
    old_outputs, new_outputs = (
        keras.tree.flatten(called(one, _inputs(specs, numbers, ids != tokenizer.padding)))
        for one, numbers in ((model, ids), (copy, new))
    )
    pairs = zip(old_outputs, new_outputs, strict=True)
    same = all(np.allclose(old, new, rtol=1e-4, atol=1e-5) for old, new in pairs)
    return copy if same else None


def _inputs(
    specs: dict[str, tf.TensorSpec], ids: np.ndarray, mask: np.ndarray
) -> dict[str, tf.Tensor]:
    """The inputs of a model for ids."""
    kinds = {IDS: ids, MASK: mask}
    named = roles(specs)
    return {
        name: tf.cast(kinds.get(named[name], np.zeros_like(ids)), spec.dtype)
        for name, spec in specs.items()
    }
