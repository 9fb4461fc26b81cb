import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export
from kerascompact.core.storage import total_bits
from kerascompact.forms import ProjectedForm
from kerascompact.layers import BitCache, ProjectionEmbedding
from kerascompact.size import summary
from kerascompact.text.ngrams import projection_bits, word_bytes

WORDS = ["king", "kingg", "", "caf\u00e9", "\U0001f600", "a"]


def example(**overrides):
    return ProjectionEmbedding(**{**ProjectionEmbedding.EXAMPLE, **overrides})


def moved(layer, seed=1):
    """A layer with weights that no initializer gives, so that each one counts."""
    layer.build()
    random = np.random.default_rng(seed)
    for weight in layer.weights:
        if np.issubdtype(weight.numpy().dtype, np.floating):
            values = random.normal(size=weight.shape)
            weight.assign(values**2 + 0.1 if "variance" in weight.path else values)
    return layer


def by_hand(layer, bits):
    """The paper's equation 2 in NumPy."""
    vectors = 2.0 * bits - 1
    if layer.whitening:
        vectors = (vectors - layer.bit_mean.numpy()) @ layer.whitener.numpy()
    for number, dense in enumerate(layer.dense):
        vectors = vectors @ dense.kernel.numpy() + dense.bias.numpy()
        if number < len(layer.dense) - 1:
            vectors = np.maximum(vectors, 0)
    if layer.normalization == "l2":
        return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    if layer.normalization is None:
        return vectors
    norm = layer.normalize
    if layer.normalization == "batch":
        mean, variance = norm.moving_mean.numpy(), norm.moving_variance.numpy()
    else:
        mean = vectors.mean(axis=-1, keepdims=True)
        variance = vectors.var(axis=-1, keepdims=True)
    scaled = (vectors - mean) / np.sqrt(variance + norm.epsilon)
    return scaled * norm.gamma.numpy() + norm.beta.numpy()


@pytest.mark.few(2)
@pytest.mark.parametrize("normalization", ["batch", "layer", "l2", None])
@pytest.mark.parametrize("whitening", [True, False])
def test_is_the_equation_and_freezes_to_it(normalization, whitening):
    layer = example(normalization=normalization, hidden_units=(6, 5), whitening=whitening)
    moved(layer)
    if whitening:
        layer.adapt([*WORDS, "queen", "ocean"])
    expected = by_hand(layer, projection_bits(WORDS, layer.projection))
    # sums of 32, 6 and 5 float32 products of size 1 to 10
    np.testing.assert_allclose(layer(WORDS), expected, rtol=1e-4, atol=1e-4)
    form = layer.to_form()
    assert isinstance(form, ProjectedForm) and form.name == layer.name
    np.testing.assert_allclose(form(WORDS), expected, rtol=1e-4, atol=1e-4)
    weights = 32 * (33 * 6 + 7 * 5 + 6 * 4)
    assert layer.paper_bits() == weights == form.paper_bits
    extra = 2 * 32 * 4 if normalization == "layer" else 0
    assert total_bits(form.storage()) == weights + extra


def test_adapting_whitens_the_bits_of_words_as_often_as_they_count():
    """Against NumPy's covariance of the words, each repeated."""
    layer = example(whitening=True, num_projections=2, projection_dim=3)
    words = [f"{stem}{end}" for stem in ("king", "sea", "table") for end in ("", "s", "ing", "er")]
    counts = np.arange(1, 13) ** 2
    layer.adapt([*words, ""], [*counts, 99], epsilon=1e-6)
    bits = layer.bits(words).repeat(np.arange(1, 13), axis=0)  # the root of the count
    inputs = (2.0 * bits - 1 - layer.bit_mean.numpy()) @ layer.whitener.numpy()
    np.testing.assert_allclose(inputs.mean(axis=0), 0, atol=1e-4)
    values = np.linalg.eigvalsh(np.cov(inputs.T, bias=True))
    constant = np.linalg.matrix_rank(np.cov(bits.T, bias=True))  # patterns that words have
    np.testing.assert_allclose(values[-constant:], 1, atol=1e-3)
    np.testing.assert_allclose(values[:-constant], 0, atol=1e-3)
    before = layer.whitener.numpy()
    layer.adapt(words, epsilon=0.5, power=0)
    covariance = np.cov(2.0 * layer.bits(words).T - 1, bias=True)
    wanted = np.linalg.inv(covariance + 0.5 * np.eye(6))
    whitener = layer.whitener.numpy()
    np.testing.assert_allclose(whitener @ whitener, wanted, atol=1e-4)
    assert np.abs(before - whitener).max() > 0.1


def test_a_whitened_layer_is_kept_and_trains_in_half_precision(tmp_path):
    layer = example(whitening=True, mask_zero=True)
    layer.adapt(["king", "queen", "ocean", "table"])
    model = keras.Sequential([keras.Input((None, 32), dtype="uint8"), layer])
    model.save(tmp_path / "model.keras")
    bits = layer.bits(WORDS)[None]
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(bits), model(bits))
    frozen = export.freeze(model, "float32").model
    np.testing.assert_allclose(frozen(bits), model(bits), atol=1e-5)
    half = example(whitening=True, mask_zero=True, dtype="mixed_float16")
    half.build()
    half.set_weights(layer.get_weights())
    assert half(bits).dtype == "float16"
    np.testing.assert_allclose(half(bits), layer(bits), atol=2e-2)
    trained = [weight.path.split("/")[-1] for weight in layer.trainable_weights]
    assert "whitener" not in trained and "bit_mean" not in trained


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: example().adapt(["a"]), "`whitening` must be True"),
        (lambda: example(whitening=True).adapt([]), "`words` must be at least one word"),
        (lambda: example(whitening=True, together=True).adapt(["a"]), "layer of single words"),
        (lambda: example(whitening=True).adapt(["a"], [1, 2]), "`counts` must be 1 numbers >= 0"),
        (lambda: example(whitening=True).adapt([""]), "`counts` must be a number above 0 for a"),
        (lambda: example(whitening=True).adapt(["a"], epsilon=0), "`epsilon` must be"),
        (lambda: example(whitening=1), "`whitening` must be"),
    ],
)
def test_refuses_to_whiten(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_takes_strings_bytes_and_bits_alike():
    layer = moved(example())
    bits = layer.bits(WORDS)
    np.testing.assert_array_equal(bits, projection_bits(WORDS, layer.projection))
    reference = layer(bits)
    data, lengths = word_bytes(WORDS)
    ragged = tf.RaggedTensor.from_row_lengths(data, lengths)
    for inputs in (WORDS, np.array(WORDS), tf.constant(WORDS), ragged, bits.astype(np.float32)):
        np.testing.assert_array_equal(layer(inputs), reference)
    np.testing.assert_array_equal(layer.vectors(WORDS, batch_size=4), reference)
    assert layer.vectors([]).shape == (0, 4)
    texts = tf.RaggedTensor.from_row_lengths(tf.constant(WORDS), [2, 0, 4])
    np.testing.assert_array_equal(layer(texts).flat_values, reference)
    rows = tf.RaggedTensor.from_row_lengths(ragged, [2, 0, 4])
    np.testing.assert_array_equal(layer(rows).flat_values, reference)
    np.testing.assert_array_equal(
        layer(tf.reshape(tf.constant(WORDS), [2, 3])), tf.reshape(reference, [2, 3, 4])
    )
    cache = BitCache.from_words(WORDS, layer.projection)
    np.testing.assert_array_equal(layer(cache(np.arange(6))), reference)


def test_takes_texts_whole():
    layer = moved(example(together=True))
    texts = [["king", "of", ""], ["a", "caf\u00e9", "king"]]
    bits = np.concatenate([layer.bits(text) for text in texts])
    reference = layer(bits)
    np.testing.assert_array_equal(layer(texts), reference)
    np.testing.assert_array_equal(layer(tf.ragged.constant([["king", "of"], texts[1]])), reference)
    data, lengths = word_bytes(sum(texts, []))
    rows = tf.RaggedTensor.from_row_lengths(data, lengths)
    np.testing.assert_array_equal(layer(tf.RaggedTensor.from_row_lengths(rows, [3, 3])), reference)
    assert layer.to_form()(texts).shape == (2, 4)
    with pytest.raises(ValueError, match=r"`inputs` must be texts as rows of words"):
        layer(["king"])


def test_leaves_padding_out_of_batch_statistics():
    padded = projection_bits(["king", "queen", "", ""], example().projection)
    with_mask, without = moved(example(mask_zero=True)), moved(example())
    for _ in range(3):
        np.testing.assert_allclose(
            with_mask(padded, training=True)[:2], without(padded[:2], training=True), atol=1e-5
        )
    np.testing.assert_allclose(with_mask(padded), without(padded), atol=1e-5)
    assert np.asarray(with_mask.compute_mask(tf.constant(padded[None]))).tolist() == [[1, 1, 0, 0]]


@pytest.mark.parametrize(
    ("dtype", "jit_compile"),
    [pytest.param("float32", True, marks=pytest.mark.slow), ("mixed_float16", False)],
)
def test_trains(jit_compile, dtype):
    names = [f"{stem}{number}" for stem in ("king", "ocean", "table") for number in range(8)]
    layer = example(dtype=dtype, hidden_units=(16,), dropout=0.1, kernel_regularizer="l2")
    bits = layer.bits(names)
    model = keras.Sequential([keras.Input((32,), dtype="uint8"), layer])
    model.add(keras.layers.Dense(3, activation="softmax", dtype="float32"))
    how = {"jit_compile": jit_compile, "run_eagerly": not jit_compile}
    model.compile(keras.optimizers.Adam(0.1), "sparse_categorical_crossentropy", **how)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    kinds = np.repeat([0, 1, 2], 8)
    first = model.test_on_batch(bits, kinds)
    for _ in range(6):
        model.train_on_batch(bits, kinds)
    model.reset_metrics()
    assert model.test_on_batch(bits, kinds) < 0.7 * first
    assert len(layer.losses) == 2  # a penalty for each of the two kernels
    assert layer(bits).dtype == ("float32" if dtype == "float32" else "float16")


def test_trains_on_strings_in_tf_data():
    words = keras.Input((None,), dtype="string", name="words")
    hidden = keras.layers.GlobalAveragePooling1D()(example(mask_zero=True)(words))
    model = keras.Model(words, keras.layers.Dense(2)(hidden))
    model.compile("sgd", "mse", jit_compile=False)
    texts = tf.constant([["king", "of"], ["kings", ""]])
    data = tf.data.Dataset.from_tensors((texts, tf.zeros([2, 2])))
    assert np.isfinite(model.fit(data, verbose=0).history["loss"]).all()
    assert not model.layers[1].supports_jit and model(texts).shape == (2, 2)


_FRESH = """
import sys
import keras, numpy as np
import kerascompact.layers
for name in ("trained", "frozen"):
    model = keras.models.load_model(f"{sys.argv[1]}/{name}.keras")
    ids = np.array([[0, 1, 5, 2]])
    np.save(f"{sys.argv[1]}/{name}.npy", model(ids))
"""


@pytest.mark.slow
def test_ships_with_ids_in(tmp_path):
    """A model of ids: its cache and its network are saved, frozen, counted and exported."""
    layer = moved(example(mask_zero=True))
    cache = BitCache.from_words(WORDS, layer.projection)
    ids = keras.Input((4,), dtype="int32", name="ids")
    state = keras.layers.LSTM(3)(layer(cache(ids)))
    model = keras.Model(ids, keras.layers.Dense(2, activation="softmax")(state))
    rows = summary(model).layers
    assert rows[0].stored_bits == 8 * 6 * 4  # 32 bits for each of 6 words
    assert rows[1].stored_bits == rows[1].float32_bits == 32 * (33 * 6 + 7 * 4)
    data = np.random.default_rng(0).integers(0, 6, (16, 4), np.int32)
    for recipe in ("float32", "int8_tables"):
        report = export.verify(model, export.convert(model, recipe), data, tolerance=1e-5)
        assert report.agreement == 1.0
    frozen = export.freeze(model, "int8_tables").model
    model.save(tmp_path / "trained.keras")
    frozen.save(tmp_path / "frozen.keras")
    subprocess.run([sys.executable, "-c", _FRESH, str(tmp_path)], check=True)
    for name, each in (("trained", model), ("frozen", frozen)):
        loaded = np.load(tmp_path / f"{name}.npy")
        np.testing.assert_array_equal(loaded, each(np.array([[0, 1, 5, 2]])))


def test_keeps_its_config():
    layer = example(
        ngrams=(2, 4), seed=5, dropout=0.2, normalization="layer", kernel_regularizer="l2",
        mask_zero=True, name="projection",
    )  # fmt: skip
    config = json.loads(json.dumps(layer.get_config()))
    again = ProjectionEmbedding.from_config(config)
    assert again.get_config() == layer.get_config() and again.projection == layer.projection
    assert layer.projection.seed == 5 and layer.projection.ngrams == (2, 4)


def test_starts_and_transfers():
    one, other = moved(example()), example()
    other.build()
    other.set_weights(one.get_weights())
    other.trainable = False
    np.testing.assert_array_equal(one(WORDS), other(WORDS))
    before = [weight.numpy() for weight in other.weights]
    other(WORDS, training=True)  # frozen statistics do not move
    for old, weight in zip(before, other.weights, strict=True):
        np.testing.assert_array_equal(old, weight.numpy())


@pytest.mark.parametrize(
    "name, bad, message",
    [
        ("output_dim", 0, "`output_dim` must be an integer >= 1"),
        ("hidden_units", 5, "`hidden_units` must be a list of widths"),
        ("normalization", "none", "`normalization` must be one of 'batch', 'layer', 'l2', None"),
        ("dropout", 1.0, r"`dropout` must be a number in \[0, 0.999\]\."),
        ("mask_zero", "yes", "`mask_zero` must be True or False"),
        ("together", "yes", "`together` must be True or False"),
        ("ngrams", (3, 2), r"`ngrams\[1\]` must be an integer in \[3, 16\]"),
    ],
)
def test_rejects(name, bad, message):
    with pytest.raises(ValueError, match=message):
        example(**{name: bad})


def test_refuses_what_it_cannot_freeze():
    with pytest.raises(ValueError, match="has no weights yet"):
        example().to_form()
    layer = moved(example())
    layer.dense[0].kernel.assign(np.full((32, 6), np.nan))
    with pytest.raises(ValueError, match="must hold finite numbers only"):
        layer.to_form()
