"""Graph of objects that belong together: users or items of one cluster, films of one genre."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.knowledge.graph import Graph

# Largest number of pairs of a graph: 2^28 of them take about 3 GB.
_MOST_PAIRS = 2**28

Clusters = Mapping[int, Any] | np.ndarray | Collection[Any]


def cluster_graph(
    clusters: Clusters, num_objects: int | None = None, among: Iterable[int] | None = None
) -> Graph:
    """Relates objects that share a cluster.

    A cluster of `m` objects has `m (m - 1) / 2` pairs, which is too much for large clusters.
    `among=anchor_ids` keeps the pairs that have an anchor at one end, `m a` for `a` anchors in the
    cluster; `Graph.to_anchors` of these anchors needs no more.

    Args:
        clusters: The cluster of each id: integers `(V,)`, negative for an object of no cluster; or
            a mapping from id to a cluster, or to a list, tuple or set of clusters. In a mapping a
            cluster may be anything that can be a key, and an id may be missing.
        num_objects: Number of objects `V`; required for a mapping.
        among: Ids of which each pair must have one; `None`: all pairs.
    Returns: The graph of the related objects.
    Raises: ValueError, if an id or a cluster has a wrong type or range, or there are more than
        2^28 pairs.
    Example:
    >>> cluster_graph({0: "comedy", 1: ["drama", "comedy"], 3: ["drama"]}, 4).pairs().tolist()
    [[0, 1], [1, 3]]
    >>> cluster_graph(np.array([5, 5, 5, -1]), among=[0]).pairs().tolist()
    [[0, 1], [0, 2]]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.3.
    """
    sparse = require("scipy.sparse", "compress")
    objects, numbers, num_objects = _memberships(clusters, num_objects)
    shape = (num_objects, max(numbers, default=-1) + 1)
    member = sparse.csr_matrix((np.ones(len(objects), np.int32), (objects, numbers)), shape=shape)
    ends, sizes = member, np.asarray(member.sum(axis=0)).ravel().astype(np.int64)
    others = sizes
    if among is not None:
        ids = np.asarray(list(among))
        keep = np.zeros(num_objects, np.int32)
        keep[checks.ids_below("among", ids, num_objects) if ids.size else []] = 1
        ends = member.multiply(keep[:, None]).tocsr()
        others = np.asarray(ends.sum(axis=0)).ravel().astype(np.int64)
    if np.sum(sizes * others) > 2 * _MOST_PAIRS:
        raise ValueError(
            f"`clusters` must have at most 2^28 pairs of objects in one cluster (name the anchors "
            f"with `among` to keep only theirs). Received: about {np.sum(sizes * others) // 2} "
            f"pairs; the largest cluster has {sizes.max()} objects."
        )
    return Graph(ends @ member.T)


def _memberships(clusters: Clusters, num_objects: int | None) -> tuple[list[int], list[int], int]:
    """Object and cluster number of each membership."""
    if not isinstance(clusters, Mapping):
        array = np.asarray(clusters)
        if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer) or not array.size:
            checks.fail("clusters", "a mapping, or integers of the shape (objects,)", clusters)
        if num_objects is not None:
            checks.integer_in("num_objects", num_objects, len(array), len(array))
        objects = np.flatnonzero(array >= 0)
        numbers = np.unique(array[objects], return_inverse=True)[1]
        return objects.tolist(), numbers.tolist(), len(array)
    if num_objects is None:
        checks.fail("num_objects", "an integer, since `clusters` is a mapping", num_objects)
    num_objects = checks.integer_in("num_objects", num_objects, 1)
    number: dict[Hashable, int] = {}
    found: dict[tuple[int, int], None] = {}  # an ordered set: a cluster named twice counts once
    for id, of_object in clusters.items():
        id = checks.integer_in("an id of clusters", id, 0, num_objects - 1)
        many = of_object if isinstance(of_object, list | tuple | set | frozenset) else [of_object]
        for cluster in many:
            if not isinstance(cluster, Hashable):
                checks.fail(f"clusters[{id}]", "a cluster or a list of clusters", of_object)
            found[id, number.setdefault(cluster, len(number))] = None
    return [id for id, _ in found], [cluster for _, cluster in found], num_objects
