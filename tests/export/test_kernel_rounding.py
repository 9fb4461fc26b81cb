"""Rounding of kernels: half a step away at most, and the same once it is done again."""

import keras
import numpy as np
import pytest

from kerascompact import export, tools
from kerascompact.export.kernel_rounding import as_integers, round_kernels, rounded


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_integers_and_scales_come_back_from_float32(axis):
    random = np.random.default_rng(axis)
    codes = random.integers(-127, 128, (6, 7, 8))
    codes[0, 0, 0], codes[1], codes[:, 2] = 127, 0, codes[:, 2] // 3
    shape = [1, 1, 1]
    shape[axis] = codes.shape[axis]
    scale = random.uniform(0.01, 3, shape).astype(np.float32)
    kernel = codes.astype(np.float32) * scale
    found, steps = as_integers(kernel, axis)
    # Where no number is 127 steps, the step is known up to the rounding of the largest.
    np.testing.assert_allclose(found * steps.reshape(shape), kernel, rtol=2e-7)


def test_other_numbers_are_no_integers():
    random = np.random.default_rng(0)
    assert as_integers(random.normal(size=(20, 5)).astype(np.float32), 1) is None
    zeros, scale = as_integers(np.zeros((20, 5), np.float32), 1)
    assert not zeros.any() and scale.tolist() == [1] * 5


def test_rounding_is_within_half_a_step():
    kernel = np.random.default_rng(0).normal(size=(50, 3, 4)).astype(np.float32)
    for axis in (0, 1, 2):
        rest = tuple(other for other in range(3) if other != axis)
        steps = np.abs(kernel).max(rest, keepdims=True) / 127
        codes, found = rounded(kernel, axis)
        assert codes.dtype == np.int8 and np.abs(codes).max() == 127
        assert np.all(np.abs(found - kernel) <= 0.501 * steps)
        again, same = rounded(found, axis)
        assert same is found and np.array_equal(again, codes)


@pytest.mark.parametrize(
    ("layer", "shape", "outputs"),
    [
        (keras.layers.Dense(20), (30,), 1),
        (keras.layers.Conv1D(20, 5), (9, 30), 2),
        (keras.layers.Conv1DTranspose(20, 5), (9, 30), 1),  # its kernel is (5, 20, 30)
        (keras.layers.DepthwiseConv1D(25, depth_multiplier=1), (30, 12), 1),
    ],
)
def test_a_layer_has_a_scale_for_each_output(layer, shape, outputs):
    rows = keras.Input(shape)
    model = keras.Model(rows, keras.layers.Flatten()(layer(rows)))  # no output layer itself
    before = layer.kernel.numpy()
    (found,) = [one for one in round_kernels(model) if one.variable is layer.kernel]
    others = tuple(axis for axis in range(before.ndim) if axis != outputs)
    steps = np.abs(before).max(others, keepdims=True) / 127
    assert np.all(np.abs(layer.kernel.numpy() - before) <= 0.501 * steps)
    np.testing.assert_array_equal(np.abs(found.codes).max(others), 127)


def test_layers_by_name_stay_float32_up_to_the_file():
    x = keras.Input((30,))
    inner = keras.Sequential([keras.Input((30,)), keras.layers.Dense(25, name="kept")])
    model = keras.Model(x, keras.layers.Dense(20, name="other")(inner(x)))
    recipe = export.Recipe("mine", "int8", "int8", float_layers=("kept",))
    frozen = export.freeze(model, recipe)
    kept, rounded = frozen.model.layers[1].get_layer("kept"), frozen.model.get_layer("other")
    np.testing.assert_array_equal(kept.kernel, inner.get_layer("kept").kernel)
    assert np.abs(rounded.kernel - model.get_layer("other").kernel).max() > 0
    file = frozen.convert()
    kernels = [t for t in tools.inspect(file).tensors if t.num_bytes >= 500]
    assert [(t.dtype, t.num_bytes) for t in kernels] == [("float32", 3000), ("int8", 500)]
    rows = np.random.default_rng(0).normal(size=(8, 30)).astype("float32")
    for one in (frozen, model):  # the recipe in the file says which layers
        assert export.verify(one, file, rows).largest_difference < 1e-5
    with pytest.raises(ValueError, match="`float_layers` must be names of layers of"):
        export.freeze(model, recipe._replace(float_layers=("kept", "lost")))
