"""Search for words in a file: its steps and numbers, by which its operators take bytes."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kerascompact.text import fingerprints
from kerascompact.tflite import flatbuffer, graph_edits
from kerascompact.tflite.layout import schema

# Of four operators with their results, and of a number that no other operator reads: tables of a
# flatbuffer, the same in each file without names.
STEP, NUMBER = 188, 44
INT32 = schema.TensorType.INT32


class Search(NamedTuple):
    """The search for words of `ops.byte_text.search`.

    `steps`: halvings of its window. `numbers`: integers that its operators read, with repetitions.
    """

    steps: int
    numbers: tuple[int, ...]

    def bytes_beside(self, others: Sequence[int]) -> int:
        """Bytes of its steps and numbers in a file whose other operators read `others`.

        >>> search_among(300, 7, 15).bytes_beside([1, 3]) == 4 * STEP + 8 * NUMBER
        True
        """
        return STEP * self.steps + NUMBER * len(set(self.numbers) - set(others))


def search_among(count: int, below: int, window: int) -> Search:
    """The search of an index of `count` words, see `text.fingerprints.Index`.

    >>> search_among(300, 7, 15)
    Search(steps=4, numbers=(16, 300, 16, 143, 0, 285, 7, 4, 2, 1))
    """
    numbers = []
    if window < count:  # it begins at an estimate
        bits = fingerprints.estimate_bits(count)
        numbers = [32 - bits, count, bits, count // 2 - below, 0, count - window]
    halves = []
    while window > 1:
        halves.append(window // 2)
        window -= halves[-1]
    return Search(len(halves), (*numbers, *halves))


def search_of(words: Sequence[str]) -> Search:
    """The search for these words."""
    found = fingerprints.index(words)
    return search_among(len(found.table), found.below, found.window)


@functools.lru_cache(4096)
def usual_search(words: int) -> Search:
    """The search for as many words as a rule takes: their fingerprints are random, and lie some
    `0.6 sqrt(n)` places from where they would be if evenly spread."""
    window = min(words, math.ceil(1.2 * math.sqrt(words)))
    return search_among(words, window // 2, window)


def others_of(file: bytes, search: Search) -> tuple[int, ...]:
    """Integers that operators of a file read besides those of its search for words."""
    model = flatbuffer.parse(file)
    read: Counter[int] = Counter()
    for graph in model.subgraphs:
        for place in itertools.chain(*(operator.inputs for operator in graph.operators)):
            tensor = graph.tensors[place]
            if place < 0 or graph_edits.dims_of(tensor) or tensor.type != INT32:
                continue
            value = graph_edits.constant(model, tensor, np.int32)
            read.update([] if value is None else [int(value)])
    read.subtract(search.numbers)
    return tuple(sorted(value for value, times in read.items() if times > 0))
