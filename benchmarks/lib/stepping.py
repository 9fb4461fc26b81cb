"""A language model as a phone runs it: a word at a time, its states handed in and out."""

import time
from typing import Any

import keras
import numpy as np

from kerascompact import export
from kerascompact.core.storage import total_bits
from kerascompact.forms.base import Form
from kerascompact.runtime.interpreter import Interpreter

CHUNK = 200  # tokens whose logits Keras computes at once


def measure(model: keras.Model, ids: np.ndarray, recipe: str = "float32") -> dict[str, Any]:
    """Exports a stateful model of one stream as a step, and reads a text with both.

    Raises `ValueError`, if the file and Keras disagree on the next word of a token that is no tie.

    Args:
        model: Stateful language model of batch size 1, its states are reset.
        ids: The text.
        recipe: How tables are stored.

    Returns: A row with
        step_bytes: of the file; step_theory: bytes of its weights, tables as stored;
        step_tokens: how many were compared; step_difference: the largest of any logit;
        step_ties: tokens on which they disagree by less than that difference;
        step_microseconds: median time of a step on one thread, busy or not.
    """
    stepping = export.with_states(model)
    data = export.convert(stepping, recipe, names=False)
    file = Interpreter(data)
    (name,) = (key for key in file.inputs if "_state_" not in key)
    states = {
        key: np.zeros(facts["shape"], np.float32)
        for key, facts in file.inputs.items()
        if key != name
    }
    for layer in model.layers:
        if getattr(layer, "stateful", False):
            layer.reset_state()
    difference, ties, wrong, seconds = 0.0, 0, 0, []
    for start in range(0, len(ids), CHUNK):
        part = ids[None, start : start + CHUNK].astype(np.int32)
        # as a graph: step by step, a loop over segments takes Keras many minutes
        expected = model.predict_on_batch(part)[0]
        for place, logits in enumerate(expected):
            begin = time.perf_counter()
            outputs = file.run({**states, name: part[:, place : place + 1]})
            seconds.append(time.perf_counter() - begin)
            states = {key: outputs[key] for key in states}
            (found,) = (value[0, 0] for key, value in outputs.items() if key not in states)
            difference = max(difference, float(np.abs(found - logits).max()))
            if found.argmax() != logits.argmax():
                gap = logits.max() - logits[found.argmax()]
                ties, wrong = ties + (gap <= 2e-3), wrong + (gap > 2e-3)
    if wrong:
        raise ValueError(f"The file disagrees with Keras on {wrong} of {len(ids)} next words.")
    return {
        "step_recipe": recipe,
        "step_bytes": len(data),
        "step_theory": theory(export.freeze(stepping, recipe).model),
        "step_tokens": len(ids),
        "step_difference": difference,
        "step_ties": int(ties),
        "step_microseconds": round(1e6 * float(np.median(seconds)), 1),
    }


def theory(frozen: keras.Model) -> int:
    """Bytes of all weights of a frozen model, as they are stored."""
    bits = 0
    for layer in frozen.layers:
        if isinstance(layer, Form):
            bits += total_bits(layer.storage())
        else:
            bits += 32 * sum(int(np.prod(weight.shape)) for weight in layer.weights)
    return -(-bits // 8)
