import keras
import numpy as np
import pytest

from kerascompact.models import language_model
from kerascompact.models.language_model import SIZES
from kerascompact.text.stream import stateful_batches
from kerascompact.training import ResetStates


def model(**options):
    keras.utils.set_random_seed(0)
    return language_model(keras.layers.Embedding(11, 4, name="embedding"), 11, 5, **options)


def lstm(x, kernel, recurrent, bias):
    """Equations of Zaremba et al., section 3, for one sequence; Keras' gate order i, f, g, o."""

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    h = c = np.zeros(recurrent.shape[0])
    outputs = []
    for step in x:
        i, f, g, o = np.split(step @ kernel + h @ recurrent + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.array(outputs)


def test_equals_the_formula():
    lm, ids = model(), np.array([3, 1, 4, 1, 5])
    weights = {w.path: w.numpy().astype(float) for w in lm.weights}
    hidden = weights["embedding/embeddings"][ids]
    for number in (0, 1):
        names = ("kernel", "recurrent_kernel", "bias")
        hidden = lstm(hidden, *(weights[f"lstm_{number}/lstm_cell/{name}"] for name in names))
    expected = hidden @ weights["logits/kernel"] + weights["logits/bias"]
    np.testing.assert_allclose(lm(ids[None])[0], expected, atol=1e-6)  # float32 against float64


def test_a_stateful_model_reads_a_text_as_if_it_came_at_once():
    once, cut = model(), model(batch_size=1)
    cut.set_weights(once.get_weights())
    ids = np.random.default_rng(0).integers(0, 11, 7)
    whole = once(ids[None])[0]
    pieces = [cut(x)[0] for x, _ in stateful_batches(np.append(ids, 0), 1, 3)]
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=1e-6)


def test_unrolled_is_the_same():
    plain, unrolled = model(batch_size=2), model(batch_size=2, unroll=3)
    unrolled.set_weights(plain.get_weights())
    ids = np.arange(6).reshape(2, 3)
    np.testing.assert_allclose(unrolled(ids), plain(ids), atol=1e-6)


@pytest.mark.slow
def test_learns_a_text_that_repeats_itself():
    ids = np.tile(np.array([1, 5, 2, 7, 3]), 41)
    lm = model(batch_size=4, scale=0.5)  # at 0.1 the small net stays on a plateau for long
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    lm.compile(keras.optimizers.Adam(0.02), loss, jit_compile=False)
    batches = stateful_batches(ids, 4, 5)
    fit = lm.fit(batches, epochs=30, shuffle=False, verbose=0, callbacks=[ResetStates()])
    assert fit.history["loss"][-1] < 0.1 < 1.0 < fit.history["loss"][0]


def test_weights_start_within_the_scale_and_differ():
    lm = model(scale=0.03)
    kernels = [w.numpy() for w in lm.weights if "lstm" in w.path or "logits" in w.path]
    assert all(0.02 < np.abs(w).max() <= 0.03 for w in kernels)
    assert np.any(kernels[1] != kernels[4])  # the two recurrent kernels


def test_the_three_sizes_have_the_published_parameters():
    """Zaremba et al. call them "some tens of millions"; the counts follow from section 4.1."""
    for name, (width, dropout) in {
        "small": (200, 0),
        "medium": (650, 0.5),
        "large": (1500, 0.65),
    }.items():
        size = SIZES[name]
        assert (size.units, size.dropout) == (width, dropout)
    lm = language_model(keras.layers.Embedding(10_000, 200), 10_000, 200)
    lstms = 2 * 4 * (200 * 200 + 200 * 200 + 200)
    assert lm.count_params() == 10_000 * 200 + lstms + 200 * 10_000 + 10_000


@pytest.mark.parametrize("name", ["num_words", "units", "num_layers"])
def test_rejects_sizes(name):
    arguments = {"num_words": 11, "units": 5, "num_layers": 2, name: 0}
    with pytest.raises(ValueError, match=f"`{name}` must be an integer >="):
        language_model(keras.layers.Embedding(11, 4), **arguments)
    with pytest.raises(ValueError, match=r"`dropout` must be a number in \[0, 1\]\."):
        language_model(keras.layers.Embedding(11, 4), 11, dropout=1.5)
