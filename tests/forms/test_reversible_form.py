"""Reversible forms: two tables or a cap, as `keras.layers.ReversibleEmbedding` has them."""

import keras
import numpy as np
import pytest

from form_examples import codebook, dense
from kerascompact import export
from kerascompact.compress import ScalarQuantization, compress_model
from kerascompact.core.storage import total_bits
from kerascompact.forms import LogitsForm, ReversibleForm

V, D = 23, 4
IDS = np.random.default_rng(0).integers(0, V, (2, 5))
HIDDEN = np.random.default_rng(1).normal(size=(2, 5, D)).astype("float32")


def test_looks_up_in_one_and_scores_with_the_other():
    (part, table), (head, rows) = dense(), codebook()
    form = ReversibleForm.over(part, head, soft_cap=2.0)
    np.testing.assert_array_equal(form(IDS), table[IDS])
    logits = HIDDEN @ rows.T
    np.testing.assert_allclose(form(HIDDEN, reverse=True), 2 * np.tanh(logits / 2), atol=1e-6)
    assert total_bits(form.storage()) == total_bits(part.storage()) + total_bits(head.storage())
    assert form.float32_bits == 2 * 32 * V * D
    stored = form.stored_as("int8")
    assert stored.part.precision == "int8" and stored.soft_cap == 2.0
    again = ReversibleForm.from_config(form.get_config())
    again.build()
    again.set_weights(form.get_weights())
    np.testing.assert_array_equal(again(HIDDEN, reverse=True), form(HIDDEN, reverse=True))


def test_refuses_parts_of_other_sizes():
    with pytest.raises(ValueError, match="`head` must be a form of 23 rows of width 4"):
        ReversibleForm.over(dense()[0], dense(width=3)[0])
    with pytest.raises(ValueError, match="`soft_cap` must be"):
        ReversibleForm.over(dense()[0], soft_cap=0)


def reads_and_scores(options):
    layer = keras.layers.ReversibleEmbedding(V, D, name="words", mask_zero=True, **options)
    ids = keras.Input((5,), dtype="int32", name="ids")
    states = keras.layers.Dense(D, "tanh")(layer(ids))
    return keras.Model(ids, layer(states, reverse=True))


since_3_13 = pytest.mark.skipif(
    not hasattr(keras.layers, "ReversibleEmbedding"), reason="since Keras 3.13"
)
each_kind = pytest.mark.parametrize("options", [{"tie_weights": False}, {"logit_soft_cap": 1.5}])


@since_3_13
@each_kind
def test_of_keras_reversible_embedding(options):
    model = reads_and_scores(options)
    frozen = export.freeze(model, "float32").model
    assert type(frozen.get_layer("words")) is ReversibleForm
    np.testing.assert_allclose(frozen(IDS), model(IDS), atol=1e-6)
    small = compress_model(model, ScalarQuantization(4))
    form = small.get_layer("words")
    tables = 1 + ("tie_weights" in options)
    assert total_bits(form.storage()) == tables * (4 * V * D + 32 * D)


@pytest.mark.few(1)
@since_3_13
@each_kind
@pytest.mark.parametrize("recipe", ["float32", "int8", "int4"])
def test_a_file_agrees(options, recipe):
    assert export.freeze(reads_and_scores(options), recipe).verify(IDS).agreement == 1.0


def test_rounded_parts_leave_the_dtype():
    one, _ = dense()
    for form in (ReversibleForm.over(one, dtype="mixed_float16"),
                 LogitsForm.over(one, dtype="mixed_float16")):  # fmt: skip
        assert form.stored_as("int8").compute_dtype == "float16"
