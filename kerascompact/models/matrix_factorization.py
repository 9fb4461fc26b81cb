"""Matrix factorization: ratings from a vector of each user and of each item."""

import keras

from kerascompact.core import checks


def matrix_factorization(
    users: keras.layers.Layer,
    items: keras.layers.Layer,
    *,
    mean: float = 0.0,
    biases: bool = True,
) -> keras.Model:
    """Predicts a rating from a user's and an item's vector.

    `r_ui = mean + b_u + b_i + p_u . q_i`.

    Args:
        users: Any embedding layer of user ids, compact or `keras.layers.Embedding`.
        items: Any embedding layer of item ids, as wide; another layer than `users`.
        mean: Mean of the ratings of train.
        biases: Whether users and items have a bias, a table of one column each; zero at first.

    Returns: Model, `{"user": ids, "item": ids}`, both int32 `(batch,)` -> `ratings` float32
    `(batch, 1)`.

    Raises: ValueError, if the widths differ, or one layer is given for both.

    >>> user, item = keras.layers.Embedding(9, 4), keras.layers.Embedding(5, 4)
    >>> matrix_factorization(user, item, mean=3.5).output_shape
    (None, 1)

    Reference: [Koren et al., Computer 2009](https://doi.org/10.1109/MC.2009.263), eq. 4; with
    anchors: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.3.
    """
    mean = checks.number("mean", mean)
    checks.boolean("biases", biases)
    if users is items:
        checks.fail("items", "another layer than `users`", items)
    widths = [getattr(layer, "output_dim", None) for layer in (users, items)]
    if widths[0] != widths[1] or widths[0] is None:
        raise ValueError(
            f"`users` and `items` must have the same width. Received: widths {widths}."
        )
    user = keras.Input((), dtype="int32", name="user")
    item = keras.Input((), dtype="int32", name="item")
    # float32 even under mixed precision: a float16 rating has steps of 0.004
    rating = keras.layers.Dot(axes=-1, dtype="float32", name="affinity")([users(user), items(item)])
    if biases:
        tables = [
            keras.layers.Embedding(
                layer.input_dim, 1, embeddings_initializer="zeros", dtype="float32", name=name
            )
            for layer, name in ((users, "user_bias"), (items, "item_bias"))
        ]
        rating = keras.layers.Add(dtype="float32", name="with_biases")(
            [rating, tables[0](user), tables[1](item)]
        )
    ratings = keras.layers.Rescaling(1.0, mean, dtype="float32", name="ratings")(rating)
    return keras.Model({"user": user, "item": item}, ratings, name="matrix_factorization")
