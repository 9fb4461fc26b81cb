"""The file against Keras, its size against the bits, and every model that cannot be converted."""

import math

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
    inverse,
    lstm,
    mean,
    other_weight_bytes,
    some_ids,
)
from kerascompact import export, layers, models, tflite, tools
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import Vocabulary

LABELS = ["one", "two", "dr\u00e9i"]
WORDS = Vocabulary([f"w{i}" for i in range(V - 2)])
# The same float32 products added in another order, then a softmax.
CLOSE = dict(rtol=1e-4, atol=1e-5)


def shuffled(model):
    """The model with weights that make its outputs differ from row to row."""
    random = np.random.default_rng(5)
    model.set_weights(
        [w if w.ndim == 0 else random.normal(size=w.shape) for w in model.get_weights()]
    )
    return model


def outputs(data, ids, name="probabilities"):
    file = Interpreter(data)
    (given,) = file.inputs
    return np.concatenate([file.run({given: row[None]})[name] for row in ids])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "kind", "recipe"),
    [
        ("standard", "lstm", "float32"),
        ("cluster", "lstm", "int8_tables"),
        ("adjustment", "mean", "float32"),
        ("mixture", "mean", "int8_tables"),
        pytest.param("standard", "mean", "int8_tables", marks=pytest.mark.slow),
        pytest.param("cluster", "mean", "float32", marks=pytest.mark.slow),
        pytest.param("adjustment", "lstm", "int8_tables", marks=pytest.mark.slow),
        pytest.param("mixture", "lstm", "float32", marks=pytest.mark.slow),
    ],
)
def test_file_predicts_what_keras_does(name, kind, recipe):
    """All-padding rows too; lengths that the model leaves open stay open."""
    model = shuffled(MODELS[kind](EMBEDDINGS[name]()))
    data = export.convert(model, recipe)
    expected = model if recipe == "float32" else export.freeze(model, recipe).model
    for length in (1, 9):
        ids = some_ids(length)
        wanted = answers(expected, ids)
        np.testing.assert_allclose(outputs(data, ids), wanted, **CLOSE)
    found = tools.inspect(data)
    assert found.custom == [] and not any("FLEX" in op.upper() for op in found.operators)
    assert [port.split()[0] for port in found.inputs] == ["ids"]
    assert found.inputs == ["ids int32[1, ?]"]
    assert found.outputs == [f"probabilities float32[1, {CLASSES}]"]
    assert "READ_VARIABLE" not in found.operators
    embeddings = found.metadata.get("embeddings", [])
    assert [fact["input_dim"] for fact in embeddings] == [V]  # Keras' own embedding, too


@pytest.mark.slow  # `test_runtimes.py` has an LSTM of a fixed length
@pytest.mark.parametrize("kind", ["mean", "lstm"])
def test_fixed_length(kind):
    model = shuffled(MODELS[kind](cluster()))
    data = export.convert(model, sequence_length=9)
    assert tools.inspect(data).inputs == ["ids int32[1, 9]"]
    ids = some_ids()
    wanted = answers(export.freeze(model, "int8_tables").model, ids)
    np.testing.assert_allclose(outputs(data, ids), wanted, **CLOSE)


@pytest.fixture(scope="module")
def converted():
    """A trained model, its weights before it was converted, and its file."""
    keras.utils.set_random_seed(0)
    model = shuffled(mean(cluster(), sequence_length=9))
    model.compile("adam", "sparse_categorical_crossentropy", run_eagerly=True)
    before = model.get_weights()
    return model, before, export.convert(model, labels=LABELS, vocabulary=WORDS)


@pytest.mark.slow  # `tflite/test_kernels` compares bytes, too
def test_frozen_and_trained_model_give_the_same_bytes(converted):
    model, _, data = converted
    frozen = export.freeze(model, "int8_tables").model
    assert export.convert(frozen, labels=LABELS, vocabulary=WORDS) == data
    assert tools.inspect(data).inputs == ["ids int32[1, 9]"]  # the length of the model


def test_original_is_untouched(converted):
    model, before, _ = converted
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    assert type(model.get_layer("embedding")) is layers.ClusterEmbedding
    model.train_on_batch(some_ids(), np.zeros(6))  # still trains
    model.set_weights(before)


def test_metadata(converted):
    found = tflite.read_metadata(converted[2])
    assert found["labels"] == LABELS
    assert found["recipe"] == {"name": "int8", "tables": "int8", "kernels": "int8"}
    assert found["vocabulary"] == {
        "size": V,
        "rules": "wordpunct",
        "bytes": WORDS.num_bytes,
        "sha256": WORDS.sha256,
    }
    (facts,) = found["embeddings"]
    bits = V * math.ceil(math.log2(5))
    assert facts["paper_bits"] == bits + 32 * 5 * 4
    assert facts["stored_bits"] == bits + 8 * 5 * 4 + 32 * 4
    assert facts["form"] == "CodebookForm"


@pytest.mark.slow  # `test_any_model.py` has some, and `test_verifier.py` this one
def test_subclassed_model():
    model = Subclassed(cluster())
    model(some_ids())
    shuffled(model)
    before = answers(model, some_ids())
    data = export.convert(model, "float32")
    np.testing.assert_allclose(outputs(data, some_ids(), "output_0"), before, **CLOSE)
    assert len(tflite.read_metadata(data)["embeddings"]) == 1
    np.testing.assert_array_equal(answers(model, some_ids()), before)


@pytest.mark.slow  # `test_verifier.py` and `test_trace.py` have nested ones
def test_model_of_named_inputs_and_outputs():
    one, two = (keras.Input((9,), dtype="int32", name=name) for name in ("one", "two"))
    shared, mean_of = cluster(), layers.MaskedMean()
    both = keras.layers.Concatenate()([mean_of(shared(one)), mean_of(shared(two))])
    heads = {"yes": keras.layers.Dense(1)(both), "kind": keras.layers.Dense(2)(both)}
    model = shuffled(keras.Model({"one": one, "two": two}, heads))
    ids = {"one": some_ids(), "two": some_ids(seed=1)}
    file = Interpreter(export.convert(model, "float32"))
    assert set(file.inputs) == {"one", "two"} and set(file.outputs) == {"yes", "kind"}
    expected = answers(model, ids)
    for row in range(6):
        found = file.run({name: array[row : row + 1] for name, array in ids.items()})
        for name in heads:
            np.testing.assert_allclose(found[name], expected[name][row : row + 1], **CLOSE)


def stored_bytes(facts):
    return sum(fact["stored_bits"] for fact in facts["embeddings"]) / 8


BIG = {
    "cluster": lambda **c: layers.ClusterEmbedding(3000, 5, 50, **c),
    "adjustment": lambda **c: layers.ClusterAdjustmentEmbedding(3000, 6, 50, **c),
    "mixture": lambda **c: layers.MixtureEmbedding(3000, 5, 50, 300, num_reserved=2, **c),
}


CLASSIFIERS = {"lstm": models.lstm_classifier, "mean": models.mean_classifier}


@pytest.mark.slow  # `test_forms_in_files` has a short one of 10,000 words
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "kind", "recipe"),
    [
        ("cluster", "lstm", "float32"),
        ("adjustment", "mean", "int8_tables"),
        ("mixture", "mean", "float32"),
        pytest.param("cluster", "mean", "int8_tables", marks=pytest.mark.slow),
        pytest.param("adjustment", "lstm", "float32", marks=pytest.mark.slow),
        pytest.param("mixture", "lstm", "int8_tables", marks=pytest.mark.slow),
    ],
)
def test_file_is_as_small_as_its_bits_say(name, recipe, kind):
    """The graph around the arrays, that of the LSTM included, costs at most 6 KB."""
    model = CLASSIFIERS[kind](BIG[name](name="embedding", mask_zero=True), 2)
    data = export.convert(model, recipe, sequence_length=400, names=False)
    stored = stored_bytes(tflite.read_metadata(data))
    limit = 1.02 * stored + 6 * 1024 + other_weight_bytes(model)
    assert stored < len(data) <= limit


@pytest.mark.parametrize(
    "counts",
    [[(2, 2), (7, 0)], pytest.param([(1, 0), (2, 0), (6, 2), (7, 2)], marks=pytest.mark.slow)],
)
def test_mixture_of_any_number_of_unique_words(counts):
    """The converter turns a clip to [0, 6] into a Relu6, and one to [0, 1] into another Relu."""
    given = keras.Input((20,), dtype="int32", name="ids")
    outputs = {
        f"{unique} {reserved}": layers.MixtureEmbedding(20, 2, 3, unique, num_reserved=reserved)(
            given
        )
        for unique, reserved in counts
    }
    model, ids = keras.Model(given, outputs), np.arange(20)[None]
    found = Interpreter(export.convert(model, "float32")).run({"ids": ids})
    assert len(found) == len(counts)
    for name, expected in answers(model, ids).items():
        np.testing.assert_array_equal(found[name], expected)


@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", ["float32", "int8_tables"])
def test_no_table_is_unpacked(recipe):
    model = models.mean_classifier(layers.ClusterEmbedding(5000, 2, 50), 2)
    found = tools.inspect(export.convert(model, recipe))
    # 50 clusters take 6 bits; a code that straddles two bytes is read with one byte more
    assert found.tensors[0].num_bytes == math.ceil(5000 * 6 / 8) + 1
    assert found.tensors[0].dtype == "uint8"
    assert not any(t.shape[:1] == (5000,) for t in found.tensors)
    assert found.tensors[1].num_bytes < 1024


class Inverse(keras.layers.Layer):
    """A layer of an operator that TFLite does not have."""

    def call(self, inputs):
        return inverse(inputs)


@pytest.mark.filterwarnings("ignore:Layer 'inverse':UserWarning")  # it passes no mask on
def test_refuses_an_operator_that_needs_flex(capfd):
    model = keras.Sequential([keras.Input((4,), dtype="int32"), cluster(), Inverse()])
    with pytest.raises(ValueError, match="operators that TFLite has.*MatrixInverse in .*inverse"):
        export.convert(model)
    assert "MatrixInverse" not in capfd.readouterr().err  # the message is the exception's


@pytest.mark.parametrize(
    "make",
    [
        lambda: Subclassed(cluster()),
        lambda: keras.Sequential([cluster(), keras.layers.Flatten()]),
    ],
)
def test_refuses_a_model_that_is_not_built(make):
    with pytest.raises(ValueError, match="`model` must be built before it is converted"):
        export.convert(make())


def test_refuses_a_tensor_that_the_runtime_cannot_hold():
    layers = [keras.Input((2**15,), dtype="int32"), keras.layers.Embedding(2, 2**14)]
    with pytest.raises(ValueError, match=r"no tensor of 2 GiB .* \[1, 32768, 16384\].*sequence_l"):
        export.convert(keras.Sequential(layers), "float32")


@pytest.mark.parametrize("model", [None, "model.keras", cluster])
def test_refuses_what_is_no_model(model):
    with pytest.raises(ValueError, match="`model` must be a keras.Model"):
        export.convert(model)


def broken(layer, weight):
    model = mean(cluster())
    variable = getattr(model.get_layer(layer), weight)
    variable.assign(np.full(variable.shape, np.nan))
    return model


@pytest.mark.parametrize(
    ("layer", "weight"),
    [("embedding", "logits"), ("embedding", "codebook"), ("probabilities", "bias")],
)
def test_refuses_weights_that_are_not_finite(layer, weight):
    with pytest.raises(ValueError, match=rf"{layer}/{weight}` must hold finite numbers only"):
        export.convert(broken(layer, weight))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["a", "b"]}, "`labels` must name each of the model's 3 outputs. Rec.*: 2 lab"),
        ({"labels": ["a", "b", ""]}, "`labels` must be a list of non-empty strings"),
        ({"labels": [0, 1, 2]}, "`labels` must be a list of non-empty strings"),
        ({"labels": 3}, "of non-empty strings in the order of the outputs. Received: labels=3"),
        (
            {"labels": "abc"},
            "of non-empty strings in the order of the outputs. Received: labels=.abc",
        ),
        ({"vocabulary": Vocabulary(["a"])}, "as many ids as the embedding, 30.*vocabulary of 3"),
        ({"recipe": "int2"}, "`recipe` must be one of 'float32', 'int8', 'int4'"),
        ({"sequence_length": 0}, "`sequence_length` must be an integer >= 1"),
        ({"sequence_length": 2.5}, "`sequence_length` must be an integer >= 1"),
    ],
)
def test_refuses_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        export.convert(mean(cluster()), **options)


@pytest.mark.slow  # `test_any_model.py` has a loop without a mask
def test_lstm_without_mask():
    embedding = layers.ClusterEmbedding(V, 4, 5)
    model = shuffled(lstm(embedding))
    data = export.convert(model, "float32")
    ids = some_ids()
    np.testing.assert_allclose(outputs(data, ids), answers(model, ids), **CLOSE)
