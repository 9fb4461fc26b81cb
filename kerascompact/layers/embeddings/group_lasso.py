"""Group lasso embeddings (GL): a penalty on the norms of rows turns unneeded rows into zeros."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.forms.remapped import RemappedForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.ops.unique import unique_ids
from kerascompact.optimizers.pending import caught_up, caught_up_rows, proximal_rule
from kerascompact.optimizers.rules import (
    GroupRule,
    Schedule,
    penalty_weight_of,
    penalty_weight_to_config,
)


@register
class GroupLassoEmbedding(CompactEmbedding):
    """Looks up the row of a table, with a penalty on the norms of rows.

    The loss gets `lambda * sum_i ||T[i]||_2`, `T: (V, d)`, by its proximal step:
    `T[i] <- T[i] max(1 - eta lambda / ||T[i]||, 0)` after each step of rate `eta`, for every row,
    whether or not the batch has its word. Words whose rows become zeros are not stored.

    Train it with `kerascompact.optimizers.Proximal`: any other optimizer raises at its first step.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        group_lasso_weight: `lambda >= 0`, or a Keras schedule that gives it for a step.
        **kwargs: `embeddings_initializer`, `embeddings_regularizer`, `weights`, `mask_zero` and
            those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `32 n d` bits for `n` words that are left (the paper's count), and their set of ids:
        about `min(1.25 V, 8 n + V / 16)`. Training holds `64 V` bits for deferred steps.
    Raises: ValueError, for a wrong argument, or if the optimizer takes no proximal steps.
    Example:
    >>> from kerascompact.optimizers import Proximal
    >>> embedding = GroupLassoEmbedding(9, 2, group_lasso_weight=0.1)
    >>> model = keras.Sequential([embedding, keras.layers.Flatten()])
    >>> model.compile(Proximal("adam"), "mse")
    >>> history = model.fit(np.array([[1, 1]]), np.zeros((1, 4)), verbose=0)

    Reference: [Wen et al., NeurIPS 2016](https://arxiv.org/abs/1608.03665), eq. 2, as the baseline
    GL of [Chen et al., NAACL 2019](https://arxiv.org/abs/1902.10339), sec. 2.
    Differs: they take subgradients, which leave no zeros, and drop short rows by a threshold.
    """

    EXAMPLE = dict(input_dim=20, output_dim=4, group_lasso_weight=1e-3)
    UNCONSTRAINED = "it would undo the zeros of the penalty's proximal step, or be undone by it"

    def __init__(
        self, input_dim: int, output_dim: int, group_lasso_weight: float | Schedule, **kwargs: Any
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.group_lasso_weight = penalty_weight_of(group_lasso_weight, "group_lasso_weight")

    def build(self, input_shape: Any = None) -> None:
        shape = (self.input_dim, self.output_dim)
        self.table = self.add_vectors("table", shape, self.take_start())
        proximal_rule(self, self.table, GroupRule(self.group_lasso_weight))

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        unique, inverse = unique_ids(ids, self.input_dim)
        return tf.gather(caught_up_rows(self.table, unique), inverse)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        flat = tf.reshape(hidden, [-1, self.output_dim])
        logits = tf.matmul(flat, caught_up(self.table), transpose_b=True)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def rows(self) -> np.ndarray:
        """The table as the proximal steps leave it, `(V, d)`."""
        self.check_built()
        checks.finite("table", self.table.numpy())
        return caught_up(self.table).numpy()

    def kept_ids(self) -> np.ndarray:
        """Ids of the words that are left, ascending, for a `SelectedEmbedding`."""
        return np.flatnonzero(np.any(self.rows() != 0, axis=1))

    def to_form(self) -> RemappedForm:
        return RemappedForm.from_table(self.rows(), **self.form_config())

    def paper_bits(self) -> int:
        return 32 * len(self.kept_ids()) * self.output_dim

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "group_lasso_weight": penalty_weight_to_config(self.group_lasso_weight),
        }
