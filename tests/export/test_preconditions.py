"""What cannot be converted is named, with its layer, before the converter runs."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from export_models import cluster
from kerascompact import export
from kerascompact.export import preconditions, trace
from kerascompact.export.recipe import Recipe
from kerascompact.layers import SparseLSTM
from kerascompact.runtime.interpreter import Interpreter


class Layer(keras.layers.Layer):
    """Does whatever it is given."""

    def __init__(self, function, **config):
        super().__init__(**config)
        self.function = function

    def call(self, inputs):
        return self.function(inputs)

    def compute_output_shape(self, input_shape):
        return input_shape


def inverse(square):
    return tf.linalg.inv(square)


def words(numbers):
    return tf.strings.length(tf.strings.as_string(numbers))


def python(numbers):
    return tf.reshape(tf.numpy_function(np.sort, [numbers], tf.float32), (1, 4, 4))


def undecided(numbers):
    return numbers if tf.reduce_sum(numbers) > 0 else -numbers  # graphs have no truth


def wrong(numbers):
    raise KeyError("mine")


class Outer(keras.Model):
    """A subclassed model with a layer inside a layer."""

    def __init__(self, function):
        super().__init__(name="outer")
        inside = [cluster(), Layer(function, name="bad")]
        self.inner = keras.Sequential(inside, name="inner")

    def call(self, ids):
        return self.inner(ids)


@pytest.fixture
def no_converter(monkeypatch):
    def never(*args):
        raise AssertionError("the converter was called")

    monkeypatch.setattr(trace.tf.lite.TFLiteConverter, "from_concrete_functions", never)


@pytest.mark.filterwarnings("ignore:Layer 'bad':UserWarning")  # it passes no mask on
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (inverse, "MatrixInverse in .*inner.*/bad"),
        (words, "AsString in .*inner.*/bad.*, StringLength in .*inner.*/bad"),
        (python, "(Eager)?PyFunc in .*inner.*/bad"),
    ],
)
def test_names_operators_and_their_layers(no_converter, function, message):
    model = Outer(function)
    model(np.array([[1, 2, 3, 4]]))
    with pytest.raises(
        ValueError, match=f"must use only operators that TFLite has. Rec.*{message}"
    ):
        export.convert(model)


@pytest.mark.filterwarnings("ignore:Layer 'bad':UserWarning")
@pytest.mark.parametrize(("function", "kind"), [(undecided, "Operator"), (wrong, "KeyError")])
def test_names_the_layer_that_cannot_be_traced(no_converter, function, kind):
    model = Outer(tf.abs)
    model(np.array([[1, 2, 3, 4]]))
    model.inner.layers[-1].function = function
    before = keras.config.is_traceback_filtering_enabled()
    with pytest.raises(ValueError, match=f"Received: .*outer/inner/bad, which raises {kind}"):
        export.convert(model)
    assert keras.config.is_traceback_filtering_enabled() == before


@pytest.mark.parametrize(
    "layer",
    [
        lambda: keras.layers.StringLookup(vocabulary=["a", "b"], name="lookup"),
        lambda: keras.layers.TextVectorization(vocabulary=["a"], output_mode="int", name="lookup"),
        lambda: keras.layers.Hashing(7, name="lookup"),
    ],
)
def test_names_layers_of_strings(no_converter, layer):
    given = keras.Input((), dtype="string", name="words")
    inner = keras.Model(given, layer()(given), name="inner")
    outer = keras.Input((), dtype="string", name="text")
    model = keras.Model(outer, inner(outer))
    with pytest.raises(
        ValueError, match="must not have layers of strings.*Received: inner/lookup, a "
    ):
        export.convert(model)


def test_steps_of_an_open_number_are_refused_where_keras_computes_one():
    ids = keras.Input((None,), dtype="int32")
    each = keras.layers.TimeDistributed(keras.layers.Dense(3), name="each")
    model = keras.Model(ids, each(keras.layers.Embedding(9, 4)(ids)))
    with pytest.raises(ValueError, match="layer functional.*/each, .* give `sequence_length`"):
        export.convert(model)
    three = np.array([[4, 2, 7]], np.int32)
    file = Interpreter(export.convert(model, "float32", sequence_length=3))
    (found,) = file.run({ids.name: three}).values()
    np.testing.assert_allclose(found, model(three), rtol=1e-5)


@pytest.mark.parametrize("layer", [keras.layers.GRU, SparseLSTM])
def test_names_layers_that_keep_states(no_converter, layer):
    ids = keras.Input(batch_shape=(2, 3), dtype="int32")
    model = keras.Model(ids, layer(4, stateful=True, name="reader")(cluster()(ids)))
    with pytest.raises(ValueError, match="`export.with_states.*Received: reader, a stateful"):
        export.convert(model, batch_size=2)


@pytest.mark.parametrize("dtype", ["string", "float64"])
def test_refuses_inputs_that_no_phone_has(no_converter, dtype):
    given = keras.Input((3,), dtype=dtype, name="given")
    with pytest.raises(ValueError, match="one whose inputs are numbers of a phone's types.*given"):
        export.convert(keras.Model(given, keras.layers.Reshape((3, 1))(given)))


def test_refuses_int16_beside_packed_codes(no_converter):
    model = keras.Sequential([keras.Input((4,), dtype="int32"), cluster()])
    recipe = Recipe("mine", "float32", "int16x8")
    with pytest.raises(ValueError, match=r"as 'int16x8' beside packed codes.*\['embedding'\]"):
        export.convert(model, recipe, representative=np.ones((2, 4)))


@pytest.mark.filterwarnings("ignore:Layer 'bad':UserWarning")
def test_names_layers_of_operators_that_only_the_converter_knows():
    model = Outer(tf.math.bessel_i0)
    model(np.array([[1, 2, 3, 4]]))
    with pytest.raises(ValueError, match="built-in TFLite op.*BesselI0 in .*inner.*/bad"):
        export.convert(model)


def future(vectors):
    """A mask of two ranges as long as the text, which TFLite compares only at a known length."""
    places = tf.range(tf.shape(vectors)[1])
    earlier = places[:, None] >= places[None, :]
    return vectors * tf.cast(earlier, tf.float32)[None, :, :1]


@pytest.mark.filterwarnings("ignore:Layer 'bad':UserWarning")
def test_names_the_length_that_would_help():
    model = Outer(future)
    model(np.array([[1, 2, 3, 4]]))
    with pytest.raises(ValueError, match="StridedSlice in .*/bad.*; give `sequence_length=`, the"):
        export.convert(model)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer 'bad':UserWarning")
def test_that_length_helps():
    model, ids = Outer(future), np.array([[1, 2, 3, 4]])
    expected = model(ids)
    data = export.convert(model, "float32", sequence_length=4)
    np.testing.assert_allclose(Interpreter(data).run({"ids": ids})["output_0"], expected, rtol=1e-6)


def test_paths_of_nested_layers():
    inner = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="b")], name="a")
    model = keras.Sequential([inner])
    assert [path for path, _ in preconditions.paths(model)] == ["a", "a/b"]
