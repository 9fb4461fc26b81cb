"""Models of every shape that `convert` has never seen: all inputs, all outputs, all embeddings."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from export_models import cluster, some_ids
from kerascompact import export, layers, tools
from kerascompact.runtime.interpreter import Interpreter

ONE, TWO = some_ids(), some_ids(seed=1)
SCORES = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
CLOSE = dict(rtol=1e-4, atol=1e-5)  # float32 sums in another order


class Pair(keras.layers.Layer):
    """A layer with an embedding inside, and a configuration that does not know it."""

    def __init__(self, **config):
        super().__init__(**config)
        self.embedding = cluster()
        self.mean = layers.MaskedMean()

    def call(self, ids):
        return self.mean(self.embedding(ids), mask=self.embedding.compute_mask(ids))


class NoConfig(keras.layers.Layer):
    """A layer that cannot be copied."""

    def __init__(self, units):
        super().__init__()
        self.dense = keras.layers.Dense(units)

    def call(self, inputs):
        return self.dense(inputs)


class OfDict(keras.Model):
    """Subclassed, of a dictionary, with outputs in a dictionary in a dictionary."""

    def __init__(self):
        super().__init__()
        self.pair, self.head = Pair(), keras.layers.Dense(4)

    def call(self, inputs):
        both = tf.concat([self.pair(inputs["one"]), inputs["scores"]], axis=-1)
        return {"out": self.head(both), "more": {"sum": tf.reduce_sum(both, -1)}}


class OfList(OfDict):
    def call(self, inputs):
        one, scores = inputs
        return self.head(tf.concat([self.pair(one), scores], axis=-1)), scores * 2


class OfArguments(OfDict):
    def call(self, one, scores):
        return self.head(tf.concat([self.pair(one), scores], axis=-1))


def run(data, inputs, recipe="float32"):
    """All outputs of a file for all rows, and the file."""
    file = Interpreter(data)
    assert set(file.inputs) == set(inputs)
    rows = [
        file.run({name: array[row : row + 1] for name, array in inputs.items()})
        for row in range(len(ONE))
    ]
    return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def stores_codes_once(data):
    found = tools.inspect(data)
    packed = [t for t in found.tensors if t.dtype == "uint8"]
    return len(packed) == 1 and len(found.metadata["embeddings"]) == 1


def two_inputs():
    one, two = (keras.Input((9,), dtype="int32", name=name) for name in ("one", "two"))
    shared, mean = cluster(), layers.MaskedMean()
    a, b = mean(shared(one)), mean(shared(two))
    outputs = {"sum": keras.layers.Add()([a, b]), "product": keras.layers.Multiply()([a, b])}
    return keras.Model([one, two], outputs), {"one": ONE, "two": TWO}


def nested():
    shared = cluster()
    words = keras.Input((9,), dtype="int32")
    inner = keras.Model(words, layers.MaskedMean()(shared(words)), name="inner")
    outer = keras.Sequential([keras.Input((9,), dtype="int32"), inner], name="outer")
    ids = keras.Input((9,), dtype="int32", name="one")
    both = keras.layers.Concatenate()([outer(ids), layers.MaskedMean()(shared(ids))])
    return keras.Model(ids, keras.layers.Dense(2, name="out")(both)), {"one": ONE}


def sentences():
    """TimeDistributed around a model with an embedding: words in sentences in a text."""
    words = keras.Input((3,), dtype="int32")
    inner = keras.Model(words, layers.MaskedMean()(cluster()(words)))
    text = keras.Input((3, 3), dtype="int32", name="one")
    hidden = keras.layers.TimeDistributed(inner)(text)
    return keras.Model(text, keras.layers.GRU(3)(hidden)), {"one": ONE.reshape(6, 3, 3)}


def of_lambda():
    ids = keras.Input((9,), dtype="int32", name="one")
    hidden = keras.layers.Lambda(lambda vectors: vectors[:, 1:] * 2, name="twice")(cluster()(ids))
    return keras.Model(ids, keras.layers.GlobalMaxPooling1D()(hidden)), {"one": ONE}


def composite():
    ids = keras.Input((9,), dtype="int32", name="one")
    return keras.Model(ids, keras.layers.Dense(2)(Pair(name="pair")(ids))), {"one": ONE}


def without_config():
    ids = keras.Input((9,), dtype="int32", name="one")
    return keras.Model(ids, NoConfig(3)(layers.MaskedMean()(cluster()(ids)))), {"one": ONE}


def other_types():
    """Ids of int64, and a number beside them."""
    ids = keras.Input((9,), dtype="int64", name="one")
    scores = keras.Input((3,), name="scores")
    both = keras.layers.Concatenate()([layers.MaskedMean()(cluster()(ids)), scores])
    return keras.Model([ids, scores], [both, scores]), {
        "one": ONE.astype("int64"),
        "scores": SCORES,
    }


MODELS = [
    two_inputs,
    nested,
    sentences,
    of_lambda,
    composite,
    without_config,
    other_types,
]


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore:Layer .*:UserWarning")  # some pass no mask on
@pytest.mark.parametrize("make", MODELS)
def test_a_graph_of_any_shape(make):
    model, inputs = make()
    model(inputs if len(inputs) > 1 else inputs["one"])
    before = model.get_weights()
    data = export.convert(model, "int8_tables")
    with export.freeze(model, "int8_tables").shipped() as (lent, _):
        given = [inputs[tensor.name] for tensor in model.inputs]
        expected = lent(given[0] if len(given) == 1 else given)
    found = run(data, inputs)
    if not isinstance(expected, dict):
        expected = dict(zip(found, keras.tree.flatten(expected), strict=True))
    assert set(found) == set(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, **CLOSE)
    assert stores_codes_once(data)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_layer_that_makes_two_outputs():
    """Keras gives both one name; the file has both, and `verify` compares them."""
    ids = keras.Input((9,), dtype="int32", name="ids")
    table = cluster()
    vectors = table(ids)
    model = keras.Model(ids, [vectors, table(vectors, reverse=True)])
    frozen = export.freeze(model, "int8")
    found = run(frozen.convert(), {"ids": ONE})
    assert list(found) == [table.name, f"{table.name}_1"]
    for array, wanted in zip(found.values(), frozen.model(ONE), strict=True):
        np.testing.assert_allclose(array, wanted, **CLOSE)
    report = frozen.verify(ONE)
    assert list(report.outputs) == list(found) and report.check() is report


@pytest.mark.few(1)
@pytest.mark.parametrize("make", [OfDict, OfList, OfArguments])
def test_a_subclassed_model_of_several_inputs(make):
    model, given = make(), {"one": ONE, "scores": SCORES}
    call = {OfDict: lambda: model(given), OfList: lambda: model([ONE, SCORES])}
    expected = call.get(make, lambda: model(ONE, SCORES))()
    inputs = {"one": keras.Input((9,), dtype="int32"), "scores": SCORES}
    data = export.convert(model, "float32", inputs=inputs)
    found = run(data, given)
    assert stores_codes_once(data)
    arrays = [np.asarray(array) for array in keras.tree.flatten(expected)]
    for array, name in zip(arrays, sorted(found), strict=True):
        np.testing.assert_allclose(found[name], array, **CLOSE)


def test_a_subclassed_model_of_numbers():
    model = keras.Sequential([keras.layers.Dense(3), keras.layers.Dense(2)])
    outer = NoConfigModel(model)
    expected = outer(SCORES)
    data = export.convert(outer, "float32", inputs={"scores": SCORES})
    np.testing.assert_allclose(run(data, {"scores": SCORES})["output_0"], expected, **CLOSE)


@pytest.mark.parametrize("batch_size", [pytest.param(1, marks=pytest.mark.slow), None])
def test_a_subclassed_model_of_numbers_that_was_called(batch_size):
    """The file has the shape of the call and the name of the argument."""
    outer = NoConfigModel(keras.Sequential([keras.layers.Dense(3), keras.layers.Dense(2)]))
    expected = outer(SCORES)
    data = export.convert(outer, "float32", batch_size=batch_size)
    rows = "?" if batch_size is None else "1"
    assert tools.inspect(data).inputs == [f"numbers float32[{rows}, 3]"]
    np.testing.assert_allclose(run(data, {"numbers": SCORES})["output_0"], expected, **CLOSE)


class NoConfigModel(keras.Model):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, numbers):
        return self.inner(numbers)


class Closing(Pair):
    """A layer with a function that holds an embedding, which no copy could exchange."""

    def __init__(self, **config):
        super().__init__(**config)
        self.look_up = lambda ids: self.embedding(ids)

    def call(self, ids):
        return self.mean(self.look_up(ids), mask=self.embedding.compute_mask(ids))


def test_freeze_reaches_inside_layers_and_names_what_it_does_not_reach():
    model, inputs = composite()
    frozen = export.freeze(model, "float32").model
    assert type(frozen.get_layer("pair").embedding).__name__ == "CodebookForm"
    np.testing.assert_allclose(frozen(inputs["one"]), model(inputs["one"]), atol=1e-6)
    ids = keras.Input((9,), dtype="int32", name="one")
    closed = keras.Model(ids, Closing(name="pair")(ids))
    with pytest.raises(ValueError, match="'pair' has a function that holds a layer"):
        _ = export.freeze(closed).model
    assert export.verify(closed, export.convert(closed), ONE).agreement == 1.0


def test_refuses_inputs_that_are_missing_or_too_many():
    model = OfDict()
    model({"one": ONE, "scores": SCORES})
    with pytest.raises(ValueError, match="`inputs` must be a keras.Input for each name"):
        export.convert(model)
    with pytest.raises(ValueError, match="`inputs` must be a dictionary of names"):
        export.convert(model, inputs=[ONE])
    with pytest.raises(ValueError, match="`inputs` must be None for a functional or Seq"):
        export.convert(nested()[0], inputs={"one": ONE})
    several = OfArguments()
    several(ONE, SCORES)
    with pytest.raises(ValueError, match=r"`inputs` must be a dictionary with the keys \['one'"):
        export.convert(several, inputs={"one": ONE, "other": SCORES})
