"""Files of one row, of a number of rows, and of any number: what Keras computes, row by row."""

import inspect

import keras
import numpy as np
import pytest
from ai_edge_litert import interpreter as litert

from export_models import V as WORDS
from export_models import cluster, lstm, mean
from form_examples import KINDS, V
from kerascompact import export, layers, tflite, tools
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import Vocabulary

RANDOM = np.random.default_rng(0)
# The same float32 products added in another order, of numbers of some tens.
CLOSE = dict(rtol=1e-5, atol=5e-5)
SIZES = (1, 3, 7, 2, 1)  # an interpreter is resized to each of them, one after the other


def rows_of(model, ids):
    """The outputs of Keras for each row alone, put together."""
    alone = [model(row[None]) for row in ids]
    return keras.tree.map_structure(lambda *rows: np.concatenate(rows), *alone)


def fed(size, length=5):
    return RANDOM.integers(0, V, (size, length)).astype(np.int32)


def check(data, model, batches, signature=None):
    """Runs a file on batches of ids, in one interpreter, against Keras on each row alone."""
    file = Interpreter(data, signature=signature)
    (name,) = file.inputs
    for ids in batches:
        found, expected = file.run({name: ids}), rows_of(model, ids)
        if not isinstance(expected, dict):
            expected = dict(zip(found, keras.tree.flatten(expected), strict=True))
        assert set(found) == set(expected)
        for key, array in expected.items():
            np.testing.assert_allclose(found[key], array, **CLOSE, err_msg=key)


def every_form(recipe):
    """Models that look up ids, and give a logit for each word; and each as it ships."""
    models = {}
    for kind, make in KINDS.items():
        form, _ = make()
        ids = keras.Input((5,), dtype="int32", name="ids")
        vectors = form(ids)
        models[kind] = keras.Model(ids, {"vectors": vectors, "logits": form(vectors, reverse=True)})
    return models, {kind: export.freeze(model, recipe).model for kind, model in models.items()}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["float32", "int8_tables", "int4_tables"])
@pytest.mark.parametrize("batch_size", [3, None])
def test_every_form_computes_each_row_as_alone(recipe, batch_size):
    """One file of all forms, with tables that two graphs of it share."""
    models, frozen = every_form(recipe)
    data = export.convert(models, recipe, batch_size=batch_size)
    for kind, model in frozen.items():
        sizes = SIZES if batch_size is None else (3, 3)
        check(data, model, map(fed, sizes), kind)


def reader(*inner, length=5, embedding=None):
    """A classifier; every weight is drawn, so that no row is like another."""
    ids = keras.Input((length,), dtype="int32", name="ids")
    hidden = (embedding or layers.ClusterEmbedding(V, 12, 5, mask_zero=True, name="words"))(ids)
    for layer in inner:
        hidden = layer(hidden)
    model = keras.Model(ids, keras.layers.Dense(7, name="out")(hidden))
    model.set_weights(
        [w if w.ndim == 0 else RANDOM.normal(size=w.shape) / 2 for w in model.get_weights()]
    )
    return model


def padded(size, length=5):
    """Ids with padding behind them; the first row is nothing else."""
    ids = np.maximum(fed(size, length), 1)
    return np.where(np.arange(length) < np.arange(size)[:, None], ids, 0)


def test_some_forms_in_one_file_of_any_batch():
    """Codes and entries that a batch computes otherwise than a single row, in four bits.

    `test_every_form_computes_each_row_as_alone` has the others.
    """
    models, frozen = {}, {}
    for kind in ("codes_sum", "sparse"):
        models[kind] = keras.Sequential([keras.Input((None,), dtype="int32"), KINDS[kind]()[0]])
        frozen[kind] = export.freeze(models[kind], "int4_tables").model
    data = export.convert(models, "int4_tables", batch_size=None)
    assert tflite.read_metadata(data)["batch_size"] == "any"
    for kind, model in frozen.items():
        check(data, model, [fed(3, 4), fed(2, 2)], kind)


@pytest.fixture(scope="module")
def mean_and_any():
    """A model without a loop, and its file of any batch."""
    keras.utils.set_random_seed(0)
    model = reader(layers.MaskedMean())
    return model, export.convert(model, batch_size=None)


def test_an_app_resizes_a_file_and_one_row_is_the_default(mean_and_any):
    model, data = mean_and_any
    assert tools.inspect(data).inputs == ["ids int32[?, 5]"]
    assert tools.inspect(data).outputs == ["out float32[?, 7]"]
    frozen = export.freeze(model, "int8").model
    runtime = litert.Interpreter(model_content=data)
    given = runtime.get_input_details()[0]["index"]
    for size in (1, 3, 7, 1):
        if size > 1 or runtime.get_input_details()[0]["shape"][0] != 1:
            runtime.resize_tensor_input(given, (size, 5), strict=True)
        runtime.allocate_tensors()
        ids = padded(size)
        runtime.set_tensor(given, ids)
        runtime.invoke()
        found = runtime.get_tensor(runtime.get_output_details()[0]["index"])
        np.testing.assert_allclose(found, rows_of(frozen, ids), **CLOSE)


def test_a_file_of_one_row_is_as_it_was(mean_and_any):
    model, any_ = mean_and_any
    assert inspect.signature(export.convert).parameters["batch_size"].default == 1
    one = export.convert(model)
    assert "batch_size" not in tflite.read_metadata(one)
    assert tools.inspect(one).inputs == ["ids int32[1, 5]"]
    # Shapes with an open dimension, and the operators that compute them.
    assert len(one) <= len(any_) + 64 <= len(one) + 64 + 512
    assert [Interpreter(data).batch_size for data in (one, any_)] == [1, None]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: keras.layers.LSTM(6), marks=pytest.mark.slow),
        pytest.param(
            lambda: keras.layers.Bidirectional(keras.layers.GRU(4, return_sequences=True)),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda: layers.SparseLSTM(6, num_segments=2, gamma=0.5), marks=pytest.mark.slow
        ),
        pytest.param(
            lambda: layers.SparseGRU(6, num_segments=3, gamma=0.5, return_sequences=True),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_loops_over_padded_rows(make):
    """Of a fixed number; the next test has a loop over any."""
    model = reader(make())
    data = export.convert(model, "int4", batch_size=3)
    assert "WHILE" in tools.inspect(data).operators
    check(data, export.freeze(model, "int4").model, [padded(3), padded(3)[::-1], fed(3)])


@pytest.mark.slow  # loops over padded rows are above
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: keras.layers.LSTM(6, unroll=True), marks=pytest.mark.slow),
        lambda: layers.SparseLSTM(6, num_segments=2, gamma=0.5),
    ],
)
def test_layers_without_lists_of_states_take_any_batch(make):
    """The converter once joined the segments of several rows in the order of one."""
    model = reader(make())
    data = export.convert(model, "int8", batch_size=None)
    unrolled = isinstance(model.layers[2], keras.layers.LSTM)
    assert unrolled or "WHILE" in tools.inspect(data).operators
    check(data, export.freeze(model, "int8").model, map(padded, (3, 2, 1)))


def backwards():
    return [keras.layers.LSTM(6, go_backwards=True)]


def both():
    return [keras.layers.Bidirectional(keras.layers.LSTM(6))]


def stacked():
    both = keras.layers.Bidirectional(keras.layers.LSTM(6, return_sequences=True))
    return [both, keras.layers.LSTM(5)]


@pytest.mark.slow  # loops of several rows are above, fused ones apart
@pytest.mark.parametrize(
    ("make", "count"),
    [
        (backwards, 1),
        pytest.param(both, 2, marks=pytest.mark.slow),
        pytest.param(stacked, 3, marks=pytest.mark.slow),
    ],
)
def test_fused_lstms_of_three_rows(make, count):
    """With masks, backwards, and from zeros in each run."""
    model = reader(*make())
    data = export.convert(model, "float32", fused_lstm=True, batch_size=3)
    assert tools.inspect(data).operators["UNIDIRECTIONAL_SEQUENCE_LSTM"] == count
    check(data, model, [padded(3), np.maximum(fed(3), 1)])


@pytest.mark.parametrize(
    ("recipe", "batch_size"),
    [
        ("blocks", 3),
        pytest.param("int4", None, marks=pytest.mark.slow),
        pytest.param("dynamic", 3, marks=pytest.mark.slow),
    ],
)
def test_passes_over_the_file_are_of_every_row(recipe, batch_size):
    """Lookups by rows, tables and kernels of few bits, scales of inputs."""
    # 40 x 32 and 64 x 96 numbers: large enough to be stored as integers.
    stock = keras.layers.Embedding(40, 64, name="words")
    model = reader(
        keras.layers.GlobalMaxPooling1D(), keras.layers.Dense(32), keras.layers.Dense(96),
        embedding=stock,
    )  # fmt: skip
    data = export.convert(model, recipe, batch_size=batch_size)
    operators = tools.inspect(data).operators
    assert ("EMBEDDING_LOOKUP" in operators) == (recipe == "blocks")
    assert tflite.read_metadata(data)["batch_size"] == (batch_size or "any")
    file = Interpreter(data)
    assert file.batch_size == batch_size
    if batch_size:
        assert tools.inspect(data).inputs == ["ids int32[3, 5]"]
        with pytest.raises(ValueError, match=r"`ids` must have the shape \[3, 5\]"):
            file.run({"ids": padded(2)})
    frozen = export.freeze(model, recipe).model
    if recipe == "dynamic":  # each row is rounded by its own range, as in a file of one row
        one = Interpreter(export.convert(model, recipe))
        frozen = lambda row: one.run({"ids": row})["out"]  # noqa: E731
    else:
        ids = fed(10)
        report = export.verify(export.freeze(model, recipe), data, ids)
        assert (report.examples, report.agreement) == (10, 1)
        model.layers[-1].bias.assign_add(np.arange(7.0))
        with pytest.raises(ValueError, match="Worst example"):
            export.verify(model, data, ids)
    check(data, frozen, map(fed, (3, 3) if batch_size else SIZES))


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [3, None])
def test_integers_between_layers(batch_size):
    """Ranges from 16 rows, which are no multiple of three; and the same integers for each row."""
    model = reader(layers.MaskedMean(), keras.layers.Dense(16, activation="relu"))
    rows = np.maximum(fed(16), 1)
    data = export.convert(model, "full_int8", representative=rows, batch_size=batch_size)
    alone = Interpreter(export.convert(model, "full_int8", representative=rows))
    expected = np.concatenate([alone.run({"ids": row[None]})["out"] for row in rows])
    file, size = Interpreter(data), batch_size or 5
    for start in range(0, 15, size):
        found = file.run({"ids": rows[start : start + size]})["out"]
        # One step of the output's 256: ranges of batches are averaged in another order.
        step = np.ptp(expected) / 128
        np.testing.assert_allclose(found, expected[start : start + size], atol=step)


@pytest.mark.slow  # several forms in a file are above
def test_several_inputs_and_models_in_one_file():
    ids = keras.Input((5,), dtype="int32", name="ids")
    scores = keras.Input((3,), name="scores")
    mean_of = layers.MaskedMean()(layers.ClusterEmbedding(V, 4, 5, mask_zero=True)(ids))
    both = keras.Model([ids, scores], [keras.layers.Concatenate()([mean_of, scores]), scores])
    models = {"both": both, "mean": keras.Model(ids, mean_of)}
    data = export.convert(models, "float32", batch_size=None)
    check(data, models["mean"], map(padded, (3, 1)), "mean")
    file = Interpreter(data, signature="both")
    for size in (3, 7, 1):
        given = {"ids": padded(size), "scores": RANDOM.normal(size=(size, 3)).astype("float32")}
        expected = [np.asarray(one) for one in both([given["ids"], given["scores"]])]
        found = file.run(given)
        for name, wanted in zip(both.output_names, expected, strict=True):
            np.testing.assert_allclose(found[name], wanted, **CLOSE)


@pytest.mark.slow
def test_states_of_three_texts():
    model = reader(keras.layers.LSTM(6, return_sequences=True), length=None)
    file = Interpreter(export.convert(export.with_states(model), "float32", batch_size=3))
    ids = np.maximum(fed(3), 1)
    expected = model(ids)
    states = {name: np.zeros((3, 6), np.float32) for name in file.inputs if name != "ids"}
    for time in range(5):
        outputs = file.run({**states, "ids": ids[:, time : time + 1]})
        np.testing.assert_allclose(outputs.pop("out")[:, 0], expected[:, time], **CLOSE)
        states = outputs


@pytest.mark.parametrize("batch_size", [0, -1, 1.0, True, "any"])
def test_refuses_batch_sizes(batch_size):
    with pytest.raises(ValueError, match="`batch_size` must be an integer >= 1. Received: batch_s"):
        export.convert(mean(cluster()), batch_size=batch_size)


def test_refuses_any_batch_of_lists_and_of_fused_states():
    with pytest.raises(ValueError, match="must be a number for a model with a loop.*/lstm"):
        export.convert(lstm(cluster()), batch_size=None)
    with pytest.raises(ValueError, match="must be a number with `fused_lstm`, whose states"):
        export.convert(lstm(cluster()), batch_size=None, fused_lstm=True)


@pytest.mark.slow  # Keras' own loop is short
def test_refuses_any_batch_of_our_loops():
    sequences = reader(layers.SparseLSTM(6, num_segments=2, return_sequences=True, name="sparse"))
    with pytest.raises(ValueError, match="must be a number for a model with a loop.*/sparse"):
        export.convert(sequences, batch_size=None)


@pytest.mark.parametrize("batch_size", [2, None])
def test_refuses_several_texts_at_once(batch_size):
    words = Vocabulary([f"w{i}" for i in range(WORDS - 2)])
    with pytest.raises(ValueError, match="`batch_size` must be 1 for a file that takes text"):
        export.convert(mean(cluster()), text=words, batch_size=batch_size)
