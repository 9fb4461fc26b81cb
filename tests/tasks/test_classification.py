"""From texts to a trained model, with the epoch chosen on dev."""

import keras
import numpy as np
import pytest

from kerascompact.datasets import from_texts
from kerascompact.optimizers import LazyAdam
from kerascompact.tasks import classification
from kerascompact.tasks.classification import MODELS, best_epoch, encode, fit, train
from kerascompact.tasks.methods import METHODS, build_embedding
from kerascompact.text.length_batches import LengthBatches
from kerascompact.training.scores import score
from tiny_task import dataset

DATA = encode(dataset(), size=30, sequence_length=6)


@pytest.fixture
def without_xla(monkeypatch):
    """Compiling takes longer than the few steps of these tests."""
    monkeypatch.setattr("keras.src.trainers.trainer.model_supports_jit", lambda model: False)


def test_encode_counts_train_and_codes_every_split():
    raw = dataset()
    words = {word for text in raw.train.texts for word in text.split()}
    assert len(DATA.vocabulary) == 30 < len(words)
    assert DATA.label_names == ("good", "bad", "odd") and DATA.name == "tiny"
    known = {word: index for index, word in enumerate(DATA.vocabulary.words, 2)}
    for split in ("train", "dev", "test"):
        coded, texts = getattr(DATA, split), getattr(raw, split)
        assert coded.ids.dtype == coded.labels.dtype == np.int32
        np.testing.assert_array_equal(coded.labels, texts.labels)
        for row, text in zip(coded.ids, texts.texts, strict=True):
            ids = [known.get(word, 1) for word in text.split()][:6]
            assert row.tolist() == ids + [0] * (6 - len(ids))


def test_encode_takes_its_words_from_train_only():
    raw = dataset()
    raw.test.texts[0] = "unseen " * 3
    coded = encode(raw, size=100, sequence_length=3)
    assert coded.test.ids[0].tolist() == [1, 1, 1] and "unseen" not in coded.vocabulary.words


def test_projections_know_the_words_of_every_split():
    raw = dataset()
    raw.test.texts[0] = "unseen " * 3
    coded = encode(raw, size=None, sequence_length=3, every_split=True)
    assert "unseen" in coded.vocabulary.words and coded.test.ids[0].min() > 1
    options = dict(vocabulary=coded.vocabulary, hidden=5)
    model = MODELS["mean"](build_embedding("projection", len(coded.vocabulary), 8, **options), 3)
    assert model.get_layer("embedding").mask_zero
    np.testing.assert_array_equal(
        model.get_layer("bits")(coded.test.ids[0])[0],
        model.get_layer("embedding").bits(["unseen"])[0],
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["standard", "mixture"])
def test_train_learns_and_keeps_the_best_epoch_on_dev(method):
    keras.utils.set_random_seed(0)
    sizes = {"clusters": 5, "unique": 20}
    options = {name: sizes[name] for name in METHODS[method].options}
    embedding = build_embedding(method, 30, 8, **options)
    model = MODELS["mean"](embedding, 3)
    seen = []
    callback = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
    history = train(model, DATA, epochs=6, batch_size=8, learning_rate=0.05, callbacks=[callback])
    assert seen == [*range(6)]
    assert isinstance(model.optimizer, LazyAdam)
    assert len(history["val_accuracy"]) == 6
    outputs = np.asarray(model(DATA.dev.ids))
    found = np.mean(outputs.argmax(-1) == DATA.dev.labels)
    np.testing.assert_allclose(found, max(history["val_accuracy"]), atol=1e-6)
    assert found > 0.6  # a third by chance


@pytest.mark.usefixtures("without_xla")
def test_of_epochs_that_are_level_on_dev_the_last_is_kept():
    ids = np.random.default_rng(0).integers(1, 20, (40, 5)).astype(np.int32)
    labels = np.ones(40, np.int32)
    model = MODELS["mean"](keras.layers.Embedding(20, 4), 2)
    model.layers[-1].bias.assign([0.0, 99.0])  # always right
    seen = []
    callback = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append(model.layers[1].embeddings.numpy())
    )
    batches = LengthBatches(ids, np.zeros(40, np.int32), 40)
    options = {"epochs": 3, "learning_rate": 0.05, "callbacks": [callback]}
    history = fit(model, batches, (ids, labels), **options)
    assert history["val_accuracy"] == [1.0] * 3 and best_epoch(history["val_accuracy"]) == 3
    np.testing.assert_array_equal(model.layers[1].embeddings, seen[2])
    assert np.any(seen[2] != seen[0])


@pytest.mark.slow
def test_train_is_decided_by_its_seed():
    def losses(seed):
        keras.utils.set_random_seed(0)
        model = MODELS["mean"](build_embedding("standard", 30, 4), 3)
        return train(model, DATA, epochs=2, batch_size=32, seed=seed)["loss"]

    first = losses(0)
    np.testing.assert_array_equal(losses(0), first)
    assert losses(1) != first


@pytest.mark.slow
def test_train_passes_callbacks_on():
    seen = []
    model = MODELS["mean"](build_embedding("standard", 30, 4), 3)
    callback = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
    train(model, DATA, epochs=2, callbacks=[callback])
    assert seen == [0, 1]


@pytest.mark.usefixtures("without_xla")
def test_the_loss_of_soft_labels_is_their_cross_entropy_and_any_metric_picks_the_epoch():
    random = np.random.default_rng(0)
    ids = random.integers(1, 20, (40, 5)).astype(np.int32)
    soft = random.dirichlet([1, 1], 40).astype(np.float32)
    labels = soft.argmax(axis=1).astype(np.int32)
    model = MODELS["mean"](keras.layers.Embedding(20, 4), 2)
    before = np.asarray(model(ids))
    options = {"epochs": 1, "learning_rate": 0.05, "metric": "macro_f1"}
    history = fit(model, LengthBatches(ids, soft, 40), (ids, labels), **options)
    entropy = -(soft * np.log(before)).sum(axis=1).mean()
    np.testing.assert_allclose(history["loss"], [entropy], rtol=1e-5)  # of one batch
    found = score(np.asarray(model(ids)), labels, "macro_f1")
    assert found == pytest.approx(history["val_macro_f1"][0])


@pytest.mark.slow
def test_soft_labels_that_are_hard_train_alike_and_any_metric_picks_the_epoch():
    ids = np.random.default_rng(0).integers(1, 20, (40, 5)).astype(np.int32)
    labels = (ids[:, 0] > 9).astype(np.int32)
    found = []
    for given in (labels, np.eye(2, dtype=np.float32)[labels]):
        keras.utils.set_random_seed(0)
        model = MODELS["mean"](keras.layers.Embedding(20, 4), 2)
        batches = LengthBatches(ids, given, 8)
        options = {"epochs": 3, "learning_rate": 0.05, "metric": "macro_f1"}
        history = fit(model, batches, (ids, labels), steps_per_execution=2, **options)
        outputs = model.predict(ids, verbose=0)
        assert score(outputs, labels, "macro_f1") == max(history["val_macro_f1"])
        found.append(outputs)
    np.testing.assert_allclose(*found, atol=1e-5)


def several(rows=60):
    """A data set in which a text has the label of each of its letters a, b and c; no test."""
    random = np.random.default_rng(0)
    letters = [random.permutation([*"abcdef"])[: random.integers(1, 5)] for _ in range(rows)]
    labels = [[letter for letter in text if letter in "abc"] for text in letters]
    raw = from_texts([" ".join(text) for text in letters], labels, dev=0.2)
    return encode(raw, size=None, sequence_length=6)


@pytest.mark.usefixtures("without_xla")
def test_several_labels_are_learned_and_picked_by_micro_f1():
    data = several()
    assert data.multi_label and data.train.labels.dtype == np.uint8 and not DATA.multi_label
    assert data.test.ids.shape == (0, 6) and data.test.labels.shape == (0, 3)
    keras.utils.set_random_seed(0)
    model = MODELS["mean"](build_embedding("standard", 8, 4), 3, multi_label=True)
    shares = (data.train.labels.sum(axis=0) + 0.5) / (len(data.train.labels) + 1)
    model.get_layer("probabilities").bias.assign(np.log(shares / (1 - shares)))
    before = np.asarray(model(data.train.ids))
    model.get_layer("probabilities").bias.assign(np.zeros(3))  # `fit` does as above
    history = train(model, data, epochs=15, batch_size=60, learning_rate=0.5)
    wanted = data.train.labels
    entropy = -(wanted * np.log(before) + (1 - wanted) * np.log(1 - before)).sum(axis=1).mean()
    np.testing.assert_allclose(history["loss"][0], entropy, rtol=1e-5)  # one batch an epoch
    right = np.all((before >= 0.5) == wanted, axis=1).mean()
    np.testing.assert_allclose(history["accuracy"][0], right, rtol=1e-6)
    found = np.asarray(model(data.dev.ids))
    assert score(found, data.dev.labels, "micro_f1") == max(history["val_micro_f1"]) > 0.8


def test_trained_biases_of_several_labels_are_not_set_again():
    data = several()
    model = MODELS["mean"](build_embedding("standard", 8, 4), 3, multi_label=True)
    model.get_layer("probabilities").bias.assign([1.0, 2.0, 3.0])
    batches = LengthBatches(data.train.ids, data.train.labels, 60)
    classification._start_at_shares(model, batches)
    np.testing.assert_array_equal(model.get_layer("probabilities").bias, [1, 2, 3])
    model.get_layer("probabilities").bias.assign(np.zeros(3))
    classification._start_at_shares(model, batches)
    assert model.get_layer("probabilities").bias.numpy().all()


@pytest.mark.slow
def test_soft_labels_of_several_labels():
    data = several()
    model = MODELS["mean"](build_embedding("standard", 8, 4), 3, multi_label=True)
    soft = np.where(data.train.labels == 1, 0.9, 0.2).astype(np.float32)
    batches = LengthBatches(data.train.ids, soft, 8)
    fit(model, batches, (data.dev.ids, data.dev.labels), epochs=12, learning_rate=0.2)
    found = model.predict(data.train.ids, verbose=0)
    assert np.abs(found - soft).mean() < 0.15  # 0.5 at random


@pytest.mark.parametrize("multi_label", [True, False])
def test_the_model_must_fit_the_labels(multi_label):
    data = DATA if multi_label else several()
    model = MODELS["cnn"](build_embedding("standard", 30, 4), 3, multi_label=multi_label)
    with pytest.raises(ValueError, match=f"must be built with `multi_label={not multi_label}`"):
        train(model, data, epochs=1)
