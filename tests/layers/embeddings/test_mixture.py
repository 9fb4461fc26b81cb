import keras
import numpy as np
import pytest

from contracts import check_embedding
from kerascompact.layers import MixtureEmbedding
from kerascompact.optimizers import LazySGD


def test_keeps_the_embedding_contract():
    # KD codes are compiled elsewhere; test_converter converts
    check_embedding(MixtureEmbedding, xla=False, file=False)


@pytest.mark.parametrize("reserved", [0, 2])
def test_frequent_words_have_their_own_vector_and_others_a_clusters(reserved):
    layer = MixtureEmbedding(20, 4, 5, num_unique=6, num_reserved=reserved)
    vectors = layer(np.arange(20)).numpy()
    best = layer.clusters.logits.numpy().argmax(-1)
    row = 0  # of the clustered words, in order of id
    for word in range(20):
        if reserved <= word < reserved + 6:
            expected = layer.unique.numpy()[word - reserved]
        else:
            expected = layer.clusters.codebook.numpy()[best[row]]
            row += 1
        np.testing.assert_array_equal(vectors[word], expected)
    assert row == 14


def test_unique_words_are_exact_in_training():
    layer = MixtureEmbedding(20, 4, 5, num_unique=6, num_reserved=2)
    vectors = layer(np.arange(20), training=True).numpy()
    np.testing.assert_array_equal(vectors[2:8], layer.unique.numpy())


@pytest.mark.parametrize(
    ("reserved", "jit_compile"),
    [
        (2, False),
        pytest.param(0, False, marks=pytest.mark.slow),
        pytest.param(2, True, marks=pytest.mark.slow),
    ],
)
def test_an_optimizer_with_momentum_moves_the_rows_of_the_batch_only(reserved, jit_compile):
    layer = MixtureEmbedding(20, 4, 5, num_unique=6, num_reserved=reserved)
    model = keras.Sequential([keras.Input((4,), dtype="int32"), layer, keras.layers.Flatten()])
    sgd = LazySGD(0.1, momentum=0.9)
    model.compile(sgd, "mse", jit_compile=jit_compile, run_eagerly=not jit_compile)
    every = np.arange(20).reshape(5, 4)
    model.train_on_batch(every, np.ones((5, 16)))  # all rows have momentum now
    weights = (layer.unique, layer.clusters.logits)
    before = [weight.numpy() for weight in weights]
    ids = np.array([[reserved + 2, 9, 9, reserved + 3]] * 5)  # of the shape that is traced
    model.train_on_batch(ids, np.ones((5, 16)))
    moved = [
        np.flatnonzero((w.numpy() != old).any(1)) for w, old in zip(weights, before, strict=True)
    ]
    assert [rows.tolist() for rows in moved] == [[2, 3], [9 - 6]]


def test_storage_by_hand():
    layer = MixtureEmbedding(3000, 5, 50, num_unique=300)
    layer.build()
    form = layer.to_form()
    bits = {array.name: array.total_bits for array in form.storage()}
    assert bits == {"0/table": 300 * 5 * 32, "1/codes": 2700 * 6, "1/codebook": 50 * 5 * 32}
    assert form.paper_bits == 2700 * 6 + 32 * 5 * (50 + 300)
    bits = sum(array.total_bits for array in form.stored_as().storage())
    assert bits == 2700 * 6 + 8 * 5 * (50 + 300) + 2 * 5 * 32


def test_assignments_are_minus_one_for_unique_words():
    layer = MixtureEmbedding(20, 4, 5, num_unique=6, num_reserved=2)
    layer.build()
    best = layer.clusters.logits.numpy().argmax(-1).tolist()
    assert layer.assignments().tolist() == [*best[:2], *[-1] * 6, *best[2:]]


@pytest.mark.parametrize("num_unique", [0, 16, 21, -1, 2.5, True, None])
def test_rejects_num_unique(num_unique):
    with pytest.raises(ValueError, match=r"`num_unique` must be an integer in \[1, 15\]"):
        MixtureEmbedding(20, 4, 5, num_unique)


@pytest.mark.parametrize("num_clusters", [1, 20, 2.5])
def test_rejects_num_clusters(num_clusters):
    with pytest.raises(ValueError, match=r"`num_clusters` must be an integer in \[2, 19\]"):
        MixtureEmbedding(20, 4, num_clusters, 1)


def test_rejects_too_few_words():
    with pytest.raises(ValueError, match=r"`input_dim` must be an integer >= 3\. .*=2 "):
        MixtureEmbedding(2, 4, 2, 1)


@pytest.mark.parametrize("num_reserved", [-1, 15, 0.5])
def test_rejects_num_reserved(num_reserved):
    with pytest.raises(ValueError, match=r"`num_reserved` must be an integer in \[0, 14\]"):
        MixtureEmbedding(20, 4, 5, 6, num_reserved=num_reserved)


def test_rejects_what_its_clusters_reject():
    with pytest.raises(ValueError, match="`temperature` must be a finite number > 0"):
        MixtureEmbedding(20, 4, 5, 6, temperature=0)
