"""Quantized embeddings: rows of 1 to 8 bits an entry, rounded during training."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.packed_table import PackedTableForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.starts import given
from kerascompact.ops.fake_quantize import fake_quantize, quantize, step_size
from kerascompact.ops.replicas import gathered, taking_turns
from kerascompact.ops.scalar_codes import row_scales, table_scale
from kerascompact.ops.unique import unique_ids
from kerascompact.ops.vocabulary_chunks import rows_in_chunks


@register
class QuantizedEmbedding(CompactEmbedding):
    """Looks up rows whose entries have `2^b` values, and trains the float numbers they round.

    `E[i, j] = s (q_ij - (2^b - 1) / 2)`, `q_ij = round(T[i, j] / s + (2^b - 1) / 2)` clipped to
    `[0, 2^b - 1]`, `s = 2 limit / (2^b - 1)`. Training sees the same rounded rows as inference;
    the gradient reaches the float rows `T: (V, d)` as if they were not rounded.

    With `scale="row"`, `limit` is the largest `|T[i, j]|` of the row. With `scale="table"` it is
    one number, a weight: the largest initial entry, raised by each larger one in a training batch.
    Only a softmax over all words (`reverse=True`) reads the entire table for it; else a row that a
    step has moved beyond the limit is clipped until the next batch that uses it.

    Advice, from 5,000 made-up texts of 600 words (five classes, width 16, `LazyAdam(0.01)`;
    accuracy on 1,000 more, three seeds): 8 and 4 bits lose nothing on a float table's 0.856, with
    either scale. Below, a scale for each row is worth its 32 bits: 2 bits give 0.839 with it and
    0.790 with one for the table, 1 bit 0.828 and 0.751.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        bits: Bits `b` of an entry, 1 to 8.
        scale: "row" or "table": which entries share one scale `s`.
        **kwargs: `embeddings_initializer`, `embeddings_regularizer`, `weights` (clipped at the
            limit with the smallest rounding error), `mask_zero` and those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `V d b + 32 V` bits with a scale per row, `V d b + 32` with one for the table.
    Raises: ValueError, if `bits` is not in `[1, 8]` or another argument is wrong.
    Example:
    >>> layer = QuantizedEmbedding(10_000, 64, bits=4)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 64])
    >>> sum(array.total_bits for array in layer.to_form().storage())
    2880000

    Reference: [Jacob et al., CVPR 2018](https://arxiv.org/abs/1712.05877), sec. 3, the baseline of
    [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), Table 4.
    Differs: values lie evenly around zero, without a zero point; a limit for each row; the table's
    limit only grows.
    """

    EXAMPLE = dict(input_dim=20, output_dim=4, bits=4)
    UNCONSTRAINED = "its rows are rounded when they are looked up, whatever holds before"

    def __init__(
        self, input_dim: int, output_dim: int, bits: int = 8, *, scale: str = "row", **kwargs: Any
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.bits = checks.integer_in("bits", bits, 1, 8)
        self.scale = checks.choice("scale", scale, ("row", "table"))

    def build(self, input_shape: Any = None) -> None:
        start, limit = self.take_start(), np.zeros(())
        shape = (self.input_dim, self.output_dim)
        if start is not None:
            start, limit = self._limited(start)
        elif self.scale == "table":
            # Drawn here: where a first batch builds a model, no weight may start at another's.
            with tf.init_scope():
                drawn = self.embeddings_initializer.clone()(shape, "float32")
            start = np.asarray(drawn)
            limit = np.abs(start).max()
        self.table = self.add_vectors("table", shape, start)
        if self.scale == "table":
            self.limit = self.add_weight(
                shape=(),
                initializer=given(limit),
                dtype="float32",
                trainable=False,
                autocast=False,
                aggregation="only_first_replica",  # all replicas have the same
                name="limit",
            )

    def _limited(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Clips a table at its smallest rounding error, as `compress.ScalarQuantization` does."""
        half = np.float32((2**self.bits - 1) / 2)
        if self.scale == "table":
            limit = half * table_scale(table, self.bits)
            return np.clip(table, -limit, limit), limit
        limit = half * row_scales(table, self.bits)[:, None]
        table = np.clip(table, -limit, limit)
        # The limit of a row is its largest entry.
        largest = np.argmax(np.abs(table), axis=1)[:, None]
        signs = np.sign(np.take_along_axis(table, largest, axis=1))
        np.put_along_axis(table, largest, signs * limit, axis=1)
        return table, limit

    def limit_of(self, rows: tf.Tensor) -> tf.Tensor:
        """The largest value that rows `(n, d)` can take: `(n, 1)` or `()`."""
        if self.scale == "table":
            return self.limit.value
        return tf.reduce_max(tf.abs(rows), axis=-1, keepdims=True)

    def call(self, inputs: Any, training: bool | None = None, reverse: bool = False) -> tf.Tensor:
        if reverse and training and self.trainable and self.scale == "table":
            # Every word is scored, and one beyond the limit would get no gradient.
            largest = tf.maximum(tf.reduce_max(self.table.value), -tf.reduce_min(self.table.value))
            self._raise_limit(largest)
        return super().call(inputs, training, reverse)

    def _raise_limit(self, largest: tf.Tensor) -> None:
        with taking_turns():
            self.limit.assign(tf.maximum(self.limit.value, tf.stop_gradient(largest)))

    def reset_limit(self) -> None:
        """Sets the table's limit to its largest entry, such as after new numbers were assigned."""
        self.check_built()
        if self.scale == "table":
            self.limit.assign(tf.reduce_max(tf.abs(self.table.value)))

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        unique, inverse = unique_ids(ids, self.input_dim)
        rows = tf.gather(self.table.value, unique)
        if training and self.trainable and self.scale == "table":
            largest = tf.reduce_max(tf.abs(rows), keepdims=True)
            self._raise_limit(tf.reduce_max(gathered(largest)))
        limit = tf.stop_gradient(self.limit_of(rows))
        return tf.gather(fake_quantize(rows, limit, self.bits), inverse)

    def to_form(self) -> PackedTableForm:
        self.check_built()
        if self.scale == "table":
            checks.finite("limit", self.limit.numpy())

        def codes_of(ids: tf.Tensor) -> tf.Tensor:
            rows = tf.gather(self.table.value, ids)
            checks.finite("table", rows.numpy())
            return quantize(rows, self.limit_of(rows), self.bits)

        def scales_of(ids: tf.Tensor) -> tf.Tensor:
            limit = self.limit_of(tf.gather(self.table.value, ids))
            return step_size(tf.squeeze(limit, -1), self.bits)

        codes = rows_in_chunks(codes_of, self.input_dim, "uint8")
        if self.scale == "row":
            scale = rows_in_chunks(scales_of, self.input_dim, "float32")
        else:
            scale = step_size(self.limit.value, self.bits).numpy()
        config = {**self.form_config(), "bits": self.bits, "scale": self.scale}
        return PackedTableForm.from_codes(codes, scale, **config)

    def paper_bits(self) -> int:
        scales = self.input_dim if self.scale == "row" else 1
        return self.input_dim * self.output_dim * self.bits + 32 * scales

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "bits": self.bits, "scale": self.scale}
