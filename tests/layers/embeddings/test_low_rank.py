"""Low-rank rows against the product, and the parameters that the KD paper prints."""

import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding
from graphs import tensors_with_rows
from kerascompact.core.storage import total_bits
from kerascompact.layers import LowRankEmbedding

# Chen et al., ICML 2018, Tables 1 to 3, "Lr": V, d, then (parameters over 1e3, ratio). V is the
# number that the full table's parameters give; rank d / 4 in place of a ratio where it is 0.
PRINTED = {
    "PTB small": (10_000, 200, ((400, 1 / 5, 10), (190, 1 / 10, 10))),
    "PTB medium": (10_000, 650, ((1300, 1 / 5, 10), (650, 1 / 10, 10))),
    "PTB large": (10_000, 1500, ((2990, 1 / 5, 10), (1500, 1 / 10, 10))),
    "Yahoo": (477_533, 300, ((13_857, 1 / 10, 1), (6_690, 1 / 20, 1))),
    "AG News": (69_323, 300, ((2_019, 1 / 10, 1), (975, 1 / 20, 1))),
    "Yelp polarity": (246_740, 300, ((7_164, 1 / 10, 1), (3_459, 1 / 20, 1))),
    "Yelp full": (268_413, 300, ((7_793, 1 / 10, 1), (3_762, 1 / 20, 1))),
    "DBpedia": (612_533, 300, ((17_772, 1 / 10, 1), (8_580, 1 / 20, 1))),
    "Cora": (1433, 16, ((10.14, 1 / 2, 0.01), (5.8, None, 0.1))),
    "Citeseer": (3703, 16, ((26.03, 1 / 2, 0.01), (14.88, None, 0.01))),
    "PubMed": (500, 16, ((3.61, 1 / 2, 0.01), (2.06, None, 0.01))),
}


def test_keeps_the_embedding_contract():
    check_embedding(LowRankEmbedding, xla=False, file=False)  # test_tied converts


def test_equals_the_rows_of_the_product():
    layer, ids = LowRankEmbedding(20, 8, rank=3), np.array([[0, 5], [19, 5]])
    table = np.zeros((20, 8))
    layer(ids)
    for r in range(3):  # a sum of outer products
        table += np.outer(layer.u.numpy()[:, r], layer.w.numpy()[r])
    for training in (None, False, True):
        # sums of three float32 products
        np.testing.assert_allclose(layer(ids, training=training), table[ids], atol=1e-6)


@pytest.mark.parametrize("name", PRINTED)
def test_parameters_of_the_papers_tables(name):
    words, width, columns = PRINTED[name]
    for printed, ratio, unit in columns:
        rank = width // 4 if ratio is None else LowRankEmbedding.rank_for(words, width, ratio)
        layer = LowRankEmbedding(words, width, rank)
        parameters = layer.paper_bits() / 32
        assert parameters == rank * (words + width)
        assert abs(parameters / 1e3 - printed) <= 0.5001 * unit  # it is rounded
        if ratio is not None:  # and no larger rank keeps to the ratio
            assert parameters <= ratio * words * width < (rank + 1) * (words + width)


def test_the_4x_column_of_table_3_is_not_the_formulas():
    """The formula gives rank 3 where the printed parameters are those of rank 4."""
    for words in (1433, 3703, 500):
        assert LowRankEmbedding.rank_for(words, 16, 1 / 4) == 3


def test_bits_of_table_1():
    for rank, printed in ((39, 12.73), (19, 6.20)):
        bits = LowRankEmbedding(10_000, 200, rank).paper_bits()
        assert round(bits / 1e6, 2) == printed


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((0, 5, 0.5), "`input_dim` must be an integer >= 1"),
        ((5, 2.0, 0.5), "`output_dim` must be an integer >= 1"),
        ((5, 5, 0), r"`ratio` must be a number in \(0, 1\]"),
        ((5, 5, 1.5), r"`ratio` must be a number in \(0, 1\]"),
    ],
)
def test_rank_for_rejects(arguments, message):
    with pytest.raises(ValueError, match=message):
        LowRankEmbedding.rank_for(*arguments)


def test_rank_for_is_a_rank_even_for_the_smallest_ratio():
    assert LowRankEmbedding.rank_for(100, 4, 1e-6) == 1
    assert LowRankEmbedding.rank_for(195, 195, 2 / 5) == 39
    layer = LowRankEmbedding(100, 4, LowRankEmbedding.rank_for(100, 4, 1))
    assert layer.rank == 3  # V d / (V + d) is below d


def test_starts_with_the_variance_of_a_full_table():
    layer = LowRankEmbedding(4000, 64, rank=16)
    entries = layer(np.arange(4000)).numpy()
    # U(-0.1, 0.1); 256,000 entries of 16 x (4000 + 64) independent numbers
    assert entries.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.05)


def test_storage_by_hand():
    layer = LowRankEmbedding(20, 8, rank=3)
    layer.build()
    form = layer.to_form()
    assert total_bits(form.storage()) == form.paper_bits == 32 * 3 * (20 + 8)
    # int8: the table, the matrix, and a scale for each output column
    assert total_bits(form.stored_as("int8").storage()) == 8 * 3 * (20 + 8) + 32 * 8


@pytest.mark.parametrize("rank", [0, 9, 2.5, True, "3", None])
def test_rejects_rank(rank):
    with pytest.raises(ValueError, match=r"`rank` must be an integer in \[1, 8\]"):
        LowRankEmbedding(20, 8, rank=rank)


def test_a_step_makes_nothing_of_the_vocabularys_size():
    layer = LowRankEmbedding(50_000, 6, 2)
    layer.build()
    step = tf.function(
        lambda ids: layer(ids, training=True), autograph=False
    ).get_concrete_function(tf.TensorSpec((2, 3), tf.int32))
    assert not tensors_with_rows(step, 50_000)
