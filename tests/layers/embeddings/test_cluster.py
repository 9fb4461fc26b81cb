import keras
import numpy as np
import pytest
import tensorflow as tf

from contracts import check_embedding
from kerascompact.layers import ClusterEmbedding
from kerascompact.optimizers import LazyAdam


def built(**overrides):
    layer = ClusterEmbedding(**{**ClusterEmbedding.EXAMPLE, **overrides})
    layer(np.array([0]))
    return layer


def test_keeps_the_embedding_contract():
    # KD codes are compiled and converted with the operations of clusters, in `test_reverse` too
    check_embedding(ClusterEmbedding, xla=False, file=False)


def test_inference_is_the_vector_of_the_likeliest_cluster():
    layer, ids = built(), np.array([[0, 7], [19, 7]])
    best = [max(range(5), key=lambda j: layer.logits.numpy()[i, j]) for i in ids.ravel()]
    expected = layer.codebook.numpy()[best].reshape(2, 2, 4)
    np.testing.assert_array_equal(layer(ids), expected)
    np.testing.assert_array_equal(layer(ids, training=False), expected)


def test_training_follows_the_papers_formula(monkeypatch):
    gumbel = np.random.default_rng(0).gumbel(size=(3, 5)).astype(np.float32)
    monkeypatch.setattr("kerascompact.ops.gumbel.gumbel_noise", lambda shape, seed: gumbel)
    layer = built(straight_through=False, temperature=0.7, noise_scale=0.6, logit_scale=2.0)
    a = 2.0 * layer.logits.numpy()[[4, 4, 9]]
    power = np.exp((a + 0.6 * gumbel) / 0.7)
    t = power / power.sum(axis=1, keepdims=True)
    # float32 against float64 exponentials
    np.testing.assert_allclose(
        layer(np.array([4, 4, 9]), training=True), t @ layer.codebook.numpy(), atol=1e-6
    )


def test_each_occurrence_of_a_word_draws_its_own_sample():
    layer = built(straight_through=False)
    first, second = layer(np.array([3, 3]), training=True).numpy()
    assert np.any(first != second)
    assert np.any(layer(np.array([3, 3]), training=True)[0] != first)


def test_straight_through_trains_on_a_vector_that_ships():
    layer = built()
    vectors = layer(np.arange(20), training=True).numpy()
    distances = np.abs(vectors[:, None] - layer.codebook.numpy()[None]).max(-1)
    assert (distances.min(axis=1) < 1e-6).all()  # a sum of one row and of zeros
    assert len(set(distances.argmin(axis=1))) > 1


def test_soft_inference_is_random_and_soft():
    layer = built(inference="soft")
    assert layer(np.int32(3)).shape == (layer.output_dim,)
    first, second = (layer(np.arange(20), training=False).numpy() for _ in range(2))
    assert np.any(first != second)
    distances = np.abs(first[:, None] - layer.codebook.numpy()[None]).max(-1)
    assert distances.min(axis=1).max() > 1e-3


def test_scale_changes_how_fast_logits_move_and_nothing_at_the_start():
    start = keras.initializers.RandomUniform(0, 1, seed=3)
    plain = built(logit_scale=1.0, logits_initializer=start)
    fast = built(logit_scale=100.0, logits_initializer=start)
    np.testing.assert_allclose(100 * fast.logits.numpy(), plain.logits.numpy(), rtol=1e-6)
    assert plain.logits.numpy().min() >= 0 and plain.logits.numpy().max() <= 1


def test_storage_by_hand():
    form = ClusterEmbedding(3000, 5, 50)
    form.build()
    form = form.to_form()
    names = {array.name: array.total_bits for array in form.storage()}
    assert names == {"codes": 3000 * 6, "codebook": 50 * 5 * 32}
    names = {array.name: array.total_bits for array in form.stored_as().storage()}
    assert names == {"codes": 3000 * 6, "codebook": 50 * 5 * 8, "codebook_scale": 5 * 32}
    assert form.paper_bits == 3000 * 6 + 32 * 50 * 5  # appendix A
    assert form.codes.shape == (3000 * 6 // 8 + 1,)  # one byte that the last code may read


@pytest.mark.parametrize("num_clusters", [1, 0, -1, 21, 2.5, True, "5", None])
def test_rejects_num_clusters(num_clusters):
    with pytest.raises(ValueError, match=r"`num_clusters` must be an integer in \[2, 20\]"):
        ClusterEmbedding(20, 4, num_clusters)


def test_rejects_too_few_words():
    with pytest.raises(ValueError, match=r"`input_dim` must be an integer >= 2\. .*=1 "):
        ClusterEmbedding(1, 4, 2)


@pytest.mark.parametrize("temperature", [0, -0.1, float("nan"), float("inf"), "warm", None, True])
def test_rejects_temperature(temperature):
    with pytest.raises(ValueError, match="`temperature` must be a finite number > 0"):
        ClusterEmbedding(20, 4, 5, temperature=temperature)


@pytest.mark.parametrize("noise_scale", [-0.1, float("nan"), "loud", None, True])
def test_rejects_noise_scale(noise_scale):
    with pytest.raises(ValueError, match="`noise_scale` must be a finite number >= 0"):
        ClusterEmbedding(20, 4, 5, noise_scale=noise_scale)


@pytest.mark.parametrize(
    "argument, message",
    [
        ({"logit_scale": 0}, "`logit_scale` must be a finite number > 0"),
        ({"straight_through": 1}, "`straight_through` must be True or False"),
        ({"inference": "fuzzy"}, "`inference` must be one of 'hard', 'soft'"),
        ({"seed": "a"}, "`seed` must be"),
    ],
)
def test_rejects_other_arguments(argument, message):
    with pytest.raises(ValueError, match=message):
        ClusterEmbedding(20, 4, 5, **argument)


@pytest.mark.slow
def test_learns_which_words_belong_together():
    keras.utils.set_random_seed(0)
    ids = np.random.default_rng(0).integers(0, 30, (600, 8)).astype(np.int32)
    # Words 0-9, 10-19 and 20-29 are alike; a text is labelled by the kind it has most of.
    labels = np.array([np.bincount(row // 10, minlength=3).argmax() for row in ids])
    embedding = ClusterEmbedding(30, 4, 6, logit_scale=5, seed=1)
    model = keras.Sequential([keras.Input((8,), dtype="int32"), embedding])
    model.add(keras.layers.GlobalAveragePooling1D())
    model.add(keras.layers.Dense(3, activation="softmax"))
    model.compile(
        LazyAdam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False
    )
    model.fit(ids, labels, epochs=40, batch_size=50, verbose=0)
    assert model.evaluate(ids, labels, verbose=0)[1] > 0.85  # chance is 0.33; hard assignment
    kinds = [set(embedding.assignments()[10 * kind : 10 * kind + 10]) for kind in range(3)]
    assert len(kinds[0] & kinds[1]) + len(kinds[1] & kinds[2]) + len(kinds[0] & kinds[2]) <= 2


def test_graph_of_a_step_reads_only_the_batchs_rows():
    layer = ClusterEmbedding(50_000, 4, 8)
    layer.build()
    step = tf.function(
        lambda ids: layer(ids, training=True), autograph=False
    ).get_concrete_function(tf.TensorSpec((2, 3), tf.int32))
    shapes = [out.shape for op in step.graph.get_operations() for out in op.outputs]
    assert any(shape.rank == 3 and shape[-1] == 8 for shape in shapes)  # the batch's logits
    assert not any(50_000 in shape.as_list() for shape in shapes if shape.rank)
