"""Choice of anchors: functions that return ids, from counts, vectors or scores."""

from kerascompact.initializers.anchors.scored import (
    frequency_anchors,
    strongest_rows,
    tf_idf_anchors,
)
from kerascompact.initializers.anchors.spread import (
    coreset_anchors,
    frequency_then_clusters,
    kmeans_anchors,
)

__all__ = [
    "coreset_anchors",
    "frequency_anchors",
    "frequency_then_clusters",
    "kmeans_anchors",
    "strongest_rows",
    "tf_idf_anchors",
]
