"""Forms in reverse: the logits of all words are products with the table that a form stands for."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from form_examples import KINDS, V, codes_concat, codes_sum
from kerascompact.forms import CodebookForm, DenseForm, FactoredForm
from kerascompact.ops import vocabulary_chunks

each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
ROUNDING = 1e-5  # float32 sums of some ten products of size <= 10


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Several parts, the last one shorter."""
    monkeypatch.setattr(vocabulary_chunks, "GRAPH_CHUNK", 9)


def hidden(*shape, width, seed=3):
    return np.random.default_rng(seed).normal(size=(*shape, width)).astype(np.float32)


@pytest.mark.few(2)  # of several shapes; those of one shape are compared below
@each_kind
def test_multiplies_vectors_with_every_row(make):
    form, table = make()
    for shape in [(), (1,), (4,), (3, 5), (1, 5), (0,), (2, 1, 3)]:
        vectors = hidden(*shape, width=table.shape[1])
        found = form(vectors, reverse=True)
        assert found.shape == (*shape, V) and found.dtype == tf.float32
        np.testing.assert_allclose(found, vectors @ table.T, atol=ROUNDING)


# Every form of four bits, and every third of eight.
QUANTIZED = [(make, "int4") for make in KINDS.values()]
QUANTIZED += [(make, "int8") for make in list(KINDS.values())[::3]]


@pytest.mark.few(5)
@pytest.mark.parametrize(("make", "precision"), QUANTIZED)
def test_a_quantized_form_multiplies_with_the_rows_that_it_looks_up(make, precision):
    form = make()[0].stored_as(precision)
    table = form(np.arange(V)).numpy()
    vectors = hidden(2, 3, width=table.shape[1])
    np.testing.assert_allclose(form(vectors, reverse=True), vectors @ table.T, atol=ROUNDING)
    one = vectors[:1]  # as on a phone
    np.testing.assert_allclose(form(one, reverse=True), one @ table.T, atol=ROUNDING)


@pytest.mark.parametrize("make", [codes_sum, codes_concat])
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_codebook_that_all_positions_share(make, precision):
    form = make(shared=True)[0]
    form = form if precision == "float32" else form.stored_as(precision)
    table = form(np.arange(V)).numpy()
    vectors = hidden(4, width=table.shape[1])
    np.testing.assert_allclose(form(vectors, reverse=True), vectors @ table.T, atol=ROUNDING)


def test_scales_that_another_form_holds_do_not_count_twice():
    form = codes_concat()[0].stored_as("int8")
    bare, scale = form.unscaled()
    vectors = hidden(4, width=6)
    found = bare(vectors * scale, reverse=True)
    np.testing.assert_allclose(found, form(vectors, reverse=True), rtol=1e-5, atol=ROUNDING)


@pytest.mark.parametrize(
    ("kinds", "jit_compile"),
    [
        pytest.param(("remapped_shared", "hashed"), False, id="graph", marks=pytest.mark.slow),
        pytest.param(("codes_sum", "sparse"), True, id="XLA"),
        pytest.param(KINDS, False, id="graph, all", marks=pytest.mark.slow),
        pytest.param(KINDS, True, id="XLA, all", marks=pytest.mark.slow),
    ],
)
def test_in_a_graph_of_unknown_shape_with_a_gradient(kinds, jit_compile):
    """The forms in one function, which is compiled once."""
    made = {name: KINDS[name]() for name in kinds}
    widths = {name: table.shape[1] for name, (_, table) in made.items()}
    specs = {name: tf.TensorSpec((None, None, width)) for name, width in widths.items()}

    @tf.function(jit_compile=jit_compile, input_signature=[specs], autograph=False)
    def both(vectors):
        with tf.GradientTape() as tape:
            tape.watch(vectors)
            logits = {name: made[name][0](each, reverse=True) for name, each in vectors.items()}
        return logits, tape.gradient(logits, vectors)

    vectors = {name: hidden(2, 3, width=width) for name, width in widths.items()}
    logits, gradients = both(vectors)
    for name, (_, table) in made.items():
        product = vectors[name] @ table.T
        np.testing.assert_allclose(logits[name], product, atol=ROUNDING, err_msg=name)
        expected = np.broadcast_to(table.sum(axis=0), vectors[name].shape)
        # a sum of 23 rows
        np.testing.assert_allclose(gradients[name], expected, atol=10 * ROUNDING, err_msg=name)


@pytest.mark.few(12)
@each_kind
def test_gives_float32_logits_in_mixed_precision(make):
    form, table = make(dtype="mixed_float16")
    vectors = hidden(2, 3, width=table.shape[1])
    symbolic = form(keras.Input((None, table.shape[1]), dtype="float16"), reverse=True)
    assert (symbolic.shape, symbolic.dtype) == ((None, None, V), "float32")
    found = form(tf.cast(vectors, tf.float16), reverse=True)
    assert found.dtype == tf.float32
    expected = vectors.astype(np.float16).astype(np.float32) @ table.T
    np.testing.assert_allclose(found, expected, atol=ROUNDING)


def test_hands_on_the_mask_of_the_vectors_and_makes_none():
    form = DenseForm.from_arrays({"table": np.eye(3)}, input_dim=3, output_dim=3, mask_zero=True)
    vectors = tf.zeros((2, 4, 3))  # no mask may be made of these zeros
    assert getattr(form(vectors, reverse=True), "_keras_mask", None) is None
    mask = tf.constant([[True, False, False, True]] * 2)
    vectors._keras_mask = mask
    np.testing.assert_array_equal(form(vectors, reverse=True)._keras_mask, mask)
    assert form(np.array([[0, 1]]))._keras_mask.numpy().tolist() == [[False, True]]


@pytest.mark.few(4)
@each_kind
def test_refuses_vectors_of_another_width(make):
    form, table = make()
    wrong = table.shape[1] + 1
    for vectors in (np.zeros((2, wrong)), keras.Input((wrong,)), np.float32(1)):
        with pytest.raises(ValueError, match="`inputs` must be vectors of the embedding's width"):
            form(vectors, reverse=True)
    with pytest.raises(ValueError, match="`reverse` must be True or False"):
        form(np.zeros((2, table.shape[1])), reverse="yes")


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(("codes_sum", "factored", "remapped_shared", "hashed"), id="some"),
        pytest.param(KINDS, id="all", marks=pytest.mark.slow),
    ],
)
def test_a_model_that_calls_it_both_ways_holds_it_once(kinds, tmp_path):
    """One model of several forms: of arrays of its own, of parts, and one that computes."""
    ids, logits = keras.Input((None,), dtype="int32"), {}
    for name in kinds:
        form = KINDS[name](name=f"{name}_words")[0]
        logits[name] = form(form(ids), reverse=True)
    model = keras.Model(ids, logits)
    some = np.array([[1, 2, 3], [4, 5, 6]])
    expected = model(some)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    names = [layer.name for layer in loaded.layers]
    for name in kinds:
        assert names.count(f"{name}_words") == 1
        for again in (loaded, clone):
            found = again.get_layer(f"{name}_words")
            assert len(found._inbound_nodes) == 2  # called on ids and on vectors
    for again in (loaded(some), clone(some)):
        for name in kinds:
            np.testing.assert_array_equal(again[name], expected[name], err_msg=name)


def test_the_bias_of_a_factored_form_moves_all_logits_of_a_vector():
    part = CodebookForm.from_codes(np.array([0, 1, 1]), np.eye(2))
    form = FactoredForm.from_parts(part, np.array([[1.0, 0], [0, 1]]), np.array([10.0, 20.0]))
    found = form(np.array([[1.0, 2.0]]), reverse=True)
    np.testing.assert_allclose(found, [[51.0, 52.0, 52.0]])  # 1 * 11 + 2 * 20, 1 * 10 + 2 * 21
