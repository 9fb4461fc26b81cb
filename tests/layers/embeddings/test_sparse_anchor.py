"""Anchors with a transform in slots: the dense layer's formulas, the contract, moving entries."""

import itertools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import (
    check_base,
    check_embedding,
    check_files,
    example,
    optimizer,
    some_ids,
    trained,
)
from kerascompact import compress, export
from kerascompact.forms import SparseForm
from kerascompact.layers import AnchorTransformEmbedding, SparseAnchorEmbedding
from kerascompact.optimizers import Proximal
from kerascompact.optimizers.pending import pending_of

V, D = 20, 4
SCALED = dict(mixture="softmax", logit_scale=10.0)
MIXTURE = dict(
    input_dim=V, output_dim=D, num_anchors=[5, 4], entries=[3, 2], l1_weight=1e-4, **SCALED
)
ROUNDING = 1e-5  # float32 sums of some ten products of size <= 10


def signed(num_anchors=6, entries=3, **config):
    """A layer with signed entries, of which some are 0."""
    config = {"l1_weight": 0.0, "nonnegative": False, **config}
    layer = SparseAnchorEmbedding(V, D, num_anchors, entries, **config)
    layer.build()
    random = np.random.default_rng(0)
    values = random.normal(size=layer.values.shape)
    layer.values.assign(values * (random.random(values.shape) < 0.7))
    return layer


def transform_of(layer):
    dense = np.zeros((V, layer.sets.total))
    np.put_along_axis(dense, layer.columns.numpy().astype(int), layer.values.numpy(), axis=1)
    return dense


def dense_twin(layer):
    """`AnchorTransformEmbedding` with the same `T`."""
    twin = AnchorTransformEmbedding(
        V,
        D,
        layer.get_config()["num_anchors"],
        l1_weight=0.0,
        nonnegative=False,
        mixture=layer.mixture,
        logit_scale=layer.logit_scale,
    )
    twin.build()
    twin.transform.assign(transform_of(layer))
    for one, other in zip(twin.anchors, layer.anchors, strict=True):
        one.assign(other)
    return twin


def test_keeps_the_embedding_contract():
    # its form is that of AnchorTransformEmbedding, which has a short test of a file
    check_embedding(SparseAnchorEmbedding, xla=False, file=False)


@pytest.mark.slow
def test_a_softmax_over_two_sets_keeps_it_as_well(monkeypatch):
    monkeypatch.setattr(SparseAnchorEmbedding, "EXAMPLE", MIXTURE)
    check_embedding(SparseAnchorEmbedding)


@pytest.mark.slow
def test_its_files_load_elsewhere_and_it_trains_in_every_model(tmp_path):
    check_base(SparseAnchorEmbedding)
    check_files(SparseAnchorEmbedding, tmp_path)


@pytest.mark.few(3)
@pytest.mark.parametrize("mixture", [{}, {"mixture": "softmax"}, SCALED])
@pytest.mark.parametrize(("num_anchors", "entries"), [(6, 3), ([5, 2, 3], [3, 2, 1])])
def test_is_the_dense_layer_with_the_same_transform(mixture, num_anchors, entries):
    layer = signed(num_anchors, entries, **mixture)
    twin, ids = dense_twin(layer), np.array([[3, 3, 19], [0, 7, 3]])
    np.testing.assert_allclose(layer(ids), twin(ids), atol=ROUNDING)
    hidden = np.random.default_rng(1).normal(size=(2, 3, D)).astype(np.float32)
    expected = twin(hidden, reverse=True)
    np.testing.assert_allclose(layer(hidden, reverse=True), expected, atol=ROUNDING)
    np.testing.assert_array_equal(layer.sparse_transform().toarray(), transform_of(layer))
    assert layer.paper_bits() == twin.paper_bits()
    form, other = layer.to_form(), twin.to_form()
    assert isinstance(form, SparseForm) and form.num_entries == other.num_entries
    np.testing.assert_allclose(form(np.arange(V)), layer(np.arange(V)), atol=ROUNDING)


@pytest.mark.parametrize("mixture", [{}, SCALED])
def test_its_gradients_are_those_of_the_dense_layer_at_its_entries(mixture):
    layer = signed([5, 4], [3, 2], **mixture)
    twin, ids = dense_twin(layer), tf.constant([[3, 3, 19], [0, 7, 3]])
    hidden = tf.constant(np.random.default_rng(1).normal(size=(5, D)), tf.float32)

    def gradients(layer, weights):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(layer(ids, training=True) - 1.0))
            loss += tf.reduce_sum(tf.square(layer(hidden, reverse=True, training=True)))
        found = tape.gradient(loss, [weight.value for weight in weights])
        return [tf.convert_to_tensor(gradient).numpy() for gradient in found]

    values, *anchors = gradients(layer, [layer.values, *layer.anchors])
    transform, *expected = gradients(twin, [twin.transform, *twin.anchors])
    at_entries = np.take_along_axis(transform, layer.columns.numpy().astype(int), axis=1)
    # sums over 20 logits of some tens
    np.testing.assert_allclose(values, at_entries, rtol=1e-4, atol=1e-3)
    for one, other in zip(anchors, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("count", [1, 7, 12])
def test_the_first_columns_differ_in_a_row(count):
    layer = SparseAnchorEmbedding(50, D, 12, count, seed=3)
    layer.build()
    columns = layer.columns.numpy()
    assert columns.dtype == np.int16 and columns.min() >= 0 and columns.max() < 12
    assert all(len(set(row)) == count for row in columns.tolist())
    assert len(np.unique(columns)) == 12
    again = SparseAnchorEmbedding(50, D, 12, count, seed=3)
    again.build()
    np.testing.assert_array_equal(again.columns, columns)


def test_more_anchors_than_int16_can_count_take_int32():
    layer = SparseAnchorEmbedding(V, D, 2**15 + 1, 2)
    layer.build()
    assert layer.columns.dtype == "int32"
    with tf.GradientTape() as tape:  # sums into rows, in place of a matrix
        loss = tf.reduce_sum(layer(np.array([3, 4, 3]), training=True))
    gradient = tape.gradient(loss, layer.anchors[0].value).numpy()
    expected = np.zeros((2**15 + 1, D))
    for id, times in ((3, 2), (4, 1)):
        for column, value in zip(layer.columns.numpy()[id], layer.values.numpy()[id], strict=True):
            expected[column] += times * value
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)


def one_step(layer, ids, target, rate=0.1, **compiled):
    model = keras.Sequential([keras.Input(ids.shape[1:], dtype="int32"), layer])
    options = compiled if compiled.get("jit_compile") else {"run_eagerly": True}
    model.compile(Proximal(keras.optimizers.SGD(rate)), "mse", **options)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    model.train_on_batch(ids, target)
    return model


@pytest.mark.parametrize(
    ("jit_compile", "mixture", "nonnegative"),
    [
        (False, "softmax", True),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in itertools.product([False, True], ["linear", "softmax"], [False, True])
            if case != (False, "softmax", True)
        ),
    ],
)
def test_entries_of_zero_move_to_the_largest_gradient(nonnegative, mixture, jit_compile):
    layer = signed([6, 7], [2, 3], l1_weight=2.0, mixture=mixture, nonnegative=nonnegative)
    values = np.abs(layer.values.numpy()) if nonnegative else layer.values.numpy()
    values[[3, 5], 0] = 0.0
    values[5, 4] = 0.0
    layer.values.assign(values)
    ids, old = np.array([[3, 5, 3, 9]]), layer.columns.numpy().astype(int)
    twin = dense_twin(layer)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(twin(ids, training=True) - 1.0))
    gradient = tf.convert_to_tensor(tape.gradient(loss, twin.transform.value)).numpy()
    one_step(layer, ids, np.ones((1, 4, D)), jit_compile=jit_compile)
    score = -gradient if nonnegative else np.abs(gradient)
    new, left = layer.columns.numpy().astype(int), layer.values.numpy()
    moved = 0
    for row in range(V):
        for columns, slots in ((range(6), range(2)), (range(6, 13), range(2, 5))):
            free = [c for c in columns if c not in old[row]]
            best = iter(sorted(free, key=lambda c: -score[row, c]))
            for slot in slots:
                empty = row in (3, 5, 9) and left[row, slot] == 0
                expected = next(best) if empty else old[row, slot]
                assert new[row, slot] == expected, (row, slot)
                moved += empty
    assert moved >= 1
    assert all(len(set(row)) == 5 for row in new.tolist())


def test_a_step_that_moves_entries_does_not_change_vectors():
    """Two layers that differ only in `regrow_rows` have the same table after one step."""
    tables = []
    for rows in (0, 256):
        keras.utils.set_random_seed(0)
        layer = signed(l1_weight=0.5, regrow_rows=rows)
        one_step(layer, np.arange(V)[None], np.ones((1, V, D)))
        tables.append(layer(np.arange(V)).numpy())
    np.testing.assert_allclose(*tables, rtol=1e-5, atol=1e-6)  # threads add in any order


def test_words_of_a_batch_take_turns():
    layer = signed(l1_weight=100.0, regrow_rows=3)
    old = layer.columns.numpy()
    model = keras.Sequential([keras.Input((8,), dtype="int32"), layer])
    model.compile(Proximal(keras.optimizers.SGD(0.1)), "mse", run_eagerly=True)
    ids, changed = np.arange(8)[None], []
    for _ in range(3):
        model.train_on_batch(ids, np.ones((1, 8, D)))
        changed.append(
            {int(row) for row in np.flatnonzero((layer.columns.numpy() != old).any(axis=1))}
        )
    assert len(changed[0]) <= 3 and changed[0] < changed[1] <= set(range(6))
    assert changed[2] <= set(range(8)) and max(changed[2]) >= 6


@pytest.mark.parametrize("kind, start", [("Adam", 0.0), ("Adagrad", 0.1)])
def test_moments_of_a_moved_entry_begin_anew(kind, start):
    layer = signed(l1_weight=100.0)  # every entry of the batch is 0 after a step
    model = keras.Sequential([keras.Input((4,), dtype="int32"), layer])
    optimizer = getattr(keras.optimizers, kind)(0.1, use_ema=True)
    model.compile(Proximal(optimizer), "mse", run_eagerly=True)
    ids = np.array([[1, 2, 3, 3]])
    model.train_on_batch(ids, np.ones((1, 4, D)))
    slots = [v for v in model.optimizer.variables if tuple(v.shape) == tuple(layer.values.shape)]
    assert any("average" in slot.path for slot in slots)
    for slot in slots:
        wanted = 0.0 if "average" in slot.path else start
        np.testing.assert_allclose(slot.numpy()[[1, 2, 3]], wanted, err_msg=slot.path)


@pytest.mark.slow
def test_training_finds_the_columns_of_a_table():
    """Words are anchors 0 to 11, times two; entries begin anywhere."""
    keras.utils.set_random_seed(0)
    anchors = np.eye(12, dtype=np.float32)
    layer = SparseAnchorEmbedding(
        36, 12, 12, 2, anchors=anchors, trainable_anchors=False, l1_weight=0.01
    )
    model = keras.Sequential([keras.Input((36,), dtype="int32"), layer])
    model.compile(
        Proximal(keras.optimizers.Adam(0.05)),
        keras.losses.MeanSquaredError("sum"),
        jit_compile=False,
    )
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    ids, target = np.arange(36)[None], 2 * np.tile(anchors, (3, 1))[None]
    model.fit(tf.data.Dataset.from_tensors((ids, target)).repeat(150), shuffle=False, verbose=0)
    # the penalty takes lambda / 2 of an entry, and Adam a step's width
    np.testing.assert_allclose(layer.sparse_transform().toarray(), target[0], atol=0.06)


def test_positive_pairs_keep_their_columns_and_no_penalty():
    pairs = np.array([[3, 1], [3, 5], [8, 0]])
    layer = SparseAnchorEmbedding(V, D, 6, 3, l1_weight=100.0, positive_pairs=pairs)
    one_step(layer, np.arange(V)[None], np.ones((1, V, D)))
    np.testing.assert_array_equal(np.array(layer.sparse_transform().nonzero()).T, pairs)
    again = SparseAnchorEmbedding.from_config(json.loads(json.dumps(layer.get_config())))
    again.build()
    np.testing.assert_array_equal(again.positive_pairs, pairs)
    assert {1, 5} <= set(again.columns.numpy()[3].tolist())
    with pytest.raises(ValueError, match="`entries` must be at least 2"):
        SparseAnchorEmbedding(V, D, 6, 1, positive_pairs=pairs).build()


@pytest.mark.parametrize("entries, options", [(3, {}), (3, {"regrow_rows": 0}), (6, {})])
def test_pairs_keep_no_penalty_where_another_layer_has_the_weights(entries, options):
    """As after loading: columns are those of a start that the configuration does not have."""
    pairs = np.array([[3, 1], [3, 5], [8, 0]])
    options |= dict(l1_weight=100.0, positive_pairs=pairs)
    table = np.random.default_rng(0).normal(size=(V, D)).astype(np.float32)
    layer = SparseAnchorEmbedding(V, D, 6, entries, weights=table, **options)
    layer.build()
    again = SparseAnchorEmbedding.from_config(layer.get_config())
    again.build()
    assert not np.array_equal(again.columns, layer.columns)
    again.set_weights(layer.get_weights())
    again.values.assign(np.ones(again.values.shape))
    one_step(again, np.arange(V)[None], np.ones((1, V, D)))
    np.testing.assert_array_equal(np.array(again.sparse_transform().nonzero()).T, pairs)


def test_words_that_are_anchors_start_one_hot():
    layer = SparseAnchorEmbedding(
        V, D, [3, 2], 2, anchor_ids=[[4, 0, 9], [9, 1]], positive_pairs=[[4, 0], [4, 1], [2, 4]]
    )
    layer.build()
    rows = transform_of(layer)
    np.testing.assert_array_equal(rows[[4, 0, 1]], np.eye(5)[[0, 1, 4]])
    np.testing.assert_array_equal(rows[9], [0, 0, 1, 1, 0])
    assert (np.delete(layer.values, [4, 0, 9, 1], axis=0) > 0).all()


def test_negative_pairs_are_in_the_loss():
    layer = signed(
        negative_pairs=[[3, 5]],
        negative_pairs_weight=0.5,
        negative_samples=7,
        embeddings_regularizer=None,
    )
    layer(np.array([1]), training=True)
    rows = np.abs(transform_of(layer))
    np.testing.assert_allclose(sum(layer.losses), 0.5 * 7 * np.sum(rows[3] * rows[5]), rtol=1e-5)


@pytest.mark.parametrize("nonnegative", [True, False])
def test_starts_from_a_table(nonnegative):
    random = np.random.default_rng(0)
    table = random.normal(size=(60, 8)).astype(np.float32)
    layer = SparseAnchorEmbedding(60, 8, 12, 8, weights=table, nonnegative=nonnegative)
    layer.build()
    assert all(len(set(row)) == 8 for row in layer.columns.numpy().tolist())
    error = np.square(layer(np.arange(60)) - table).mean() / np.square(table).mean()
    assert error < (0.5 if nonnegative else 0.02)  # 8 signed weights fit 8 numbers
    with pytest.raises(ValueError, match="`num_anchors` must be one set with `weights`"):
        SparseAnchorEmbedding(60, 8, [6, 6], 3, weights=table)


def _kept(layer):
    return layer.columns.numpy() >= 0


@pytest.mark.few(1)
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_begins_where_a_form_is(precision):
    table = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    form = compress.KSVD(12, 3, max_neighbors=6).fit(table, np.arange(60)[::-1] + 1)
    form = form if precision == "float32" else form.stored_as(precision)
    layer = SparseAnchorEmbedding.from_form(form, l1_weight=0.0)
    every = np.arange(60)
    np.testing.assert_allclose(layer(every), form(every), atol=ROUNDING)
    np.testing.assert_allclose(layer.to_form()(every), form(every), atol=ROUNDING)
    had = form.transform() != 0
    lengths = np.count_nonzero(had, axis=1)
    assert lengths.max() == 6 > lengths.min()
    model = keras.Sequential([keras.Input((2,), dtype="int32"), layer, keras.layers.Flatten()])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    model.fit(every.reshape(-1, 2), np.ones((30, 16)), batch_size=10, epochs=2, verbose=0)
    after = layer.to_form()
    assert np.array_equal(after.transform() != 0, had) and not np.any(layer.values[~_kept(layer)])
    assert np.abs(after(every) - form(every)).max() > 0.1
    np.testing.assert_allclose(layer.sparse_transform().toarray(), after.transform(), rtol=1e-6)
    layer.values.assign_add(tf.ones_like(layer.values))  # as Muon moves what has no gradient
    assert np.array_equal(layer.to_form().transform() != 0, had)
    np.testing.assert_allclose(layer.to_form()(every), layer(every), atol=ROUNDING)
    layer = SparseAnchorEmbedding.from_form(form, l1_weight=0.0)
    shorter = SparseAnchorEmbedding.from_form(form, entries=2, l1_weight=0.0)
    kept = np.abs(shorter.sparse_transform().toarray())
    assert (np.count_nonzero(kept, axis=1) <= 2).all()
    assert kept.max() == np.abs(layer.sparse_transform()).max()
    with pytest.raises(ValueError, match="`form` must be a SparseForm"):
        SparseAnchorEmbedding.from_form(table)


def test_refuses_several_devices():
    strategy = tf.distribute.MirroredStrategy(["cpu:0"])
    assert strategy.num_replicas_in_sync == 1  # one is not several
    layer = example(SparseAnchorEmbedding)
    layer.build()

    class Two:
        num_replicas_in_sync = 2

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tf.distribute, "get_replica_context", lambda: Two())
        with pytest.raises(ValueError, match="`regrow_rows` must be 0 on several devices"):
            layer(np.array([1]), training=True)


def test_all_columns_have_nothing_to_move_to():
    layer = example(SparseAnchorEmbedding, entries=6)
    layer.build()
    assert layer.rule is None and pending_of(layer.values) is not None


@pytest.mark.slow
def test_a_language_model_trains_tied():
    keras.utils.set_random_seed(0)
    layer = example(SparseAnchorEmbedding, l1_weight=1e-3)
    ids = keras.Input((5,), dtype="int32")
    hidden = keras.layers.Dense(D, activation="tanh")(layer(ids))
    model = keras.Model(ids, layer(hidden, reverse=True))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        optimizer(SparseAnchorEmbedding, keras.optimizers.Adam(0.05)), loss, jit_compile=False
    )
    data = some_ids(SparseAnchorEmbedding, (32, 5))
    first, *_, last = model.fit(data, data, batch_size=8, epochs=12, verbose=0).history["loss"]
    assert last < 0.8 * first
    frozen = export.freeze(model, "float32").model
    # T (A h) of some ten float32 products of size <= 10
    np.testing.assert_allclose(frozen(data), model(data, training=False), atol=1e-4)


@pytest.mark.slow
def test_a_file_looks_up_words():
    layer = trained(SparseAnchorEmbedding).layers[1]
    ids = keras.Input((1,), dtype="int32", name="ids")
    model = keras.Model(ids, layer(ids))
    data = export.convert(model, "int8_tables")
    found = export.verify(model, data, np.arange(V)[:, None], tolerance=1e-3)
    assert found.agreement == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entries": 0}, r"`entries` must be an integer in \[1, 6\]"),
        ({"entries": 7}, r"`entries` must be an integer in \[1, 6\]"),
        ({"entries": [1, 2]}, "`entries` must be a number or a list of 1"),
        ({"entries": True}, "`entries` must be an integer"),
        ({"regrow_rows": -1}, "`regrow_rows` must be an integer >= 0"),
        ({"gradient_threshold": 0.5}, "`gradient_threshold` must be 0"),
        ({"num_anchors": 0}, "`num_anchors` must be an integer >= 1"),
    ],
)
def test_rejects(change, message):
    with pytest.raises(ValueError, match=message):
        example(SparseAnchorEmbedding, **change)
