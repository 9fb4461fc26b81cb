"""The guard in a training loop of one's own; in `fit` see test_proximal_fit.py."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.optimizers import LazySGD, Proximal
from kerascompact.optimizers.pending import proximal_rule
from kerascompact.optimizers.rules import L1Rule


def guarded():
    layer = keras.layers.Layer(name="ant")
    variable = layer.add_weight((4, 2), "ones", name="transform")
    proximal_rule(layer, variable, L1Rule(0.5))
    return variable


@pytest.mark.parametrize("make", [keras.optimizers.SGD, LazySGD])
@pytest.mark.parametrize("traced", [False, True])
def test_names_the_variable_and_the_way_out(make, traced):
    variable, optimizer = guarded(), make(1.0)
    optimizer.build([variable])

    def step():
        optimizer.apply([tf.ones((4, 2))], [variable])

    message = r"Variable '.*transform' has a proximal rule.*`model.compile\(Proximal\(\"adam\"\)"
    with pytest.raises(ValueError, match=message):
        (tf.function(step, autograph=False) if traced else step)()
    if traced:  # raised before anything ran
        np.testing.assert_array_equal(variable, np.ones((4, 2)))


@pytest.mark.parametrize("named", [True, False])
def test_lets_the_proximal_step_pass_and_stays(named):
    variable, optimizer = guarded(), Proximal(keras.optimizers.SGD(1.0))
    optimizer.build([variable])
    optimizer.apply([-tf.ones((4, 2))], [variable] if named else None)
    np.testing.assert_allclose(variable, np.full((4, 2), 1.5))  # 1 + 1 - 0.5
    with pytest.raises(ValueError, match="has a proximal rule"):
        keras.optimizers.SGD(1.0).apply([tf.ones((4, 2))], [variable])


def test_an_optimizer_that_is_built_by_its_first_step_finds_the_rule():
    variable = guarded()
    Proximal(keras.optimizers.SGD(1.0)).apply([-tf.ones((4, 2))], [variable])
    np.testing.assert_allclose(variable, np.full((4, 2), 1.5))
