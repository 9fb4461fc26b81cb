import keras
import numpy as np

from kerascompact.training import ResetStates


def test_reset_states_starts_every_text_anew():
    model = keras.Sequential([keras.Input(batch_shape=(2, 3, 1))])
    model.add(keras.layers.LSTM(2, stateful=True))
    model.compile("sgd", "mse")
    x, y = np.ones((2, 3, 1), np.float32), np.zeros((2, 2), np.float32)
    once = model.evaluate(x, y, batch_size=2, verbose=0)
    assert model.evaluate(x, y, batch_size=2, verbose=0) != once  # it goes on where it was
    for _ in range(2):
        again = model.evaluate(x, y, batch_size=2, verbose=0, callbacks=[ResetStates()])
        np.testing.assert_allclose(again, once, rtol=1e-6)
    states = []
    look = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: states.append(model.layers[0].states[0].numpy())
    )
    model.fit(x, y, batch_size=2, epochs=2, verbose=0, callbacks=[ResetStates(), look])
    assert all(not state.any() for state in states) and len(states) == 2
