"""From texts to a trained model, with the epoch chosen on dev."""

import keras
import numpy as np
import pytest

from kerascompact import layers
from kerascompact.optimizers import LazyAdam
from kerascompact.tasks.classification import MODELS, encode, train
from kerascompact.tasks.methods import METHODS, build_embedding
from tiny_task import dataset

DATA = encode(dataset(), size=30, length=6)


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
    coded = encode(raw, size=100, length=3)
    assert coded.test.ids[0].tolist() == [1, 1, 1] and "unseen" not in coded.vocabulary.words


def test_projections_know_the_words_of_every_split():
    raw = dataset()
    raw.test.texts[0] = "unseen " * 3
    coded = encode(raw, size=None, length=3, every_split=True)
    assert "unseen" in coded.vocabulary.words and coded.test.ids[0].min() > 1
    options = dict(vocabulary=coded.vocabulary, hidden=5)
    model = MODELS["mean"](build_embedding("projection", len(coded.vocabulary), 8, **options), 3)
    assert model.get_layer("embedding").mask_zero
    np.testing.assert_array_equal(
        model.get_layer("bits")(coded.test.ids[0])[0],
        model.get_layer("embedding").bits(["unseen"])[0],
    )


def test_build_embedding_by_name():
    codes = {"cardinality": 4, "code_length": 2}
    options = {
        "low_rank": {"ratio": 0.5},
        "quantized": {"bits": 4},
        "kd": codes,
        "dpq": codes,
        "compositional": codes,
        "group_lasso": {"group_lasso_weight": 0.1},
        **{name: {"kl_weight": 0.1} for name in ("vvd", "sparse_vd", "sparse_vd_voc")},
        "tensor_train": {"ratio": 0.1},
        "hashed": {"buckets": 50},
        "predefined_sparse": {"density": 0.5},
    }
    methods = METHODS[:-1]  # the last one is no layer
    kinds = {
        name: build_embedding(name, 1000, 8, clusters=9, unique=20, **options.get(name, {}))
        for name in methods
    }
    assert {name: type(layer) for name, layer in kinds.items()} == {
        "standard": keras.layers.Embedding,
        "cluster": layers.ClusterEmbedding,
        "adjustment": layers.ClusterAdjustmentEmbedding,
        "mixture": layers.MixtureEmbedding,
        "low_rank": layers.LowRankEmbedding,
        "quantized": layers.QuantizedEmbedding,
        "kd": layers.KDCodeEmbedding,
        "dpq": layers.DPQEmbedding,
        "compositional": layers.CompositionalCodeEmbedding,
        "selected": layers.SelectedEmbedding,
        "group_lasso": layers.GroupLassoEmbedding,
        "vvd": layers.VariationalVocabularyEmbedding,
        "sparse_vd": layers.SparseVariationalEmbedding,
        "sparse_vd_voc": layers.SparseVariationalVocabularyEmbedding,
        "tensor_train": layers.TensorTrainEmbedding,
        "hashed": layers.HashEmbedding,
        "predefined_sparse": layers.PredefinedSparseEmbedding,
    }
    widths = {name: layer.output_dim for name, layer in kinds.items()}
    assert widths == {name: 8 + (name == "adjustment") for name in methods}
    assert kinds["low_rank"].rank == 3  # floor(0.5 * 1000 * 8 / 1008)
    assert kinds["quantized"].bits == 4 and kinds["dpq"].cardinality == 4
    assert all(layer.mask_zero and layer.name == "embedding" for layer in kinds.values())
    assert kinds["mixture"].num_reserved == 2 and kinds["mixture"].num_unique == 20
    assert kinds["cluster"].num_clusters == 9
    assert build_embedding("cluster", 1000, 8, temperature=0.5).temperature == 0.5
    assert build_embedding("adjustment", 1000, 8, adjustment=3).output_dim == 11


def test_kd_codes_start_at_the_common_code_if_a_margin_is_given():
    sizes = {"cardinality": 4, "code_length": 2}
    for options, common in ({}, False), ({"margin": 1.0}, True):
        layer = build_embedding("kd", 1000, 8, **sizes, **options)
        layer.build()
        assert layer.codes().any() != common


def test_the_standard_embedding_starts_as_the_compact_ones_do():
    layer = build_embedding("standard", 1000, 8)
    layer.build()
    table = layer.get_weights()[0]
    assert 0.09 < np.abs(table).max() <= 0.1 and abs(table.mean()) < 0.01


def test_refuses_another_method():
    with pytest.raises(ValueError, match="`method` must be one of 'standard', 'cluster'"):
        build_embedding("hashing", 1000, 8)


@pytest.mark.parametrize("method", ["standard", "mixture"])
def test_train_learns_and_keeps_the_best_epoch_on_dev(method):
    keras.utils.set_random_seed(0)
    embedding = build_embedding(method, 30, 8, clusters=5, unique=20)
    model = MODELS["mean"](embedding, 3)
    history = train(model, DATA, epochs=6, batch_size=8, learning_rate=0.05)
    assert isinstance(model.optimizer, LazyAdam)
    assert len(history["val_accuracy"]) == 6
    outputs = model.predict(DATA.dev.ids, verbose=0)
    found = np.mean(outputs.argmax(-1) == DATA.dev.labels)
    np.testing.assert_allclose(found, max(history["val_accuracy"]), atol=1e-6)
    assert found > 0.6  # a third by chance


def test_train_is_decided_by_its_seed():
    def losses(seed):
        keras.utils.set_random_seed(0)
        model = MODELS["mean"](build_embedding("standard", 30, 4), 3)
        return train(model, DATA, epochs=2, batch_size=32, seed=seed)["loss"]

    first = losses(0)
    np.testing.assert_array_equal(losses(0), first)
    assert losses(1) != first


def test_train_passes_callbacks_on():
    seen = []
    model = MODELS["mean"](build_embedding("standard", 30, 4), 3)
    callback = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
    train(model, DATA, epochs=2, callbacks=[callback])
    assert seen == [0, 1]
