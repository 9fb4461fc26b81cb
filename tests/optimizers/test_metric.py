"""Divisors of every adaptive optimizer, read off the steps that it makes."""

import keras
import numpy as np
import pytest

from kerascompact.optimizers import lazy
from kerascompact.optimizers.lazy import ELEMENTWISE
from kerascompact.optimizers.metric import divisors, has_metric, rate_factor

GRADIENT = np.array([[3.0, -1.0, 0.5], [0.1, 2.0, -4.0]], np.float32)
KINDS = [
    ("Adam", {}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {"weight_decay": 0.0}),
    ("Adagrad", {}),
    ("RMSprop", {}),
    ("RMSprop", {"centered": True}),
    ("Adadelta", {}),
    ("Adamax", {}),
]


@pytest.mark.parametrize("kind, config", KINDS)
def test_the_first_step_is_rate_times_gradient_over_divisors(kind, config):
    """There the mean of the gradients is the gradient, for those that take a mean of them."""
    optimizer = lazy(getattr(keras.optimizers, kind)(0.5, **config))
    variable = keras.Variable(np.zeros((2, 3), np.float32))
    optimizer.build([variable])
    factor = float(rate_factor(optimizer))
    before = divisors(optimizer, 0).numpy() if kind == "Adadelta" else None
    optimizer.apply([keras.ops.convert_to_tensor(GRADIENT)], [variable])
    found = divisors(optimizer, 0).numpy()
    if before is not None:  # its step divides by the mean square of the moves until then
        found *= np.sqrt(optimizer._accumulated_delta_vars[0] + 1e-7) / np.sqrt(1e-7)
    np.testing.assert_allclose(variable, -0.5 * factor * GRADIENT / found, rtol=1e-4)


def test_nadam_has_the_divisors_of_adam():
    slots = []
    for kind in (keras.optimizers.Adam, keras.optimizers.Nadam):
        optimizer, variable = kind(0.5), keras.Variable(np.zeros((2, 3), np.float32))
        optimizer.build([variable])
        assert float(rate_factor(optimizer)) == pytest.approx(np.sqrt(0.001), rel=1e-4)
        optimizer.apply([keras.ops.convert_to_tensor(GRADIENT)], [variable])
        slots.append(divisors(optimizer, 0).numpy())
    np.testing.assert_allclose(*slots, rtol=1e-4)  # Nadam rounds 1 - beta_2 to float32


@pytest.mark.parametrize("beta", [0.0, 0.9, 0.999, 0.9999999])
def test_the_factor_of_adam_is_as_exact_as_in_float64(beta):
    optimizer = keras.optimizers.Adam(beta_2=beta)
    for step in (1, 2, 1000, 10**7):
        optimizer.iterations.assign(step - 1)
        expected = np.sqrt(-np.expm1(step * np.log(beta))) if beta else 1.0
        assert float(rate_factor(optimizer)) == pytest.approx(expected, rel=1e-6)


def test_which_have_second_moments():
    without = {kind.__name__ for kind in ELEMENTWISE if not has_metric(kind())}
    assert without == {"SGD", "Ftrl", "Lion"}
