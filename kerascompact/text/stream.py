"""Batches of running text for stateful language models."""

from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from kerascompact.core import checks


def stateful_batches(ids: np.ndarray, batch_size: int, steps: int) -> tf.data.Dataset:
    """Cuts a text into `batch_size` streams, and these into batches that follow each other.

    Row `b` of a batch continues row `b` of the batch before, so that a stateful RNN reads each
    stream from start to end. The target of a token is the one after it. With `batch_size=1` every
    token but the first is predicted, and the last batch may be shorter; with more streams, tokens
    that fill no batch are left out, as in Zaremba's code. `training.RandomSteps` makes batches of
    random lengths.

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
    checks.integer_in("steps", steps, 1)
    rows = streams(ids, batch_size, 1 if batch_size == 1 else steps, steps)
    predicted = rows.shape[1] - 1
    stops = list(range(steps, predicted + 1, steps))
    if batch_size == 1 and predicted % steps:
        stops.append(predicted)
    return batches_until(rows, lambda: stops, len(stops), None if batch_size == 1 else steps)


def streams(ids: np.ndarray, batch_size: int, shortest: int, steps: int) -> np.ndarray:
    """Rows of a text that is cut into `batch_size` parts of equal length, int32.

    Args:
        ids: Text, integers `(tokens,)`.
        batch_size: Number of parts.
        shortest: Smallest number of tokens that a part has to predict.
        steps: Number of tokens of a batch, for the message.

    Raises: ValueError, if the text is too short.

    >>> streams(np.arange(7), 2, 2, 2).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    checks.integer_in("batch_size", batch_size, 1)
    ids = np.asarray(ids)
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
        checks.fail("ids", "a vector of integers", ids)
    length = len(ids) // batch_size
    if length < shortest + 1:
        raise ValueError(
            f"`ids` must have at least {batch_size * (steps + 1)} tokens, {batch_size} streams of "
            f"{steps + 1}. Received: {len(ids)} tokens."
        )
    return ids[: length * batch_size].reshape(batch_size, length).astype(np.int32)


def batches_until(
    rows: np.ndarray,
    stops: Callable[[], Sequence[int] | np.ndarray],
    number: int,
    steps: int | None,
) -> tf.data.Dataset:
    """A dataset of the batches that end before each of `number` places.

    Args:
        rows: Streams `(batch_size, tokens)`.
        stops: Gives the places, in ascending order; called in every pass over the dataset.
        number: Number of batches of a pass.
        steps: Length of all batches; `None`: it varies.

    >>> rows = np.array([[0, 1, 2, 3]])
    >>> [x.numpy().tolist() for x, _ in batches_until(rows, lambda: [1, 3], 2, None)]
    [[[0]], [[1, 2]]]
    """

    def batches() -> object:
        start = 0
        for stop in stops():
            yield rows[:, start:stop], rows[:, start + 1 : stop + 1]
            start = stop

    spec = tf.TensorSpec((len(rows), steps), tf.int32)
    dataset = tf.data.Dataset.from_generator(batches, output_signature=(spec, spec))
    return dataset.apply(tf.data.experimental.assert_cardinality(number))
