"""One step of a recurrent layer, or of several of equal size side by side."""

from collections.abc import Callable

import tensorflow as tf

Function = Callable[[tf.Tensor], tf.Tensor]


def lstm(
    projected: tf.Tensor,
    hidden: tf.Tensor,
    cell: tf.Tensor,
    kernel: tf.Tensor,
    activation: Function,
    recurrent_activation: Function,
) -> list[tf.Tensor]:
    """`c' = f c + i a(g)`, `h' = o a(c')`, where `[i, f, g, o] = P + h R`.

    Args:
        projected: Product of the input with its kernel, plus the bias, `P`.
        hidden: Hidden state `h`.
        cell: Cell state `c`.
        kernel: Recurrent kernel `R`.
        activation: Activation `a`; tanh in Keras.
        recurrent_activation: Activation of the gates `i`, `f` and `o`; sigmoid in Keras.

    Shapes: `(..., batch, 4 s)`, twice `(..., batch, s)`, `(..., s, 4 s)` -> `h'` and `c'`.

    >>> one = tf.ones((1, 1))
    >>> lstm(tf.zeros((1, 4)), one, one, tf.zeros((1, 4)), tf.tanh, tf.sigmoid)[1].numpy()
    array([[0.5]], dtype=float32)
    """
    gates = tf.split(projected + tf.matmul(hidden, kernel), 4, axis=-1)
    entry, keep, exit = (recurrent_activation(gates[n]) for n in (0, 1, 3))
    new = keep * cell + entry * activation(gates[2])
    return [exit * activation(new), new]


def gru(
    projected: tf.Tensor,
    hidden: tf.Tensor,
    kernel: tf.Tensor,
    bias: tf.Tensor | None,
    reset_after: bool,
    activation: Function,
    recurrent_activation: Function,
) -> tf.Tensor:
    """`h' = z h + (1 - z) a(n)`, where `n` reads `r h` or, with `reset_after`, `r (h R)`.

    Args:
        projected: Products of the input with its kernel, plus the bias, for `z`, `r` and `n`.
        hidden: Hidden state `h`.
        kernel: Recurrent kernel `R`.
        bias: Bias of the product with `R`, used with `reset_after`; `None`: no bias.
        reset_after: Whether the reset gate acts after the product, see `keras.layers.GRU`.
        activation: Activation `a`; tanh in Keras.
        recurrent_activation: Activation of the gates `z` and `r`; sigmoid in Keras.

    Shapes: `(..., batch, 3 s)`, `(..., batch, s)`, `(..., s, 3 s)` -> `(..., batch, s)`.

    >>> gru(tf.zeros((1, 3)), tf.ones((1, 1)), tf.zeros((1, 3)), None, True, tf.tanh, tf.sigmoid)
    <tf.Tensor: shape=(1, 1), dtype=float32, numpy=array([[0.5]], dtype=float32)>
    """
    size = hidden.shape[-1]
    x_update, x_reset, x_new = tf.split(projected, 3, axis=-1)
    if reset_after:
        inner = tf.matmul(hidden, kernel)
        if bias is not None:
            inner += bias
        h_update, h_reset, h_new = tf.split(inner, 3, axis=-1)
        h_new *= recurrent_activation(x_reset + h_reset)
    else:
        inner = tf.matmul(hidden, kernel[..., : 2 * size])
        h_update, h_reset = tf.split(inner, 2, axis=-1)
        reset = recurrent_activation(x_reset + h_reset)
        h_new = tf.matmul(reset * hidden, kernel[..., 2 * size :])
    update = recurrent_activation(x_update + h_update)
    return update * hidden + (1 - update) * activation(x_new + h_new)


def simple_rnn(
    projected: tf.Tensor, hidden: tf.Tensor, kernel: tf.Tensor, activation: Function
) -> tf.Tensor:
    """`h' = a(P + h R)`.

    Args:
        projected: Product of the input with its kernel, plus the bias, `P`.
        hidden: Hidden state `h`.
        kernel: Recurrent kernel `R`.
        activation: Activation `a`; tanh in Keras.

    Shapes: `(..., batch, s)` twice, `(..., s, s)` -> `(..., batch, s)`.

    >>> simple_rnn(tf.zeros((1, 1)), tf.ones((1, 1)), tf.ones((1, 1)), tf.nn.relu).numpy()
    array([[1.]], dtype=float32)
    """
    return activation(projected + tf.matmul(hidden, kernel))
