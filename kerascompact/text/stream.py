"""Batches of running text for stateful language models."""

import numpy as np
import tensorflow as tf

from kerascompact.core import checks


def stateful_batches(ids: np.ndarray, batch_size: int, steps: int) -> tf.data.Dataset:
    """Cuts a text into `batch_size` streams, and these into batches that follow each other.

    Row `b` of a batch continues row `b` of the batch before, so that a stateful RNN reads each
    stream from start to end. The target of a token is the one after it. With `batch_size=1` every
    token but the first is predicted, and the last batch may be shorter; with more streams, tokens
    that fill no batch are left out, as in Zaremba's code.

    Args:
        ids: Text, integers `(tokens,)`.
        batch_size: Number of streams.
        steps: Number of tokens of a stream in one batch.

    Returns: A dataset of `(inputs, targets)`, int32 `(batch_size, steps)` both, in order; unlike
    arrays it is not shuffled by `model.fit`.

    Raises: ValueError, if the text does not fill one batch.

    >>> for inputs, targets in stateful_batches(np.arange(9), batch_size=2, steps=3):
    ...     print(inputs.numpy().tolist(), targets.numpy().tolist())
    [[0, 1, 2], [4, 5, 6]] [[1, 2, 3], [5, 6, 7]]

    Reference: [Zaremba et al., 2014](https://arxiv.org/abs/1409.2329), sec. 4.1.
    """
    checks.integer_in("batch_size", batch_size, 1)
    checks.integer_in("steps", steps, 1)
    ids = np.asarray(ids)
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
        checks.fail("ids", "a vector of integers", ids)
    length = len(ids) // batch_size
    if length < min(steps, 1 if batch_size == 1 else steps) + 1:
        raise ValueError(
            f"`ids` must have at least {batch_size * (steps + 1)} tokens, {batch_size} streams of "
            f"{steps + 1}. Received: {len(ids)} tokens."
        )
    streams = ids[: length * batch_size].reshape(batch_size, length).astype(np.int32)
    whole = (length - 1) // steps * steps
    stops = list(range(steps, whole + 1, steps))
    if batch_size == 1 and whole < length - 1:
        stops.append(length - 1)

    def batches() -> object:
        start = 0
        for stop in stops:
            yield streams[:, start:stop], streams[:, start + 1 : stop + 1]
            start = stop

    shape = (batch_size, None if batch_size == 1 else steps)
    dataset = tf.data.Dataset.from_generator(
        batches, output_signature=(tf.TensorSpec(shape, tf.int32), tf.TensorSpec(shape, tf.int32))
    )
    return dataset.apply(tf.data.experimental.assert_cardinality(len(stops)))
