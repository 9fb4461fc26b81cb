"""Anchors and their sparse transformation: the paper's formulas in NumPy, and the contract."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding, example, some_ids, trained
from kerascompact import export
from kerascompact.core.storage import total_bits
from kerascompact.layers import AnchorTransformEmbedding
from kerascompact.layers.embeddings.anchor_sets import AnchorSets
from kerascompact.optimizers import Proximal
from kerascompact.optimizers.pending import pending_of
from kerascompact.runtime.interpreter import Interpreter

V, D = 20, 4
SCALED = dict(mixture="softmax", logit_scale=10.0)
MIXTURE = dict(input_dim=V, output_dim=D, num_anchors=[3, 4], l1_weight=1e-4, **SCALED)
ROUNDING = 1e-5  # float32 sums of some ten products of size <= 10


def layer_of(num_anchors=6, transform=None, **config):
    """A layer with a sparse signed transformation, whose zeros stay."""
    config = {"l1_weight": 0.0, "nonnegative": False, **config}
    layer = AnchorTransformEmbedding(V, D, num_anchors, **config)
    layer.build()
    if transform is None:
        random = np.random.default_rng(0)
        transform = random.normal(size=layer.transform.shape)
        transform *= random.random(transform.shape) < 0.4
        transform[[0, 7]] = 0
    layer.transform.assign(transform)
    return layer


def softmax(rows):
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def table_by_hand(layer):
    transform, table = layer.transform.numpy().astype(float), np.zeros((V, D))
    for size, offset, anchors in zip(
        layer.sets.sizes, layer.sets.offsets, layer.anchors, strict=False
    ):
        part = transform[:, offset : offset + size]
        part = softmax(layer.logit_scale * part) if layer.mixture == "softmax" else part
        table += part @ anchors.numpy()
    return table


def test_keeps_the_embedding_contract():
    check_embedding(AnchorTransformEmbedding, file=False)  # test_a_file_looks_up_and_scores_words


@pytest.mark.slow
def test_a_softmax_over_two_sets_keeps_it_as_well(monkeypatch):
    monkeypatch.setattr(AnchorTransformEmbedding, "EXAMPLE", MIXTURE)
    check_embedding(AnchorTransformEmbedding)


@pytest.mark.few(3)
@pytest.mark.parametrize("mixture", [{}, {"mixture": "softmax"}, SCALED])
@pytest.mark.parametrize("num_anchors", [6, [2, 1, 3]])
def test_is_the_sum_over_sets(mixture, num_anchors):
    layer = layer_of(num_anchors, **mixture)
    table = table_by_hand(layer)
    np.testing.assert_allclose(layer(np.arange(V)), table, atol=ROUNDING)
    np.testing.assert_allclose(layer.to_form()(np.arange(V)), table, atol=ROUNDING)
    hidden = np.random.default_rng(1).normal(size=(2, 3, D)).astype(np.float32)
    np.testing.assert_allclose(layer(hidden, reverse=True), hidden @ table.T, atol=ROUNDING)
    frozen = layer.to_form()(hidden[:1], reverse=True)
    np.testing.assert_allclose(frozen, hidden[:1] @ table.T, atol=ROUNDING)
    picked = np.array([3, 3, 19])
    np.testing.assert_allclose(layer.output_rows(tf.constant(picked)), table[picked], atol=ROUNDING)


def test_a_softmax_freezes_to_its_entries_and_one_for_the_rest():
    layer = layer_of([3, 4], mixture="softmax")
    form, transform = layer.to_form(), layer.transform.numpy()
    entries = np.count_nonzero(transform)
    missing = [(part == 0).any(axis=1).sum() for part in np.split(transform, [3], axis=1)]
    assert 0 < sum(missing) < 2 * V  # a row of a set in which none is missing has no such entry
    assert form.num_entries == entries + sum(missing)
    assert form.num_anchors == 3 + 4 + 2
    assert layer.paper_bits() == 32 * (entries + 7 * D)


def softmax_of_extremes(nonnegative=False, logit_scale=1.0):
    """Two sets, rows around numbers from -3e38 to 3e38, and rows in which entries are missing."""
    centres = np.repeat([0, -5, -12, -16, -90, 12, 90, -3e38, 3e38, 0.0], 2)
    transform = np.random.default_rng(0).normal(size=(V, 7)) + centres[:, None]
    transform[::2] *= np.random.default_rng(1).random((V // 2, 7)) < 0.6
    transform[16:18, 2:5] *= -1  # both signs in a row
    transform[18] = 0
    transform[19, 1:] = [-30.0, -1.0, 0.0, -90.0, 90.0, -16.0]
    transform = np.maximum(transform, 0) if nonnegative else transform
    options = dict(nonnegative=nonnegative, mixture="softmax", logit_scale=logit_scale)
    return layer_of([3, 4], transform, **options)


@pytest.mark.parametrize(
    ("nonnegative", "logit_scale"),
    [
        (False, 10.0),
        (True, 1.0),
        pytest.param(False, 1.0, marks=pytest.mark.slow),
        pytest.param(True, 10.0, marks=pytest.mark.slow),
    ],
)
def test_a_softmax_of_any_numbers_freezes_to_what_it_evaluates(nonnegative, logit_scale):
    layer = softmax_of_extremes(nonnegative, logit_scale)
    table, form = table_by_hand(layer), layer.to_form()
    np.testing.assert_allclose(layer(np.arange(V)), table, atol=ROUNDING)
    np.testing.assert_allclose(form(np.arange(V)), table, atol=ROUNDING)
    assert np.abs(form.values.numpy()).max() <= 1  # no entry takes the scale of all others
    bits = 32 * (np.count_nonzero(layer.transform) + 7 * D)
    assert layer.paper_bits() == bits


@pytest.mark.slow  # it freezes to what is converted in `test_a_file_looks_up_and_scores_words`
@pytest.mark.parametrize("recipe", ["float32", "int8_tables", "int4_tables", "full_int8"])
def test_a_file_of_a_softmax_predicts_what_was_trained(recipe):
    signed, positive = softmax_of_extremes(logit_scale=10.0), softmax_of_extremes(nonnegative=True)
    ids = keras.Input((1,), dtype="int32", name="ids")
    model = keras.Model(ids, keras.layers.Concatenate(name="both")([signed(ids), positive(ids)]))
    words = np.arange(V, dtype=np.int32)[:, None]
    given = {"representative": words} if recipe == "full_int8" else {}
    file = Interpreter(export.convert(model, recipe, **given))
    found = np.concatenate([file.run({"ids": word[None]})["both"] for word in words])
    expected = model(words)
    # "full_int8" rounds products and sums as well
    steps = {"float32": 1e6, "int8_tables": 127, "int4_tables": 7, "full_int8": 127 / 2}[recipe]
    # An anchor is rounded by half a step of the largest; weights add up to 1, and the common
    # entry's anchor is a sum of up to 4.
    assert np.abs(found - expected).max() <= 2 * np.abs(expected).max() / steps


@pytest.mark.parametrize("mixture", [{}, SCALED])
def test_gradients_of_the_softmax_over_all_words_are_those_of_the_product(mixture):
    layer = layer_of([2, 4], **mixture)
    hidden = tf.constant(np.random.default_rng(1).normal(size=(5, D)), tf.float32)
    labels = tf.constant([1, 7, 7, 0, 19])
    weights = [weight.value for weight in layer.trainable_weights]

    def gradients(logits_of):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits_of())
            loss = tf.reduce_mean(losses)
        return [tf.convert_to_tensor(g) for g in tape.gradient(loss, weights)]

    found = gradients(lambda: layer(hidden, reverse=True, training=True))
    expected = gradients(
        lambda: tf.matmul(hidden, layer.output_rows(tf.range(V)), transpose_b=True)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=ROUNDING)


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_a_scaled_softmax_trains_to_zeros_and_saves(policy, tmp_path):
    """Proximal steps are those of `T`, whatever its factor in the softmax; the others by XLA."""
    keras.utils.set_random_seed(0)
    layer = AnchorTransformEmbedding(V, D, [3, 4], l1_weight=0.05, dtype=policy, **SCALED)
    model = keras.Sequential([keras.Input((5,), dtype="int32"), layer])
    jit_compile = policy != "mixed_float16"
    how = {"jit_compile": jit_compile, "run_eagerly": not jit_compile}
    model.compile(Proximal(keras.optimizers.Adam(0.1)), "mse", **how)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    ids = some_ids(AnchorTransformEmbedding, (64, 5))
    aims = np.random.default_rng(0).normal(size=(V, D))[ids]
    first = np.mean(np.square(np.asarray(model(ids), float) - aims))
    for _ in range(12):
        model.train_on_batch(ids, aims)
    assert np.mean(np.square(np.asarray(model(ids), float) - aims)) < 0.8 * first
    assert 0 < layer.sparse_transform().nnz < 7 * V
    table = table_by_hand(layer)
    # bfloat16 has 8 bits of the anchors' numbers of about 1
    near = ROUNDING if policy == "float32" else 2e-2
    np.testing.assert_allclose(np.asarray(layer(np.arange(V)), np.float32), table, atol=near)
    np.testing.assert_allclose(layer.to_form()(np.arange(V)), table, atol=near)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras").layers[-1]
    assert again.logit_scale == 10
    np.testing.assert_array_equal(again(np.arange(V)), layer(np.arange(V)))


def test_anchors_start_as_they_are_told():
    vectors = np.random.default_rng(0).normal(size=(3, D)).astype(np.float32)
    layer = AnchorTransformEmbedding(
        V, D, [3, 2], anchors=[vectors, None], anchor_ids=[[4, 0, 9], [9, 1]]
    )
    layer.build()
    np.testing.assert_array_equal(layer.anchors[0], vectors)
    rows = layer.transform.numpy()
    np.testing.assert_array_equal(rows[[4, 0, 1]], np.eye(5)[[0, 1, 4]])
    np.testing.assert_array_equal(rows[9], [0, 0, 1, 1, 0])  # an anchor of both sets
    others = np.delete(rows, [4, 0, 9, 1], axis=0)
    assert (others > 0).all() and others.max() < 6 * (2 / V) ** 0.5  # half-normal
    again = AnchorTransformEmbedding.from_config(layer.get_config())
    again.build()
    np.testing.assert_array_equal(again.transform.numpy()[[4, 0, 1, 9]], rows[[4, 0, 1, 9]])


@pytest.mark.parametrize("mixture", ["linear", "softmax"])
def test_anchors_start_orthogonal_in_each_set(mixture):
    layer = AnchorTransformEmbedding(V, D, [4, 4, 2, 9], mixture=mixture)
    layer.build()
    sets = [anchors.numpy().astype(float) for anchors in layer.anchors]
    for anchors in sets[:3]:
        np.testing.assert_allclose(anchors @ anchors.T, np.eye(len(anchors)), atol=1e-6)
    # more than d: the directions are covered alike, and the mean squared length is 1
    np.testing.assert_allclose(sets[3].T @ sets[3], 9 / D * np.eye(D), atol=1e-6)
    assert np.abs(sets[0] - sets[1]).max() > 0.1  # each set has a draw of its own
    again = AnchorTransformEmbedding.from_config(json.loads(json.dumps(layer.get_config())))
    again.build()
    first = again.anchors[0].numpy()
    np.testing.assert_allclose(first @ first.T, np.eye(4), atol=1e-6)
    assert np.abs(first - sets[0]).max() > 0.1


def test_a_schedule_of_its_strength_is_saved():
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([5], [0.0, 1e-3])
    layer = AnchorTransformEmbedding(V, D, 3, l1_weight=schedule, nonnegative=False)
    again = AnchorTransformEmbedding.from_config(json.loads(json.dumps(layer.get_config())))
    again.build()
    assert again.l1_weight.get_config() == schedule.get_config()
    assert pending_of(again.transform).rule.penalty_weight is again.l1_weight


def test_given_anchors_stay_if_they_are_not_trained():
    """Appendix B: sparse codes over vectors from elsewhere."""
    vectors = np.random.default_rng(0).normal(size=(6, D)).astype(np.float32)
    layer = AnchorTransformEmbedding(V, D, 6, anchors=vectors, trainable_anchors=False)
    model = keras.Sequential([keras.Input((5,), dtype="int32"), layer])
    model.compile(Proximal("adam"), "mse", run_eagerly=True)
    for _ in range(2):
        model.train_on_batch(some_ids(AnchorTransformEmbedding), np.ones((6, 5, D)))
    assert [weight.name for weight in layer.trainable_weights] == ["transform"]
    np.testing.assert_array_equal(layer.anchors[0], vectors)
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    np.testing.assert_array_equal(clone.layers[0].anchors[0], vectors)


def test_positive_pairs_are_not_penalised():
    pairs = np.array([[3, 1], [3, 5], [8, 0]])
    layer = AnchorTransformEmbedding(V, D, 6, l1_weight=100.0, positive_pairs=pairs)
    model = keras.Sequential([keras.Input((V,), dtype="int32"), layer])
    model.compile(Proximal(keras.optimizers.SGD(0.1)), "mse", run_eagerly=True)
    for _ in range(2):
        model.train_on_batch(np.arange(V)[None], np.ones((1, V, D)))
    found = layer.sparse_transform()
    where = np.array(found.nonzero()).T
    np.testing.assert_array_equal(where, pairs)
    again = AnchorTransformEmbedding.from_config(layer.get_config())
    np.testing.assert_array_equal(again.positive_pairs, pairs)


def test_trained_entries_are_exact_zeros_in_the_form_and_counted():
    layer = example(AnchorTransformEmbedding, l1_weight=0.5)
    model = keras.Sequential([keras.Input((5,), dtype="int32"), layer])
    model.compile(Proximal(keras.optimizers.SGD(0.15)), "mse", run_eagerly=True)
    ids = some_ids(AnchorTransformEmbedding, (64, 5))
    model.fit(ids, np.ones((64, 5, D)), batch_size=8, verbose=0)
    entries = layer.sparse_transform().nnz
    assert 0 < entries < 6 * V
    assert (layer.transform.numpy() >= 0).all()
    assert layer.to_form().num_entries == entries
    assert layer.paper_bits() == 32 * (entries + 6 * D)
    np.testing.assert_array_equal(layer.sparse_transform().toarray(), layer.to_form().transform())
    rows = 8 * 32 + 32
    assert total_bits(layer.to_form().storage()) == entries * (8 + 32) + rows + 32 * 6 * D + 32


def test_refuses_an_optimizer_without_the_proximal_step():
    model = keras.Sequential([keras.Input((5,), dtype="int32"), example(AnchorTransformEmbedding)])
    model.compile("adam", "mse", run_eagerly=True)
    with pytest.raises(ValueError, match="has a proximal rule"):
        model.train_on_batch(some_ids(AnchorTransformEmbedding), np.ones((6, 5, D)))


def test_negative_pairs_and_orthogonality_are_in_the_loss():
    layer = layer_of(
        [2, 4],
        negative_pairs=[[3, 5]],
        negative_pairs_weight=0.5,
        negative_samples=7,
        orthogonality_weight=0.25,
        embeddings_regularizer=keras.regularizers.L2(0.125),
    )
    layer(np.array([1]), training=True)
    rows = np.abs(layer.transform.numpy())
    negative = 0.5 * 7 * np.sum(rows[3] * rows[5])
    sets = [anchors.numpy().astype(float) for anchors in layer.anchors]
    shared = [np.abs(a @ a.T).sum() - np.trace(a @ a.T) for a in sets]
    squares = [np.square(a).sum() for a in sets]
    expected = negative + 0.25 * sum(shared) + 0.125 * sum(squares)
    np.testing.assert_allclose(sum(layer.losses), expected, rtol=1e-5)
    with tf.GradientTape() as tape:
        layer(np.array([1]), training=True)
        loss = layer.losses[0]
    gradient = tape.gradient(loss, layer.transform.value)
    assert set(gradient.indices.numpy().tolist()) <= {3, 5}  # rows, and no others
    assert not layer_of(negative_pairs=[[3, 5]]).draws


@pytest.mark.slow
def test_a_language_model_trains_with_a_sparse_gradient_in_its_softmax():
    keras.utils.set_random_seed(0)
    layer = example(AnchorTransformEmbedding, gradient_threshold=0.2, negative_pairs_weight=0.01,
                    negative_pairs=[[1, 2], [3, 4]], seed=0)  # fmt: skip
    ids = keras.Input((5,), dtype="int32")
    hidden = keras.layers.Dense(D, activation="tanh")(layer(ids))
    model = keras.Model(ids, layer(hidden, reverse=True))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(Proximal(keras.optimizers.Adam(0.05)), loss, jit_compile=True)
    data = some_ids(AnchorTransformEmbedding, (32, 5))
    first, *_, last = model.fit(data, data, batch_size=8, epochs=12, verbose=0).history["loss"]
    assert last < 0.8 * first
    frozen = export.freeze(model, "float32").model
    # T (A h) of some ten float32 products of size <= 10
    np.testing.assert_allclose(frozen(data), model(data, training=False), atol=1e-4)


def test_the_softmax_gradient_of_the_transformation_is_rows():
    layer = layer_of(gradient_threshold=0.5)
    hidden = tf.constant(np.random.default_rng(1).normal(size=(2, D)), tf.float32)
    with tf.GradientTape() as tape:
        logits = layer(hidden, reverse=True, training=True)
        loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits([4, 9], logits))
    gradient = tape.gradient(loss, layer.transform.value)
    assert isinstance(gradient, tf.IndexedSlices)
    assert {4, 9} <= set(gradient.indices.numpy().tolist()) and len(gradient.indices) < V


def test_a_file_looks_up_and_scores_words():
    layer = trained(AnchorTransformEmbedding).layers[1]
    ids = keras.Input((1,), dtype="int32", name="ids")
    model = keras.Model(ids, layer(layer(ids), reverse=True))
    frozen = export.freeze(model, "int8_tables")
    frozen.convert()
    found = frozen.verify(np.arange(V)[:, None], tolerance=1e-3)
    assert found.agreement == 1.0 and frozen.model.layers[1].precision == "int8"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_anchors": 0}, "`num_anchors` must be an integer >= 1"),
        ({"num_anchors": []}, "`num_anchors` must be an integer >= 1 or a list"),
        ({"num_anchors": [3, 2.5]}, "`num_anchors` must be an integer >= 1"),
        ({"l1_weight": -1.0}, "`l1_weight` must be a finite number >= 0"),
        ({"nonnegative": 1}, "`nonnegative` must be True or False"),
        ({"mixture": "product"}, "`mixture` must be one of 'linear', 'softmax'"),
        ({"logit_scale": 0, "mixture": "softmax"}, "`logit_scale` must be a finite number > 0"),
        ({"logit_scale": 2.0}, "`logit_scale` must be 1 with a linear mixture"),
        ({"anchor_ids": [1, 2]}, "`anchor_ids` must be 6 different ids"),
        ({"anchor_ids": [1, 1, 2, 3, 4, 5]}, "`anchor_ids` must be 6 different ids"),
        ({"anchor_ids": [1, 20, 2, 3, 4, 5]}, r"`anchor_ids` must lie in \[0, 20\)"),
        ({"num_anchors": [2, 4], "anchor_ids": [[1, 2]]}, "`anchor_ids` must be a list of 2"),
        ({"anchors": np.ones((6, 3))}, r"`anchors` must have the shape \(6, 4\)"),
        ({"positive_pairs": [[0, 6]]}, r"`positive_pairs\[:, 1\]` must lie in \[0, 6\)"),
        ({"positive_pairs": [0, 1]}, r"`positive_pairs` must be an array of pairs"),
        ({"positive_pairs": "abc"}, "`positive_pairs` must be pairs"),
        ({"negative_pairs": [[0, 20]]}, r"`negative_pairs\[:, 1\]` must lie in \[0, 20\)"),
        ({"negative_pairs_weight": -1}, "`negative_pairs_weight` must be a finite number >= 0"),
        ({"negative_samples": 0}, "`negative_samples` must be an integer >= 1"),
        (
            {"orthogonality_weight": np.nan},
            r"`orthogonality_weight` must be a finite number >= 0\.",
        ),
        ({"gradient_threshold": 1.0}, r"`gradient_threshold` must be a number in \[0, 1\)"),
        (
            {"gradient_threshold": 0.1, "mixture": "softmax"},
            "`gradient_threshold` must be 0 with",
        ),
        ({"seed": -1}, "`seed` must be an integer >= 0"),
    ],
)
def test_refuses_wrong_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        example(AnchorTransformEmbedding, **change)


def test_sets_know_their_columns():
    sets = AnchorSets([2, 3], V, D, [None, [5, 6, 7]])
    start = sets.with_one_hot_rows(tf.zeros((V, 5))).numpy()
    np.testing.assert_array_equal(np.argwhere(start), [[5, 2], [6, 3], [7, 4]])
    assert sets.get_config() == {
        "num_anchors": [2, 3],
        "anchor_ids": [None, [5, 6, 7]],
        "anchors": None,
    }
