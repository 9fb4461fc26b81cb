"""What is known of words before training, against counts by hand, and which layers it makes."""

import keras
import numpy as np
import pytest

from benchmarks.anchors.anchor_methods import (
    VARIATIONAL,
    Statistics,
    anchors,
    compressed,
    embedding,
    optimizer_of,
)
from kerascompact import layers, models
from kerascompact.datasets.base import Dataset, Split
from kerascompact.forms import SparseForm
from kerascompact.optimizers import LazyAdam, LazySGD
from kerascompact.tasks.classification import encode

pytest.importorskip("scipy")
TEXTS = ["a b c", "a b d", "a c b", "e f", "f e", "a e", "a b e f"] * 3
SPLIT = Split(TEXTS, np.arange(len(TEXTS)) % 2)


@pytest.fixture(scope="module")
def statistics():
    return Statistics(encode(Dataset("letters", SPLIT, SPLIT, SPLIT, ("n", "y"), ""), 9, 5))


def test_counts_are_those_of_the_training_split(statistics):
    words = statistics.vocabulary
    assert statistics.num_words == len(words) == 8
    joined = " ".join(TEXTS).split()
    expected = [joined.count(words.word_of(id)) for id in range(2, 8)]
    assert statistics.counts[2:].tolist() == expected
    assert statistics.counts[0] == 5 * len(TEXTS) - len(joined)  # padding


def test_neighbours_are_logarithms_of_counts_on_the_unit_sphere(statistics):
    words, found = statistics.vocabulary, statistics.neighbours.toarray()
    counts = np.zeros(8)
    for text in TEXTS:  # all within ten words of each other
        row = text.split()
        for word in row:
            if word != "c" and "c" in row:
                counts[words.id_of(word)] += 1
    expected = np.log1p(np.where(counts >= 2, counts, 0))
    expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(found[words.id_of("c")], expected, rtol=1e-6)
    assert not found[:2].any() and not found[:, :2].any()


def test_choices_are_words_the_first_by_frequency_the_most_frequent(statistics):
    most = np.argsort(-statistics.counts[2:], kind="stable")[:3] + 2
    assert sorted(statistics.chosen("frequency", 3)) == sorted(most.tolist())
    half = statistics.chosen("frequency_clusters", 4)
    assert set(most[:2]) <= set(half.tolist()) and len(set(half.tolist())) == 4
    for by in ("tf_idf", "clusters"):
        found = statistics.chosen(by, 3, seed=1)
        assert len(set(found.tolist())) == 3 and found.min() >= 2
        np.testing.assert_array_equal(found, statistics.chosen(by, 3, seed=1))


def test_anchors_are_words_or_a_random_basis(statistics):
    random = anchors(statistics, 4, 3, nonnegative=False)
    assert random.sets.ids == [None] and random.positive_pairs is None
    named = anchors(statistics, 4, 3, by="frequency")
    (ids,) = named.sets.ids
    assert sorted(ids) == sorted(statistics.chosen("frequency", 3))
    assert named.mask_zero and named.name == "embedding"
    both = anchors(statistics, 4, (2, 3))
    assert both.sets.sizes == [2, 3]


def test_variational_kinds_are_layers_of_their_name(statistics):
    found = {k: type(embedding(statistics, 4, k, kl_weight=1e-3)) for k in VARIATIONAL}
    assert found == {
        "vvd": layers.VariationalVocabularyEmbedding,
        "sparse_vd": layers.SparseVariationalEmbedding,
        "sparse_vd_voc": layers.SparseVariationalVocabularyEmbedding,
    }


def test_selected_words_have_vectors_and_others_none(statistics):
    made = embedding(statistics, 4, "selected", by="frequency", words=2)
    found = np.asarray(made(np.arange(8)))
    own = statistics.chosen("frequency", 2)
    assert len({tuple(row) for row in found[own].tolist()}) == 2
    others = np.setdiff1d(np.arange(2, 8), own)
    assert len({tuple(row) for row in found[others].tolist()}) == 1  # one for all the rest


def test_sparse_code_keeps_the_frequent_words_of_a_trained_model(statistics):
    keras.utils.set_random_seed(0)
    model = models.mean_classifier(embedding(statistics, 4, "sparse_code"), 2)
    table = model.get_layer("embedding").embeddings.numpy()
    assert compressed(model, statistics, "standard") is model
    small = compressed(model, statistics, "sparse_code", num_base=3, penalty=1e-3)
    form = small.get_layer("embedding")
    assert isinstance(form, SparseForm)
    base = statistics.chosen("frequency", 3)
    np.testing.assert_allclose(np.asarray(form(base)), table[base], atol=1e-6)
    assert isinstance(model.get_layer("embedding"), keras.layers.Embedding)  # it is a copy


def test_penalties_are_trained_with_proximal_steps():
    assert optimizer_of("standard") is LazyAdam
    for kind in ("anchors", "group_lasso"):
        made = optimizer_of(kind)(0.01, global_clipnorm=2.0)
        assert type(made).__name__ == "ProximalAdam" and made.global_clipnorm == 2.0


@pytest.mark.parametrize("kind", ["vvd", "sparse_vd", "sparse_vd_voc"])
def test_variances_have_twenty_times_the_rate(statistics, kind):
    rate = keras.optimizers.schedules.PolynomialDecay(0.01, 10, 0.0)
    made = optimizer_of(kind)(rate, global_clipnorm=2.0)
    layer = embedding(statistics, 6, kind, kl_weight=1e-4)
    layer.build((None, 8))
    rates = {}
    for weight in layer.trainable_weights:
        own = made._optimizer_map[weight.path]
        assert isinstance(own, LazyAdam) and own.global_clipnorm == 2.0
        rates[weight.path.split("/")[-1]] = own.get_config()["learning_rate"]["config"]
    found = {name: config["initial_learning_rate"] for name, config in rates.items()}
    assert {config["decay_steps"] for config in rates.values()} == {10}
    assert found == {name: 0.2 if "log_" in name else 0.01 for name in found}
    assert set(found.values()) == {0.2, 0.01}


def test_variances_by_gradient_descent(statistics):
    rate = keras.optimizers.schedules.PolynomialDecay(0.01, 10, 0.0)
    made = optimizer_of("vvd", noise_rate=1000.0)(rate, global_clipnorm=2.0)
    layer = embedding(statistics, 6, "vvd", kl_weight=1e-4)
    layer.build((None, 8))
    noise, table = (made._optimizer_map[w.path] for w in (layer.log_alpha, layer.table))
    assert type(noise) is LazySGD and type(table) is LazyAdam
    assert noise.global_clipnorm == 2.0
    for own, first in ((noise, 1000.0), (table, 0.01)):
        schedule = own.get_config()["learning_rate"]["config"]
        assert (schedule["initial_learning_rate"], schedule["decay_steps"]) == (first, 10)
