"""Models that cannot be copied ship as copies do: as trained, and in float32."""

import keras
import numpy as np
import pytest

from kerascompact import compress, export
from kerascompact.runtime.interpreter import Interpreter

IDS = np.array([[1, 2, 3, 0]], np.int32)


class Tied(keras.layers.Layer):
    """Scores of the words whose table another layer has."""

    def __init__(self, embedding, **config):
        super().__init__(**config)
        self.embedding = embedding

    def call(self, vectors):
        return keras.ops.matmul(vectors, keras.ops.transpose(self.embedding.embeddings))


class Mixed(keras.Model):
    """A subclassed model of mixed precision, with scores in float32."""

    def __init__(self):
        super().__init__(dtype="mixed_float16")
        self.embedding = keras.layers.Embedding(9, 8, mask_zero=True, dtype="mixed_float16")
        self.lstm = keras.layers.LSTM(6, dtype="mixed_float16")
        self.scores = keras.layers.Dense(3, dtype="float32")

    def call(self, ids):
        return self.scores(self.lstm(self.embedding(ids)))


def test_a_layer_may_read_the_table_of_an_embedding():
    keras.utils.set_random_seed(0)
    ids = keras.Input((4,), dtype="int32", name="ids")
    embedding = keras.layers.Embedding(9, 8)
    model = keras.Model(ids, Tied(embedding, name="scores")(embedding(ids)), name="tied")
    frozen = export.freeze(model, "int8")
    report = frozen.verify(IDS)
    assert report.agreement == 1
    rounded = Interpreter(frozen.file).run({"ids": IDS})["scores"]
    np.testing.assert_allclose(rounded, model(IDS), atol=1e-3)  # vectors of at most 0.05, in int8
    reason = "'tied', in which 'DenseForm' object has no attribute 'embeddings'"
    with pytest.raises(ValueError, match=reason):
        compress.compress_model(model, compress.ScalarQuantization(4))


@pytest.mark.slow  # `test_verifier` has a short one of layers
def test_a_subclassed_model_of_mixed_precision_ships_in_float32():
    keras.utils.set_random_seed(0)
    model = Mixed()
    model(IDS)
    file = export.convert(model, "float32", sequence_length=4)
    assert export.verify(model, file, IDS).largest_difference < 1e-5
    assert model.lstm.cell.compute_dtype == model.compute_dtype == "float16"  # given back


class Half(keras.Model):
    """A subclassed model whose weights are of half precision, too."""

    def __init__(self):
        super().__init__()
        self.embedding = keras.layers.Embedding(9, 16)
        self.conv = keras.layers.Conv1D(40, 3)
        self.scores = keras.layers.Dense(30)

    def call(self, ids):
        return self.scores(keras.ops.max(self.conv(self.embedding(ids)), axis=1))


def test_kernels_of_half_precision_are_rounded_to_int8():
    keras.utils.set_random_seed(0)
    keras.config.set_dtype_policy("bfloat16")
    try:
        model = Half()
        model(IDS)
    finally:
        keras.config.set_dtype_policy("float32")
    before = [keras.ops.convert_to_numpy(weight) for weight in model.weights]
    frozen = export.freeze(model, "int8")
    file = frozen.convert(sequence_length=4)
    assert frozen.verify(IDS).agreement == 1
    assert len(file) < len(export.convert(model, "float32", sequence_length=4)) / 2
    assert {weight.dtype for weight in model.weights} == {"bfloat16"}  # given back
    for weight, value in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(weight), value)
