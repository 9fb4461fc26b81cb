"""The embedding that reads rows, against `keras.layers.Embedding`."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export
from kerascompact.compress import ScalarQuantization, compress_model
from kerascompact.core.keras_graph import stock_reversible
from kerascompact.layers import Embedding
from kerascompact.models import mean_classifier
from kerascompact.optimizers import lazy

V, D = 30, 4
STOCK = keras.layers.Embedding
IDS = np.random.default_rng(0).integers(0, V, (6, 5)).astype(np.int32)
TABLE = np.random.default_rng(1).normal(size=(V, D)).astype(np.float32)
LABELS = np.array([0, 1, 2, 0, 1, 2])


def pair(**kwargs):
    """Ours and Keras', with the same table."""
    both = Embedding(V, D, **kwargs), keras.layers.Embedding(V, D, **kwargs)
    for layer in both:
        layer.build()
        layer.set_weights([TABLE])
    return both


@pytest.mark.few(8)
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16", "float64"])
@pytest.mark.parametrize("ids", [IDS, IDS.astype(np.float32), IDS - V, np.int64(3), IDS[:0]])
def test_gives_the_vectors_of_keras(ids, dtype):
    ours, theirs = pair(dtype=dtype)
    assert ours(ids).dtype == theirs(ids).dtype
    np.testing.assert_array_equal(ours(ids), theirs(ids))


def test_takes_ragged_and_sparse_ids():
    ours, theirs = pair()
    ragged = tf.ragged.constant([[3, 1], [], [4]])
    np.testing.assert_array_equal(ours(ragged).flat_values, theirs(ragged).flat_values)
    sparse = tf.sparse.from_dense([[3, 0], [1, 2]])
    np.testing.assert_array_equal(ours(sparse), theirs(sparse))
    model = keras.Sequential([keras.Input((None,), dtype="int32", ragged=True), ours])
    assert isinstance(model(ragged), tf.RaggedTensor)


def test_an_id_out_of_range_is_an_error_as_with_keras():
    for layer in pair():
        for bad in (V, -V - 1):
            with pytest.raises(tf.errors.InvalidArgumentError, match="indices"):
                layer(np.array([bad]))


def test_has_the_config_the_name_and_the_mask_of_keras():
    arguments = dict(embeddings_regularizer="l2", mask_zero=True, lora_rank=None)
    ours, theirs = pair(**arguments, name="words")
    assert ours.get_config() == theirs.get_config()
    assert Embedding.from_config(theirs.get_config()).get_config() == theirs.get_config()
    assert isinstance(ours, keras.layers.Embedding)
    assert [w.path for w in ours.weights] == [w.path for w in theirs.weights]
    np.testing.assert_array_equal(ours.compute_mask(IDS), theirs.compute_mask(IDS))
    np.testing.assert_array_equal(ours(IDS)._keras_mask, IDS != 0)
    assert Embedding(V, D).name.startswith("embedding")  # so that files name it as Keras' layer
    with pytest.raises(ValueError, match="`input_dim` must be a positive integer"):
        Embedding(0, D)


def test_takes_weights():
    for weights in (TABLE, [TABLE]):
        np.testing.assert_array_equal(Embedding(V, D, weights=weights)(IDS), TABLE[IDS])


def test_scores_words_in_reverse_and_keeps_no_mask_there():
    reversible = stock_reversible()
    if reversible is None:
        pytest.skip("Keras < 3.13 has no embedding in reverse")
    ours, theirs = Embedding(V, D, mask_zero=True, logit_soft_cap=3.0), None
    theirs = reversible(V, D, mask_zero=True, logit_soft_cap=3.0)
    for layer in (ours, theirs):
        layer.build()
        layer.set_weights([TABLE])
    hidden = tf.constant(TABLE[:2])
    logits = ours(hidden, reverse=True)
    np.testing.assert_array_equal(logits, theirs(hidden, reverse=True))
    assert getattr(logits, "_keras_mask", None) is None
    assert ours.get_config()["logit_soft_cap"] == 3.0 and "tie_weights" not in ours.get_config()


def trained(cls, jit_compile, optimizer="adam", **kwargs):
    keras.utils.set_random_seed(0)
    model = mean_classifier(cls(V, D, embeddings_initializer="uniform", **kwargs), 3)
    loss = "sparse_categorical_crossentropy"
    options = dict(jit_compile=jit_compile, run_eagerly=not jit_compile)
    model.compile(lazy(optimizer), loss, **options)
    model.optimizer.build(model.trainable_variables)
    for _ in range(2):
        for rows in (slice(3), slice(3, 6)):
            model.train_on_batch(IDS[rows], LABELS[rows])
    return model


CHANGED = {"mask_zero": True, "embeddings_constraint": "non_neg"}


@pytest.mark.parametrize(
    ("kwargs", "jit_compile"),
    [
        (CHANGED, False),
        pytest.param({}, False, marks=pytest.mark.slow),
        pytest.param({}, True, marks=pytest.mark.slow),
        pytest.param(CHANGED, True, marks=pytest.mark.slow),
    ],
)
def test_trains_to_the_weights_of_keras(jit_compile, kwargs):
    ours, theirs = (
        trained(cls, jit_compile, **kwargs) for cls in (Embedding, keras.layers.Embedding)
    )
    for found, expected in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_a_step_reads_no_entire_table():
    layer = pair()[0]

    def gradient(ids):
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(layer(ids))
        rows = tape.gradient(total, layer.embeddings.value)
        return rows.values, rows.indices

    graph = (
        tf.function(gradient, autograph=False)
        .get_concrete_function(tf.TensorSpec((2, 5), tf.int32))
        .graph
    )
    shapes = [out.shape for op in graph.get_operations() for out in op.outputs]
    assert all(shape.rank is None or shape[:1] != [V] for shape in shapes)


def test_loads_what_keras_saved(tmp_path):
    theirs = trained(keras.layers.Embedding, False)
    theirs.save(tmp_path / "keras.keras")
    theirs.save_weights(tmp_path / "keras.weights.h5")
    ours = mean_classifier(Embedding(V, D), 3)
    ours.load_weights(tmp_path / "keras.weights.h5")
    saved = keras.models.load_model(tmp_path / "keras.keras")

    def as_ours(layer):
        kind = Embedding if type(layer) is keras.layers.Embedding else type(layer)
        return kind.from_config(layer.get_config())

    loaded = keras.models.clone_model(saved, clone_function=as_ours)
    loaded.set_weights(saved.get_weights())
    ours.save(tmp_path / "ours.keras")
    for model in (ours, loaded, keras.models.load_model(tmp_path / "ours.keras")):
        assert type(model.layers[1]) is Embedding
        np.testing.assert_allclose(model(IDS), theirs(IDS), rtol=1e-6)


def test_lora_and_integers_are_those_of_keras():
    ours, theirs = pair()
    keras.utils.set_random_seed(0)
    ours.enable_lora(2, b_initializer="ones")
    keras.utils.set_random_seed(0)
    theirs.enable_lora(2, b_initializer="ones")
    np.testing.assert_allclose(ours(IDS), theirs(IDS), rtol=1e-6)
    ours, theirs = pair()
    ours.quantize("int8")
    theirs.quantize("int8")
    np.testing.assert_array_equal(ours(IDS), theirs(IDS))


def with_table(cls):
    model = mean_classifier(cls(V, D, name="words"), 3)
    random = np.random.default_rng(2)
    model.set_weights([random.normal(size=w.shape).astype("float32") for w in model.get_weights()])
    return model


def test_is_compressed_as_keras_layer():
    models = [compress_model(with_table(c), ScalarQuantization(4)) for c in (Embedding, STOCK)]
    assert [type(model.get_layer("words")).__name__ for model in models] == ["DenseForm"] * 2
    np.testing.assert_array_equal(models[0](IDS), models[1](IDS))


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["float32", "int8"])
def test_exports_the_file_of_keras_layer(recipe):
    models = [with_table(cls) for cls in (Embedding, STOCK)]
    ours, theirs = (export.convert(model, recipe=recipe) for model in models)
    assert len(ours) == len(theirs)
    frozen = [export.freeze(model, recipe).model for model in models]
    np.testing.assert_array_equal(frozen[0](IDS), frozen[1](IDS))


def test_a_loss_of_its_own_logits_leaves_padding_out():
    layer = Embedding(V, D, mask_zero=True)
    vectors = layer(tf.constant([[3, 0]]))
    assert layer(vectors, reverse=True)._keras_mask.numpy().tolist() == [[True, False]]
