"""Graph network of Kipf & Welling: classifies nodes from their features and neighbours."""

from typing import Any

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.layers.graph.constants import Constants
from kerascompact.layers.graph.convolution import GraphConvolution
from kerascompact.layers.graph.feature_product import FeatureProduct
from kerascompact.ops.graph import normalized_adjacency, normalized_rows


def graph_network(
    embedding: keras.layers.Layer,
    features: Any,
    edges: np.ndarray,
    num_classes: int,
    *,
    dropout: float = 0.5,
    l2_weight: float = 2.5e-4,
    seed: int | None = None,
) -> keras.Model:
    """Classifies the nodes of a graph by two graph convolutions.

    `p = softmax(A_hat relu(A_hat X E) W)`: the first layer's weights are a table `E` with a vector
    for each feature, so any embedding can make it. `X` has the rows of `features`, each divided by
    its sum, and `A_hat = D^-1/2 (A + I) D^-1/2`. Both are part of the model. Every call computes
    the entire graph and returns the requested nodes:

    ```
    model.fit(nodes, labels, batch_size=len(nodes), validation_data=..., validation_batch_size=...)
    ```

    Smaller batches work, but cost as much each.

    Args:
        embedding: Any embedding layer of `F` ids, compact or `keras.layers.Embedding`; its width is
            that of the hidden layer, 16 in the paper.
        features: `(N, F)` array or SciPy sparse matrix, no entry negative.
        edges: `(E, 2)` integers below `N`, undirected.
        num_classes: Number of classes, at least 2.
        dropout: Share of the stored entries of `X`, and of the hidden layer, dropped in training.
        l2_weight: `l2_weight * sum(E ** 2)` is added to the loss. The default is the paper's 5e-4,
            whose code takes half of the sum.
        seed: Seed of both dropouts.

    Returns: Model, `nodes` int32 `(batch,)` -> `probabilities` float32 `(batch, num_classes)`.

    Raises: ValueError, if the embedding has not one id for each feature, or as
        `normalized_adjacency` and `normalized_rows` do.

    >>> table = keras.layers.Embedding(4, 16, embeddings_initializer="glorot_uniform")
    >>> graph_network(table, np.eye(4)[[0, 1, 2, 3, 3]], np.array([[0, 1], [3, 4]]), 3).output_shape
    (None, 3)

    Reference: [Kipf & Welling, ICLR 2017](https://arxiv.org/abs/1609.02907), eq. 9, sec. 5.2; with
    a compressed table: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 4.
    """
    checks.integer_in("num_classes", num_classes, 2)
    checks.number("dropout", dropout, at_least=0, up_to=0.999)
    checks.number("l2_weight", l2_weight, at_least=0)
    num_nodes, num_features = np.shape(features)
    if getattr(embedding, "input_dim", None) != num_features:
        raise ValueError(
            f"`embedding` must have an id for each of the {num_features} features. "
            f"Received: input_dim={getattr(embedding, 'input_dim', None)}."
        )
    feature_places, feature_values = normalized_rows(features)
    places, values = normalized_adjacency(edges, num_nodes)
    nodes = keras.Input((), dtype="int32", name="nodes")
    graph = Constants(
        {
            "feature_ids": np.arange(num_features),
            "feature_places": feature_places,
            "feature_values": feature_values,
            "adjacency_places": places,
            "adjacency_values": values,
        },
        name="graph",
    )(nodes)
    adjacency = (graph["adjacency_places"], graph["adjacency_values"])
    table = embedding(graph["feature_ids"])
    bags = FeatureProduct(
        num_nodes,
        dropout=dropout,
        table_regularizer=keras.regularizers.L2(l2_weight) if l2_weight else None,
        seed=seed,
        name="features",
    )(table, graph["feature_places"], graph["feature_values"])
    hidden = GraphConvolution(None, activation="relu", use_bias=False, name="hidden")(
        bags, adjacency
    )
    if dropout:
        hidden = keras.layers.Dropout(dropout, seed=seed, name="dropout")(hidden)
    # float32 even under mixed precision: a float16 softmax ties classes that differ
    logits = GraphConvolution(num_classes, use_bias=False, dtype="float32", name="logits")(
        hidden, adjacency
    )
    chosen = keras.ops.take(logits, nodes, axis=0)
    probabilities = keras.layers.Softmax(dtype="float32", name="probabilities")(chosen)
    return keras.Model(nodes, probabilities, name="graph_network")
