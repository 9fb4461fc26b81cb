"""A run that is restarted ends where one without a break ends."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import layers
from kerascompact.optimizers import Proximal
from kerascompact.training import (
    Backup,
    GeometricDecay,
    MagnitudePruning,
    SampledSoftmaxCrossEntropy,
    TemperatureAnnealing,
)

IDS = np.random.default_rng(0).integers(1, 9, (8, 5))


def model():
    keras.utils.set_random_seed(3)
    ids = keras.Input((5,), dtype="int32")
    vectors = layers.AnchorTransformEmbedding(9, 4, num_anchors=3, l1_weight=0.05)(ids)
    hidden = keras.layers.Flatten()(keras.layers.Dropout(0.5)(vectors))
    made = keras.Model(ids, layers.WordLogits(9)(keras.layers.Dense(4)(hidden)))
    sgd = Proximal(keras.optimizers.SGD(0.1, momentum=0.9))
    made.compile(sgd, SampledSoftmaxCrossEntropy(4, seed=1), run_eagerly=True)
    return made


def fit(made, backup, epochs, **options):
    options = {"initial_epoch": backup.epoch, "callbacks": [backup], "shuffle": False} | options
    made.fit(IDS, IDS[:, 0], batch_size=8, epochs=epochs, verbose=0, **options)
    return made.get_weights() + [variable.numpy() for variable in made.optimizer.variables]


def test_a_restarted_run_goes_on_where_it_was(tmp_path):
    expected = fit(model(), Backup(tmp_path), 3)
    # as if killed in the third epoch, in a write that did not end
    (tmp_path / "worker-0/3").rename(tmp_path / "worker-0/3.tmp")
    again = Backup(tmp_path)
    assert again.epoch == 2
    for found, value in zip(fit(model(), again, 3), expected, strict=True):
        np.testing.assert_array_equal(found, value)
    assert sorted(path.name for path in again.directory.iterdir()) == ["2", "3"]


def annealed(callbacks, epochs):
    """Weights, logged temperatures and zeros of soft clusters and a kernel that is pruned."""
    keras.utils.set_random_seed(3)
    clusters = layers.ClusterEmbedding(9, 4, 3, straight_through=False, noise_scale=0.0)
    dense = keras.layers.Dense(6)
    parts = [keras.Input((5,), dtype="int32"), clusters, keras.layers.Flatten(), dense]
    made = keras.Sequential([*parts, keras.layers.Dense(1)])
    made.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=True)
    heat = TemperatureAnnealing(GeometricDecay(1.0, 0.1, steps=12))
    prune = MagnitudePruning(lambda step: (step < 2, 0.5), layers=[keras.layers.Dense])
    options = {"batch_size": 2, "epochs": epochs, "shuffle": False, "verbose": 0}
    history = made.fit(IDS, IDS[:, :1], callbacks=[heat, prune, *callbacks], **options).history
    return made.get_weights(), history["temperature"], prune.sparsity()


class Killed(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise KeyboardInterrupt


def test_temperatures_and_zeros_go_on_after_keras_backup(tmp_path):
    def backup():
        return keras.callbacks.BackupAndRestore(tmp_path / "backup", delete_checkpoint=False)

    weights, heat, zeros = annealed([], 3)
    with pytest.raises(KeyboardInterrupt):
        annealed([backup(), Killed()], 3)
    again, rest, kept = annealed([backup()], 3)
    assert rest == heat[2:] and kept == zeros == 0.5
    for found, expected in zip(again, weights, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_what_does_not_fit_is_refused(tmp_path):
    backup = Backup(tmp_path)
    with pytest.raises(ValueError, match="`initial_epoch=backup.epoch`.*epoch 1 .* 0 epochs"):
        fit(model(), backup, 2, initial_epoch=1)
    with pytest.raises(ValueError, match=r"`strategy` must be a `tf.distribute.Strategy`"):
        Backup(tmp_path, "mirrored")
    other = Backup(tmp_path, tf.distribute.OneDeviceStrategy("/cpu:0"))
    with pytest.raises(ValueError, match="within the scope of the `strategy`"):
        fit(model(), other, 1)
