"""A frozen model is a Keras model with the same outputs, and the original stays as it was."""

import keras
import numpy as np
import pytest

from export_models import (
    CLASSES,
    EMBEDDINGS,
    MODELS,
    Subclassed,
    V,
    answers,
    cluster,
    mean,
    some_ids,
)
from kerascompact import export, layers
from kerascompact.export import converter, freezing
from kerascompact.forms import Form

COMPACT = [name for name in EMBEDDINGS if name != "standard"]
IDS = some_ids()


def forms(model):
    return [layer for layer in model.layers if isinstance(layer, Form)]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["mean", pytest.param("lstm", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", COMPACT)
def test_frozen_model_predicts_what_the_trained_one_does(name, kind, tmp_path):
    model = MODELS[kind](EMBEDDINGS[name]())
    before = model.get_weights()
    frozen = export.freeze(model, "float32").model
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    assert [form.name for form in forms(frozen)] == ["embedding"]
    assert forms(model) == []
    expected = answers(model, IDS)
    # the same numbers, perhaps multiplied in another order
    np.testing.assert_allclose(answers(frozen, IDS), expected, atol=1e-6)
    frozen.save(tmp_path / "frozen.keras")
    loaded = keras.models.load_model(tmp_path / "frozen.keras")
    np.testing.assert_array_equal(answers(loaded, IDS), answers(frozen, IDS))


@pytest.mark.parametrize("name", COMPACT)
def test_int8_rounds_each_column_to_127_steps(name):
    layer = EMBEDDINGS[name]()
    model = keras.Sequential([keras.Input((9,), dtype="int32"), layer])
    table = answers(model, np.arange(V).reshape(1, -1)[:, :9])[0]
    rounded = answers(export.freeze(model, "int8_tables").model, np.arange(9)[None])[0]
    # no vector's entry exceeds its initial 0.1: half of a step is 0.1 / 127 / 2
    assert 0 < np.abs(table - rounded).max() <= 0.1 / 127 / 2 * 1.001


def test_the_frozen_model_evaluates_as_the_trained_one_was_compiled():
    model = mean(cluster())
    loss = "sparse_categorical_crossentropy"
    model.compile("adam", loss, metrics=["accuracy"], run_eagerly=True)
    labels = np.arange(len(IDS)) % CLASSES
    model.train_on_batch(IDS, labels)
    frozen = export.freeze(model, "float32").model
    found, expected = (one.test_on_batch(IDS, labels, return_dict=True) for one in (frozen, model))
    assert set(found) == set(expected) == {"loss", "accuracy"}
    assert found["accuracy"] == expected["accuracy"]
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-5)


def test_sequential_and_nested_models():
    inner = keras.Sequential([keras.Input((None,), dtype="int32"), cluster(), layers.MaskedMean()])
    model = keras.Sequential([keras.Input((9,), dtype="int32"), inner, keras.layers.Dense(2)])
    frozen = export.freeze(model, "float32").model
    assert len(forms(frozen.layers[0])) == 1
    np.testing.assert_allclose(answers(frozen, IDS), answers(model, IDS), atol=1e-6)


def test_nested_functional_model():
    words = keras.Input((9,), dtype="int32")
    vectors = layers.MaskedMean()(cluster()(words))
    ids = keras.Input((9,), dtype="int32", name="ids")
    model = keras.Model(ids, keras.layers.Dense(2)(keras.Model(words, vectors)(ids)))
    frozen = export.freeze(model, "float32").model
    np.testing.assert_allclose(answers(frozen, IDS), answers(model, IDS), atol=1e-6)


def test_an_embedding_used_twice_stays_one():
    one, two = (keras.Input((9,), dtype="int32", name=name) for name in ("one", "two"))
    shared, mean_of = cluster(), layers.MaskedMean()
    difference = keras.layers.Subtract()([mean_of(shared(one)), mean_of(shared(two))])
    model = keras.Model([one, two], keras.layers.Dense(2)(difference))
    frozen = export.freeze(model, "float32").model
    assert len(forms(frozen)) == 1
    other = some_ids(seed=1)
    np.testing.assert_allclose(
        answers(frozen, [IDS, other]), answers(model, [IDS, other]), atol=1e-6
    )


def test_freezing_twice_gives_an_equal_model_of_its_own():
    once = export.freeze(mean(cluster()), "float32").model
    twice = export.freeze(once, "float32").model
    assert forms(twice)[0] is not forms(once)[0]
    np.testing.assert_array_equal(answers(once, IDS), answers(twice, IDS))
    assert forms(export.freeze(once, "int8_tables").model)[0].precision == "int8"
    assert forms(once)[0].precision == "float32"


def test_a_subclassed_model_is_lent_with_its_forms_and_given_back():
    model = Subclassed(cluster())
    model(IDS)
    expected = model.predict(IDS, verbose=0)
    with export.freeze(model, "int8_tables").shipped() as (lent, found):
        assert lent is model and [form.precision for form in found] == ["int8"]
        rounded = model.predict(IDS, verbose=0)
    assert 0 < np.abs(rounded - expected).max() < 1e-2
    np.testing.assert_array_equal(model.predict(IDS, verbose=0), expected)
    model.embedding.logits.assign(-model.embedding.logits)  # it looks at its weights again
    assert np.abs(model.predict(IDS, verbose=0) - expected).max() > 0


def test_a_subclassed_model_is_given_back_after_an_error():
    model = Subclassed(cluster())
    expected = answers(model, IDS)
    with pytest.raises(KeyError, match="mine"), export.freeze(model, "int8_tables").shipped():
        raise KeyError("mine")
    np.testing.assert_array_equal(answers(model, IDS), expected)


@pytest.mark.parametrize(
    "make", [lambda: Subclassed(cluster()), lambda: keras.Sequential([cluster()])]
)
def test_refuses_what_is_no_graph_of_layers(make):
    with pytest.raises(ValueError, match="`model` must be functional or Sequential"):
        _ = export.freeze(make()).model


def test_refuses_weights_that_are_not_finite():
    model = mean(cluster())
    model.get_layer("embedding").codebook.assign(np.full((5, 4), np.nan))
    with pytest.raises(ValueError, match="must hold finite numbers only"):
        export.freeze(model)


@pytest.fixture
def policy(request):
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize("policy", ["mixed_bfloat16"], indirect=True)
def test_a_model_trained_in_mixed_precision_is_frozen_in_float32(policy):
    """`test_mixed_precision_is_compared_in_float32` has the file of one."""
    model = mean(EMBEDDINGS["mixture"]())
    frozen = export.freeze(model, "float32").model
    computing = [layer for layer in frozen.layers if layer.weights]
    assert {layer.compute_dtype for layer in computing} == {"float32"}
    assert answers(frozen, IDS).dtype == np.float32
    np.testing.assert_allclose(answers(frozen, IDS), answers(model, IDS), atol=0.02)  # 8 bits


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "embedding"),
    [
        ("mixed_float16", "standard"),
        ("mixed_bfloat16", "mixture"),
        ("mixed_bfloat16", "cluster"),
        ("mixed_float16", "adjustment"),
    ],
    indirect=["policy"],
)
def test_a_model_trained_in_mixed_precision_ships_in_float32(policy, embedding):
    model = MODELS["lstm"](EMBEDDINGS[embedding]())
    file = export.convert(model)
    report = export.verify(model, file, some_ids())
    assert report.agreement == 1
    assert report.outputs.dtype == np.float32


def test_a_model_is_frozen_once_and_converted_once(monkeypatch):
    """The other copy is not rounded: `verify` holds it to the trained model."""
    copies, conversions = [], []
    copy, to_tflite = freezing.frozen_copy, converter.to_tflite
    monkeypatch.setattr(
        freezing, "frozen_copy", lambda model, recipe: copies.append(recipe) or copy(model, recipe)
    )
    monkeypatch.setattr(
        converter, "to_tflite", lambda *a: conversions.append(a[0]) or to_tflite(*a)
    )
    model = mean(cluster())
    frozen = export.freeze(model)
    data = frozen.convert()
    assert frozen.verify(IDS).agreement == 1 and "embedding" in str(frozen.summary())
    assert [recipe.name for recipe in copies] == ["int8", "float32"] and len(conversions) == 1
    assert frozen.file is data


@pytest.mark.slow
def test_a_frozen_model_and_a_model_give_the_same_bytes():
    model = mean(cluster())
    frozen = export.freeze(model)
    assert export.convert(model) == export.convert(frozen)
    assert export.convert({"one": frozen}) == export.convert({"one": model})


def test_a_file_of_another_recipe_is_held_to_that_recipe():
    frozen = export.freeze(mean(cluster()), "int4_tables")
    data = export.convert(frozen.trained, "int8_tables")
    assert export.verify(frozen, data, IDS).frozen_file.largest < 1e-5
    with pytest.raises(
        ValueError, match=r"`recipe` must be the one that .*=\['int4_tables', 'int8'\]"
    ):
        frozen.convert(recipe="int8")


@pytest.mark.few(1)
@pytest.mark.parametrize("make", [mean, lambda layer: Subclassed(layer)])
def test_evaluates_what_ships_with_the_loss_of_the_trained_model(make):
    model, labels = make(cluster()), np.arange(len(IDS)) % 3
    expected = answers(model, IDS)
    frozen = export.freeze(model, "int4_tables")
    with pytest.raises(ValueError, match="`model` must be compiled with the loss and metrics"):
        frozen.evaluate(IDS, labels)
    classes = range(expected.shape[-1])
    labels = labels % len(classes)
    loss = keras.losses.SparseCategoricalCrossentropy()
    model.compile(loss=loss, metrics=["accuracy"], run_eagerly=True)
    before = model.evaluate(IDS, labels, verbose=0)
    with frozen.shipped() as (ships, _):
        rounded = np.asarray(ships(IDS))
    found = frozen.evaluate(IDS, labels, verbose=0)
    picked = rounded[np.arange(len(IDS)), labels]
    # Float32 losses, averaged by Keras over batches.
    np.testing.assert_allclose(found["loss"], -np.log(picked).mean(), rtol=1e-5)
    assert found["accuracy"] == pytest.approx(np.mean(rounded.argmax(-1) == labels))
    assert found["loss"] != pytest.approx(before[0], rel=1e-6), "int4 rounds"
    np.testing.assert_array_equal(answers(model, IDS), expected)
    assert model.evaluate(IDS, labels, verbose=0) == pytest.approx(before, rel=1e-6)


def test_refuses_what_is_no_model():
    with pytest.raises(ValueError, match=r"`model` must be a keras.Model. Received: model=3"):
        export.freeze(3)


@pytest.mark.few(1)
@pytest.mark.parametrize("make", [mean, lambda layer: Subclassed(layer)])
def test_a_snapshot_is_compared_with_the_weights_it_was_made_of(make):
    model = make(cluster())
    model(IDS)
    frozen = export.freeze(model)
    file = frozen.convert()
    assert frozen.verify(IDS).agreement == 1
    variable = model.trainable_weights[0]
    variable.assign(variable + 1)
    with pytest.raises(ValueError, match="`model` must be frozen again after its weights changed"):
        frozen.verify(IDS)
    if isinstance(model, Subclassed):  # it would mix old forms and new kernels
        with pytest.raises(ValueError, match="must be frozen again"):
            frozen.convert()
    else:
        assert frozen.convert() == file
        assert export.freeze(model).verify(IDS).agreement == 1
