"""A training that was killed goes on."""

import keras
import numpy as np
import pytest

from benchmarks.lib import checkpoints
from kerascompact.text.stream import stateful_batches
from kerascompact.training import SparseSoftmaxCrossEntropy
from kerascompact.training.metrics import Perplexity

V = 12
TEXT = np.tile(np.random.default_rng(0).permutation(V), 12).astype(np.int32)


def model():
    keras.utils.set_random_seed(0)
    made = keras.Sequential(
        [
            keras.Input(batch_shape=(2, None), dtype="int32"),
            keras.layers.Embedding(V, 6),
            keras.layers.Dropout(0.2),  # whose masks go on, too
            keras.layers.LSTM(6, return_sequences=True, stateful=True),
            keras.layers.Dense(V),
        ]
    )
    made.compile(keras.optimizers.Adam(0.02), SparseSoftmaxCrossEntropy(), metrics=[Perplexity()])
    return made


def fit(made, folder, epochs):
    batches = stateful_batches(TEXT, 2, 6).cache()
    return checkpoints.fit(made, batches, batches, folder, epochs, verbose=0)


def test_a_killed_training_goes_on_after_its_last_epoch(tmp_path):
    whole = fit(model(), tmp_path / "whole", 4)
    assert len(whole["dev_by_epoch"]) == 4
    assert whole["dev_perplexity"] == pytest.approx(min(whole["dev_by_epoch"]), abs=0.01)
    assert whole["best_epoch"] == 4 and whole["dev_perplexity"] < V  # better than a guess
    (tmp_path / "cut").mkdir()
    log = tmp_path / "cut" / "epochs.csv"
    log.touch()  # as one killed in its first epoch leaves it
    fit(model(), tmp_path / "cut", 2)
    log.write_text(log.read_text() + "2,9,99,9,99,9\n")  # and one killed before a checkpoint
    again = fit(model(), tmp_path / "cut", 4)
    # the same steps from the same weights and moments, sums in another order
    np.testing.assert_allclose(again["dev_by_epoch"], whole["dev_by_epoch"], rtol=1e-3)
    assert again["seconds_per_epoch"] >= 0


def test_the_best_weights_are_kept_whatever_comes_after(tmp_path):
    first = model()
    fit(first, tmp_path, 2)
    best = (tmp_path / "best.weights.h5").read_bytes()
    # nothing is better than a perplexity of 1
    log = tmp_path / "epochs.csv"
    head, *lines = log.read_text().splitlines()
    place = head.split(",").index("val_perplexity")
    cells = lines[-1].split(",")
    cells[place] = "1.0"
    log.write_text("\n".join([head, *lines[:-1], ",".join(cells)]) + "\n")
    found = fit(model(), tmp_path, 3)
    assert found["best_epoch"] == 2 and len(found["dev_by_epoch"]) == 3
    assert (tmp_path / "best.weights.h5").read_bytes() == best
