"""Half-normal numbers, wide as the rows say."""

import keras
import numpy as np
import pytest

from kerascompact.initializers import HalfNormal


@pytest.mark.parametrize(("stddev", "expected"), [(None, (2 / 400) ** 0.5), (0.5, 0.5)])
def test_has_the_moments_of_a_half_normal(stddev, expected):
    found = HalfNormal(stddev, seed=1)((400, 100)).numpy()
    assert found.min() > 0
    # 40,000 draws: each moment to 2 %
    np.testing.assert_allclose(found.mean(), expected * (2 / np.pi) ** 0.5, rtol=0.02)
    np.testing.assert_allclose(np.mean(np.square(found)), expected**2, rtol=0.02)


def test_keeps_its_config_and_seed():
    again = keras.initializers.get(keras.initializers.serialize(HalfNormal(0.5, seed=3)))
    np.testing.assert_array_equal(again((4, 5)), HalfNormal(0.5, seed=3)((4, 5)))
    assert np.any(HalfNormal()((4, 5)) != HalfNormal()((4, 5)))


@pytest.mark.parametrize(("name", "value"), [("stddev", 0), ("stddev", "1"), ("seed", -1)])
def test_refuses_wrong_arguments(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        HalfNormal(**{name: value})
