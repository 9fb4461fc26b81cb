"""Selected-vocabulary embeddings: some words have vectors; the others share one or have none."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.composed import rows_of_the_batch
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.remapped import RemappedForm
from kerascompact.layers.embeddings.base import CompactEmbedding


@register
class SelectedEmbedding(CompactEmbedding):
    """Looks up the vectors of selected words; the others share a vector, or have zeros.

    `E[i] = U[rank(i)]` for the `n` selected ids and `E[i] = u` for all others, `U: (n, d)`,
    `u: (d,)` trained like the rest or, with `others="zeros"`, 0.

    Select the most frequent words, those with the largest TF-IDF
    (`initializers.anchors.tf_idf_anchors`), or those that another method has kept: `kept_ids()` of
    a `GroupLassoEmbedding` or a `VariationalVocabularyEmbedding`.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        selected: Ids that have vectors, `n` distinct integers; or a number `n`: the ids below it,
            the most frequent words of a `Vocabulary` (and padding).
        others: "shared": all other words have one trained vector; "zeros": they have zeros.
        **kwargs: `embeddings_initializer`, `embeddings_regularizer`, `embeddings_constraint`,
            `weights` (the shared vector is the mean of the others), `mask_zero` and those of
            `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `32 n d` bits (the paper's count), `32 d` for the shared vector, and the set of ids:
        about `min(1.25 V, 8 n + V / 16)`, or none if they are consecutive.
    Raises: ValueError, if ids are not distinct and in `[0, V)`, or another argument is wrong.
    Example:
    >>> layer = SelectedEmbedding(10_000, 64, selected=[2, 3, 5, 7])
    >>> layer(np.array([[3, 4]])).shape
    TensorShape([1, 2, 64])
    >>> sum(array.total_bits for array in layer.to_form().storage())
    10928

    Reference: [Chen et al., NAACL 2019](https://arxiv.org/abs/1902.10339), sec. 2, the baselines
    of [Liang et al.](https://arxiv.org/abs/2003.08197), sec. 4.1, whose appendix D has
    the zeros.
    """

    EXAMPLE = dict(input_dim=20, output_dim=4, selected=6)

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        selected: Any,
        *,
        others: str = "shared",
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.start: np.ndarray | None = None
        if np.ndim(selected):
            self.start = self._different(selected)
            selected = len(self.start)
        self.selected = checks.integer_in("selected", selected, 1, self.input_dim)
        if self.start is None:
            self.start = np.arange(self.selected)
        self.others = checks.choice("others", others, ("shared", "zeros"))

    def _different(self, selected: Any) -> np.ndarray:
        ids = checks.ids_below("selected", np.asarray(selected), self.input_dim)
        unique = np.unique(ids)
        if ids.ndim != 1 or len(unique) != len(ids):
            checks.fail("selected", "distinct ids, or their number", selected)
        return unique

    def build(self, input_shape: Any = None) -> None:
        # Each id's row of the table; all others have the last one.
        places = np.full(self.input_dim, self.selected, np.int32)
        places[self.start] = np.arange(self.selected)
        self.places = self.add_weight(
            shape=(self.input_dim,),
            # Not assigned later: a model that is built by its first batch would lose it.
            initializer=lambda *args, **kwargs: tf.constant(places),
            dtype="int32",
            trainable=False,
            autocast=False,
            name="places",
        )
        rows = self.selected + (self.others == "shared")
        start = self.take_start()
        if start is not None:
            start = self._approximated(start, places)
        self.table = self.add_vectors("table", (rows, self.output_dim), start)

    def _approximated(self, table: np.ndarray, places: np.ndarray) -> np.ndarray:
        """The selected rows of a table, and below them the mean of the others, if they share."""
        rows = table[self.start]
        if self.others == "zeros":
            return rows
        others = table[places == self.selected]
        mean = others.mean(axis=0, keepdims=True) if len(others) else np.zeros_like(table[:1])
        return np.concatenate([rows, mean])

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        place = tf.gather(self.places.value, ids)
        if self.others == "shared":
            return tf.gather(self.table.value, place)
        found = place < self.selected
        rows = tf.gather(self.table.value, rows_of_the_batch(place, found))
        return tf.where(tf.expand_dims(found, -1), rows, 0.0)

    def kept_ids(self) -> np.ndarray:
        """The selected ids, `(n,)` in ascending order."""
        self.check_built()
        return np.flatnonzero(keras.ops.convert_to_numpy(self.places) < self.selected)

    def to_form(self) -> RemappedForm:
        self.check_built()
        table = checks.finite("table", self.table.numpy())
        rows, width = table.shape
        part = DenseForm.from_arrays({"table": table}, input_dim=rows, output_dim=width)
        shared = self.others == "shared"
        ids = self.kept_ids()
        return RemappedForm.from_part(part, ids, self.input_dim, shared, **self.form_config())

    def paper_bits(self) -> int:
        return 32 * self.selected * self.output_dim

    def get_config(self) -> dict[str, Any]:
        # The ids themselves are a weight.
        return {**super().get_config(), "selected": self.selected, "others": self.others}
