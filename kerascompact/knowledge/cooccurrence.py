"""Graph of words that occur near each other, counted in bounded memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.knowledge.graph import Graph

_CHUNK = 5_000_000  # pairs of places at once: 200 MB
_MOST_PAIRS = 50_000_000  # different pairs counted at once: 800 MB

Sequences = np.ndarray | Sequence[np.ndarray]


def cooccurrence_counts(
    sequences: Sequences,
    num_objects: int,
    window: int = 10,
    *,
    min_count: int = 1,
    min_pmi: float | None = None,
    ignore: Iterable[int] = (),
    among: Iterable[int] | None = None,
    max_pairs: int = _MOST_PAIRS,
) -> Any:
    """Counts how often two different objects occur at most `window` places apart.

    `N_uv = |{(i, j): 1 <= |i - j| <= window, x_i = u, x_j = v}|`, within one sequence. A pair is
    kept if `N_uv >= min_count` and, with `min_pmi`, if `log(N_uv N / (N_u N_v)) >= min_pmi`, where
    `N_u = sum_v N_uv` and `N = sum_u N_u`: frequent words occur near everything, so that their
    relations say little.

    The stream is read in chunks. Once there are more than `max_pairs` different pairs, half of them
    (by a hash) are left to another pass over the stream, so counts are exact at any length.

    Args:
        sequences: Ids `(tokens,)`, a stream (a `numpy.memmap` will do); `(rows, length)`, a
            sequence per row; or a list of sequences.
        num_objects: Number of objects `V`.
        window: Largest distance of two places.
        min_count: Smallest count that is kept.
        min_pmi: Smallest pointwise mutual information that is kept, in nats, or `None` for any.
        ignore: Ids that are related to nothing and keep their place: padding, the unknown word.
        among: Ids of which each pair must have one. `Graph.to_anchors` of these anchors needs no
            other pairs, and there are at most `V |A|`.
        max_pairs: Number of different pairs counted at once, about 16 bytes each.
    Returns: SciPy CSR matrix `(V, V)`, int64, symmetric, of the counts that are kept.
    Raises: ValueError, if an id is not in `[0, V)` or an argument is out of its range; ImportError,
        without SciPy (`pip install 'kerascompact[compress]'`).
    Example:
    >>> cooccurrence_counts(np.array([0, 1, 0, 2]), 3, window=2).toarray().tolist()
    [[0, 2, 1], [2, 0, 1], [1, 1, 0]]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.3, E.1, with a
    context of 10.
    Differs: thresholds; the paper relates words that co-occur once.
    """
    sparse = require("scipy.sparse", "compress")
    num_objects = checks.integer_in("num_objects", num_objects, 1, 2**31)
    window = checks.integer_in("window", window, 1)
    min_count = checks.integer_in("min_count", min_count, 1)
    max_pairs = checks.integer_in("max_pairs", max_pairs, 1000)
    if min_pmi is not None:
        min_pmi = checks.number("min_pmi", min_pmi)
    counted = ~_mask("ignore", ignore, num_objects)
    ends = None if among is None else _mask("among", among, num_objects)
    occurrences = np.zeros(num_objects, np.int64)  # N_u
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    parts = [(0, 0)]  # pairs whose hash ends in these bits: how many bits, which
    while parts:
        bits, ending = parts.pop()
        found = _Counts()
        for u, v in _near(sequences, num_objects, window, counted):
            if not kept and min_pmi is not None:  # in the first pass
                occurrences += np.bincount(u, minlength=num_objects)
                occurrences += np.bincount(v, minlength=num_objects)
            keys = np.minimum(u, v) * num_objects + np.maximum(u, v)
            if ends is not None:
                keys = keys[ends[u] | ends[v]]
            found.add(keys[_hash(keys, bits) == ending])
            while len(found.keys) > max_pairs:
                parts.append((bits + 1, ending | 1 << bits))
                bits += 1
                found.keep(_hash(found.keys, bits) == ending)
        found.keep(found.counts >= min_count)
        kept.append((found.keys, found.counts))
    keys, counts = (np.concatenate(part) for part in zip(*kept, strict=True))
    u, v = np.divmod(keys, num_objects)
    if min_pmi is not None:
        expected = occurrences[u] / occurrences.sum() * occurrences[v]
        good = np.log(counts / expected) >= min_pmi
        u, v, counts = u[good], v[good], counts[good]
    upper = sparse.coo_matrix((counts, (u, v)), shape=(num_objects, num_objects)).tocsr()
    return upper + upper.T


def cooccurrence_graph(sequences: Sequences, num_objects: int, **options: Any) -> Graph:
    """Relates objects that occur near each other, often enough.

    Args:
        sequences: Sequences of ids, an array or a list of arrays.
        num_objects: Number of objects `V`.
        **options: Further arguments of `cooccurrence_counts`.
    Returns: The graph of the pairs that `cooccurrence_counts` keeps.
    Raises: ValueError, if an id is not in `[0, V)` or an argument is out of its range.
    Example:
    >>> cooccurrence_graph(np.array([1, 2, 9, 1, 2]), 10, window=1, min_count=2).pairs().tolist()
    [[1, 2]]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.3.
    """
    return Graph(cooccurrence_counts(sequences, num_objects, **options))


class _Counts:
    """Sorted distinct keys and the number of times each was added."""

    def __init__(self) -> None:
        self.keys = np.zeros(0, np.int64)
        self.counts = np.zeros(0, np.int64)

    def add(self, keys: np.ndarray) -> None:
        new, counts = np.unique(keys, return_counts=True)
        place = np.searchsorted(self.keys, new)
        known = np.zeros(len(new), bool)
        inside = place < len(self.keys)
        known[inside] = self.keys[place[inside]] == new[inside]
        self.counts[place[known]] += counts[known]
        self.keys = np.insert(self.keys, place[~known], new[~known])
        self.counts = np.insert(self.counts, place[~known], counts[~known])

    def keep(self, mask: np.ndarray) -> None:
        self.keys, self.counts = self.keys[mask], self.counts[mask]


def _near(
    sequences: Sequences, num_objects: int, window: int, counted: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each pair of different ids at most `window` apart, once, in chunks."""
    good = np.append(counted, False)  # the gap between two sequences has an id of its own
    for block, seen in _blocks(sequences, num_objects, window):
        kept = good[block]
        left, right = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for distance in range(1, min(window, block.shape[1] - 1) + 1):
            u, v = block[:, :-distance], block[:, distance:]
            both = kept[:, :-distance] & kept[:, distance:] & (u != v)
            both[:, : max(0, seen - distance)] = False
            left.append(u[both])
            right.append(v[both])
        yield np.concatenate(left).astype(np.int64), np.concatenate(right).astype(np.int64)


def _blocks(
    sequences: Sequences, num_objects: int, window: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Sequences as `(rows, places)`, and the places in front that the block before has paired."""
    chunk = max(1000, _CHUNK // window)

    def stream(ids: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        for start in range(0, len(ids), chunk):
            first = max(0, start - window)
            block = checks.ids_below("sequences", ids[first : start + chunk], num_objects)
            yield block[None], start - first

    if isinstance(sequences, np.ndarray) and sequences.ndim == 1:
        yield from stream(sequences)
    elif isinstance(sequences, np.ndarray) and sequences.ndim == 2 and sequences.shape[1] <= chunk:
        rows = max(1, chunk // max(1, sequences.shape[1]))
        for start in range(0, len(sequences), rows):
            yield checks.ids_below("sequences", sequences[start : start + rows], num_objects), 0
    elif isinstance(sequences, np.ndarray | list | tuple):
        gap = np.full(window, num_objects)
        joined, size = [gap], 0
        for number, sequence in enumerate(sequences):
            ids = np.asarray(sequence)
            if ids.ndim != 1:
                checks.fail(f"sequences[{number}]", "of the shape (tokens,)", ids.shape)
            if len(ids) > chunk:
                yield from stream(ids)
            elif len(ids):
                ids = checks.ids_below("sequences", ids, num_objects).astype(np.int64)
                joined += [ids, gap]  # unsigned ones would become floats
                size += len(ids) + window
            if size > chunk:
                yield np.concatenate(joined)[None], 0
                joined, size = [gap], 0
        yield np.concatenate(joined)[None], 0
    else:
        checks.fail("sequences", "an array of ids, or a list of such arrays", sequences)


def _hash(keys: np.ndarray, bits: int) -> np.ndarray:
    """`bits` hash bits of each key, evenly distributed for any keys."""
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # wraps around
    return (mixed >> np.uint64(32)) & np.uint64((1 << bits) - 1)


def _mask(name: str, ids: Iterable[int], num_objects: int) -> np.ndarray:
    found = np.asarray(list(ids))
    mask = np.zeros(num_objects, bool)
    mask[checks.ids_below(name, found, num_objects) if found.size else []] = True
    return mask
