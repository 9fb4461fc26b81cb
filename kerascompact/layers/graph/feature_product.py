"""Product of the sparse features of nodes with a table that has a vector for each feature."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.ops.graph import sparse_matmul


@register
class FeatureProduct(keras.layers.Layer):
    """Multiplies a sparse matrix of features with a table, `X E`.

    `y_i = sum_j X_ij E[j]`: a node is a bag of features, and its vector their weighted sum. In
    training each stored entry of `X` is dropped with probability `p` and the others are divided by
    `1 - p`; entries that are 0 stay 0, which costs less than dropout on all of `X` and is the same.

    Args:
        num_rows: Number of nodes `N`.
        dropout: Share `p` of stored entries dropped in training.
        table_regularizer: Regularizer of the input table `E`. An L2 is weight decay of the first
            layer for any embedding, also for one that stores codes.
        seed: Seed of the dropout.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: table `(F, d)`, `places` `(nnz, 2)` integers (node, feature), `values` `(nnz,)` ->
        `(N, d)`.
    Raises: ValueError, for a wrong argument.

    >>> places, values = np.array([[0, 0], [0, 1]]), np.array([0.5, 0.5])
    >>> FeatureProduct(2)(np.array([[1.0], [2.0]]), places, values).numpy().tolist()
    [[1.5], [0.0]]

    Reference: [Kipf & Welling, ICLR 2017](https://arxiv.org/abs/1609.02907), sec. 5.2.
    """

    def __init__(
        self,
        num_rows: int,
        *,
        dropout: float = 0.0,
        table_regularizer: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)  # dropped values are kept in float32
        self.num_rows = checks.integer_in("num_rows", num_rows, 1)
        self.dropout = keras.layers.Dropout(dropout, seed=seed, dtype="float32", name="dropout")
        self.table_regularizer = keras.regularizers.get(table_regularizer)
        self.seed = seed

    def build(self, *shapes: Any, **named: Any) -> None:
        self.dropout.build((None,))

    def call(self, table: Any, places: Any, values: Any, training: bool = False) -> tf.Tensor:
        if self.table_regularizer is not None:
            self.add_loss(self.table_regularizer(tf.cast(table, tf.float32)))
        values = self.dropout(tf.cast(values, tf.float32), training=training)
        product = sparse_matmul(places, values, table, self.num_rows)
        return tf.cast(product, self.compute_dtype)

    def compute_output_spec(
        self, table: Any, places: Any, values: Any, training: bool = False
    ) -> keras.KerasTensor:
        return keras.KerasTensor((self.num_rows, table.shape[-1]), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_rows": self.num_rows,
            "dropout": self.dropout.rate,
            "table_regularizer": keras.regularizers.serialize(self.table_regularizer),
            "seed": self.seed,
        }
