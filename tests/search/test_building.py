"""Every model that a setting can name."""

import pytest

from kerascompact.search.building import build
from kerascompact.search.setting import MODELS, Setting


@pytest.mark.parametrize("model", MODELS)
def test_builds_each_model(model):
    setting = Setting(words=30, width=6, model=model, units=5, filter_sizes=(1, 2))
    built = build(setting, 30, 4, seed=3)
    assert built.output_shape == (None, 4)
    same = build(setting, 30, 4, seed=3)
    assert (built.get_weights()[0] == same.get_weights()[0]).all()
    assert Setting.of(setting.facts()) == setting


def test_the_last_column_is_the_weight_of_a_weighted_mean():
    built = build(Setting(words=30, width=6, model="weighted"), 30, 4)
    assert built.get_layer("embedding").output_dim == 6
    assert built.get_layer("mean").output.shape[-1] == 5
