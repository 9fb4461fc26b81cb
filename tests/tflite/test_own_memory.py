"""Files whose tensors the runtime would write over: right with and without XNNPACK."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import interpreter as litert

from kerascompact import export, tools
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.passes.own_memory import give_own_memory

V = 60
IDS = np.array([[1, 2, 3, 59, 0, 7]], np.int32)


def outputs(data, ids, kinds=("AUTO", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")):
    """Output of a file with XNNPACK, and with the built-in kernels."""
    for kind in kinds:
        runner = litert.Interpreter(
            model_content=data, experimental_op_resolver_type=litert.OpResolverType[kind]
        ).get_signature_runner()
        (name,) = runner.get_input_details()
        yield next(iter(runner(**{name: ids}).values()))


def summed(x):
    """Vectors beside a sum of two of another shape."""
    one, two = (keras.ops.expand_dims(part, 1) for part in (x, keras.ops.multiply(x, 2.0)))
    return keras.ops.concatenate([x, keras.ops.squeeze(one + two, 1)])


def normalized(x):
    """A softmax of another shape; vectors of that shape are an output's part, too."""
    shaped = keras.ops.reshape(x, (-1, 6, 2, 4))
    again = keras.ops.reshape(keras.ops.softmax(keras.ops.expand_dims(shaped, 1)), (-1, 6, 2, 4))
    return keras.ops.concatenate([shaped, again])


def attended(x):
    return keras.ops.concatenate([x, keras.layers.AdditiveAttention()([x, x])])


@pytest.mark.parametrize(
    ("make", "length", "read"),
    [(summed, 6, 6), (normalized, 6, 6), (attended, None, 1), (attended, None, 5)],
)
def test_files_are_right_with_every_kernel(make, length, read):
    ids = keras.Input((length,), dtype="int32")
    model = keras.Model(ids, make(keras.layers.Embedding(V, 8)(ids)))
    frozen = export.freeze(model, "int8")
    wanted = frozen.model(IDS[:, :read]).numpy()
    for found in outputs(frozen.convert(), IDS[:, :read]):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def plain_file():
    """A file of TensorFlow's converter: the vectors of 6 words, beside sums of another shape."""
    table = tf.Variable(np.random.default_rng(0).normal(size=(V, 8)).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec((1, 6), tf.int32)])
    def serve(ids):
        x = tf.gather(table, ids)
        y = tf.expand_dims(x, 1) + tf.expand_dims(2.0 * x, 1)
        return {"out": tf.concat([x, tf.squeeze(y, 1)], -1)}

    module = tf.Module()
    module.table = table
    functions = [serve.get_concrete_function()]
    return tf.lite.TFLiteConverter.from_concrete_functions(functions, module).convert()


def test_shrunk_files_are_right_with_every_kernel():
    plain = plain_file()
    (wanted,) = outputs(plain, IDS, ("AUTO",))
    small = tools.shrink(plain, "int8").data
    for found in outputs(small, IDS):
        np.testing.assert_allclose(found, wanted, atol=0.1)


def test_what_is_right_stays_as_it_is():
    model = flatbuffer.parse(plain_file())  # its rows are the first tensor in their memory
    (graph,) = model.subgraphs
    before = len(graph.operators)
    give_own_memory(model)
    assert len(graph.operators) == before
