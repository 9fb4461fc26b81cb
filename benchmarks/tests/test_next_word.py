"""Windows of a text read by a file: its perplexity, and that it says what Keras says."""

import keras
import numpy as np
import pytest

from benchmarks.lib import next_word
from kerascompact import models

V, STEPS = 15, 4
IDS = np.random.default_rng(0).integers(0, V, 31).astype(np.int32)


def model(seed=0):
    keras.utils.set_random_seed(seed)
    embedding = keras.layers.Embedding(V, 5, name="embedding")
    return models.language_model(embedding, V, 6, num_layers=1, scale=1.0)


def test_windows_are_the_text_and_their_targets_the_next_words():
    inputs, targets = next_word.windows(np.arange(10), 4)
    assert inputs.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    np.testing.assert_array_equal(targets, inputs + 1)
    assert next_word.windows(np.arange(9), 4)[0].shape == (2, 4)  # 8 has a word after it
    assert next_word.windows(np.arange(8), 4)[0].shape == (1, 4)


def test_perplexity_is_that_of_windows_without_a_past(monkeypatch):
    monkeypatch.setattr(next_word, "CHUNK", 3)  # several, the last one shorter
    made = model()
    row = next_word.measure(made, IDS, STEPS, "float32")
    rows = 30 // STEPS
    logits = np.asarray(made(IDS[: rows * STEPS].reshape(rows, STEPS)), np.float64)
    logits = logits.reshape(-1, V)
    p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    entropy = -np.mean(np.log(p[np.arange(rows * STEPS), IDS[1 : rows * STEPS + 1]]))
    np.testing.assert_allclose(row["file_perplexity"], np.exp(entropy), rtol=1e-5)
    assert row["windows"] == rows and row["argmax_agreement"] == 1.0 and row["argmax_ties"] == 0
    assert row["largest_difference"] < 1e-4 and row["microseconds"] > 0
    assert row["file_bytes"] > 4 * made.count_params()


def test_a_file_that_says_something_else_is_an_error(monkeypatch):
    other = next_word.export.convert(model(seed=1), "float32", sequence_length=STEPS)
    monkeypatch.setattr(next_word.export.Frozen, "convert", lambda *args, **options: other)
    with pytest.raises(ValueError, match="The file does not predict what Keras does"):
        next_word.measure(model(), IDS, STEPS, "float32")
