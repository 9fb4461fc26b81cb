"""Steps of an optimizer on rows of a table, by hand and in `fit`."""

import keras
import numpy as np
import tensorflow as tf

from graphs import train_step
from kerascompact.layers import ClusterEmbedding

ROWS, WIDTH = 6, 3
ALL = [5, 0, 0, 3, 1, 2, 4, 3, 0]  # every row, some of them more than once
# float32 sums of a few terms, in another order: some units of 2**-24 of numbers near 1
CLOSE = dict(rtol=1e-5, atol=1e-6)


def steps(ids, count=3, seed=0):
    """The values of the gradient's rows in each step."""
    random = np.random.default_rng(seed)
    return [random.normal(size=(len(ids), WIDTH)).astype(np.float32) for _ in range(count)]


def summed(values, ids):
    dense = np.zeros((ROWS, WIDTH))
    np.add.at(dense, ids, values)
    return dense


def start():
    return np.random.default_rng(9).normal(size=(ROWS, WIDTH)).astype(np.float32)


def run(optimizer, ids, dense=False, count=3):
    """Variable, moments and all after some steps."""
    variable = keras.Variable(start())
    optimizer.build([variable])
    for values in steps(ids, count):
        gradient = tf.IndexedSlices(tf.constant(values), tf.constant(ids), (ROWS, WIDTH))
        if dense:
            gradient = tf.constant(summed(values, ids), tf.float32)
        optimizer.apply([gradient], [variable])
    return variable.numpy(), [v.numpy() for v in optimizer.variables[2:]]


def classifier(embedding=None):
    keras.utils.set_random_seed(3)
    layers = [
        keras.Input((5,), dtype="int32"),
        embedding or keras.layers.Embedding(12, 4),
        keras.layers.Flatten(),
        keras.layers.Dense(1),
    ]
    return keras.Sequential(layers)


IDS = np.random.default_rng(0).integers(0, 4, (64, 5))  # few words: much repetition
LABELS = np.random.default_rng(1).normal(size=(64, 1)).astype(np.float32)


def fitted(optimizer, jit_compile=False, embedding=None, epochs=2, model=None, eager=False):
    model = model or classifier(embedding)
    model.compile(optimizer, "mse", jit_compile=jit_compile, run_eagerly=eager)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    history = model.fit(IDS, LABELS, batch_size=16, epochs=epochs, shuffle=False, verbose=0)
    return model, history.history["loss"]


BIG = 20_000


def step_on_a_big_table(optimizer):
    """One traced step of a cluster embedding with more words than any other size here."""
    model = classifier(ClusterEmbedding(BIG, 2, 3))
    model.compile(optimizer, "mse")
    model.optimizer.build(model.trainable_variables)
    return train_step(model, IDS[:4].astype(np.int32), LABELS[:4])
