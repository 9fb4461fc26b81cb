"""Small models of every kind that `export` meets, and ids to try them on."""

import functools

import keras
import numpy as np
import tensorflow as tf

from kerascompact import export, layers, models
from kerascompact.text import Vocabulary

V, CLASSES = 30, 3


def standard():
    return keras.layers.Embedding(V, 4, mask_zero=True, name="embedding")


def cluster(**config):
    return layers.ClusterEmbedding(V, 4, 5, mask_zero=True, name="embedding", **config)


def adjustment():
    return layers.ClusterAdjustmentEmbedding(V, 5, 5, mask_zero=True, name="embedding")


def mixture():
    return layers.MixtureEmbedding(
        V, 4, 5, num_unique=7, num_reserved=2, mask_zero=True, name="embedding"
    )


EMBEDDINGS = {
    "standard": standard,
    "cluster": cluster,
    "adjustment": adjustment,
    "mixture": mixture,
}


def lstm(embedding, **config):
    return models.lstm_classifier(embedding, CLASSES, units=6, **config)


def mean(embedding, **config):
    return models.mean_classifier(embedding, CLASSES, **config)


MODELS = {"lstm": lstm, "mean": mean}
LABELS = ["a", "b", "c"]


@functools.cache
def file_of(kind):
    """The file of a model with clusters and three labels, converted once in a process."""
    return export.convert(MODELS[kind](cluster(seed=0)), labels=LABELS)


@functools.cache
def text_file():
    """A file that takes texts of up to 40 bytes, converted once in a process."""
    words = Vocabulary([f"word{i}" for i in range(V - 2)])
    return export.convert(mean(standard()), text=words, max_bytes=40, labels=LABELS)


@functools.cache
def two_text_files():
    """Two models that take texts of up to 40 bytes, "one" and "two", in one file."""
    words = Vocabulary([f"word{i}" for i in range(V - 2)])
    models = {name: mean(standard()) for name in ("one", "two")}
    return export.convert(models, "float32", text=words, max_bytes=40)


class Subclassed(keras.Model):
    """A model that is code, not a graph of layers."""

    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding
        self.mean = layers.MaskedMean()
        self.head = keras.layers.Dense(CLASSES, activation="softmax")

    def call(self, ids):
        vectors = self.embedding(ids)
        return self.head(self.mean(vectors, mask=self.embedding.compute_mask(ids)))


def answers(model, inputs):
    """What Keras computes, as arrays: the numbers of `predict`, without a function to trace."""
    return keras.tree.map_structure(np.asarray, model(inputs))


def some_ids(length=9, rows=6, seed=0):
    """Random rows, padded at the end; the first has nothing but padding, the second none."""
    random = np.random.default_rng(seed)
    ids = random.integers(1, V, (rows, length)).astype(np.int32)
    for row, used in zip(ids, [0, length, *random.integers(1, length + 1, rows)], strict=False):
        row[used:] = 0
    return ids


def other_weight_bytes(model):
    """Bytes of all float32 weights that are not the embedding's."""
    inner = [layer for layer in model.layers if layer.name != "embedding"]
    return 4 * sum(int(np.prod(w.shape)) for layer in inner for w in layer.weights)


def inverse(matrices):
    """An operator that TFLite does not have, and does not replace by others."""
    return tf.linalg.inv(matrices)
