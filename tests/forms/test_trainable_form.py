"""Integers that are trained: what training sees is what the settled form holds."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.keras_graph import all_layers
from kerascompact.forms import (
    CodebookForm,
    DenseForm,
    FactoredForm,
    PrefixTableForm,
    SplitForm,
    TrainableForm,
)
from kerascompact.layers import HashEmbedding, KDCodeEmbedding, TensorTrainEmbedding

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(12, 6)).astype(np.float32)
IDS = np.array([[0, 5, 5], [11, 3, 7]])


def dense():
    return DenseForm.from_arrays({"table": TABLE}, input_dim=12, output_dim=6)


def codes(**options):
    books = RANDOM.normal(size=(3, 4, 2 if options else 6)).astype(np.float32)
    return CodebookForm.from_codes(RANDOM.integers(0, 4, (12, 3)), books, **options)


def split():
    first = DenseForm.from_arrays({"table": TABLE[:4]}, input_dim=4, output_dim=6)
    rest = DenseForm.from_arrays({"table": TABLE[4:]}, input_dim=8, output_dim=6)
    return SplitForm(12, 6, [first, rest], num_reserved=2)


def frozen(layer):
    layer(IDS)
    return layer.to_form()


FORMS = {
    "dense": dense,
    "codes": codes,
    "codes side by side": lambda: codes(combine="concat"),
    "factored": lambda: FactoredForm.from_parts(codes(), RANDOM.normal(size=(6, 5))),
    "split": split,
    "hashed": lambda: frozen(HashEmbedding(12, 6, 4, num_frequent=2, seed=0)),
    "ragged": lambda: PrefixTableForm.from_table(TABLE, [4, 8], [6, 2]),
    "tensor train": lambda: frozen(TensorTrainEmbedding(12, 6, 2)),
}


def steps():
    return frozen(KDCodeEmbedding(12, 6, 4, 3, composition="lstm", seed=0))


def test_xla_differentiates_a_form_with_a_loop():
    latent = TrainableForm.over(steps().stored_as("int8"))
    weights = latent.trainable_weights

    def gradients():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(latent(IDS) ** 2)
        found = tape.gradient(loss, [weight.value for weight in weights])
        return [tf.convert_to_tensor(one) for one in found]

    compiled = tf.function(gradients, jit_compile=True)()
    assert len(weights) >= 3
    for one, same in zip(gradients(), compiled, strict=True):
        np.testing.assert_allclose(same, one, rtol=1e-4, atol=1e-6)


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]()


@pytest.mark.few(4)
@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_untrained_it_is_the_form_of_integers(form, precision):
    part = form.stored_as(precision)
    latent = TrainableForm.over(part)
    np.testing.assert_array_equal(latent(IDS), part(IDS))
    np.testing.assert_array_equal(latent.settled()(IDS), part(IDS))
    assert latent.storage() == part.storage() and latent.mask_zero == part.mask_zero
    assert all(weight.dtype == "float32" for weight in latent.trainable_weights)


@pytest.mark.few(1)
@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_training_sees_what_the_settled_form_holds(precision):
    """All forms in one model, which is trained once."""
    latent = {name: TrainableForm.over(make().stored_as(precision)) for name, make in FORMS.items()}
    before = {name: np.asarray(one(IDS)) for name, one in latent.items()}
    ids = keras.Input((3,), dtype="int32")
    vectors = keras.layers.Concatenate()([one(ids) for one in latent.values()])
    model = keras.Model(ids, vectors)
    rate = 100.0  # the mean is over all entries of all forms
    model.compile(keras.optimizers.SGD(rate), "mse", run_eagerly=True)
    model.train_on_batch(IDS, np.ones((2, 3, vectors.shape[-1])))
    for name, one in latent.items():
        after, settled = np.asarray(one(IDS)), one.settled()
        assert np.any(after != before[name]), name
        np.testing.assert_array_equal(settled(IDS), after, err_msg=name)
        # integers of that many bits, in the very arrays that the file will hold
        for inner in all_layers(settled):
            for table, largest in getattr(inner, "largest", {}).items():
                assert np.abs(np.asarray(getattr(inner, table)).astype(int)).max() <= largest
        assert settled.stored_as(precision) is settled


def test_the_gradient_goes_straight_through_and_stops_where_numbers_are_cut_off():
    latent = TrainableForm.over(dense().stored_as("int4"))
    (weight,) = latent.trainable_weights
    scale = np.asarray(latent.part.table_scale)
    weight.assign(np.where(np.arange(6) == 2, 9 * scale, np.asarray(weight)))  # past 7 steps
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(latent(IDS) * np.arange(1.0, 7.0, dtype=np.float32))
    gradient = tape.gradient(loss, weight.value)
    found = tf.math.unsorted_segment_sum(gradient.values, gradient.indices, 12).numpy()
    times = np.bincount(IDS.ravel(), minlength=12)[:, None]
    np.testing.assert_allclose(found, times * [1, 2, 0, 4, 5, 6], rtol=1e-6)


def test_a_step_reads_the_rows_of_the_batch_only():
    latent = TrainableForm.over(dense().stored_as("int8"))
    function = tf.function(lambda ids: latent(ids))
    graph = function.get_concrete_function(tf.TensorSpec((2, 3), tf.int32)).graph
    rounds = [op for op in graph.get_operations() if op.type == "Round"]
    assert [list(op.outputs[0].shape) for op in rounds] == [[2, 3, 6]]


def test_it_is_saved_and_goes_on(tmp_path):
    latent = TrainableForm.over(FORMS["factored"]().stored_as("int4"))
    model = keras.Sequential([keras.Input((3,), dtype="int32"), latent])
    model.compile("sgd", "mse", run_eagerly=True)
    model.train_on_batch(IDS, np.ones((2, 3, 5)))
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(IDS), model(IDS))
    again.train_on_batch(IDS, np.ones((2, 3, 5)))
    (other,) = again.layers
    np.testing.assert_array_equal(other.settled()(IDS), other(IDS))


def test_logits_are_of_the_rounded_table():
    latent = TrainableForm.over(dense().stored_as("int4"))
    hidden = RANDOM.normal(size=(2, 6)).astype(np.float32)
    expected = hidden @ np.asarray(latent(np.arange(12))).T
    np.testing.assert_allclose(latent(hidden, reverse=True), expected, rtol=1e-5, atol=1e-5)


def test_what_has_no_integers_is_refused():
    with pytest.raises(ValueError, match="part.*table of integers"):
        TrainableForm.over(dense())
