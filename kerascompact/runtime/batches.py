"""Batches of examples with equal shapes."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


def batches(
    examples: Sequence[dict[str, Any]], size: int = 1
) -> Iterator[tuple[list[int], dict[str, np.ndarray]]]:
    """Groups examples of equal shapes into batches for a file with a fixed batch size.

    Args:
        examples: For each example a dictionary of arrays, one for each input, without the batch
            dimension.
        size: Examples per batch. A last batch that is not full repeats its last example.

    Yields: The positions of the batch's examples in `examples`, and the batch.

    >>> examples = [{"ids": np.array(ids)} for ids in ([1, 2], [3], [4, 5], [6, 7])]
    >>> [(places, batch["ids"].tolist()) for places, batch in batches(examples, 2)]
    [([0, 2], [[1, 2], [4, 5]]), ([3], [[6, 7], [6, 7]]), ([1], [[3], [3]])]
    """
    groups: dict[Any, list[int]] = {}  # by their shapes
    for place, example in enumerate(examples):
        shapes = tuple(np.shape(array) for array in example.values())
        # Batches of one example keep the order: they need no other example of the same shape.
        groups.setdefault(shapes if size > 1 else place, []).append(place)
    for group in groups.values():
        for start in range(0, len(group), size):
            places = group[start : start + size]
            filled = places + places[-1:] * (size - len(places))
            names = examples[places[0]]
            yield (
                places,
                {name: np.stack([examples[one][name] for one in filled]) for name in names},
            )
