"""A dense layer over a form: its outputs, gradient-free copy, file and errors."""

import keras
import numpy as np
import pytest

from kerascompact import compress, export
from kerascompact.core.storage import total_bits
from kerascompact.forms import DenseForm, LogitsForm

RANDOM = np.random.default_rng(0)
KERNEL = RANDOM.normal(size=(6, 40)).astype("float32")
BIAS = RANDOM.normal(size=40).astype("float32")
X = RANDOM.normal(size=(5, 3, 6)).astype("float32")


def dense(table=KERNEL.T):
    return DenseForm.from_arrays({"table": table}, input_dim=40, output_dim=6)


def test_equals_a_dense_layer():
    layer = LogitsForm.over(dense(), BIAS, "softmax")
    wanted = keras.layers.Dense(40, activation="softmax")
    wanted.build((None, 6))
    wanted.set_weights([KERNEL, BIAS])
    np.testing.assert_allclose(layer(X), wanted(X), atol=1e-6)  # float32 sums of 6 products


def test_stores_the_part_and_the_bias():
    layer = LogitsForm.over(dense(), BIAS)
    assert total_bits(layer.storage()) == 32 * (40 * 6 + 40)
    assert total_bits(layer.stored_as("int8").storage()) == 8 * 40 * 6 + 32 * (6 + 40)
    assert total_bits(LogitsForm.over(dense()).storage()) == 32 * 40 * 6


def model_over(part):
    x = keras.Input((3, 6))
    masked = keras.layers.Masking()(x)
    return keras.Model(x, LogitsForm.over(part, BIAS, "softmax", name="head")(masked))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "compressor",
    [
        compress.ScalarQuantization(4),
        compress.ScalarQuantization(3),
        compress.ProductQuantization(3, 4),
        compress.TruncatedSVD(2),
    ],
    ids=["int4", "3 bits", "product", "svd"],
)
def test_a_file_agrees(compressor, tmp_path):
    model = model_over(compressor.fit(KERNEL.T))
    frozen = export.freeze(model, export.Recipe("head", "float32", "int8"))
    assert frozen.verify(X).agreement == 1.0
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(X), model(X))


def test_trains_with_its_integers():
    model = model_over(compress.ScalarQuantization(4).fit(KERNEL.T))
    aware = export.quantization_aware(model, "int4")
    loss = "sparse_categorical_crossentropy"
    aware.compile(keras.optimizers.SGD(1.0), loss, run_eagerly=True)
    first, *_, last = aware.fit(X, np.ones((5, 3)), epochs=5, verbose=0).history["loss"]
    after = export.freeze(aware, "int4").model.get_layer("head")
    assert type(after.part) is DenseForm and after.part.precision == "int4"
    assert last < first
    np.testing.assert_allclose(after(X), aware(X), atol=1e-6)


def test_refuses_a_part_of_another_size():
    with pytest.raises(ValueError, match="`part` must be a form of 41 rows of width 6"):
        LogitsForm(41, 6, dense())
