"""Real input, and what a user does with what our classes and functions make."""

from functools import cache

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import datasets, export, layers, models, text
from kerascompact.core.projection import Projection

V, D = 12, 4
IDS = np.array([[3, 1, 4, 0], [5, 2, 0, 0]], np.int32)
SEQUENCES = np.random.default_rng(0).normal(size=(2, 4, D)).astype(np.float32)
TABLE = np.random.default_rng(1).normal(size=(1010, D)).astype(np.float32)
WORDS = [f"w{number}" for number in range(V)]
SPARSE = np.eye(V, 3, dtype=np.float32)
EDGES = np.array([[0, 1], [1, 2]])
FEATURES = np.eye(3, D, dtype=np.float32)
PROJECTION = Projection(2, 8)
BITS = np.random.default_rng(0).integers(0, 2, (2, 4, 1120)).astype(np.float32)
RATED = {"user": IDS[0], "item": IDS[0]}
BYTES = np.array([[*b"turn it on", 0, 0]], np.int32)
SPLIT = datasets.Split(["turn it on", "off", "up", "down"], np.array([0, 1, 0, 1]))


def both(*inputs):
    """Calls a layer as in training and as in use."""
    return lambda layer: [layer(*inputs, training=True), layer(*inputs)]


def once(*inputs):
    return lambda made: made(*inputs)


def held(made):
    return made


@cache
def classifier():
    """A model with its file, which is converted once."""
    model = models.mean_classifier(layers.LowRankEmbedding(V, D, 2, name="words"), 3)
    words = text.Vocabulary(WORDS[2:])
    return model, export.convert(model, labels=["a", "b", "c"], vocabulary=words), words


def fitted(model, loss="mse", targets=None, callback=None):
    """An epoch of one batch, and a validation; without a graph, which takes seconds."""
    model.compile("sgd", loss, run_eagerly=True)
    targets = np.zeros(model(IDS).shape) if targets is None else targets
    callbacks = [] if callback is None else [callback]
    model.fit(IDS, targets, validation_data=(IDS, targets), callbacks=callbacks, verbose=0)
    return model.get_weights()


def coded(callback, embedding=None):
    embedding = layers.KDCodeEmbedding(V, D, 3, 2) if embedding is None else embedding
    model = keras.Sequential([keras.Input((4,), dtype="int32"), embedding])
    return fitted(model, callback=callback)


def clustered(callback):
    return coded(callback, layers.ClusterEmbedding(V, D, 3))


def dense_one(callback):
    model = keras.Sequential([keras.layers.Embedding(V, D), keras.layers.Dense(2)])
    return fitted(model, callback=callback)


def on_random_steps(callback):
    model = keras.Sequential([keras.layers.Embedding(V, V)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    found = model.fit(callback.batches, callbacks=[callback], verbose=0)
    return found.history["loss"][0]


def of_words(loss):
    model = keras.Sequential([keras.layers.Embedding(V, D), layers.WordLogits(V)])
    return fitted(model, loss, IDS)


def stepped(optimizer):
    """One update of an embedding that only some optimizers take, from the gradient of its rows."""
    layer = layers.GroupLassoEmbedding(V, D, 0.1)
    if not hasattr(optimizer, "metric"):
        layer = keras.layers.Embedding(V, D)
    layer.build()
    rows = tf.IndexedSlices(tf.ones([2, D]), tf.constant([3, 5]), tf.constant([V, D]))
    before = layer.get_weights()[0]
    optimizer.apply([rows], layer.trainable_variables)
    after = layer.get_weights()[0]
    assert np.any(before[[3, 5]] != after[[3, 5]])
    return after


def nothing(found):
    assert found is None
    return ()


def guided(guidance):
    layer = layers.KDCodeEmbedding(V, D, 3, 2, guidance=guidance)
    return [*both(IDS)(layer), *layer.losses]


def words(count=V):
    return keras.layers.Embedding(count, D)


def skip_gram(model):
    model.compile("sgd", run_eagerly=True)
    return model.train_on_batch(IDS[0, :2], IDS[1, :2])


def of_ids():
    """A model of ids, whose embedding reads the bits of words."""
    cache = layers.BitCache(V)
    embedding = layers.ProjectionEmbedding(D)
    return (models.lstm_classifier(lambda ids: embedding(cache(ids)), 3),)


def saved():
    _, file, vocabulary = classifier()
    return (export.save(file, "classes.tflite", vocabulary=vocabulary),)


def tagging():
    return (export.convert(models.tagger(words(), 3), text=text.Vocabulary(WORDS[2:])),)


def stepping():
    ids = keras.Input((None,), dtype="int32", name="ids")
    hidden = keras.layers.GRU(3, return_sequences=True)(words()(ids))
    return (keras.Model(ids, hidden),)


def constant():
    given = {name: keras.Input((4,), dtype="int32", name=name) for name in ("ids", "mask")}
    mask = keras.ops.cast(given["mask"], "float32")[..., None]
    return keras.Model(given, words()(given["ids"]) * mask), {"mask": 1}


def causal_lm():
    models = pytest.importorskip("keras_hub", reason="pip install keras-hub").models
    backbone = models.GPT2Backbone(V, 1, 2, 8, 16, max_sequence_length=8)
    return (models.GPT2CausalLM(backbone, None),)


def generating():
    return (export.convert_causal_lm(*causal_lm(), max_length=8),)


def pieces():
    from bert_tokenizer import tokenizer  # skips without its package

    return (tokenizer(),)


def trimmed():
    tokenizers = pytest.importorskip("tokenizers", reason="pip install tokenizers")
    tokens = {"[UNK]": 0, **{word: place for place, word in enumerate(WORDS[1:], 1)}}
    splits = tokenizers.Tokenizer(tokenizers.models.WordPiece(tokens, unk_token="[UNK]"))
    return keras.Sequential([keras.Input((2,), dtype="int32"), words()]), splits, ["w1", "w3"]


def with_table(compressor):
    return compressor.fit(TABLE)(IDS)
