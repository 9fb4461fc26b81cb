"""Sparse recurrent layers against separate Keras layers, and a dense one with masked kernels."""

import json

import keras
import numpy as np
import pytest

from kerascompact.layers.recurrent.sparse_gru import SparseGRU
from kerascompact.layers.recurrent.sparse_lstm import SparseLSTM
from kerascompact.layers.recurrent.sparse_simple_rnn import SparseSimpleRNN

LENGTHS, INPUTS, GAMMA = (3, 2, 3), 10, 0.45
WINDOWS = ((0, 4), (3, 7), (6, 10))  # 4 of 10 inputs, from the first to the last in two steps
KINDS = {
    "lstm": (SparseLSTM, keras.layers.LSTM, 4),
    "gru": (SparseGRU, keras.layers.GRU, 3),
    "simple_rnn": (SparseSimpleRNN, keras.layers.SimpleRNN, 1),
}


def texts(batch=2, steps=5, width=INPUTS, seed=0):
    return np.random.default_rng(seed).normal(size=(batch, steps, width)).astype(np.float32)


def sparse(kind, **options):
    keras.utils.set_random_seed(1)
    layer = KINDS[kind][0](sum(LENGTHS), LENGTHS, GAMMA, bias_initializer="normal", **options)
    batch = 2 if options.get("stateful") else None
    layer.build((batch, None, INPUTS))
    return layer


def separate(layer, kind, x, **options):
    """The same, as N Keras layers on slices that a person cut."""
    found = []
    for (start, stop), length, segment in zip(WINDOWS, LENGTHS, layer.segments, strict=True):
        one = KINDS[kind][1](length, **options)
        one.build((None, None, stop - start))
        one.set_weights(segment.get_weights())
        found.append(one(x[..., start:stop]).numpy())
    return np.concatenate(found, axis=-1)


def dense(layer, kind, **options):
    """One dense Keras layer: its kernels are zero outside of the blocks."""
    units, gates = sum(LENGTHS), KINDS[kind][2]
    one = KINDS[kind][1](units, **options)
    one.build((2 if options.get("stateful") else None, None, INPUTS))
    kernel, recurrent, bias = (np.zeros_like(weight) for weight in one.get_weights())
    below = 0
    for (start, stop), length, segment in zip(WINDOWS, LENGTHS, layer.segments, strict=True):
        own = segment.get_weights()
        for gate in range(gates):
            rows = slice(below, below + length)
            columns = slice(gate * units + below, gate * units + below + length)
            of_gate = slice(gate * length, (gate + 1) * length)
            kernel[start:stop, columns] = own[0][:, of_gate]
            recurrent[rows, columns] = own[1][:, of_gate]
            bias[..., columns] = own[2][..., of_gate]
        below += length
    one.set_weights([kernel, recurrent, bias])
    return one


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"return_sequences": True, "go_backwards": True},
        {"activation": "softsign", "return_sequences": True, "unroll": True},
    ],
)
def test_equals_separate_keras_layers_and_a_dense_one_with_masks(kind, options):
    layer, x = sparse(kind, **options), texts()
    np.testing.assert_array_equal(layer(x), separate(layer, kind, x, **options))
    # the same products, added to zeros in another order
    np.testing.assert_allclose(layer(x), dense(layer, kind, **options)(x), atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_masks_states_and_statefulness_are_those_of_the_dense_layer(kind):
    options = {"return_sequences": True, "return_state": True, "stateful": True}
    layer, x = sparse(kind, **options), texts()
    other, mask = dense(layer, kind, **options), np.arange(5)[None] < np.array([[5], [3]])
    for _ in range(2):  # the second batch goes on from the first
        for mine, keras_own in zip(layer(x, mask=mask), other(x, mask=mask), strict=True):
            np.testing.assert_allclose(mine, keras_own, atol=1e-6)
    layer.reset_state()
    other.reset_state()
    first = layer(x)
    start = [texts(steps=1, width=sum(LENGTHS), seed=n)[:, 0] for n in range(len(first) - 1)]
    found = layer(x, initial_state=start)
    for mine, keras_own in zip(found, other(x, initial_state=start), strict=True):
        np.testing.assert_allclose(mine, keras_own, atol=1e-6)
    assert np.abs(found[0] - first[0]).max() > 0.01


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_backwards_unrolled_skips_padding(kind):
    """Keras' unrolled loop makes the wrong steps 0, in `Bidirectional` of padded texts."""
    x, found = texts(), []
    for unroll in (False, True):
        keras.utils.set_random_seed(3)
        layer = KINDS[kind][0](6, 2, 0.5, return_sequences=True, unroll=unroll)
        both = keras.layers.Bidirectional(layer)
        found.append(both(x, mask=np.arange(5)[None] < np.array([[5], [3]])))
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    assert np.all(np.any(found[1][1, :3, 6:] != 0, axis=-1)) and not np.any(found[1][1, 3:])
    last = KINDS[kind][0](6, 2, 0.5, unroll=True, go_backwards=True, zero_output_for_mask=True)
    assert not np.any(last(x[:1], mask=np.arange(5)[None] > 0))  # the step read last is padding
    backward, mask = both.backward_layer, np.array([[True] * 3 + [False] * 2])
    np.testing.assert_allclose(
        backward.to_form()(x[:1], mask=mask), backward(x[:1], mask=mask), atol=1e-6
    )


@pytest.mark.slow  # masks are those of the dense layer, above; saved below
@pytest.mark.parametrize("kind", KINDS)
def test_bidirectional_skips_padding_and_is_saved(kind, tmp_path):
    keras.utils.set_random_seed(0)
    layer = KINDS[kind][0](6, 2, 0.5, return_sequences=True)
    ids = keras.Input((None,), dtype="int32")
    vectors = keras.layers.Embedding(9, 8, mask_zero=True)(ids)
    model = keras.Model(ids, keras.layers.Bidirectional(layer)(vectors))
    short, padded = np.array([[3, 1, 4]]), np.array([[3, 1, 4, 0, 0]])
    np.testing.assert_allclose(model(padded)[:, :3], model(short), atol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(short), model(short))


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("segments", [(), (1,), ([8],)])
def test_one_segment_is_the_dense_layer(kind, segments):
    keras.utils.set_random_seed(1)
    layer, x = KINDS[kind][0](8, *segments, return_state=True, stateful=True), texts()
    other = KINDS[kind][1](8, return_state=True, stateful=True)
    layer.build((2, None, INPUTS))
    other.build((2, None, INPUTS))
    other.set_weights(layer.get_weights())
    start = [texts(steps=1, width=8, seed=n)[:, 0] for n in range(len(other.state_size))]
    mask = np.arange(5)[None] < np.array([[5], [3]])
    form = layer.to_form()
    for options in ({}, {"mask": mask}, {"initial_state": start}):  # each goes on from the last
        found, frozen = layer(x, **options), form(x, **options)
        for mine, stored, keras_own in zip(found, frozen, other(x, **options), strict=True):
            np.testing.assert_array_equal(mine, keras_own)
            np.testing.assert_allclose(stored, keras_own, atol=1e-6)  # added in another order
    assert layer.num_parameters(INPUTS) == other.count_params()


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"gamma": 0.5}])
def test_every_default_trains_and_is_saved(kind, options, tmp_path):
    keras.utils.set_random_seed(0)
    layer = KINDS[kind][0](6, **options)
    ids = keras.Input((4,), dtype="int32")
    vectors = keras.layers.Embedding(9, 8, mask_zero=True)(ids)
    model = keras.Model(ids, keras.layers.Dense(1)(layer(vectors)))
    jit_compile = kind == "gru" and not options
    model.compile("sgd", "mse", jit_compile=jit_compile, run_eagerly=not jit_compile)
    before, words = layer.get_weights(), np.array([[3, 1, 4, 0], [5, 2, 0, 0]])
    model.train_on_batch(words, np.ones((2, 1)))
    assert all(np.any(a != b) for a, b in zip(before, layer.get_weights(), strict=True))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(words), model(words))


@pytest.mark.few(1)
@pytest.mark.parametrize(("policy", "jit_compile"), [("float32", True), ("mixed_bfloat16", False)])
def test_trains_with_every_dropout(jit_compile, policy):
    keras.utils.set_random_seed(0)
    noise = {"dropout": 0.1, "recurrent_dropout": 0.1, "weight_dropout": 0.1}
    layer = SparseLSTM(8, 2, 0.5, seed=3, dtype=policy, **noise)
    model = keras.Sequential([keras.Input((5, INPUTS)), layer, keras.layers.Dense(1)])
    sgd, run_eagerly = keras.optimizers.SGD(0.03), not jit_compile
    model.compile(sgd, "mse", jit_compile=jit_compile, run_eagerly=run_eagerly)
    x = texts(batch=16)
    before, labels = layer.get_weights(), x.sum(axis=(1, 2))
    losses = [model.train_on_batch(x, labels) for _ in range(2 if run_eagerly else 12)]
    assert losses[-1] < losses[0]
    assert all(np.any(a != b) for a, b in zip(before, layer.get_weights(), strict=True))


def test_dropout_of_inputs_is_one_mask_for_all_segments_and_steps():
    layer, x = SparseLSTM(4, 2, dropout=0.5, return_sequences=True), np.ones((1, 3, 6), np.float32)
    layer.build(x.shape)
    seen = []
    for segment in layer.segments:
        loop = segment.inner_loop
        segment.inner_loop = lambda loop=loop, **inputs: (
            seen.append(inputs["sequences"].numpy()) or loop(**inputs)
        )
    layer(x, training=True)
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[0][:, 0], seen[0][:, 2])
    assert set(np.unique(seen[0])) <= {0.0, 2.0}


def test_segments_of_one_seed_do_not_start_as_copies():
    start = keras.initializers.RandomUniform(-1, 1, seed=5)
    layer = SparseLSTM(6, 3, kernel_initializer=start)
    layer.build((None, None, 4))
    first, second, _ = (segment.cell.kernel.numpy() for segment in layer.segments)
    assert np.abs(first - second).max() > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_the_weights_and_a_frozen_layer_stays_frozen(kind):
    made = [KINDS[kind][0](6, 2, 0.5, seed=seed, trainable=seed > 1) for seed in (1, 1, 2)]
    made.append(type(made[0]).from_config(made[0].get_config()))
    for layer in made:
        layer.build((None, None, 8))
    first, same, other, again = (layer.get_weights() for layer in made)
    for weights in (same, again):
        for one, two in zip(first, weights, strict=True):
            np.testing.assert_array_equal(one, two)
    drawn = [place for place, weight in enumerate(first) if len(np.unique(weight)) > 2]
    assert all(np.abs(first[place] - other[place]).max() > 0.01 for place in drawn)
    assert np.abs(first[drawn[0]] - first[drawn[2]]).max() > 0.01  # of two segments
    assert [sum(w.trainable for w in layer.weights) for layer in made] == [0, 0, len(first), 0]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_keeps_its_configuration_and_counts_its_parameters(kind):
    regularizer = keras.regularizers.L2(0.1)
    layer = sparse(kind, recurrent_regularizer=regularizer, dropout=0.2, use_bias=False, seed=4)
    config = json.loads(json.dumps(layer.get_config()))
    again = type(layer).from_config(config)
    assert again.get_config() == layer.get_config() and again.lengths == LENGTHS
    assert layer.num_parameters(INPUTS) == layer.count_params()
    biased = sparse(kind)
    assert biased.num_parameters(INPUTS) == biased.count_params()
    assert len(layer.losses) == len(LENGTHS)


def test_rejects_arguments():
    for arguments, message in (
        ({"units": 4, "num_segments": 5}, r"`num_segments` must be an integer in \[1, 4\]"),
        ({"units": 4, "num_segments": [1, 2]}, "`num_segments` must be lengths that add up to 4"),
        ({"units": 4, "gamma": 0}, r"`gamma` must be a number in \(0, 1\]"),
        ({"units": 0}, "`units` must be an integer >= 1"),
        ({"units": 4, "weight_dropout": 1.0}, r"`weight_dropout` must be a number in \[0, 1\)"),
    ):
        with pytest.raises(ValueError, match=message):
            SparseLSTM(**arguments)
    with pytest.raises(ValueError, match="has no weights yet"):
        SparseGRU(4).to_form()
