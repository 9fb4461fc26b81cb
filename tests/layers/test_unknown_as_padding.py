"""Ids by hand, means over known words, and the file."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.layers import MixtureEmbedding, UnknownAsPadding
from kerascompact.models import mean_classifier
from kerascompact.text import Vocabulary

IDS = np.array([[3, 1, 5, 0], [1, 1, 0, 0], [2, 1, 1, 1]], np.int32)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_only_the_unknown_word_changes(dtype):
    found = UnknownAsPadding()(IDS.astype(dtype)).numpy()
    assert found.dtype == dtype
    assert found.tolist() == [[3, 0, 5, 0], [0, 0, 0, 0], [2, 0, 0, 0]]
    half = UnknownAsPadding(dtype="float16")  # 4,097 is no float16
    assert half(np.array([4097], dtype if dtype != "uint8" else "int32")).numpy().tolist() == [4097]


def test_a_mean_leaves_unknown_words_out():
    embedding = keras.layers.Embedding(6, 4, mask_zero=True)
    model = mean_classifier(embedding, 3, skip_unknown=True)
    weights = [np.random.default_rng(0).normal(size=w.shape) for w in model.get_weights()]
    model.set_weights(weights)
    table, kernel, bias = weights
    for ids, found in zip(IDS, model(IDS), strict=True):
        known = table[ids[ids > 1]]
        mean = known.mean(0) if len(known) else np.zeros(4)
        logits = mean @ kernel + bias
        np.testing.assert_allclose(found, np.exp(logits) / np.exp(logits).sum(), rtol=1e-4)


def test_the_unknown_vector_is_not_trained():
    model = mean_classifier(keras.layers.Embedding(6, 4, mask_zero=True), 3, skip_unknown=True)
    before = model.get_weights()[0]
    model.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
    model.train_on_batch(IDS, np.arange(3))
    moved = np.abs(model.get_weights()[0] - before).max(axis=1) > 0
    assert moved.tolist() == [False, False, True, True, False, True]


def test_saved_and_exported(tmp_path):
    model = mean_classifier(keras.layers.Embedding(6, 4, mask_zero=True), 3, skip_unknown=True)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(IDS), model(IDS))
    report = export.verify(model, export.convert(model, sequence_length=4), IDS)
    assert report.agreement == 1 and report.largest_difference < 1e-6


@pytest.mark.slow  # a file with text in is other code, and looks up the same ids
def test_saved_and_exported_with_text_in(tmp_path):
    words = Vocabulary(["turn", "it", "up", "down"])
    embedding = MixtureEmbedding(6, 4, 2, 2, num_reserved=2, mask_zero=True)
    model = mean_classifier(embedding, 3, skip_unknown=True)
    path = tmp_path / "model.keras"
    model.save(path)
    ids = words.encode_all(["turn it up now", "never", ""], 5)
    again = keras.saving.load_model(path)
    np.testing.assert_array_equal(again(ids), model(ids))
    file = export.convert(model, labels=["a", "b", "c"], text=words, max_bytes=64, max_words=9)
    texts = ["turn it up now", "never", "", "Down, down!", "what is it"]
    report = export.verify(model, file, texts, np.zeros(5, int), vocabulary=words)
    assert report.agreement == 1 and report.largest_difference < 1e-6
