"""Noise-contrastive estimation as a loss: `fit`, evaluation, files, and what it refuses."""

import keras
import numpy as np
import pytest

from kerascompact.layers import AnchorTransformEmbedding, WordLogits, tied_softmax
from kerascompact.optimizers import Proximal
from kerascompact.training import NoiseContrastiveEstimation, SparseSoftmaxCrossEntropy

V, D = 50, 4
IDS = np.random.default_rng(0).integers(1, 20, (6, 5))
LABELS = (IDS + 1) % 20


def own():
    ids = keras.Input((None,), dtype="int32")
    return keras.Model(ids, WordLogits(V)(keras.layers.Embedding(V, D)(ids)))


def tied():
    ids = keras.Input((None,), dtype="int32")
    words = AnchorTransformEmbedding(V, D, 6, l1_weight=1e-4)
    hidden = keras.layers.Dense(D)(words(ids))
    return keras.Model(ids, tied_softmax(words, hidden, use_bias=True))


@pytest.mark.parametrize(
    ("make", "jit_compile"),
    [
        (own, False),
        pytest.param(own, True, marks=pytest.mark.slow),
        pytest.param(tied, False, marks=pytest.mark.slow),
    ],
)
def test_trains_in_fit_and_evaluates_by_the_full_softmax(make, jit_compile):
    keras.utils.set_random_seed(0)
    model = make()
    loss = NoiseContrastiveEstimation(20, log_normalizer=np.log(V), seed=1)
    model.compile(Proximal(keras.optimizers.Adam(0.05)), loss, jit_compile=jit_compile)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    before = model.test_on_batch(IDS, LABELS)
    for _ in range(15):
        model.train_on_batch(IDS, LABELS)
    model.reset_metrics()
    after = model.test_on_batch(IDS, LABELS)
    assert after < before - 0.5
    np.testing.assert_allclose(after, SparseSoftmaxCrossEntropy()(LABELS, model(IDS)), rtol=1e-5)


@pytest.mark.slow
def test_learns_to_be_normalized():
    keras.utils.set_random_seed(0)
    model = own()
    loss = NoiseContrastiveEstimation(40, log_normalizer=1.0, seed=1)
    model.compile(keras.optimizers.Adam(0.05), loss, jit_compile=False)

    def log_sum():
        return float(np.mean(np.log(np.exp(model.predict(IDS, verbose=0)).sum(axis=-1))))

    before = log_sum()
    ids, labels = (np.tile(rows, (15, 1)) for rows in (IDS, LABELS))
    model.fit(ids, labels, batch_size=6, epochs=10, verbose=0)
    assert abs(log_sum() - 1.0) < 0.3 < abs(before - 1.0)


def test_is_saved_with_a_model(tmp_path):
    model = own()
    model.compile("sgd", NoiseContrastiveEstimation(7, 2.5, seed=3), run_eagerly=True)
    model.train_on_batch(IDS, LABELS)
    model.save(tmp_path / "model.keras")
    loss = keras.models.load_model(tmp_path / "model.keras").loss
    assert type(loss) is NoiseContrastiveEstimation
    assert (loss.num_sampled, loss.log_normalizer, loss.seed) == (7, 2.5, 3)


@pytest.mark.parametrize("bad", [None, "1", float("nan"), True])
def test_rejects(bad):
    with pytest.raises(ValueError, match="`log_normalizer` must be a finite number"):
        NoiseContrastiveEstimation(5, bad)
    with pytest.raises(ValueError, match="`num_sampled` must be an integer >= 1"):
        NoiseContrastiveEstimation(0)
