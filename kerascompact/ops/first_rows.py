"""Products of rows of which only the first count, for XLA, which knows no number of unique ids."""

from typing import Any

import tensorflow as tf

from kerascompact.ops.xla import compiles_with_xla

BLOCKS = 16  # parts of the rows; the last one with a row that counts is computed entirely


def first_rows_matmul(rows: tf.Tensor, matrix: tf.Tensor, inverse: tf.Tensor) -> tf.Tensor:
    """`rows @ matrix` for the rows of unique ids, also where XLA has more places than ids.

    `ops.unique_ids` gives XLA a place for every id of the batch. A loop over sixteenths of them
    ends behind the last unique id, so that the product, and both of its gradients, cost what the
    unique ids cost, a third in a batch of 25,600. Elsewhere it is a plain product.

    Args:
        rows: Rows `(n, a)` of the unique ids.
        matrix: Matrix `(a, d)`.
        inverse: Position of every token's id among the unique ids, from `unique_ids`.

    Returns: `(n, d)`; under XLA rows of no unique id may be zeros, and have no gradient.

    >>> first_rows_matmul(tf.ones((2, 3)), tf.ones((3, 1)), tf.constant([1, 0])).numpy().tolist()
    [[3.0], [3.0]]
    """
    count, inner, width = rows.shape[0], rows.shape[1], matrix.shape[1]
    if not compiles_with_xla() or not count or count % BLOCKS:
        return tf.matmul(rows, matrix)
    size = count // BLOCKS
    needed = tf.math.floordiv(tf.reduce_max(inverse), size) + 1

    def loop(step: Any, *start: Any) -> Any:
        state = (tf.constant(0), *start)
        return tf.while_loop(lambda block, *_: block < needed, step, state)[1:]

    def part(values: tf.Tensor, block: tf.Tensor) -> tf.Tensor:
        return tf.slice(values, tf.stack([block * size, 0]), [size, values.shape[1]])

    def empty(columns: int) -> tf.TensorArray:
        return tf.TensorArray(rows.dtype, BLOCKS, element_shape=[size, columns])

    @tf.custom_gradient
    def product(rows: tf.Tensor, matrix: tf.Tensor) -> Any:
        def forward(block: tf.Tensor, found: tf.TensorArray) -> Any:
            return block + 1, found.write(block, tf.matmul(part(rows, block), matrix))

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            def backward(block: tf.Tensor, for_rows: tf.TensorArray, total: tf.Tensor) -> Any:
                here = part(upstream, block)
                own = tf.matmul(here, matrix, transpose_b=True)
                more = tf.matmul(part(rows, block), here, transpose_a=True)
                return block + 1, for_rows.write(block, own), total + more

            for_rows, total = loop(backward, empty(inner), tf.zeros([inner, width], rows.dtype))
            return tf.reshape(for_rows.stack(), [count, inner]), total

        (found,) = loop(forward, empty(width))
        return tf.reshape(found.stack(), [count, width]), gradient

    return product(rows, tf.convert_to_tensor(matrix))
