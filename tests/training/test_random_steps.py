"""Random lengths: a step by hand, streams without gaps, the draws of the paper's code."""

import keras
import numpy as np
import pytest

from kerascompact.training import RandomSteps, ResetStates

V = 7
TEXT = np.random.default_rng(0).integers(0, V, 2 * 61 + 1)
CLIP = 0.2
# Keras' own: that of this package is compiled by XLA for each length.
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class OneHot(keras.layers.Layer):
    """In place of an embedding, whose sparse gradient Keras clips by another norm."""

    def call(self, ids):
        return keras.ops.one_hot(ids, V)


class Traced(keras.layers.Layer):
    """Counts its traces."""

    traces = 0

    def call(self, inputs):
        self.traces += 1
        return inputs


def bigram(**options):
    """A table of logits: word after word, without a state."""
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), 2, dtype="int32")
    made = keras.Model(ids, keras.layers.Dense(V, use_bias=False)(OneHot()(ids)))
    optimizer = keras.optimizers.SGD(3.0, global_clipnorm=CLIP, weight_decay=0.01)
    made.compile(optimizer, LOSS, jit_compile=False, **options)
    return made


def by_hand(table, inputs, targets, rate):
    """SGD on the mean cross entropy, its gradient clipped; then weight decay times the rate."""
    logits = table[inputs]
    share = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    share[np.arange(len(targets)), targets] -= 1
    gradient = np.zeros_like(table)
    np.add.at(gradient, inputs, share / len(targets))
    clipped = gradient * min(1, CLIP / np.linalg.norm(gradient))
    return table * (1 - 0.01 * rate) - rate * clipped


def read(random, epoch):
    """Inputs and targets of an epoch, each in one piece."""
    random.on_epoch_begin(epoch)
    parts = list(random.batches)
    assert [x.shape[1] for x, _ in parts] == random.lengths.tolist()
    return [np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1)]


def test_steps_are_those_of_sgd_at_the_rate_of_their_length():
    model = bigram()
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    random = RandomSteps(TEXT, 2, 10, deviation=3.0, half=0.3, shortest=2)
    table = model.get_weights()[0].astype(np.float64)
    model.fit(random.batches, epochs=2, shuffle=False, callbacks=[random], verbose=0)
    lengths = []
    for epoch in range(2):
        random.on_epoch_begin(epoch)
        for x, y in random.batches:
            lengths.append(x.shape[1])
            rate = 3.0 * lengths[-1] / 10
            table = by_hand(table, x.numpy().ravel(), y.numpy().ravel(), rate)
    assert len(set(lengths)) > 4
    np.testing.assert_allclose(model.get_weights()[0], table, rtol=1e-4, atol=1e-5)  # float32
    assert float(model.optimizer.learning_rate) == 3.0


def of_two_optimizers(scaled):
    """A model whose kernel and bias have optimizers of their own; these; behind a loss scale?"""
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), 2, dtype="int32")
    model = keras.Model(ids, keras.layers.Dense(V)(OneHot()(ids)))
    K = keras.optimizers
    two = K.SGD(3.0), K.SGD(0.1)
    both = K.MultiOptimizer(K.OptimizerMap(two[0], {".*/bias": two[1]}))
    optimizer = K.LossScaleOptimizer(both) if scaled else both
    model.compile(optimizer, LOSS, run_eagerly=True)
    return model, two


@pytest.mark.parametrize("scaled", [pytest.param(False, marks=pytest.mark.slow), True])
def test_each_of_several_optimizers_has_the_rate_of_the_length(scaled):
    random = RandomSteps(TEXT, 2, 10, deviation=3.0, half=0.3, shortest=2)
    model, two = of_two_optimizers(scaled)
    rates = []  # that such a rate is the step's is above

    def see(batch, logs=None):
        rates.append([float(one.learning_rate) for one in two])

    seen = keras.callbacks.LambdaCallback(on_train_batch_begin=see)
    model.fit(random.batches, shuffle=False, callbacks=[random, seen], verbose=0)
    assert [float(one.learning_rate) for one in two] == pytest.approx([3.0, 0.1])
    assert len(set(random.lengths.tolist())) > 4
    np.testing.assert_allclose(rates, np.outer(random.lengths / 10, (3.0, 0.1)), rtol=1e-6)


def test_epochs_cover_the_streams_without_gaps_and_differ():
    random = RandomSteps(TEXT, 2, 8, seed=3)
    found = []
    for epoch in (0, 1, 2, 1):
        inputs, targets = read(random, epoch)
        for row in (0, 1):
            stream = TEXT[61 * row : 61 * row + 61]
            np.testing.assert_array_equal(inputs[row], stream[:-1])
            np.testing.assert_array_equal(targets[row], stream[1:])
        found.append(random.lengths.tolist())
    assert found[1] == found[3] and len({*map(tuple, found)}) == 3  # an epoch's own, also later
    assert {*map(len, found)} == {int(random.batches.cardinality())}


def test_lengths_are_those_of_the_paper():
    random = RandomSteps(np.zeros(350_000, int), 1, 70)
    random.on_epoch_begin(0)
    lengths = random.lengths[:-1]
    assert lengths.min() >= 5 and lengths.sum() + random.lengths[-1] == 349_999
    halves = lengths < 52  # 3.5 deviations from either mean
    assert halves.mean() == pytest.approx(0.05, abs=0.012)  # 4 deviations of 5,000 draws
    # `int` takes half a word off
    assert lengths[~halves].mean() == pytest.approx(69.5, abs=0.3)
    assert lengths[halves].mean() == pytest.approx(34.5, abs=1.4)
    assert lengths[~halves].std() == pytest.approx(5, abs=0.3)


def test_short_ones_are_cut_at_the_shortest():
    random = RandomSteps(np.zeros(2_000, int), 1, 6, shortest=5)
    assert (random.lengths[:-1] >= 5).all() and (random.lengths[:-1] == 5).mean() > 0.3


def test_all_lengths_share_a_trace_and_states_go_on():
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), 2, dtype="int32")
    traced, rnn = Traced(), keras.layers.SimpleRNN(3, return_sequences=True, stateful=True)
    logits = keras.layers.Dense(V)(rnn(keras.layers.Embedding(V, 4)(traced(ids))))
    model = keras.Model(ids, logits)
    model.compile(keras.optimizers.SGD(1e-9), LOSS, jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    random = RandomSteps(TEXT, 2, 8)
    before = traced.traces
    callbacks = [random, ResetStates()]
    model.fit(random.batches, epochs=2, shuffle=False, callbacks=callbacks, verbose=0)
    assert traced.traces == before + 1 and len(set(random.lengths.tolist())) > 3
    rnn.reset_state()
    random.on_epoch_begin(5)
    pieces = [model(x) for x, _ in random.batches]
    rnn.reset_state()
    once = model(np.stack([TEXT[:60], TEXT[61:121]]))
    np.testing.assert_allclose(np.concatenate(pieces, axis=1), once, atol=1e-6)


@pytest.mark.parametrize(
    "name, options",
    [
        ("steps", {"steps": 0}),
        ("half", {"half": 1.5}),
        ("deviation", {"deviation": -1}),
        ("shortest", {"shortest": 0}),
        ("seed", {"seed": -1}),
        ("ids", {"ids": np.arange(3)}),
    ],
)
def test_rejects_arguments(name, options):
    with pytest.raises(ValueError, match=f"`{name}` must "):
        RandomSteps(**{"ids": TEXT, "batch_size": 2, "steps": 5, **options})


def test_rejects_what_would_train_at_other_rates():
    random = RandomSteps(TEXT, 2, 8)
    falling = keras.optimizers.schedules.PolynomialDecay(3.0, 10)
    K = keras.optimizers
    for wrap in (
        lambda one: one,
        K.LossScaleOptimizer,
        lambda one: K.MultiOptimizer(K.OptimizerMap(K.SGD(), {".*": one})),
    ):
        model = bigram()
        model.compile(wrap(K.SGD(falling)), LOSS, jit_compile=False)
        with pytest.raises(ValueError, match="`optimizer` must be one with a constant learning r"):
            model.fit(random.batches, shuffle=False, callbacks=[random], verbose=0)
    model.compile(K.SGD(gradient_accumulation_steps=2), LOSS, jit_compile=False)
    with pytest.raises(ValueError, match="`optimizer` must be one without `gradient_accumulation"):
        model.fit(random.batches, callbacks=[random], verbose=0)
    with pytest.raises(ValueError, match="`steps_per_execution` must be 1, as each batch has"):
        bigram(steps_per_execution=2).fit(random.batches, callbacks=[random], verbose=0)
    with pytest.raises(ValueError, match="`x` must be the 7 batches of this callback"):
        bigram().fit(random.batches.take(3), callbacks=[random], verbose=0)
