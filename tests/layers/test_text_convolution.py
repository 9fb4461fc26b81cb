"""Windows and their maximum, one by one."""

import keras
import numpy as np
import pytest

from kerascompact.layers import TextConvolution

VECTORS = np.random.default_rng(0).normal(size=(7, 6, 3)).astype(np.float32)
TEXTS = [(0, 6), (0, 4), (0, 3), (0, 2), (0, 1), (0, 0), (2, 5)]  # from, to: the last begins late
MASK = np.array([[start <= place < end for place in range(6)] for start, end in TEXTS])


def reference(words, kernel, bias):
    """Max over the windows of a text; a shorter one is filled up to one window."""
    size = len(kernel)
    if 0 < len(words) < size:
        words = np.concatenate([words, np.zeros((size - len(words), words.shape[1]))])
    windows = [words[t : t + size] for t in range(len(words) - size + 1)]
    answers = [np.maximum(np.tensordot(window, kernel, 2) + bias, 0) for window in windows]
    return np.max(answers, axis=0) if answers else np.zeros_like(bias)


def layer(size):
    made = TextConvolution(5, size)
    made.build((None, None, 3))
    random = np.random.default_rng(size)
    made.set_weights([random.normal(size=weight.shape) for weight in made.get_weights()])
    return made


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_equals_the_windows(size):
    made = layer(size)
    found = made(VECTORS, mask=MASK).numpy()
    for row, (start, end) in enumerate(TEXTS):
        expected = reference(VECTORS[row, start:end], *made.get_weights())
        np.testing.assert_allclose(found[row], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("length", [1, 2, 6])
def test_without_a_mask_every_place_is_a_word(length):
    made, short = layer(3), VECTORS[:, :length]
    expected = made(short, mask=np.ones((7, length), bool))
    np.testing.assert_array_equal(made(short), expected)


def test_padding_changes_nothing():
    made = layer(5)
    short = made(VECTORS[:, :4], mask=MASK[:, :4]).numpy()[1:6]
    long = np.concatenate([VECTORS, np.full((7, 9, 3), 1e3, np.float32)], axis=1)
    mask = np.concatenate([MASK, np.zeros((7, 9), bool)], axis=1)
    # a convolution of another length may add its products in another order
    np.testing.assert_allclose(made(long, mask=mask).numpy()[1:6], short, rtol=1e-5, atol=1e-6)


def test_masks_of_an_embedding_stop_here():
    ids = keras.Input((None,), dtype="int32")
    found = TextConvolution(5, 3)(keras.layers.Embedding(9, 3, mask_zero=True)(ids))
    assert found.shape == (None, 5) and getattr(found, "_keras_mask", None) is None


def test_mixed_precision():
    made = TextConvolution(5, 3, dtype="mixed_float16")
    found = made(VECTORS, mask=MASK)
    assert found.dtype == "float16" and made.kernel.dtype == "float32"
    full = TextConvolution(5, 3)
    full.build((None, None, 3))
    full.set_weights(made.get_weights())
    # sums of nine products of float16 numbers
    np.testing.assert_allclose(found, full(VECTORS, mask=MASK), rtol=1e-2, atol=1e-2)


def test_saves_and_loads(tmp_path):
    model = keras.Sequential([keras.Input((6, 3)), TextConvolution(5, 4, name="four")])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.layers[0].get_config() == model.layers[0].get_config()
    np.testing.assert_array_equal(loaded(VECTORS), model(VECTORS))


@pytest.mark.parametrize("arguments", [(0, 3), (5, 0), (5, 2.0)])
def test_refuses(arguments):
    with pytest.raises(ValueError, match="`(filters|kernel_size)` must be an integer >= 1"):
        TextConvolution(*arguments)


@pytest.mark.parametrize("size", [1, 3])
def test_refuses_texts_without_a_place(size):
    with pytest.raises(ValueError, match=r"`vectors` must be of length >= 1, .*=\(7, 0, 3\)"):
        layer(size)(VECTORS[:, :0])
