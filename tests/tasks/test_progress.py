"""The bar of a training: where it is, what it says, and that it ends."""

import io

import keras
import numpy as np
import pytest
from rich.console import Console

from kerascompact.tasks.progress import TrainingProgress

X, Y = np.ones((6, 2), np.float32), np.ones(6, np.float32)


@pytest.fixture
def written(monkeypatch):
    """What all bars of a test write."""
    text = io.StringIO()
    console = Console(file=text, width=120)
    monkeypatch.setattr("rich.progress.get_console", lambda: console)
    return text


def fit(*callbacks, **options):
    model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy", metrics=["accuracy"], run_eagerly=True)
    model.fit(X, Y, batch_size=2, callbacks=list(callbacks), verbose=0, **options)


def test_shows_epochs_loss_and_dev(written):
    with TrainingProgress("train it") as progress:
        fit(progress, epochs=2, validation_data=(X, Y))
        (task,) = progress.bar.tasks
        assert task.description == "train it" and task.total == task.completed == 2
    shown = written.getvalue()
    assert "train it" in shown and "epoch 2/2  loss " in shown and "  dev " in shown


def test_moves_with_the_batches_of_an_epoch(written):
    seen = []

    class Look(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(progress.bar.tasks[0].completed)

    progress = TrainingProgress("train it")
    fit(progress, Look(), epochs=2)
    np.testing.assert_allclose(seen, np.arange(1, 7) / 3)
    assert "dev" not in progress.bar.tasks[0].fields["facts"]  # there was none
    assert not progress.bar.live.is_started


def test_an_interrupted_training_ends_the_bar(written):
    shown = []

    class Stop(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            shown.append(progress.bar.live.is_started)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), TrainingProgress("train it") as progress:
        fit(progress, Stop())
    assert shown == [True] and not progress.bar.live.is_started
