"""A table with a proximal rule, its steps in NumPy on all rows, and a model around it."""

import keras
import numpy as np
import tensorflow as tf

import lazy_steps
from kerascompact.optimizers.pending import caught_up, caught_up_rows, proximal_rule
from kerascompact.optimizers.rules import GroupRule, L1Rule

ROWS, WIDTH, RATE, STRENGTH = 8, 3, 0.1, 0.4
# tens of float32 operations on numbers near 1, some divided by small ones, against float64
CLOSE = dict(rtol=1e-4, atol=1e-5)
FREE = np.array([[0, 1], [3, 0], [3, 2], [7, 1], [3, 0]])


def sums(pairs):
    """What pairs of float32 stand for: the sums of `eta * lambda` of a table and of its rows."""
    return np.sum(np.asarray(pairs, np.float64), axis=-1)


def start():
    table = np.random.default_rng(5).normal(size=(ROWS, WIDTH)).astype(np.float32)
    table[6] *= 0.2  # the row that never comes ends at zero
    return table


def batches(count=12):
    """Ids with repeats; row 7 comes once, row 6 never, most are away for some steps."""
    random = np.random.default_rng(1)
    ids = [random.integers(0, 6, 4) for _ in range(count)]
    ids[count // 2][0] = 7
    return ids


@keras.saving.register_keras_serializable(package="tests")
class Rows(keras.layers.Layer):
    """A table with a rule, looked up."""

    def __init__(self, rule="l1", strength=STRENGTH, rows=ROWS, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.rule, self.strength, self.rows = rule, strength, rows

    def build(self, input_shape=None):
        self.table = self.add_weight((self.rows, WIDTH), "random_normal", name="table")
        rules = {
            "l1": lambda: L1Rule(self.strength),
            "nonnegative": lambda: L1Rule(self.strength, nonnegative=True),
            "free": lambda: L1Rule(self.strength, unpenalised=FREE),
            "group": lambda: GroupRule(self.strength),
        }
        if self.rule:
            proximal_rule(self, self.table, rules[self.rule]())

    def call(self, ids):
        return caught_up_rows(self.table, ids)

    def get_config(self):
        own = {"rule": self.rule, "strength": self.strength, "rows": self.rows}
        return {**super().get_config(), **own}


def built(rule="l1", strength=STRENGTH):
    layer = Rows(rule, strength)
    layer.build()
    layer.table.assign(np.abs(start()) if rule == "nonnegative" else start())
    return layer


TARGETS = np.random.default_rng(2).normal(size=(ROWS, WIDTH)).astype(np.float32)


def train(
    optimizer, layer, dense=False, ids_of_steps=None, jit_compile=False, eager=False, build=True
):
    """Moves looked-up rows towards targets, so that the gradient depends on what was read."""
    if build:  # else the first step does
        optimizer.build(layer.trainable_variables)

    def step(ids):
        with tf.GradientTape() as tape:
            if dense:
                counts = tf.math.bincount(ids, minlength=ROWS, dtype=tf.float32)[:, None]
                loss = tf.reduce_sum(counts * (caught_up(layer.table) - TARGETS) ** 2)
            else:
                loss = tf.reduce_sum((layer(ids) - tf.gather(TARGETS, ids)) ** 2)
        gradient = tape.gradient(loss, layer.table.value)
        assert isinstance(gradient, tf.IndexedSlices) is not dense
        optimizer.apply([gradient], [layer.table])

    # Of a few steps the trace would cost the most.
    run = step if eager else tf.function(step, jit_compile=jit_compile, autograph=False)
    for ids in ids_of_steps or batches():
        run(tf.constant(ids, tf.int32))


def reference(table, ids_of_steps=None, every_row=False):
    for ids in ids_of_steps or batches():
        grad = np.zeros_like(table.x)
        np.add.at(grad, ids, 2 * (table.x[ids] - TARGETS[ids]))
        table.step(grad, np.arange(ROWS) if every_row else np.unique(ids))
    return table.x


def free_soft(x, t):
    out = lazy_steps.soft(x, t)
    out[FREE[:, 0], FREE[:, 1]] = x[FREE[:, 0], FREE[:, 1]]
    return out


PROX = {
    "l1": lazy_steps.soft,
    "nonnegative": lazy_steps.nonnegative,
    "free": free_soft,
    "group": lazy_steps.group,
}
OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(RATE),
    "momentum": lambda: keras.optimizers.SGD(RATE, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(RATE),
    "adagrad": lambda: keras.optimizers.Adagrad(RATE),
    "rmsprop": lambda: keras.optimizers.RMSprop(RATE),
}
PAPERS = {
    "sgd": lazy_steps.GradientDescent,
    "momentum": lazy_steps.Momentum,
    "adam": lazy_steps.Adam,
    "adagrad": lazy_steps.Adagrad,
    "rmsprop": lazy_steps.RMSprop,
}


IDS = np.random.default_rng(0).integers(0, 6, (48, 5))
LABELS = np.random.default_rng(3).normal(size=(48, 1)).astype(np.float32)


def classifier(rule="l1", strength=STRENGTH, **kwargs):
    keras.utils.set_random_seed(3)
    layers = [
        keras.Input((5,), dtype="int32"),
        Rows(rule, strength, **kwargs),
        keras.layers.Flatten(),
        keras.layers.Dense(1),
    ]
    return keras.Sequential(layers)


def fitted(optimizer, jit_compile=False, epochs=3, **kwargs):
    model = classifier(**kwargs)
    model.compile(optimizer, "mse", jit_compile=jit_compile)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    model.fit(IDS, LABELS, batch_size=12, epochs=epochs, shuffle=False, verbose=0)
    return model
