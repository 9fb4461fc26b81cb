import keras
import tensorflow as tf

from kerascompact.core.symbolic import in_symbolic_scope


def test_tells_the_symbolic_stage_of_keras_from_a_call():
    """A release of Keras that names its scopes otherwise fails here."""
    seen = []

    class Look(keras.losses.Loss):
        def call(self, y_true, y_pred):
            seen.append(in_symbolic_scope())
            return keras.ops.mean(y_true - y_pred, axis=-1)

    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():  # Keras builds so for strategies only
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile("sgd", Look(), jit_compile=False)
        model.fit(keras.ops.zeros((2, 1)), keras.ops.zeros((2, 1)), verbose=0)
    assert seen[0] and not any(seen[1:]) and len(seen) > 1  # built, then trained
    with keras.SymbolicScope():
        assert in_symbolic_scope()
        assert in_symbolic_scope()  # looking does not leave the scope
    assert not in_symbolic_scope()
