"""Graphs of related objects: what a layer is told about words, users and items."""

from kerascompact.knowledge.clusters import cluster_graph
from kerascompact.knowledge.cooccurrence import cooccurrence_counts, cooccurrence_graph
from kerascompact.knowledge.graph import Graph
from kerascompact.knowledge.open_wordnet import open_wordnet_graph
from kerascompact.knowledge.wordnet import wordnet_graph
from kerascompact.knowledge.words import word_graph

__all__ = [
    "Graph",
    "cluster_graph",
    "cooccurrence_counts",
    "cooccurrence_graph",
    "open_wordnet_graph",
    "word_graph",
    "wordnet_graph",
]
