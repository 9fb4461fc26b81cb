"""A language model as a file: next words of windows of a text, Keras against the runtime."""

from typing import Any

import keras
import numpy as np

from kerascompact import export

CHUNK = 100  # windows verified at once; their logits, four times, must fit in memory


def windows(ids: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts a text into windows of `steps` tokens, and the token after each of them.

    >>> windows(np.arange(6), 2)[1].tolist()
    [[1, 2], [3, 4]]
    """
    rows = (len(ids) - 1) // steps
    inputs = ids[: rows * steps].reshape(rows, steps)
    return inputs, ids[1 : rows * steps + 1].reshape(rows, steps)


def measure(model: keras.Model, ids: np.ndarray, steps: int, recipe: str) -> dict[str, Any]:
    """Exports a model without state, and reads a text with it, window by window.

    Raises `ValueError`, if the file and the frozen model, or that before rounding and the trained
    model, disagree on the next word of a token that is no tie.

    Returns: A row with
        file_bytes: of the file; windows: how many of `steps` tokens;
        file_perplexity: of the file over all of them, each starting without a past;
        argmax_agreement: share of windows whose next words are all those of Keras;
        argmax_ties, largest_difference: as `export.verify` reports them.
    """
    frozen = export.freeze(model, recipe)
    file = frozen.convert(sequence_length=steps)
    inputs, targets = windows(ids, steps)
    entropy, reports = 0.0, []
    for start in range(0, len(inputs), CHUNK):
        cut = slice(start, start + CHUNK)
        # Logits of some tens: 1e-3 is their float32 rounding after an LSTM of these steps.
        report = frozen.verify(inputs[cut], file=file, tolerance=1e-3, batch_size=20)
        entropy += _cross_entropy(report.outputs, targets[cut])
        reports.append(report)
    rows = np.array([report.examples for report in reports])
    return {
        "recipe": recipe,
        "file_bytes": len(file),
        "windows": int(rows.sum()),
        "file_perplexity": float(np.exp(entropy / targets.size)),
        "argmax_agreement": float(rows @ [report.agreement for report in reports] / rows.sum()),
        "argmax_ties": sum(report.ties for report in reports),
        "largest_difference": max(report.largest_difference for report in reports),
        "microseconds": round(float(np.median([report.microseconds for report in reports])), 1),
    }


def _cross_entropy(logits: np.ndarray, targets: np.ndarray) -> float:
    """Sum over tokens, in nats."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    of_target = np.take_along_axis(shifted, targets[..., None], axis=-1)[..., 0]
    return float(np.sum(np.log(np.exp(shifted).sum(axis=-1)) - of_target, dtype=np.float64))
