"""Integers of `model.quantize` in frozen models and files: every mode, every kind of layer."""

import functools

import keras
import numpy as np
import pytest
from keras import quantizers

from kerascompact import export
from kerascompact.core.keras_graph import Integers, float_kernel_of, integers_of, quantized_kind
from kerascompact.export.quantized_layers import form_of_quantized
from kerascompact.forms import AffineTableForm, EinsumForm, LogitsForm, ReversibleForm

RANDOM = np.random.default_rng(0)
AWQ = getattr(quantizers, "AWQConfig", None)
INT4 = getattr(quantizers, "Int4QuantizationConfig", None)
IDS = RANDOM.integers(0, 40, (6, 5))

pytestmark = [
    pytest.mark.skipif(INT4 is None or AWQ is None, reason="since Keras 3.14"),
    pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method"),
    pytest.mark.filterwarnings("ignore:Invalid quantization mode"),
]


def read_and_scored(tied=True, cap=None, width=16):
    words = keras.layers.ReversibleEmbedding(
        40, width, tie_weights=tied, logit_soft_cap=cap, name="words"
    )
    return keras.Input((5,), dtype="int32", name="ids"), words


def model_of(width=16):
    """Attention with both kinds of equations, two dense layers, and words that are scored."""
    ids, words = read_and_scored(width=width)
    x = words(ids)
    query = keras.layers.EinsumDense("btd,ndh->btnh", (None, 2, 8), bias_axes="nh", name="query")
    out = keras.layers.EinsumDense("btnh,nhd->btd", (None, width), bias_axes="d", name="out")
    x = keras.layers.Add()([x, out(query(x))])
    x = keras.layers.Dense(24, "relu", name="dense")(x)
    return keras.Model(ids, words(keras.layers.Dense(width, name="last")(x), reverse=True))


def frozen_as_it_was(model):
    """The frozen model, whose outputs are those of the quantized one."""
    frozen = export.freeze(model, "float32")
    np.testing.assert_allclose(frozen.model(IDS), model(IDS), atol=1e-5)  # sums in another order
    return frozen


def checked(model):
    """The frozen model, whose outputs and file are those of the quantized one."""
    frozen = export.freeze(model, "float32")
    report = frozen.verify(IDS, file=frozen.convert())
    assert report.trained_file.largest < 1e-5  # float32 sums in another order
    return frozen


slow = functools.partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("how", "check"),
    [
        slow({"mode": "int8"}, checked, id="int8"),  # the next test has it
        slow({"mode": "int4"}, checked, id="int4"),
        slow({"config": INT4 and INT4(block_size=None)}, checked, id="rows"),
        slow({"config": INT4 and INT4(block_size=8)}, checked, id="blocks of 8"),
        pytest.param({"config": INT4 and INT4(block_size=8)}, frozen_as_it_was, id="no file"),
    ],
)
def test_of_keras_modes(how, check):
    keras.utils.set_random_seed(0)
    model = model_of()
    model.quantize(**how)
    frozen = check(model)
    form = frozen.model.get_layer("words")
    assert type(form) is AffineTableForm
    np.testing.assert_array_equal(form.table.numpy(), model.get_layer("words").embeddings)
    kinds = [type(frozen.model.get_layer(name)) for name in ("query", "dense")]
    int8 = how.get("mode") == "int8"
    wanted = [keras.layers.EinsumDense, keras.layers.Dense] if int8 else [EinsumForm, LogitsForm]
    assert kinds == wanted


def test_int8_kernels_are_stored_as_they_are():
    model = model_of(width=64)
    model.quantize("int8")
    file = export.convert(model, "int8")
    assert export.verify(model, file, IDS).largest_difference < 1e-4  # sums in another order
    kernel = np.asarray(model.get_layer("dense").kernel)
    assert kernel.T.tobytes() in file


HEADS = pytest.mark.parametrize("options", [{"tied": False}, {"cap": 1.5}], ids=["head", "cap"])


def scoring(mode, options):
    ids, words = read_and_scored(**options)
    model = keras.Model(ids, words(keras.layers.Activation("tanh")(words(ids)), reverse=True))
    model.quantize(mode)
    return model


@HEADS
@pytest.mark.parametrize("mode", ["int8", pytest.param("int4", marks=pytest.mark.slow)])
def test_heads_and_caps(mode, options):
    frozen = frozen_as_it_was(scoring(mode, options))
    assert type(frozen.model.get_layer("words")) is ReversibleForm


@pytest.mark.slow
@HEADS
@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_heads_and_caps_in_a_file(mode, options):
    checked(scoring(mode, options))


class Blocks(keras.layers.Layer):
    """A block as GPTQ and AWQ want it."""

    def __init__(self, **config):
        super().__init__(**config)
        self.first = keras.layers.Dense(24, "relu", name="first")
        self.second = keras.layers.EinsumDense("btd,dnh->btnh", (None, 2, 8), name="second")

    def build(self, shape):
        self.first.build(shape)
        self.second.build((*shape[:-1], 24))

    def call(self, x):
        return keras.ops.reshape(self.second(self.first(x)), (-1, 5, 16))


MODES = pytest.mark.parametrize(
    ("kind", "options"),
    [
        (quantizers.GPTQConfig, {"group_size": 8}),
        (quantizers.GPTQConfig, {"group_size": -1, "weight_bits": 8}),
        (quantizers.GPTQConfig, {"group_size": 8, "activation_order": True}),
        (AWQ, {"group_size": 8}),
    ],
    ids=["gptq", "gptq of 8 bits", "gptq in order of activations", "awq"],
)


def calibrated(kind, options):
    """A model with a block of such integers, and the block."""
    keras.utils.set_random_seed(0)
    ids = keras.Input((5,), dtype="int32", name="ids")
    words, block = keras.layers.Embedding(40, 16), Blocks(name="block")
    model = keras.Model(ids, block(words(ids)))
    structure = {"pre_block_layers": [words], "sequential_blocks": [block]}
    config = kind(
        dataset=list(IDS[:, None]), tokenizer=lambda row: row, num_samples=4, sequence_length=5,
        quantization_layer_structure=structure, **options,
    )  # fmt: skip
    model.quantize(config.mode, config=config)
    return model, block


@pytest.mark.slow  # Keras takes seconds to measure; groups and their integers are tried below
@MODES
def test_of_calibrated_modes(kind, options):
    model, block = calibrated(kind, options)
    assert quantized_kind(block.first) == "dense"
    inner = frozen_as_it_was(model).model.get_layer("block")
    assert type(inner.first) is LogitsForm
    assert inner.first.part.precision == ("int8" if "weight_bits" in options else "int4")
    np.testing.assert_allclose(
        integers_of(block.first).numbers.T, float_kernel_of(block.first), rtol=1e-6
    )


@pytest.mark.slow
@MODES
def test_of_calibrated_modes_in_a_file(kind, options):
    checked(calibrated(kind, options)[0])


def test_groups_in_any_order_become_ordinary_numbers():
    layer = keras.layers.Dense(6, name="dense")
    layer.build((None, 16))
    layer.quantize(config=INT4(block_size=8))
    layer.g_idx.assign(np.arange(16) % 2)
    x = RANDOM.normal(size=(3, 16)).astype("float32")
    made = form_of_quantized(layer)
    assert type(made) is keras.layers.Dense
    np.testing.assert_allclose(made(x), layer(x), atol=1e-5)


def test_what_integers_stand_for():
    rows = RANDOM.integers(-8, 8, (3, 6)).astype(np.int8)
    scale, zero = RANDOM.uniform(1, 2, (3, 2)), RANDOM.integers(-8, 8, (3, 2))
    group, columns = np.array([0, 1, 0, 1, 0, 1]), RANDOM.uniform(1, 2, 6)
    found = Integers(rows, scale, zero, group, columns)
    wanted = (rows - zero[:, group]) * scale[:, group] * columns
    np.testing.assert_allclose(found.numbers, wanted, rtol=1e-6)
    assert found.bits == 4 and Integers(8 + rows, scale, None, group).bits == 8


def test_other_layers_stay_as_they_are():
    dense = keras.layers.Dense(3)
    dense.build((None, 4))
    assert form_of_quantized(dense) is None
    dense.enable_lora(1)
    dense.quantize("int4")
    assert quantized_kind(dense) is None


def test_int8_kernels_with_lora():
    ids = keras.Input((5,), dtype="int32", name="ids")
    x = keras.layers.Embedding(40, 16)(ids)
    x = keras.layers.EinsumDense("btd,dhk->bthk", (None, 2, 8), name="heads")(x)
    model = keras.Model(ids, keras.layers.Dense(3, name="dense")(x))
    model.quantize("int8")
    for name in ("heads", "dense"):
        model.get_layer(name).enable_lora(2, lora_alpha=3)
        model.get_layer(name).lora_kernel_b.assign(RANDOM.normal(size=(2, (8, 3)[name == "dense"])))
    frozen = checked(model)
    assert np.abs(np.asarray(model(IDS)) - frozen.model(IDS)).max() < 0.02  # of rounded inputs
