"""The common code: where every word starts, and who leaves it."""

import keras
import numpy as np
import pytest

from kerascompact.initializers import CommonCode
from kerascompact.layers import KDCodeEmbedding
from kerascompact.optimizers import LazyAdam


def test_letter_0_leads_by_the_margin():
    logits = np.asarray(CommonCode(4, margin=2.0, noise=0.5, seed=1)((50, 12))).reshape(50, 3, 4)
    lead = logits - 2.0 * np.eye(4)[0]
    assert np.abs(lead).max() <= 0.5 and lead.std() == pytest.approx(1 / np.sqrt(12), rel=0.1)
    assert len(np.unique(lead)) > 0.99 * lead.size  # two float32 draws may fall together


def test_a_seed_repeats():
    first, second = (np.asarray(CommonCode(4, seed=seed)((3, 8))) for seed in (1, 2))
    np.testing.assert_array_equal(first, CommonCode(4, seed=1)((3, 8)))
    assert not np.array_equal(first, second)


def test_config_and_clone():
    made = CommonCode(4, margin=0.5, noise=0.1, seed=3)
    again = keras.initializers.get(keras.initializers.serialize(made))
    assert type(again) is CommonCode and again.get_config() == made.get_config()
    assert made.clone().get_config() == made.get_config()


@pytest.mark.slow
def test_words_leave_it_only_if_they_are_met_often_enough():
    layer = KDCodeEmbedding(
        9, 4, 4, 3, logits_initializer=CommonCode(4, margin=1.0, seed=0), logit_scale=10.0
    )
    layer.build()
    assert not layer.codes().any()
    model = keras.Sequential([keras.Input((1,), dtype="int32"), layer, keras.layers.Flatten()])
    model.compile(LazyAdam(0.01), "mse", jit_compile=False)  # a logit moves by at most 0.1 per step
    target = np.array([[1.0, -1.0, 1.0, -1.0]])
    model.fit(np.array([[3]]), target, epochs=4, verbose=0)
    assert not layer.codes().any()
    model.fit(np.array([[3]]), target, epochs=100, verbose=0)
    codes = layer.codes()
    assert codes[3].any() and not np.delete(codes, 3, axis=0).any()


def test_a_saved_layer_knows_it(tmp_path):
    layer = KDCodeEmbedding(9, 4, 4, 3, logits_initializer=CommonCode(4))
    model = keras.Sequential([keras.Input((2,), dtype="int32"), layer])
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(again.layers[0].logits_initializer, CommonCode)


@pytest.mark.parametrize(
    "change, match",
    [
        ({"cardinality": 1}, r"`cardinality` must be an integer in \[2, 65536\]"),
        ({"margin": -1.0}, r"`margin` must be a finite number >= 0\."),
        ({"noise": 0.0}, r"`noise` must be a finite number > 0\."),
        ({"seed": 0.5}, "`seed` must be an integer >= 0"),
    ],
)
def test_refuses(change, match):
    with pytest.raises(ValueError, match=match):
        CommonCode(**{"cardinality": 4, **change})


def test_refuses_a_shape_that_letters_do_not_fill():
    with pytest.raises(ValueError, match="`shape` must be .*a multiple of 4 letters"):
        CommonCode(4)((3, 6))
