"""The runtime: what it refuses, and that it needs neither TensorFlow nor Keras."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import interpreter as litert

from export_models import V, answers, cluster, file_of, inverse, mean, some_ids
from kerascompact import export
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import Vocabulary


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    return mean(cluster(seed=0))


@pytest.fixture(scope="module")
def data(model):
    return export.convert(model, sequence_length=9)


def python(script, folder):
    """What a script prints in a new process."""
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert found.returncode == 0, (found.returncode, found.stderr[-2000:])
    return found.stdout


def test_ports_are_named(data):
    file = Interpreter(data, num_threads=2)
    assert list(file.inputs) == ["ids"] and list(file.outputs) == ["probabilities"]
    assert file.vocabulary_size == V


def test_takes_ids_of_any_integer_type(data):
    file = Interpreter(data)
    ids = some_ids()[:1]
    wanted = file.run({"ids": ids})["probabilities"]
    for dtype in (np.uint8, np.int16, np.int64):
        np.testing.assert_array_equal(file.run({"ids": ids.astype(dtype)})["probabilities"], wanted)
    np.testing.assert_array_equal(file.run({"ids": ids.tolist()})["probabilities"], wanted)


@pytest.mark.parametrize("name", ["Ids", "", "probabilities"])
def test_refuses_other_names(data, name):
    with pytest.raises(ValueError, match=r"`inputs` must be a dictionary with the keys \['ids'\]"):
        Interpreter(data).run({name: some_ids()[:1]})
    with pytest.raises(ValueError, match="`inputs` must be a dictionary with the keys"):
        Interpreter(data).run({"ids": some_ids()[:1], name: some_ids()[:1]})


@pytest.mark.parametrize("shape", [(9,), (2, 9), (1, 8), (1, 10), (1, 9, 1), (1, 0), ()])
def test_refuses_other_shapes(data, shape):
    with pytest.raises(
        ValueError, match=r"`ids` must have the shape \[1, 9\]. Received: the shape"
    ):
        Interpreter(data).run({"ids": np.zeros(shape, np.int32)})


def test_refuses_no_ids_where_the_length_is_open():
    with pytest.raises(ValueError, match=r"`ids` must have the shape \[1, None\]"):
        Interpreter(file_of("mean")).run({"ids": np.zeros((1, 0), np.int32)})


def test_a_file_of_ids_takes_no_text():
    with pytest.raises(ValueError, match="`file` must be one that takes text"):
        Interpreter(file_of("mean")).run_text("up")


@pytest.mark.parametrize("id", [-1, V, 2**31, -(2**31), 2**40])
def test_refuses_ids_out_of_range(data, id):
    """The runtime itself would read past the table or give another word's vector."""
    ids = some_ids()[:1].astype(np.int64)
    ids[0, 3] = id
    with pytest.raises(ValueError, match=rf"`ids` must lie in \[0, {V}\).*an id of {id}\."):
        Interpreter(data).run({"ids": ids})


def test_refuses_ids_that_are_no_integers(data):
    """Cast to integers they would be ids that nobody asked for, even some past the table."""
    for ids in (np.full((1, 9), 0.5), np.full((1, 9), np.nan), np.full((1, 9), "a")):
        with pytest.raises(ValueError, match="`ids` must be an array of integers"):
            Interpreter(data).run({"ids": ids})


SELECT = tf.lite.OpsSet.SELECT_TF_OPS


def test_refuses_a_file_that_needs_flex():
    function = tf.function(inverse).get_concrete_function(tf.TensorSpec((1, 3, 3)))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, SELECT]
    with pytest.raises(
        ValueError, match="built-in operators. Received: .* needs FlexMatrixInverse"
    ):
        Interpreter(converter.convert())


def test_refuses_a_file_without_signature(model):
    function = tf.function(lambda x: tf.nn.relu(x)).get_concrete_function(tf.TensorSpec((1, 3)))
    data = tf.lite.TFLiteConverter.from_concrete_functions([function]).convert()
    with pytest.raises(ValueError, match="The file cannot be run: it has no signature"):
        Interpreter(data)


def test_damaged_files_never_crash_the_process(data, tmp_path):
    """In a process of its own: a crash of the runtime would take the tests with it."""
    (tmp_path / "model.tflite").write_bytes(data)
    script = """
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import Vocabulary
data = open("model.tflite", "rb").read()
damaged = [b"", data[:4], b"x" * 99]
damaged += [data[:length] for length in range(8, len(data), len(data) // 60)]
damaged += [data[:len(data) - n] for n in range(1, 9)]
for place in range(8):
    for bit in range(8):
        flipped = bytearray(data)
        flipped[place] ^= 1 << bit
        damaged.append(bytes(flipped))
accepted = 0
for bytes_ in damaged:
    try:
        Interpreter(bytes_)
        accepted += 1
    except ValueError as error:
        assert "`flatbuffer` must" in str(error) or "cannot be run" in str(error), error
print(len(damaged), accepted)
"""
    count, accepted = map(int, python(script, tmp_path).split())
    assert count > 100 and accepted == 0


def test_only_tables_that_read_the_ids_limit_them():
    """Neither the segments, which are fewer than the words, nor the positions, which are more."""
    ids = keras.Input((6,), dtype="int32", name="ids")
    ones = keras.ops.ones_like(ids)
    vectors = keras.layers.Embedding(9, 4)(ids)
    vectors += keras.layers.Embedding(2, 4)(ones)
    vectors += keras.layers.Embedding(16, 4)(keras.ops.cumsum(ones, axis=1))
    model = keras.Model(ids, keras.layers.Dense(3, name="scores")(vectors))
    words = [Vocabulary([f"w{i}" for i in range(n - 2)]) for n in (9, 12)]
    file = Interpreter(export.convert(model, "float32", vocabulary=words[0]))
    assert file.vocabulary_size == 9
    largest = np.full((1, 6), 8, np.int32)
    np.testing.assert_allclose(file.run({"ids": largest})["scores"], model(largest), atol=1e-6)
    with pytest.raises(ValueError, match=r"`ids` must lie in \[0, 9\)"):
        file.run({"ids": largest + 1})
    with pytest.raises(ValueError, match="as many ids as the embedding, 9 or 16. Received: .* 12"):
        export.convert(model, vocabulary=words[1])


@pytest.mark.parametrize(
    ("makes", "bound"),
    [
        (lambda ids: [ids % 9], None),
        (lambda ids: [keras.ops.where(ids < 30, ids, 1)], None),
        (lambda ids: [keras.layers.Discretization([5.0, 30.0])(ids)], None),
        (lambda ids: [ids % 9, ids], 30),  # read as it is by another table
        pytest.param(lambda ids: [keras.ops.cast(ids, "int32")], 30, marks=pytest.mark.slow),
        pytest.param(lambda ids: [ids[:, 1:]], 30, marks=pytest.mark.slow),
        pytest.param(lambda ids: [keras.layers.Flatten()(ids)], 30, marks=pytest.mark.slow),
    ],
    ids=["computed", "unknown", "by a layer", "read too", "cast", "cut", "flat"],
)
def test_ids_that_the_model_bounds_do_not_limit_the_input(makes, bound):
    ids = keras.Input((4,), dtype="int32", name="ids")
    vectors = [keras.layers.Embedding(30, 2)(read) for read in makes(ids)]
    file = Interpreter(export.convert(keras.Model(ids, vectors), "float32"))
    given = np.array([[1, 8, 17, (bound or 123457) - 1]])
    found = [*file.run({"ids": given}).values()]
    expected = answers(keras.Model(ids, vectors), given)
    wanted = expected if isinstance(expected, list) else [expected]
    assert sorted(float(one.sum()) for one in found) == pytest.approx(
        sorted(float(one.sum()) for one in wanted), abs=1e-5
    )
    if bound:
        with pytest.raises(ValueError, match=rf"\[0, {bound}\)"):
            file.run({"ids": given + 1})


class Own(keras.layers.Layer):
    """A table in a layer of the user's own, which reads the ids or their remainders."""

    def __init__(self, divisor):
        super().__init__()
        self.divisor, self.table = divisor, keras.layers.Embedding(9, 2)

    def build(self, shape):
        self.table.build(shape)

    def call(self, ids):
        return self.table(ids % self.divisor if self.divisor else ids)


class Around(keras.Model):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def call(self, ids):
        return self.layer(ids)


@pytest.mark.parametrize("divisor", [0, 9])
@pytest.mark.parametrize("recipe", ["float32", pytest.param("int8", marks=pytest.mark.slow)])
def test_ids_that_a_layer_of_ones_own_computes_do_not_limit_the_input(divisor, recipe):
    ids, given = keras.Input((4,), dtype="int32", name="ids"), np.array([[1, 8, 17, 99]])
    subclassed = Around(Own(divisor))
    subclassed(given.astype(np.int32) % 9)
    for model in (keras.Model(ids, Own(divisor)(ids)), subclassed):
        data = export.convert(model, recipe, sequence_length=4)
        assert export.verify(model, data, given % 9).agreement == 1
        if divisor:
            assert export.verify(model, data, given).agreement == 1
        else:
            with pytest.raises(ValueError, match=r"must lie in \[0, 9\)"):
                export.verify(model, data, given)


def test_ids_that_begin_above_0_beside_other_numbers():
    """Ids of 0 have no row here, and the last number of the input is no id."""
    ids = keras.Input((4,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(30, 2)(ids[:, :3] - 100)
    found = keras.ops.mean(vectors, axis=1) + keras.ops.cast(ids[:, 3:], "float32")
    model = keras.Model(ids, found)
    file = Interpreter(export.convert(model, "float32"))
    given = np.array([[100, 129, 107, 5000]])
    (found,) = file.run({"ids": given}).values()
    np.testing.assert_allclose(found, model(given), rtol=1e-6)
    with pytest.raises(ValueError, match="out of bounds"):
        file.run({"ids": given - 1})


def test_integers_that_are_no_ids_may_be_negative():
    """Only of a single input is it known that tables read it; the runtime itself checks others."""
    ids, numbers = (keras.Input((2,), dtype="int32", name=name) for name in ("ids", "numbers"))
    vectors = keras.layers.Embedding(9, 3)(ids)
    model = keras.Model([ids, numbers], [vectors, keras.ops.cast(numbers, "float32") * 0.5])
    file = Interpreter(export.convert(model, "float32"))
    given = {"ids": np.array([[1, 8]]), "numbers": np.array([[-3, 2**31 - 1]])}
    assert [-1.5, 2**30] in [one.ravel().tolist() for one in file.run(given).values()]
    for name, value, message in (
        ("numbers", [[1, 2**31]], "`numbers` must be integers of type int32"),
        ("numbers", [[1.0, 2.0]], "`numbers` must be an array of integers"),
        ("ids", [[1, -1]], "The file cannot be run: .*gather"),
    ):
        with pytest.raises(ValueError, match=message):
            file.run({**given, name: np.array(value)})


@pytest.mark.parametrize("num_threads", [0, 1.5])
def test_refuses_num_threads(data, num_threads):
    with pytest.raises(ValueError, match="`num_threads` must be an integer >= 1"):
        Interpreter(data, num_threads)


def test_calls_are_those_of_the_signature_runner(model):
    """Lengths that change from call to call, as LiteRT's own calls have them, and one that fails
    between."""
    words = Vocabulary([f"w{i}" for i in range(V - 2)])
    open_length = export.convert(model, "float32", text=words)
    file = Interpreter(open_length)
    for text in ("w1", "w2, W27 w99 w3?"):
        found, ids = file.run_text(text)["probabilities"], words.encode(text)[None]
        # the same float32 products, added in another order
        np.testing.assert_allclose(found, answers(model, ids), atol=1e-6)
    plain = litert.Interpreter(model_content=open_length).get_signature_runner()
    rng = np.random.default_rng(0)
    for size in (3, 3, 8, 64, 1, 64, 3):
        text = rng.choice(np.frombuffer(b"w123 4567", np.uint8), size).astype(np.int32)[None]
        (wanted,) = plain(text=text).values()
        np.testing.assert_array_equal(file.run({"text": text})["probabilities"], wanted)
        with pytest.raises(ValueError, match="`text` must have the shape"):
            file.run({"text": text[0]})
    first, second = (file.run({"text": text})["probabilities"] for _ in range(2))
    assert not np.shares_memory(first, second)


@pytest.mark.slow  # `test_signature` runs three models of a file
def test_calls_of_one_signature_among_several(model):
    models = {"first": model, "second": mean(cluster())}
    models["second"].layers[-1].bias.assign([1.0, 2.0, 3.0])
    both = export.convert(models, "float32", sequence_length=9)
    ids = some_ids()[1:2]
    expected = {name: answers(one, ids) for name, one in models.items()}
    assert np.abs(expected["first"] - expected["second"]).max() > 1e-4
    for name in ("first", "second", "first"):
        found = Interpreter(both, signature=name)
        for _ in range(2):
            # the same float32 products, added in another order
            np.testing.assert_allclose(
                found.run({"ids": ids})["probabilities"], expected[name], atol=1e-6
            )
