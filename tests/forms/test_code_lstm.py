"""The loop over codes against Keras' LSTM, and its bits."""

import keras
import numpy as np
import pytest

from form_examples import V, numbers, recurrent, some_codes
from kerascompact.forms import CodeLSTMForm, FactoredForm


@pytest.mark.parametrize("shared", [False, True])
def test_equals_the_sum_of_kerass_lstm(shared):
    keras.utils.set_random_seed(0)
    codes = some_codes(V, 6)
    books = numbers(*([] if shared else [6]), 5, 3)
    lstm = keras.layers.LSTM(4, return_sequences=True)
    vectors = np.stack([(books if shared else books[j])[codes[:, j]] for j in range(6)], axis=1)
    expected = keras.ops.sum(lstm(vectors), axis=1)
    weights = dict(zip(("kernel", "recurrent_kernel", "bias"), lstm.get_weights(), strict=True))
    form = CodeLSTMForm.from_codes(codes, books, **weights)
    # the same float32 products, added in another order, through six steps
    np.testing.assert_allclose(form(np.arange(V)), expected, atol=1e-6)
    np.testing.assert_allclose(form(np.arange(V)[None])[0], expected, atol=1e-6)
    np.testing.assert_allclose(
        form(np.arange(20).reshape(1, 4, 5))[0, 3, 4], expected[19], atol=1e-6
    )


def test_an_id_is_computed_once_however_often_it_occurs():
    form, table = recurrent()
    ids = np.array([[3, 3, 7], [7, 3, 0]])
    seen = []
    form.outputs = lambda ids: seen.append(ids.numpy().tolist()) or CodeLSTMForm.outputs(form, ids)
    np.testing.assert_allclose(form(ids), table[ids], atol=1e-5)
    assert seen == [[3, 7, 0]]


@pytest.mark.parametrize("shared", [False, True])
def test_storage_by_hand(shared):
    form, _ = recurrent(shared=shared)  # 3 letters of 5, width 3, 4 units
    books = (1 if shared else 3) * 5
    assert {array.name: array.total_bits for array in form.storage()} == {
        "codes": V * 3 * 3,
        "codebook": 32 * books * 3,
        "kernel": 32 * 3 * 16,
        "recurrent_kernel": 32 * 4 * 16,
        "bias": 32 * 16,
    }
    for precision, bits in (("int8", 8), ("int4", 4)):
        assert {array.name: array.total_bits for array in form.stored_as(precision).storage()} == {
            "codes": V * 3 * 3,
            "codebook": bits * books * (3 if bits == 8 else 4),
            "kernel": 8 * 3 * 16,
            "kernel_scale": 32 * 16,
            "recurrent_kernel": 8 * 4 * 16,
            "recurrent_kernel_scale": 32 * 16,
            "bias": 32 * 16,
        }


def test_kernels_are_rounded_after_they_took_the_scales():
    form, _ = recurrent()
    small = form.stored_as("int8")
    books = form.codebook.numpy()
    scale = np.abs(books).max(axis=0) / 127
    np.testing.assert_array_equal(small.codebook, np.rint(books / scale))
    for name, kernel in (
        ("kernel", scale[:, None] * form.kernel.numpy()),
        ("recurrent_kernel", form.recurrent_kernel.numpy()),
    ):
        step = np.abs(kernel).max(axis=0) / 127
        rounded = getattr(small, name).numpy() * getattr(small, f"{name}_scale").numpy()
        assert (np.abs(rounded - kernel) <= step / 2 * 1.0001).all()


def test_a_matrix_may_follow():
    part, table = recurrent()
    form = FactoredForm.from_parts(part, numbers(4, 2), bias=numbers(2))
    np.testing.assert_allclose(form(np.arange(V)), table @ numbers(4, 2) + numbers(2), atol=1e-5)
    names = [array.name for array in form.stored_as().storage()]
    assert names[:2] == ["part/codes", "part/codebook"] and names[-1] == "bias"


@pytest.mark.parametrize(
    ("name", "shape"), [("kernel", (4, 16)), ("recurrent_kernel", (4, 12)), ("bias", (12,))]
)
def test_refuses_weights_of_another_lstm(name, shape):
    weights = {"kernel": (3, 16), "recurrent_kernel": (4, 16), "bias": (16,), name: shape}
    weights = {key: np.zeros(value) for key, value in weights.items()}
    with pytest.raises(ValueError, match=rf"`{name}` must have the shape \(.*Received: \("):
        CodeLSTMForm.from_codes(some_codes(V), numbers(3, 5, 3), **weights)


def test_refuses_nan_and_wrong_arguments():
    weights = {"kernel": np.full((3, 16), np.nan), "recurrent_kernel": np.zeros((4, 16))}
    with pytest.raises(ValueError, match="`kernel` must hold finite numbers only"):
        CodeLSTMForm.from_codes(some_codes(V), numbers(3, 5, 3), bias=np.zeros(16), **weights)
    for change, message in (
        ({"width": 0}, "`width` must be an integer >= 1"),
        ({"code_length": 0}, "`code_length` must be an integer >= 1"),
        ({"cardinality": 1}, r"`cardinality` must be an integer in \[2, 65536\]"),
        ({"precision": "int2"}, "`precision` must be one of"),
    ):
        arguments = {"input_dim": 5, "output_dim": 4, "cardinality": 4, "code_length": 2}
        with pytest.raises(ValueError, match=message):
            CodeLSTMForm(**{**arguments, "width": 3, **change})
