"""The skip-gram model: its loss in NumPy, its draws, training, files, XLA."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import layers
from kerascompact.core.registration import register
from kerascompact.models.skip_gram import SkipGram
from kerascompact.optimizers import LazyAdam, LazySGD
from kerascompact.text.skip_gram_batches import SkipGramBatches

COUNTS = np.array([0, 0, 40, 30, 20, 10, 5, 5])
SLOW = pytest.mark.slow


@register
class KnownBits(keras.layers.Layer):
    """Stands for a cache: the bits of an id are those of the number itself."""

    def call(self, ids):
        ids = tf.cast(ids, tf.int32)[..., None]
        return tf.cast((ids // 2 ** tf.range(6)) % 2, tf.float32)


class Encoder(keras.layers.Dense):
    """A layer from bits to vectors, with the width by the name that embeddings have."""

    @property
    def output_dim(self):
        return self.units


register(Encoder)


def log_sigma(x):
    return -np.log1p(np.exp(-x))


def expected_loss(model, words, contexts, noise):
    """Equation 4 for each pair with its noise, the mean over pairs, and equation 6."""
    v = model.word_vectors(np.arange(max(words) + 1)).astype(np.float64)
    c = model.contexts.numpy().astype(np.float64)
    loss, shift = 0.0, np.log(model.negatives) if model.shift else 0.0
    for word, context, drawn in zip(words, contexts, noise, strict=True):
        loss -= log_sigma(c[context] @ v[word] - shift)
        loss -= sum(log_sigma(shift - c[w] @ v[word]) for w in drawn)
    loss /= len(words)
    different = np.unique(words)
    squares = sum(
        (v[i] @ v[j] / np.linalg.norm(v[i]) / np.linalg.norm(v[j])) ** 2
        for i in different
        for j in different
        if model.diagonal or i != j
    )
    scale = model.cosine_batch / len(different) ** 2  # 1 / m for the paper's batch of m words
    return loss + model.cosine_weight / 2 * scale * squares


WORDS, CONTEXTS = np.array([2, 3, 2, 7, 5]), np.array([3, 2, 4, 6, 2])


@pytest.mark.parametrize("diagonal", [False, True])
def test_loss_is_the_papers(diagonal):
    # noise that can only be word 4, so that the draws are known
    counts = np.eye(8)[4]
    embedding = keras.layers.Embedding(8, 6)
    options = dict(counts=counts, negatives=3, cosine_weight=0.7, cosine_batch=20)
    for shared in (None, 4):
        model = SkipGram(
            embedding, 8, shared_noise=shared, diagonal=diagonal, shift=diagonal, **options
        )
        found = float(model.compute_loss(y=CONTEXTS, y_pred=model(WORDS)))
        expected = expected_loss(model, WORDS, CONTEXTS, np.full((5, 3), 4))
        assert found == pytest.approx(expected, rel=1e-5)  # float32 sums


@pytest.mark.parametrize("own", [False, True])
def test_spellings_are_drawn_by_word_or_by_pair(own):
    model = projected(counts=COUNTS, misspellings=2, misspelt=0.4, own_spelling=own, seed=0)
    model.build((None,))
    spellings = model.word_vectors(np.array([3, 3 + 8, 3 + 16]))
    shares = []
    for _ in range(2):
        found = model(np.full(2000, 3), training=True)
        assert len(found.skip_gram_batch.vectors) == (3 if own else 1)
        assert tf.reduce_sum(found.skip_gram_batch.times) == 2000
        same = np.all(found.numpy()[:, None] == spellings, axis=2)
        assert np.all(same.sum(axis=1) == 1)
        shares.append(same.mean(axis=0))
    if own:
        np.testing.assert_allclose(shares, [[0.6, 0.2, 0.2]] * 2, atol=0.05)  # 5 deviations
        assert not np.array_equal(*shares)
    np.testing.assert_array_equal(model(WORDS), model.word_vectors(WORDS))  # as they are spelt


def test_loss_of_misspelt_pairs_is_that_of_their_spellings():
    options = dict(counts=np.eye(8)[4], negatives=3, cosine_weight=0.7, cosine_batch=20)
    model = projected(misspellings=1, misspelt=1.0, own_spelling=True, **options)
    vectors = model(WORDS, training=True)
    found = float(model.compute_loss(y=CONTEXTS, y_pred=vectors))
    expected = expected_loss(model, WORDS + 8, CONTEXTS, np.full((5, 3), 4))
    assert found == pytest.approx(expected, rel=1e-5)  # float32 sums


def test_replicas_share_the_loss(monkeypatch):
    """Keras adds their gradients: expected are a half for each of two."""
    monkeypatch.setattr("kerascompact.models.skip_gram.replicas", lambda: 2)
    model = SkipGram(keras.layers.Embedding(8, 6), 8, counts=np.eye(8)[4], negatives=3)
    found = float(model.compute_loss(y=CONTEXTS, y_pred=model(WORDS, training=True)))
    expected = expected_loss(model, WORDS, CONTEXTS, np.full((5, 3), 4))
    assert found == pytest.approx(expected / 2, rel=1e-5)


@pytest.mark.slow
def test_shared_noise_has_the_expectation_of_own_noise():
    embedding = keras.layers.Embedding(8, 6, embeddings_initializer="normal")
    own, shared = (
        SkipGram(embedding, 8, counts=COUNTS, negatives=5, shared_noise=s, cosine_weight=0, seed=1)
        for s in (None, 64)
    )
    shared.contexts.assign(own.contexts)
    losses = []
    for model in (own, shared):
        model.compile("sgd", jit_compile=False)
        model.build((None,))
        losses.append([float(model.test_on_batch(WORDS, CONTEXTS)[0]) for _ in range(200)])
        model.reset_metrics()
    # `test_on_batch` gives running means: the last is that of all 200 batches
    assert losses[0][-1] == pytest.approx(losses[1][-1], rel=0.02)


def test_noise_is_drawn_by_its_distribution():
    model = SkipGram(keras.layers.Embedding(8, 2), 8, counts=COUNTS)
    steps = np.diff(np.concatenate([[-1], model.noise.numpy().astype(np.float64)])) / 2**31
    expected = np.where(COUNTS, np.maximum(COUNTS, 1) ** 0.75, 0)
    np.testing.assert_allclose(steps, expected / expected.sum(), atol=1e-9)


def corpus(length=4000):
    """Words 0 to 3 stand together, and 4 to 7; so their vectors are alike."""
    random = np.random.default_rng(0)
    topics = np.repeat(random.integers(0, 2, length // 10), 10)
    return (4 * topics + random.integers(0, 4, length)).astype(np.int32)


def projected(**options):
    return SkipGram(
        Encoder(4, kernel_initializer=keras.initializers.GlorotUniform(seed=3)),
        8,
        bits=KnownBits(),
        **options,
    )


@pytest.mark.few(2)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "projected", "misspelt", "own noise"])
def test_training_puts_words_of_a_topic_together(kind):
    keras.utils.set_random_seed(0)
    text = corpus()
    counts = np.bincount(text, minlength=8)
    options = dict(counts=counts, negatives=5, cosine_weight=3e-4, seed=0)
    if kind != "own noise":
        options["shared_noise"] = 32
    if kind == "misspelt":  # 16 more are their misspellings: other bits, same low ones
        options |= dict(misspellings=2, misspelt=0.4)
    if kind in ("projected", "misspelt"):
        model = projected(**options)
    else:
        model = SkipGram(keras.layers.Embedding(8, 4), 8, **options)
    batches = SkipGramBatches(text, counts, 256, window=2, threshold=1.0)
    model.compile(LazyAdam(0.05, global_clipnorm=5.0), jit_compile=False)
    history = model.fit(batches, epochs=6, verbose=0).history
    assert history["negative_sampling"][-1] < 0.9 * history["negative_sampling"][0]
    vectors = model.word_vectors()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    together = np.kron(np.eye(2), np.ones((4, 4))).astype(bool)
    within = cosines[together & ~np.eye(8, dtype=bool)].mean()
    assert within > cosines[~together].mean() + 0.3


@pytest.mark.slow
def test_cosine_loss_spreads_words():
    found = []
    for weight in (0.0, 1.0):
        keras.utils.set_random_seed(0)
        embedding = keras.layers.Embedding(8, 4, embeddings_initializer="ones")
        model = SkipGram(embedding, 8, cosine_weight=weight, shared_noise=16, seed=0)
        model.compile(LazyAdam(0.02), jit_compile=False)
        pairs = np.random.default_rng(0).integers(2, 8, (2, 512))
        history = model.fit(*pairs, batch_size=64, epochs=10, verbose=0).history
        found.append(history["mean_cosine"][-1])
    assert found[1] < 0.5 * found[0]


@pytest.mark.parametrize(
    ("own", "jit_compile"),
    [
        (False, False),
        pytest.param(False, True, marks=pytest.mark.slow),
        pytest.param(True, True, marks=pytest.mark.slow),
    ],
)
def test_file_and_xla(own, jit_compile, tmp_path):
    """Steps of Python where nothing is compiled."""
    keras.utils.set_random_seed(0)
    options = dict(shared_noise=16, misspellings=1, own_spelling=own)
    model = projected(counts=COUNTS, name="np_sg", **options)
    sgd = LazySGD(0.01, momentum=0.9)
    model.compile(sgd, jit_compile=jit_compile, run_eagerly=not jit_compile)
    model.fit(np.tile(WORDS, 4), np.tile(CONTEXTS, 4), batch_size=10, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.word_vectors(), model.word_vectors())
    np.testing.assert_array_equal(again.noise, model.noise)
    np.testing.assert_array_equal(again.contexts, model.contexts)
    assert {name: getattr(again, name) for name in options} == options
    again.fit(WORDS, CONTEXTS, verbose=0)  # goes on with its optimizer
    # the embedding goes elsewhere
    classifier = keras.Sequential([again.bits, again.embedding, keras.layers.Dense(2)])
    assert classifier(WORDS[None]).shape == (1, 5, 2)


@pytest.mark.parametrize(
    ("make", "optimizer"),
    [
        (lambda: layers.PredefinedSparseEmbedding(8, 4, 0.5), LazyAdam),
        pytest.param(lambda: keras.layers.Embedding(8, 4), keras.optimizers.SGD, marks=SLOW),
        pytest.param(lambda: layers.DPQEmbedding(8, 4, 2, 2), LazyAdam, marks=SLOW),
        pytest.param(
            lambda: layers.KDCodeEmbedding(8, 4, 2, 3, entropy_weight=0.5), LazyAdam, marks=SLOW
        ),
    ],
)
def test_xla_gives_the_same_loss(make, optimizer):
    losses, weights = [], []
    for jit_compile in (False, True):
        keras.utils.set_random_seed(0)
        model = SkipGram(make(), 8, counts=np.eye(8)[4], negatives=2)
        model.compile(optimizer(0.01), jit_compile=jit_compile)
        losses.append(model.train_on_batch(WORDS, CONTEXTS, return_dict=True))
        weights.append(model.get_weights())
    for name, value in losses[0].items():
        assert losses[1][name] == pytest.approx(value, rel=1e-5, abs=1e-6)
    for plain, compiled in zip(*weights, strict=True):  # and the same step
        np.testing.assert_allclose(compiled, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.CompositionalCodeEmbedding(8, 4, 2, 3),
        lambda: layers.VariationalVocabularyEmbedding(8, 4, 0.1),
        lambda: layers.SparseVariationalEmbedding(8, 4, 0.1),
        lambda: layers.SparseVariationalVocabularyEmbedding(8, 4, 0.1),
        lambda: layers.PredefinedSparseEmbedding(8, 4, 0.5, word_dropout=0.5),
    ],
)
def test_xla_gives_the_same_penalty_beside_draws(make):
    keras.utils.set_random_seed(0)
    model = SkipGram(make(), 8, counts=COUNTS, negatives=2)
    model.compile(LazyAdam(0.01), jit_compile=True)
    model.train_on_batch(WORDS, CONTEXTS)

    def penalties():
        model(tf.constant(WORDS), training=True)
        return [tf.convert_to_tensor(one) for one in model.losses]

    plain, compiled = (tf.function(penalties, jit_compile=jit)() for jit in (False, True))
    np.testing.assert_allclose(compiled, plain, rtol=1e-5)


def test_regularizers_of_the_embedding_count():
    embedding = keras.layers.Embedding(8, 4, embeddings_regularizer=keras.regularizers.L2(1.0))
    model = SkipGram(embedding, 8, counts=COUNTS, cosine_weight=0)
    model.compile("sgd", run_eagerly=True)
    found = model.evaluate(WORDS, CONTEXTS, verbose=0, return_dict=True)
    extra = np.square(embedding.embeddings.numpy()).sum()
    assert found["loss"] == pytest.approx(found["negative_sampling"] + extra, rel=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(embedding=keras.layers.Dense(3)), "`embedding` must be a layer with an `output_dim`"),
        (dict(num_words=1), "`num_words` must be an integer >= 2"),
        (dict(counts=np.ones(7)), "`counts` must be 8 numbers"),
        (dict(negatives=0), "`negatives` must be an integer >= 1"),
        (dict(shared_noise=0), "`shared_noise` must be an integer >= 1"),
        (dict(cosine_weight=-1), r"`cosine_weight` must be a finite number >= 0\."),
        (dict(misspellings=2), "`bits` must be a layer that knows the misspellings"),
        (dict(misspelt=2), r"`misspelt` must be a number in \[0, 1\]\."),
        (dict(diagonal=1), "`diagonal` must be True or False"),
        (dict(own_spelling=1), "`own_spelling` must be True or False"),
        (dict(shift=0), "`shift` must be True or False"),
    ],
)
def test_rejects(change, message):
    with pytest.raises(ValueError, match=message):
        SkipGram(**{**dict(embedding=keras.layers.Embedding(8, 4), num_words=8), **change})


def test_refuses_vectors_that_something_has_changed():
    class Doubled(SkipGram):
        def call(self, words, training=None):
            return 2 * super().call(words, training=training)

    model = Doubled(keras.layers.Embedding(8, 2), 8)
    model.compile("sgd", jit_compile=False)
    with pytest.raises(
        ValueError, match="`y_pred` must be exactly the vectors that `SkipGram.call`"
    ):
        model.fit(np.array([1, 2]), np.array([2, 3]), verbose=0)


def test_rejects_weights():
    model = SkipGram(keras.layers.Embedding(8, 4), 8)
    model.compile("sgd", run_eagerly=True)
    with pytest.raises(ValueError, match="`sample_weight` must be None"):
        model.fit(WORDS, CONTEXTS, sample_weight=np.ones(5), verbose=0)
    with pytest.raises(ValueError, match="`y` must be a context of each word of `x`"):
        model.fit(WORDS, verbose=0)
    with pytest.raises(ValueError, match=r"one context of each .* shape \(2,\) for .* shape \(\)"):
        model.fit(WORDS, np.stack([CONTEXTS, CONTEXTS], axis=1), verbose=0)


def test_a_plain_table_under_lora_or_quantized():
    for kind in ("lora", "int8"):
        table = keras.layers.Embedding(9, 4, embeddings_initializer="random_normal")
        table.build(None)
        if kind == "lora":
            table.enable_lora(2)
            table.lora_embeddings_a.assign(np.ones((9, 2)))
            table.lora_embeddings_b.assign(np.ones((2, 4)))
        else:
            table.quantize("int8")
        model = SkipGram(table, 9)
        found = model.vectors(tf.constant([1, 3]))
        assert found.dtype == tf.float32
        np.testing.assert_allclose(found, table(np.array([1, 3])), rtol=1e-6)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_leaves_ids_and_the_loss_as_they_are(policy):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        table = keras.layers.Embedding(5000, 4)
        model = SkipGram(table, 5000, seed=0)
    finally:
        keras.config.set_dtype_policy(before)
    start = np.array(table.embeddings) if table.built else model.word_vectors()
    assert start.dtype == np.float32
    model.compile(LazySGD(0.5))
    model.fit(np.array([2049.0, 4099.0]), np.array([1, 2]), verbose=0)  # no float16 holds them
    changed = np.flatnonzero((model.word_vectors() != start).any(1))
    assert changed.tolist() == [2049, 4099]


@pytest.mark.parametrize("shared_noise", [None, 7])
def test_a_column_of_words_is_a_list_of_words(shared_noise):
    losses = []
    for words in (WORDS, WORDS[:, None]):
        keras.utils.set_random_seed(1)
        model = SkipGram(keras.layers.Embedding(8, 4), 8, shared_noise=shared_noise, seed=0)
        model.compile(LazySGD(0.0))
        losses.append(model.train_on_batch(words, CONTEXTS))
    np.testing.assert_allclose(*losses, rtol=1e-6)
