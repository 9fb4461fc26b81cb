"""The row of a run against its parts, each computed another way."""

import json

import keras
import numpy as np
import pytest

from kerascompact import tflite
from kerascompact.datasets import from_texts
from kerascompact.tasks.classification import MODELS, encode, train
from kerascompact.tasks.measure import accuracy, measure
from kerascompact.tasks.methods import build_embedding
from tiny_task import dataset

DATA = encode(dataset(), size=30, sequence_length=6)


@pytest.fixture(scope="module", params=["standard", "mixture"])
def trained(request):
    sizes = {"clusters": 5, "unique": 20} if request.param == "mixture" else {}
    model = MODELS["mean"](build_embedding(request.param, 30, 8, **sizes), 3)
    random = np.random.default_rng(0)
    for weight in model.trainable_weights:  # as large as those of a training, which takes longer
        weight.assign(random.normal(size=weight.shape))
    return request.param, model


@pytest.mark.few(1)
def test_accuracy_equals_numpy(trained):
    _, model = trained
    outputs = np.asarray(model(DATA.test.ids))
    assert accuracy(model, DATA.test) == np.mean(outputs.argmax(1) == DATA.test.labels)


@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", ["float32", "int8_tables"])
def test_row(trained, recipe):
    method, model = trained
    row, frozen = measure(model, DATA, recipe, sequence_length=6)
    data = frozen.file
    assert json.loads(json.dumps(row)) == row
    assert row["recipe"] == recipe and row["test_rows"] == 60
    assert row["hard_accuracy"] == accuracy(model, DATA.test)
    assert row["file_accuracy"] == row["keras_accuracy"]  # the same argmax in every row
    assert row["argmax_agreement"] == 1.0 and row["largest_difference"] <= 1e-4
    assert (row["soft_accuracy"] is None) == (method == "standard")
    assert row["file_bytes"] == len(data)
    assert row["vocabulary_bytes"] == DATA.vocabulary.num_bytes
    assert row["microseconds"] > 0
    # 30 words: 20 of their own, 10 that point into 5 clusters with 3 bits; width 8
    floats = 30 * 8 if method == "standard" else (20 + 5) * 8
    pointers = 0 if method == "standard" else 10 * 3
    paper = (32 * floats + pointers) / 8
    assert row["embedding_parameters"] == floats
    head = 4 * (8 * 3 + 3)
    assert row["paper_bytes"] == paper
    assert row["embedding_mb"] == pytest.approx(paper / 2**20)
    assert row["model_mb"] == pytest.approx((paper + head) / 2**20)
    assert row["other_weight_bytes"] == head
    scales = 4 * 8 * (1 if method == "standard" else 2)
    int8 = (8 * floats + pointers) / 8 + scales
    assert row["stored_bytes"] == (int8 if recipe == "int8_tables" else paper)
    assert tflite.read_metadata(data)["labels"] == ["good", "bad", "odd"]


@pytest.mark.slow
def test_kd_codes_and_low_rank_are_counted_as_in_their_paper():
    """N D log2 K + 32 (K D d' + C) bits, C = 2 d' of batch normalization; 32 r (N + d)."""
    sizes = {"cardinality": 4, "code_length": 3, "batch_norm": True}
    model = MODELS["mean"](build_embedding("kd", 30, 8, **sizes), 3)
    row, _ = measure(model, DATA, sequence_length=6)
    assert row["embedding_parameters"] == 4 * 3 * 8 + 2 * 8
    assert 8 * row["paper_bytes"] == 30 * 3 * 2 + 32 * (4 * 3 * 8 + 2 * 8)
    assert 8 * row["stored_bytes"] == 30 * 3 * 2 + 32 * 4 * 3 * 8  # normalization is folded
    assert row["hard_accuracy"] == row["file_accuracy"] and row["soft_accuracy"] is not None
    model = MODELS["mean"](build_embedding("low_rank", 30, 8, ratio=0.5), 3)
    row, _ = measure(model, DATA)
    assert row["embedding_parameters"] == 3 * (30 + 8) == row["paper_bytes"] / 4
    assert row["soft_accuracy"] is None


@pytest.mark.slow
def test_is_json(trained):
    row, _ = measure(trained[1], DATA)
    assert json.loads(json.dumps(row)) == row


@pytest.mark.slow
def test_several_labels_without_test_rows():
    texts, labels = ["good", "bad", "good bad", "so"] * 10, [["g"], ["b"], ["g", "b"], []] * 10
    data = encode(from_texts(texts, labels, dev=0.2), size=None, sequence_length=2)
    keras.utils.set_random_seed(0)
    model = MODELS["mean"](build_embedding("standard", 5, 4), 2, multi_label=True)
    train(model, data, epochs=4, batch_size=8, learning_rate=0.1)
    row, frozen = measure(model, data, "int8", sequence_length=2)
    outputs = model.predict(data.dev.ids, verbose=0)
    right = np.mean(((outputs >= 0.5) == data.dev.labels).all(axis=1))
    assert row["hard_accuracy"] == accuracy(model, data.dev) == right
    assert row["file_accuracy"] == right and row["test_rows"] == 8
    assert tflite.read_metadata(frozen.file)["multi_label"] is True
