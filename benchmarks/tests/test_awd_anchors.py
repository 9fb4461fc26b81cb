"""AWD-LSTM around anchors, on a made-up text of few words: both phases, and a kill."""

import argparse

import numpy as np
import pytest
import tensorflow as tf

from benchmarks.anchors import awd_anchors
from benchmarks.anchors.awd_anchors import Spec
from benchmarks.data.ptb import Corpus
from benchmarks.sparseness import awd_specs
from kerascompact.training import SparseSoftmaxCrossEntropy

V = 20


def text(tokens, seed):
    """Every word is one or two after the one before it."""
    steps = np.random.default_rng(seed).integers(1, 3, tokens)
    return (np.cumsum(steps) % V).astype(np.int32)


CORPUS = Corpus("letters", tuple(map(str, range(V))), text(400, 0), text(60, 1), text(63, 2), "-")
TINY = awd_specs.Spec("dense", 8, 12, 1.5, None, 2, 1, 0.1, 3.0, 4, 8, 1, random_steps=True)


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(awd_anchors, "BASE", TINY)
    monkeypatch.setattr(awd_anchors.ptb, "load", lambda data, tokens: CORPUS)


def test_trains_finetunes_goes_on_and_counts_what_is_not_zero(monkeypatch, tmp_path):
    spec = Spec(12, 5e-4, 2, 1)
    awd_anchors.run(spec._replace(epochs=1, finetune=0), CORPUS, tmp_path)  # killed
    monkeypatch.setattr(awd_anchors, "SPECS", [spec])
    arguments = argparse.Namespace(data=None, seeds=None, epochs=None, work=tmp_path, verbose=0)
    (row,) = awd_anchors.benchmark("awd_anchors", arguments)
    assert len(row["train_dev_by_epoch"]) == 2 and len(row["finetune_dev_by_epoch"]) == 1
    assert row["finetune_averaged"] and 1.9 < row["test_perplexity"] < 25
    assert row["step_difference"] < 1e-4
    # averages keep the zeros of the proximal step
    assert 12 * 8 < row["embedding_parameters"] < 0.9 * V * 12 + 12 * 8
    assert "| 12 | 0.0005 | 2 + 1 | 1 |" in awd_anchors.table([row])


def test_vectors_begin_as_long_as_those_of_the_table():
    embedding = awd_anchors.build(Spec(64, 1e-6), 500, None).get_layer("embedding")
    rows = np.asarray(embedding(np.arange(500)))
    assert rows.std() == pytest.approx(0.1 / 3**0.5, rel=0.1)
    (anchors,) = embedding.anchors
    assert np.linalg.norm(anchors.numpy().T @ anchors.numpy() - np.eye(8), 2) < 1


def test_anchors_of_a_frame_stay_it_and_their_vectors_move_as_a_table_does(tmp_path):
    spec = Spec(12, 0.0, 2, 0, frozen=True)
    row = awd_anchors.run(spec, CORPUS, tmp_path, test=False)
    dense = awd_anchors.awd.build(TINY, V, 1)
    made = awd_anchors.build(spec, V, 1)
    (frame,) = made.get_layer("embedding").anchors
    np.testing.assert_allclose(frame.numpy().T @ frame.numpy(), np.eye(8), atol=1e-6)
    assert spec.label == "12, a frame" and row["embedding_parameters"] == 12 * (V + 8)
    table, *rest = dense.trainable_weights
    transform, *others = made.trainable_weights
    before = transform.numpy() @ frame.numpy()
    table.assign(before)
    for one, other in zip(others, rest, strict=True):
        one.assign(other)
    x, y = CORPUS.train[None, :9], CORPUS.train[None, 1:10]
    for model in (dense, made):
        with tf.GradientTape() as tape:
            loss = SparseSoftmaxCrossEntropy()(y, model(x))  # without dropout
        first = model.trainable_weights[0]
        first.assign(first - 0.5 * tf.convert_to_tensor(tape.gradient(loss, first.value)))
    assert np.abs(table - before).max() > 1e-4
    np.testing.assert_allclose(transform.numpy() @ frame.numpy(), table, atol=1e-6)


@pytest.mark.parametrize("anchors, neighbors", [(0, 0), (6, 3)])
def test_begins_where_the_trained_table_is(tmp_path, anchors, neighbors):
    spec = Spec(anchors, 0.0, 0, 1, neighbors=neighbors, rate=1e-6)  # too small to move
    row = awd_anchors.run(spec, CORPUS, tmp_path)
    dense, found = awd_anchors.trained(spec, CORPUS, tmp_path, 0), awd_anchors.BASE.folder(tmp_path)
    assert found.exists() and "train_dev" not in row
    made, start = awd_anchors.beginning(spec, CORPUS, tmp_path, 0)
    model = made(TINY, V, 1)
    model.set_weights(start)
    for one, other in zip(model.layers, dense.layers, strict=True):
        if one.name != "embedding":
            for weight, trained in zip(one.get_weights(), other.get_weights(), strict=True):
                np.testing.assert_array_equal(weight, trained)
    assert not model.get_layer("embedding").mask_zero  # id 0 is a word
    full = np.asarray(dense.get_layer("embedding")(np.arange(V)))
    error = np.linalg.norm(np.asarray(model.get_layer("embedding")(np.arange(V))) - full)
    assert error == 0 if not anchors else 0 < error < 0.5 * np.linalg.norm(full)
    numbers = V * 8 if not anchors else V * neighbors + 6 * 8
    assert row["embedding_parameters"] == numbers
    assert 1.9 < row["test_perplexity"] < 25
