"""Vocabulary of a model in the order in which its file finds tokens, so that no ids are stored."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.compress.vocabulary import with_rows
from kerascompact.core.keras_graph import CannotCopyError, called, is_graph, readers_of_inputs
from kerascompact.export.embedding_forms import is_embedding
from kerascompact.export.text_in import IDS, MASK, roles
from kerascompact.text.wordpiece import WordPiece

_EXAMPLES, _BATCH = 16, 256  # of the comparison
_LENGTH = 4  # an open length as short as `convert` runs a file with


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
    (length,) = {spec.shape[1] or _LENGTH for spec in specs.values()}
    places = np.argsort(order)
    for ids in _examples(model, tokenizer, length):
        mask = ids != tokenizer.padding
        old_outputs, new_outputs = (
            keras.tree.flatten(called(one, _inputs(specs, numbers, mask)))
            for one, numbers in ((model, ids), (copy, places[ids]))
        )
        pairs = zip(old_outputs, new_outputs, strict=True)
        if not all(np.allclose(old, new, rtol=1e-4, atol=1e-5) for old, new in pairs):
            return None
    return copy


def _examples(model: Any, tokenizer: WordPiece, length: int) -> Iterator[np.ndarray]:
    """Batches of ids `(n, length)` by which models are compared.

    All tokens occur where something besides embeddings reads ids: it may treat one token apart.
    """
    rng = np.random.default_rng(0)
    ids = rng.integers(0, len(tokenizer), (_EXAMPLES, length))
    around = [*tokenizer.before, *tokenizer.after, tokenizer.unknown]
    ids[:, : len(around)] = around[:length]
    ids[_EXAMPLES // 2 :, length // 2 :] = tokenizer.padding
    yield ids
    readers = [one for found in readers_of_inputs(model).values() for one in found]
    if not all(map(_is_known, readers)):
        every = np.resize(rng.permutation(len(tokenizer)), (-(-len(tokenizer) // length), length))
        yield from np.array_split(every, -(-len(every) // _BATCH))


def _is_known(reader: Any) -> bool:
    """Whether it is an embedding, or a layer of keras-hub, all of which treat tokens alike."""
    return is_embedding(reader) or type(reader).__module__.startswith("keras_hub.")


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
