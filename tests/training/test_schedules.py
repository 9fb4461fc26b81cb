"""Values by the formula, and as Keras' learning rate."""

import keras
import numpy as np
import pytest

from kerascompact.training import EpochDecay, GeometricDecay


@pytest.mark.parametrize(("start", "end", "steps"), [(0.9, 0.1, 7), (0.1, 2.0, 1), (1.0, 1.0, 3)])
def test_values(start, end, steps):
    decay = GeometricDecay(start, end, steps)
    for step in (0, 1, 2, steps - 1, steps, steps + 1, 1000):
        expected = start * (end / start) ** min(step / steps, 1)
        np.testing.assert_allclose(float(decay(step)), expected, rtol=1e-6)  # float32


def test_equal_factors():
    values = [float(GeometricDecay(0.9, 0.1, 10)(step)) for step in range(11)]
    factors = np.divide(values[1:], values[:-1])
    np.testing.assert_allclose(factors, (0.1 / 0.9) ** 0.1, rtol=1e-5)


def test_config_and_keras_serialization():
    decay = GeometricDecay(0.9, 0.1, 7)
    assert decay.get_config() == {"start": 0.9, "end": 0.1, "steps": 7}
    schedules = keras.optimizers.schedules
    twin = schedules.deserialize(schedules.serialize(decay))
    assert type(twin) is GeometricDecay and twin.get_config() == decay.get_config()


def test_is_a_learning_rate():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(GeometricDecay(0.5, 0.125, 2)), "mse", jit_compile=False)
    rates = []
    for _ in range(3):
        rates.append(float(model.optimizer.learning_rate))
        model.fit(np.ones((1, 2)), np.ones((1, 1)), verbose=0)
    assert rates == [0.5, 0.25, 0.125]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 0}, "`start` must be a finite number > 0"),
        ({"start": "1"}, "`start` must be a finite number > 0"),
        ({"end": -1}, "`end` must be a finite number > 0"),
        ({"end": float("inf")}, "`end` must be a finite number > 0"),
        ({"steps": 0}, "`steps` must be an integer >= 1"),
        ({"steps": 1.5}, "`steps` must be an integer >= 1"),
    ],
)
def test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        GeometricDecay(**{"start": 1.0, "end": 0.1, "steps": 3, **change})


@pytest.mark.parametrize(("factor", "hold"), [(0.5, 4), (0.6, 0), (1.0, 2)])
def test_epoch_decay_is_that_of_zarembas_code(factor, hold):
    decay = EpochDecay(2.0, factor, hold, steps_per_epoch=7)
    for epoch in range(8):
        expected = 2.0 * factor ** max(epoch + 1 - hold, 0.0)
        for step in (7 * epoch, 7 * epoch + 6):
            np.testing.assert_allclose(float(decay(step)), expected, rtol=1e-6)  # float32


def test_epoch_decay_serializes_and_refuses_nonsense():
    decay = EpochDecay(1.0, 0.5, 4, 10)
    schedules = keras.optimizers.schedules
    twin = schedules.deserialize(schedules.serialize(decay))
    assert type(twin) is EpochDecay and twin.get_config() == decay.get_config()
    for name, bad in {"start": 0, "factor": 1.5, "hold": -1, "steps_per_epoch": 0}.items():
        with pytest.raises(ValueError, match=f"`{name}` must be"):
            EpochDecay(**{**decay.get_config(), name: bad})
