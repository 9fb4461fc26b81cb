"""What every form keeps: ids of any kind, masks, types, files, and nothing to train."""

import functools
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import kerascompact.forms
from form_examples import (
    KINDS,
    SMALL,
    V,
    check_rows,
    dense,
    factored,
    in_a_graph_and_under_xla,
)
from kerascompact.forms import DenseForm, Form

each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


# What the base class does alone is tried on a form of its own arrays and on a form of forms.
two_kinds = pytest.mark.parametrize("make", [dense, factored])


@functools.cache
def made(make):
    """A form and its table, for tests that change neither."""
    return make()


@functools.cache
def named(make):
    """A form with a name, a mask and bits, its table, and the form of int8."""
    form, table = make(mask_zero=True, paper_bits=77, name="words")
    return form, table, form.stored_as()


@pytest.mark.few(8)  # the rows of every form are compared below, where each is rounded
@each_kind
def test_looks_up_ids_of_any_rank(make):
    form, table = made(make)
    # two of the kinds are tried with each rank, on which no `lookup` depends
    more = [(1,), (7,), (3, 5), (0,)] if make in (dense, factored) else []
    for shape in [(), (2, 3, 4), (2, 0), *more]:
        ids = np.random.default_rng(0).integers(0, V, shape)
        found = form(ids)
        assert found.dtype == tf.float32
        check_rows(make, found, table[ids])


@two_kinds
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32"]
)
def test_looks_up_ids_of_any_type(make, dtype):
    form, table = made(make)
    ids = np.arange(V).astype(dtype)
    check_rows(make, form(ids), table)
    if dtype in ("uint16", "float32"):
        check_rows(make, form(tf.constant(ids)), table)


@pytest.mark.few(1)
@in_a_graph_and_under_xla
def test_looks_up_every_id_in_a_graph_and_under_xla(kinds, jit_compile):
    """The forms in one function, which is compiled once."""
    forms = {name: made(KINDS[name])[0] for name in kinds}

    @tf.function(jit_compile=jit_compile, autograph=False)
    def every(ids):
        return {name: form(ids) for name, form in forms.items()}

    for name, rows in every(tf.range(V)).items():
        check_rows(KINDS[name], rows, made(KINDS[name])[1])


@pytest.mark.few(6)
@each_kind
def test_looks_up_ragged_ids(make):
    form, table = made(make)
    found = form(tf.ragged.constant([[1, 2, 3], [], [V - 1]], dtype=tf.int32))
    assert [len(row) for row in found] == [3, 0, 1]
    check_rows(make, found.flat_values, table[[1, 2, 3, V - 1]])


@two_kinds
@pytest.mark.parametrize("id", [-1, V, 2**31 - 1, -(2**31)])
def test_refuses_ids_out_of_range(make, id):
    form, _ = made(make)
    with pytest.raises(ValueError, match=rf"`ids` must lie in \[0, {V}\).*Received: an id of {id}"):
        form(np.array([[0, id]]))


@pytest.mark.few(4)
@each_kind
def test_refuses_ids_out_of_range_whatever_their_type(make):
    form, _ = made(make)
    message = rf"`ids` must lie in \[0, {V}\)"
    for ids in (np.array([2.0**40]), np.array([2**40]), np.array([200], "uint8")):
        with pytest.raises(ValueError, match=message):
            form(ids)
    with pytest.raises(ValueError, match=message):
        form(tf.ragged.constant([[1], [V]], dtype=tf.int64))


@pytest.mark.few(4)
@each_kind
def test_masks_id_zero_on_request_only(make):
    ids = np.array([[0, 3, 0], [1, 0, 0]])
    masked, plain = named(make)[0], made(make)[0]
    np.testing.assert_array_equal(masked.compute_mask(ids), ids != 0)
    np.testing.assert_array_equal(masked(ids)._keras_mask, ids != 0)
    assert plain.compute_mask(ids) is None
    assert masked.supports_masking


@pytest.mark.few(4)
@each_kind
def test_follows_the_mixed_precision_policy(make):
    form, table = make(dtype="mixed_float16")
    found = form(np.arange(V))
    assert found.dtype == tf.float16
    # stored and read as float32; a sum may round to the float16 beside
    np.testing.assert_array_equal(found, form.lookup(tf.range(V)).numpy().astype(np.float16))
    check_rows(make, form.lookup(tf.range(V)), table)
    np.testing.assert_array_equal(form.stored_as()(np.arange(V)).dtype, tf.float16)


@pytest.mark.few(8)
@each_kind
def test_output_shape_is_known_before_it_is_called(make):
    form, table = made(make)
    ids = keras.Input((None, 3), dtype="int32")
    assert form(ids).shape == (None, None, 3, table.shape[1])
    assert form.compute_output_shape((None, 7)) == (None, 7, table.shape[1])


@pytest.mark.few(6)  # each is made of its own config below, where its class is found
@each_kind
@pytest.mark.parametrize("quantized", [pytest.param(False, marks=pytest.mark.slow), True])
def test_config_makes_the_same_form(make, quantized):
    form = named(make)[2 if quantized else 0]
    twin = type(form).from_config(form.get_config())
    twin.build()
    twin.set_weights(form.get_weights())
    assert twin.get_config() == form.get_config()
    assert (twin.mask_zero, twin.paper_bits, twin.name) == (True, 77, "words")
    assert twin.storage() == form.storage()
    np.testing.assert_array_equal(twin(np.arange(V)), form(np.arange(V)))


def saved_and_loaded(forms, tmp_path):
    """What a model of all these forms gives, which is what it gives when it is loaded."""
    ids = keras.Input((V,), dtype="int32")
    model = keras.Model(ids, {name: form(ids) for name, form in forms.items()})
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for old, new in zip(model.weights, loaded.weights, strict=True):
        assert old.dtype == new.dtype
        np.testing.assert_array_equal(old, new)
    for form in forms.values():
        assert loaded.get_layer(form.name).storage() == form.storage()
    expected = {name: np.array(rows) for name, rows in model(np.arange(V)[None]).items()}
    for name, rows in loaded(np.arange(V)[None]).items():
        np.testing.assert_array_equal(rows, expected[name], err_msg=name)
    return expected


FILED = ("codebook", "factored", "sparse", "split", "ragged_permuted")


def test_keras_file_holds_the_same_values(tmp_path):
    """One model of several forms, of integers; `test_reversible` has a file of some in float32."""
    saved_and_loaded({f"{name}_small": KINDS[name]()[0].stored_as() for name in FILED}, tmp_path)


@each_kind
def test_is_registered_by_importing_the_package(make):
    form = named(make)[2]
    assert getattr(kerascompact.forms, type(form).__name__) is type(form)
    facts = keras.saving.serialize_keras_object(form)
    assert keras.saving.deserialize_keras_object(facts).get_config() == form.get_config()


@pytest.mark.slow
def test_keras_file_holds_the_same_values_in_a_fresh_process(tmp_path):
    """One model of all forms, as they are and of integers."""
    forms = {f"{name}_float": make()[0] for name, make in KINDS.items()}
    forms |= {f"{name}_small": make()[0].stored_as() for name, make in KINDS.items()}
    expected = saved_and_loaded(forms, tmp_path)
    np.savez(tmp_path / "expected.npz", **expected)
    # Importing the package registers every form; nothing else is needed.
    script = f"""
import keras, numpy as np, kerascompact.forms
found = keras.models.load_model("model.keras")(np.arange({V})[None])
expected = np.load("expected.npz")
assert set(found) == set(expected)
for name in expected:
    assert np.array_equal(found[name], expected[name]), name
print("all equal")
"""
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert "all equal" in run.stdout, run.stderr[-2000:]


def test_nothing_is_ever_trainable():
    """A model of several forms is trained; no form has a variable that could be."""
    every = {name: make()[0] for name, make in KINDS.items()}  # of its own: it sets a flag
    for form in every.values():
        assert form.weights and not form.trainable_variables
        form.trainable = True
        assert not form.trainable_variables
        form.trainable = False
    forms = [every[name] for name in ("factored", "split", "hashed")]
    ids = keras.Input((4,), dtype="int32")
    vectors = keras.layers.Concatenate()([form(ids) for form in forms])
    model = keras.Model(ids, keras.layers.Dense(1)(vectors))
    for form in forms:
        form.trainable = True  # as someone who unfreezes a whole model does
    assert len(model.trainable_variables) == 2  # those of the Dense layer
    before = [form.get_weights() for form in forms]
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(np.ones((8, 4), "int32"), np.ones((8, 4, 1)), verbose=0)
    for form, weights in zip(forms, before, strict=True):
        for old, new in zip(weights, form.get_weights(), strict=True):
            np.testing.assert_array_equal(old, new)


@each_kind
@pytest.mark.parametrize(
    ("precision", "largest"), [("int8", 127), pytest.param("int4", 7, marks=pytest.mark.slow)]
)
def test_quantize_makes_a_new_form_and_leaves_the_old_one(make, precision, largest):
    form, table, int8 = named(make)
    small = int8 if precision == "int8" else form.stored_as(precision)
    check_rows(make, form(np.arange(V)), table)
    if make in SMALL:
        assert small is form
        return
    assert type(small) is type(form) and small is not form
    assert small.stored_as(precision) is small  # nothing left to do
    assert (small.name, small.mask_zero) == ("words", True)
    error = rms(small(np.arange(V)) - table)
    # Rounding is off by a step / sqrt(12), root mean square. A step is a column's largest entry
    # / 127 (or 7); no normal number here is above 4 deviations, and tables and `H` are rounded.
    assert 0 < error <= 2 * 4 / largest / 12**0.5 * rms(table)


def rms(numbers):
    return np.sqrt(np.mean(np.square(numbers)))


@pytest.mark.few(3)
@each_kind
def test_quantizes_in_two_steps(make):
    """An int8 form goes on to int4, and an int4 form is not blown up to int8."""
    form, table = make()
    int4, by_way = form.stored_as("int4"), form.stored_as("int8").stored_as("int4")
    assert int4.stored_as("int8") is int4
    assert by_way.storage() == int4.storage()
    assert rms(by_way(np.arange(V)) - table) <= 1.5 * rms(int4(np.arange(V)) - table)
    # a form that is not rounded has the integers that it was given
    for name, array in arrays(int4).items() if int4 is not form else ():
        if array.dtype == np.int8 and not name.endswith(("kernel", "values")):
            assert np.abs(array).max() == 7


def arrays(form):
    return {weight.path: weight.numpy() for weight in form.weights}


@two_kinds
@pytest.mark.parametrize("precision", ["int2", "float32", 8, None])
def test_quantize_refuses_another_precision(make, precision):
    with pytest.raises(ValueError, match="`precision` must be one of 'int8', 'int4'"):
        make()[0].stored_as(precision)


@two_kinds
@pytest.mark.filterwarnings("ignore:Layer InputLayer does not have a `quantize` method")
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # within Keras
def test_keras_own_quantize_leaves_a_form_alone(make):
    """`keras.Model.quantize` works in place; it passes over a form with a warning."""
    form, table = make()
    dense = keras.layers.Dense(3)
    model = keras.Sequential([keras.Input((V,), dtype="int32"), form, dense])
    expected = table @ dense.get_weights()[0] + dense.get_weights()[1]
    with pytest.warns(UserWarning, match="does not have a `quantize` method"):
        model.quantize("int8")
    assert dense.kernel.dtype == "int8"  # it did quantize the layer that it can
    check_rows(make, form(np.arange(V)), table)
    found = model(np.arange(V)[None])[0]
    # Dense rounds kernel and inputs to 127 steps: each of <= 5 products of size <= 4 is off by
    # at most 2 half steps
    np.testing.assert_allclose(found, expected, atol=5 * 4 * 2 / 127 / 2 * 2)


def test_a_subclass_must_say_how_it_looks_up_and_quantizes():
    form = Form(3, 2)
    with pytest.raises(NotImplementedError, match="Form must define `lookup`"):
        form.lookup(tf.constant([0]))
    with pytest.raises(NotImplementedError, match="Form must define `quantized`"):
        form.stored_as()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"input_dim": 0}, "`input_dim` must be an integer >= 1"),
        ({"input_dim": 2.0}, "`input_dim` must be an integer >= 1"),
        ({"output_dim": -1}, "`output_dim` must be an integer >= 1"),
        ({"mask_zero": 1}, "`mask_zero` must be True or False"),
        ({"precision": "float16"}, "`precision` must be one of 'float32', 'int8', 'int4'"),
    ],
)
def test_refuses_wrong_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        DenseForm(**{"input_dim": 3, "output_dim": 2, **change})
