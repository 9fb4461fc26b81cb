"""Several models in one file, which stores what they share once."""

import keras
import numpy as np
import pytest

from export_models import V, answers, cluster, mean, some_ids
from kerascompact import export, layers, tflite, tools
from kerascompact.export.recipe import Recipe
from kerascompact.export.signature import for_each
from kerascompact.runtime.classifier import TextClassifier
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import Vocabulary

IDS = some_ids()
# The same float32 products added in another order, then a softmax.
CLOSE = dict(rtol=1e-4, atol=1e-5)


def three(embedding, loop=False):
    """An encoder, a classifier upon it, and a model of the next word with the same table."""
    words = keras.Input((9,), dtype="int32", name="ids")
    pooled = layers.MaskedMean()(embedding(words))
    encode = keras.Model(words, keras.layers.Dense(24, name="vector")(pooled))
    ids = keras.Input((9,), dtype="int32", name="ids")
    head = keras.layers.Dense(3, activation="softmax", name="probabilities")
    classify = keras.Model(ids, head(encode(ids)))
    given = keras.Input((9,), dtype="int32", name="given")
    if loop:
        hidden = keras.layers.LSTM(20, name="lstm")(embedding(given))
    else:
        hidden = keras.layers.Dense(20)(layers.MaskedMean()(embedding(given)))
    following = keras.Model(given, keras.layers.Dense(V, name="logits")(hidden))
    return {"encode": encode, "classify": classify, "next word": following}


def large(data, at_least):
    return [t for t in tools.inspect(data).tensors if t.num_bytes >= at_least]


def stock():
    return keras.layers.Embedding(V, 8, mask_zero=True)


@pytest.mark.parametrize(
    ("make", "recipe", "loop"),
    [
        pytest.param(cluster, "float32", True, marks=pytest.mark.slow),
        pytest.param(cluster, "int4", True, marks=pytest.mark.slow),
        pytest.param(stock, "int8_tables", True, marks=pytest.mark.slow),
        pytest.param(stock, Recipe("r", "int8", "int8", "rows"), True, marks=pytest.mark.slow),
        pytest.param(stock, Recipe("r", "int8", "int8", "rows"), False, marks=pytest.mark.slow),
    ],
)
def test_models_of_one_file_predict_what_they_do_alone(make, recipe, loop):
    models = three(make(), loop=loop)
    predict_alike(models, export.convert(models, recipe), recipe)


def predict_alike(models, data, recipe):
    """Whether each model of a file gives what it does alone, frozen."""
    names = {"encode": ("ids", "vector"), "classify": ("ids", "probabilities")}
    names["next word"] = "given", "logits"
    for name, model in models.items():
        file = Interpreter(data, signature=name)
        ((given, output),) = [names[name]]
        assert (list(file.inputs), list(file.outputs)) == ([given], [output])
        found = np.concatenate([file.run({given: row[None]})[output] for row in IDS])
        np.testing.assert_allclose(found, answers(export.freeze(model, recipe).model, IDS), **CLOSE)
    assert list(Interpreter(data).outputs) == ["vector"]  # the first


def of_one_table():
    return three(keras.layers.Embedding(V, 32, mask_zero=True, name="table"))


@pytest.fixture(scope="module")
def blocks():
    """Three models, and their file with a table of four bits, read by rows."""
    keras.utils.set_random_seed(0)
    models = of_one_table()
    return models, export.convert(models, "blocks")


def test_models_of_four_bits_predict_what_they_do_alone(blocks):
    predict_alike(*blocks, "blocks")


def test_verify_compares_the_model_of_a_name(blocks):
    models, data = blocks
    frozen = export.freeze(models["classify"], "blocks")
    assert export.verify(frozen, data, IDS, signature="classify").agreement == 1  # not the first
    with pytest.raises(ValueError, match=r"must give outputs of shape \[6, 3\].* \[6, 24\]"):
        export.verify(frozen, data, IDS, signature="encode")
    with pytest.raises(ValueError, match="it has no signature 'none'"):
        export.verify(frozen, data, IDS, signature="none")


def test_a_table_is_stored_once(blocks):
    data = blocks[1]
    tables = [t for t in tools.inspect(data).tensors if t.shape == (V, 32)]
    assert [t.num_bytes for t in tables] == [V * 32 / 2]  # four bits
    kernels = [t for t in tools.inspect(data).tensors if t.shape == (24, 32)]
    assert len(kernels) <= 1  # of `encode`, and of `encode` inside `classify`
    (fact,) = tflite.read_metadata(data)["embeddings"]
    assert fact["input_dim"] == V


@pytest.mark.slow
def test_one_file_is_smaller_than_three():
    models = of_one_table()
    data = export.convert(models, "blocks")
    alone = sum(len(export.convert(model, "blocks")) for model in models.values())
    assert len(data) <= alone - 2 * V * 32 / 2
    assert data == export.convert(models, "blocks")  # the same bytes


@pytest.mark.slow
def test_packed_codes_are_stored_once():
    data = export.convert(three(cluster()))
    assert len([t for t in tools.inspect(data).tensors if t.dtype == "uint8"]) == 1


def test_subclassed_models_that_share_a_layer():
    class Model(keras.Model):
        def __init__(self, embedding, units):
            super().__init__()
            self.embedding, self.head = embedding, keras.layers.Dense(units)

        def call(self, ids):
            return {"out": self.head(self.embedding(ids))}

    shared = cluster()
    models = {"one": Model(shared, 2), "two": Model(shared, 5)}
    expected = {name: model(IDS)["out"].numpy() for name, model in models.items()}
    data = export.convert(models, "float32")
    for name in models:
        found = Interpreter(data, signature=name).run({"ids": IDS[:1]})["out"]
        np.testing.assert_allclose(found, expected[name][:1], **CLOSE)
    assert len([t for t in tools.inspect(data).tensors if t.dtype == "uint8"]) == 1
    np.testing.assert_array_equal(models["one"](IDS)["out"], expected["one"])  # given back


def test_numbers_of_a_model_without_a_table_are_no_ids():
    numbers = keras.Input((2,), dtype="int32", name="numbers")
    total = keras.ops.sum(keras.ops.cast(numbers, "float32"), axis=-1, keepdims=True)
    models = {"classify": mean(cluster()), "add": keras.Model(numbers, {"total": total})}
    data = export.convert(models)
    file = Interpreter(data, signature="add")
    assert file.vocabulary_size is None
    assert file.run({"numbers": np.array([[V, 1]], np.int32)})["total"] == V + 1
    with pytest.raises(ValueError, match=r"must lie in \[0, 30\)"):
        Interpreter(data, signature="classify").run({"ids": IDS[:1] + V})


def test_text_labels_and_facts_of_each():
    words = Vocabulary([f"w{i}" for i in range(V - 2)])
    models = three(cluster())
    del models["next word"]
    labels = ["one", "two", "three"]
    data = export.convert(models, text=words, max_bytes=40, labels={"classify": labels})
    facts = tflite.read_metadata(data)["signatures"]
    assert facts["classify"]["labels"] == labels and "labels" not in facts["encode"]
    file = Interpreter(data, signature="classify")
    assert file.metadata["labels"] == labels
    ids = np.zeros((1, 9), np.int32)
    ids[0, :3] = words.encode("w3 w4 never")
    expected = answers(export.freeze(models["classify"], "int8_tables").model, ids)
    found = file.run_text("w3 w4 never")["probabilities"]
    np.testing.assert_allclose(found, expected, **CLOSE)
    prediction = TextClassifier(data, signature="classify").predict("w3 w4 never")
    np.testing.assert_array_equal(prediction.probabilities, found[0])
    assert prediction.label == labels[found.argmax()]
    with pytest.raises(ValueError, match="no signature 'other', but"):
        TextClassifier(data, signature="other")


@pytest.mark.slow
def test_full_integer_of_several():
    models = three(cluster())
    del models["next word"]
    rows = dict.fromkeys(models, IDS)
    data = export.convert(models, "full_int8", representative=rows)
    expected = answers(export.freeze(models["classify"], "full_int8").model, IDS)
    file = Interpreter(data, signature="classify")
    found = np.concatenate([file.run({"ids": row[None]})["probabilities"] for row in IDS])
    assert np.abs(found - expected).max() < 0.1  # 8 bits between layers


def test_one_model_under_a_name_of_its_own():
    model = keras.Sequential([keras.Input((9,), name="ids"), keras.layers.Dense(2)])
    data = export.convert({"only one": model})
    file = Interpreter(data, signature="only one")
    (found,) = file.run({"ids": IDS[:1].astype("float32")}).values()
    assert found.shape == (1, 2)
    with pytest.raises(ValueError, match="no signature 'other', but only one"):
        Interpreter(data, signature="other")


@pytest.mark.parametrize("models", [{}, {"": None}, {1: None}])
def test_refuses_models_without_names(models):
    with pytest.raises(ValueError, match="`model` must be a keras.Model, or a dictionary of them"):
        export.convert(models)


def test_refuses_what_is_not_of_a_model():
    models = three(cluster())
    with pytest.raises(ValueError, match=r"`labels` must be a dictionary with some of the models'"):
        export.convert(models, labels=["one", "two", "three"])
    with pytest.raises(ValueError, match=r"`inputs` must be a dictionary with some of the models'"):
        for_each("inputs", {"other": 1}, models, several=True)
    with pytest.raises(ValueError, match="`model` must be a keras.Model. Received: model='none'"):
        export.convert({"encode": "none"})
