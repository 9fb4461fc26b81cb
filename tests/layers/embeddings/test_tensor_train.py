import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding
from kerascompact.core.storage import total_bits
from kerascompact.forms import TensorTrainForm
from kerascompact.layers import TensorTrainEmbedding


def whole_table(cores, shape):
    """The table by one sum over all indices, for up to four cores."""
    found = np.ones((1, 1, 1))
    for k, core in enumerate(cores):
        left, right = shape.outer[k : k + 2]
        core = core.reshape(shape.id_factors[k], left, shape.width_factors[k], right)
        found = np.einsum("vdr,urcs->vudcs", found, core)
        found = found.reshape(found.shape[0] * found.shape[1], -1, right)
    return found[..., 0]


def test_keeps_the_embedding_contract():
    check_embedding(TensorTrainEmbedding, xla=False, file=False)  # test_reverse converts


@pytest.mark.parametrize(
    "arguments",
    [
        dict(rank=3),
        dict(rank=[2, 5]),
        dict(rank=4, num_cores=2),
        dict(rank=2, id_factors=[5, 2, 3], width_factors=[4, 1, 2]),
    ],
)
def test_words_are_rows_of_the_table(arguments):
    layer = TensorTrainEmbedding(20, 8, **arguments)
    found = layer(np.arange(20))
    cores = [core.numpy() for core in layer.cores]
    expected = whole_table(cores, layer.shape)[:20]
    np.testing.assert_allclose(found, expected, atol=1e-6)  # numbers below 1
    form = layer.to_form()
    np.testing.assert_allclose(form(np.arange(20)), expected, atol=1e-6)
    assert isinstance(form, TensorTrainForm)
    assert form.paper_bits == total_bits(form.storage()) == 32 * sum(core.size for core in cores)
    hidden = np.random.default_rng(0).normal(size=(1, 3, 8)).astype(np.float32)
    for each in (layer, form):
        np.testing.assert_allclose(each(hidden, reverse=True), hidden @ expected.T, atol=1e-5)


@pytest.mark.parametrize("start", ["random_normal", "random_uniform", "ones"])
def test_the_table_starts_with_the_variance_of_its_initializer(start):
    layer = TensorTrainEmbedding(8000, 64, rank=16, embeddings_initializer=start)
    rows = layer(np.arange(8000)).numpy()
    expected = {"random_normal": 0.05, "random_uniform": 0.05 / 3**0.5, "ones": 1.0}[start]
    # cores of a few thousand numbers, in products of three
    assert rows.std() == pytest.approx(expected, rel=0.15)


def test_an_id_out_of_range_is_an_error_in_a_graph_as_of_any_table():
    look_up = tf.function(TensorTrainEmbedding(20, 8, rank=2), autograph=False)  # 27 rows
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, 3\)"):
        look_up(tf.constant([19, 20]))


def test_rank_for_a_share_of_the_parameters():
    for ratio in (0.01, 0.1, 0.58):
        rank = TensorTrainEmbedding.rank_for(10_000, 200, ratio)
        sizes = [TensorTrainEmbedding(10_000, 200, r).shape.size for r in (rank, rank + 1)]
        assert sizes[0] <= ratio * 2e6 < sizes[1]
    assert TensorTrainEmbedding.rank_for(20, 8, 0.01) == 1


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(rank=0), "`rank` must be an integer >= 1"),
        (dict(rank=[2]), "`ranks` must be 2 integers"),
        (dict(rank=2, num_cores=1), r"`num_cores` must be an integer in \[2, 8\]"),
        (
            dict(rank=2, id_factors=[2, 3, 3]),
            "`id_factors` must be two or more integers whose product is at",
        ),
        (dict(rank=2, id_factors=9), "`id_factors` must be a list of integers"),
        (
            dict(rank=2, width_factors=[2, 2, 3]),
            "`width_factors` must be 3 integers whose product is the wid",
        ),
        (dict(rank=2, width_factors=[2, 4]), "`width_factors` must be 3 integers"),
    ],
)
def test_rejects_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        TensorTrainEmbedding(20, 8, **arguments)
