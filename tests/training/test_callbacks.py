import keras
import numpy as np
import pytest

from kerascompact.optimizers import Proximal
from kerascompact.optimizers.pending import caught_up
from kerascompact.training import CatchUp, ResetStates
from proximal_steps import LABELS, classifier

# Rows that are in the first or the last batch of an epoch only owe for the others at its end.
IDS = np.repeat([[0, 1], [2, 3], [4, 5]], 4, axis=0)[:, [0, 1, 0, 1, 0]]


@pytest.mark.few(1)
@pytest.mark.parametrize("metric", ["plain", "adaptive"])
def test_catch_up_keeps_what_was_evaluated(metric, tmp_path):
    """By `EarlyStopping` and in files of weights alone; the moments go on changing meanwhile."""
    model, found, losses = classifier(strength=0.1), [], iter([3.0, 1.0, 2.0])
    model.compile(Proximal(keras.optimizers.Adam(0.3), metric), "mse", jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    table = model.layers[0].table
    read = keras.callbacks.LambdaCallback(
        on_test_end=lambda logs: found.append(caught_up(table).numpy()),
        on_epoch_end=lambda epoch, logs: logs.update(val_loss=next(losses)),
    )
    stop = keras.callbacks.EarlyStopping("val_loss", patience=9, restore_best_weights=True)
    files = [tmp_path / f"{epoch}.weights.h5" for epoch in range(1, 4)]
    path = str(tmp_path / "{epoch}.weights.h5")
    save = keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
    data = (IDS, LABELS[: len(IDS)])
    options = dict(epochs=3, batch_size=4, shuffle=False, verbose=0)
    options |= dict(validation_data=data, validation_batch_size=len(IDS))
    model.fit(*data, callbacks=[read, CatchUp(), stop, save], **options)
    np.testing.assert_array_equal(table, found[1])
    np.testing.assert_array_equal(caught_up(table), found[1])
    again = classifier(strength=0.1)
    for file, expected in zip(files, found, strict=True):
        again.load_weights(file)
        np.testing.assert_array_equal(again.layers[0].table, expected)
    assert (found[1] == 0).any() and np.abs(found[1] - found[2]).max() > 0.1


def test_reset_states_starts_every_text_anew():
    model = keras.Sequential([keras.Input(batch_shape=(2, 3, 1))])
    model.add(keras.layers.SimpleRNN(2, stateful=True))
    model.compile("sgd", "mse", run_eagerly=True)
    x, y = np.ones((2, 3, 1), np.float32), np.zeros((2, 2), np.float32)
    once = model.test_on_batch(x, y)
    model.reset_metrics()
    assert model.test_on_batch(x, y) != once  # it goes on where it was
    again = model.evaluate(x, y, batch_size=2, verbose=0, callbacks=[ResetStates()])
    np.testing.assert_allclose(again, once, rtol=1e-6)
    states = []
    look = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: states.append(model.layers[0].states[0].numpy())
    )
    model.fit(x, y, batch_size=2, epochs=2, verbose=0, callbacks=[ResetStates(), look])
    assert all(not state.any() for state in states) and len(states) == 2
