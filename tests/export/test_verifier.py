"""The report against NumPy, and every file that must not pass."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from export_models import (
    CLASSES,
    Subclassed,
    answers,
    cluster,
    lstm,
    mean,
    mixture,
    some_ids,
    standard,
)
from kerascompact import export, tflite, tools
from kerascompact.core.keras_graph import copy_with
from kerascompact.export.verification import predictions, verifier
from kerascompact.layers import ClusterEmbedding
from kerascompact.tflite import flatbuffer
from kerascompact.training.soft import soft_copy

IDS = some_ids(rows=20)
LABELS = np.arange(20) % CLASSES


@pytest.fixture(scope="module")
def model():
    """Weights large enough that the classes differ from row to row."""
    keras.utils.set_random_seed(0)
    model = mean(cluster(seed=0))
    random = np.random.default_rng(5)
    model.set_weights(
        [w if w.ndim == 0 else random.normal(size=w.shape) for w in model.get_weights()]
    )
    return model


@pytest.fixture(scope="module")
def data(model):
    return export.convert(model)


@pytest.fixture(scope="module")
def frozen(model):
    """The same, frozen once for several reports."""
    return export.freeze(model)


def run_raw(data, ids):
    """The file's outputs by LiteRT alone."""
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(model_content=data).get_signature_runner()
    return np.concatenate([runner(ids=row[None])["probabilities"] for row in ids])


def tampered(data, change):
    """The file with its kernel, the largest float array, changed."""
    parsed = flatbuffer.parse(data)
    graph = parsed.subgraphs[0]
    floats = [t for t in graph.tensors if t.type == 0 and parsed.buffers[t.buffer].data is not None]
    buffer = parsed.buffers[max(floats, key=lambda t: len(parsed.buffers[t.buffer].data)).buffer]
    values = np.frombuffer(bytes(bytearray(buffer.data)), np.float32).copy()
    buffer.data = np.frombuffer(change(values).astype(np.float32).tobytes(), np.uint8)
    return flatbuffer.pack(parsed)


def negative(values):
    return -values


def nan(values):
    return np.where(np.arange(values.size) == 0, np.nan, values)


def test_report_has_numpys_numbers(model, data):
    report = export.verify(model, data, IDS, LABELS)
    wanted, got = (
        answers(export.freeze(model, "int8_tables").model, IDS),
        run_raw(data, IDS),
    )
    np.testing.assert_array_equal(report.outputs, got)
    difference = np.abs(got.astype(np.float64) - wanted)
    assert report.examples == 20 and report.file_bytes == len(data)
    assert report.agreement == 1.0
    # Keras adds in another order when its batches have another size
    np.testing.assert_allclose(report.largest_difference, difference.max(), atol=1e-6)
    np.testing.assert_allclose(report.mean_difference, difference.mean(), atol=1e-6)
    assert report.file_accuracy == np.mean(got.argmax(1) == LABELS)
    assert report.keras_accuracy == np.mean(wanted.argmax(1) == LABELS)
    assert 0 < report.file_accuracy < 1 and 0 < report.microseconds < 1e6
    trained = answers(model, IDS)
    rounding = np.abs(got.astype(np.float64) - trained).max()
    np.testing.assert_allclose(report.trained_file.largest, rounding, atol=1e-6)
    assert report.trained_file.largest > 100 * report.frozen_file.largest  # int8 tables
    assert report.trained_frozen.largest < 1e-6  # the same table, in float32
    assert report.trained_accuracy == np.mean(trained.argmax(1) == LABELS)


def test_without_labels_there_are_no_accuracies(model, data):
    report = export.verify(model, data, IDS)
    assert report.keras_accuracy is None and report.file_accuracy is None
    assert "accuracy" not in str(report)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "embedding"), [(lstm, mixture), (mean, standard)])
def test_passes_for_other_models(make, embedding):
    model = make(embedding())
    assert export.verify(model, export.convert(model), IDS).largest_difference < 1e-5


def test_passes_for_paths(frozen, data, tmp_path):
    path = export.save(data, tmp_path / "model.tflite")
    assert export.verify(frozen, path, IDS).largest_difference < 1e-5
    assert export.verify(frozen, str(path), IDS, batch_size=7, progress=True).examples == 20


def test_passes_for_a_frozen_model(model, data):
    assert export.verify(export.freeze(model, "int8_tables").model, data, IDS).agreement == 1


def test_passes_for_a_file_of_another_maker():
    model = mean(standard(), sequence_length=9)
    data = tf.lite.TFLiteConverter.from_keras_model(model).convert()
    assert tools.inspect(data).metadata is None
    assert export.verify(model, data, IDS).agreement == 1


def test_fails_for_changed_weights_and_names_the_worst_example(frozen, data):
    changed = tampered(data, negative)
    wanted = answers(frozen.model, IDS)
    worst = np.abs(run_raw(changed, IDS) - wanted).max(1).argmax()
    with pytest.raises(
        ValueError, match=rf"does not predict what Keras does with.*Worst example: {worst}\."
    ):
        export.verify(frozen, changed, IDS)
    with pytest.raises(ValueError, match="does not predict what Keras does"):  # argmax still does
        export.verify(frozen, changed, IDS, tolerance=2.0)
    loose = export.verify(frozen, changed, IDS, tolerance=2.0, min_agreement=0.0)
    assert loose.agreement < 1 and loose.largest_difference > 0.1


def test_fails_for_nan(frozen, data):
    with pytest.raises(ValueError, match="does not predict what Keras does with .*difference nan"):
        export.verify(frozen, tampered(data, nan), IDS, tolerance=1e9, min_agreement=0.0)


def test_a_mean_over_padding_alone_is_nan_in_both():
    table = keras.layers.Embedding(9, 2, mask_zero=True)
    mean = keras.layers.GlobalAveragePooling1D()
    padded = keras.Sequential([keras.Input((3,), dtype="int32"), table, mean])
    file = export.convert(padded)
    with pytest.warns(UserWarning, match="1 of 2 examples with NaN"):
        report = export.verify(padded, file, np.array([[1, 2, 0], [0, 0, 0]]))
    assert report.agreement == 1 and report.largest_difference < 1e-5


def test_fails_for_another_model_of_the_same_shape(data):
    with pytest.raises(ValueError, match="does not predict what Keras does"):
        export.verify(mean(cluster(seed=1)), data, IDS)


@pytest.mark.slow
def test_fails_for_a_file_of_another_number_of_classes(model):
    from kerascompact.models import mean_classifier

    other = export.convert(mean_classifier(cluster(), 2))
    with pytest.raises(ValueError, match=r"outputs of shape \[20, 3\].*Received: .*\[20, 2\]"):
        export.verify(model, other, IDS)


def two_of_each(output=3):
    """Inputs and outputs whose names are in another order than they are in a dictionary."""
    one, two = (keras.Input((9,), dtype="int32", name=name) for name in ("second", "first"))
    embedding = cluster(seed=0)
    means = [keras.layers.GlobalAveragePooling1D()(embedding(ids)) for ids in (one, two)]
    outputs = [
        keras.layers.Dense(n, name=name)(x)
        for n, name, x in zip((output, 5), ("z", "a"), means, strict=True)
    ]
    return keras.Model([one, two], outputs)


@pytest.fixture(scope="module")
def two_and_data():
    model = two_of_each()
    return model, export.convert(model)


def test_several_inputs_and_outputs(two_and_data):
    model, data = two_and_data
    ids = np.maximum(IDS[:6], 1)  # the mean of nothing is NaN
    rows = {"first": ids, "second": ids[::-1]}
    report = export.verify(model, data, rows, batch_size=3)
    assert report.examples == 6 and report.agreement == 1 and report.largest_difference < 1e-5
    wanted = answers(export.freeze(model, "int8_tables").model, [ids[::-1], ids])
    for name, array in zip(("z", "a"), wanted, strict=True):
        # Keras adds in another order when its batches have another size
        np.testing.assert_allclose(report.outputs[name], array, atol=1e-5)
    # in the order of the model, not of names
    again = export.verify(model, data, (ids[::-1], ids), batch_size=3)
    assert again.frozen_file == report.frozen_file
    np.testing.assert_array_equal(again.outputs["z"], report.outputs["z"])
    other = two_of_each()
    with pytest.raises(ValueError, match="what Keras does with the frozen model: 6 examples"):
        export.verify(other, data, rows)
    with pytest.raises(ValueError, match=r"shape .*\[6, 4\].* Received: .*\[6, 3\]"):
        export.verify(two_of_each(4), data, rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": IDS}, r"`data` must be arrays for the inputs \['second', 'first'\], in a list"),
        ({"data": {"first": IDS}}, "`data` must be arrays for the inputs"),
        ({"data": {"first": IDS, "second": IDS[:3]}}, "`data` must be arrays of as many rows each"),
        ({"labels": LABELS}, "`labels` must be None for a file with the outputs"),
        ({"model": mean(cluster())}, "`flatbuffer` must be a file with the outputs|`data` must be"),
    ],
)
def test_several_inputs_that_do_not_fit(two_and_data, change, message):
    model, data = two_and_data
    rows = {"first": IDS, "second": IDS}
    with pytest.raises(ValueError, match=message):
        export.verify(**{"model": model, "flatbuffer": data, "data": rows} | change)


class OfLists(keras.Model):
    """Called on a list, of ids and of numbers, whose order no name tells."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = cluster(seed=0), keras.layers.Dense(CLASSES)

    def call(self, inputs):
        ids, scores = inputs
        return self.head(keras.ops.mean(self.embedding(ids), axis=1) * scores)


def test_a_subclassed_model_of_a_list_of_two_types():
    scores = np.random.default_rng(0).normal(size=(20, 1))  # float64, as NumPy has them
    model = OfLists()
    model([IDS, scores.astype("float32")])
    data = export.convert(model, inputs={"words": IDS, "score": scores.astype("float32")})
    assert tflite.read_metadata(data)["inputs"] == ["words", "score"]
    for rows in ([IDS, scores], (IDS, scores), {"score": scores, "words": IDS}):
        report = export.verify(model, data, rows)
        assert report.agreement == 1 and report.largest_difference < 1e-6


@pytest.mark.slow  # several inputs are above
def test_nested_inputs():
    ids, other, scores = (keras.Input((9,), dtype=t, name=n) for n, t in NAMED.items())
    embedding = cluster(seed=0)
    vectors = [keras.layers.GlobalAveragePooling1D()(embedding(x)) for x in (ids, other)]
    outputs = keras.layers.Dense(3)(keras.layers.Concatenate()([*vectors, scores]))
    model = keras.Model({"texts": [ids, other], "scores": scores}, outputs)
    rows = np.maximum(IDS, 1), np.maximum(IDS[::-1], 1), np.arange(180.0).reshape(20, 9) / 90
    first, second, third = rows
    data = export.convert(model)
    nested = {"texts": [first, second], "scores": third}
    frozen = export.freeze(model)
    wanted = answers(frozen.model, nested)
    for given in (
        nested,
        {"scores": third, "texts": (first, second)},
        dict(zip(NAMED, rows, strict=True)),
        [third, first, second],  # model.inputs: keys in the order of the alphabet
    ):
        report = export.verify(frozen, data, given)
        np.testing.assert_allclose(report.outputs, wanted, atol=1e-5)  # another batch size


NAMED = {"ids": "int32", "other": "int32", "scores": "float32"}


@pytest.mark.slow
def test_a_model_that_hands_out_its_states():
    model = export.with_states(lstm(standard()))
    data = export.convert(model)
    random = np.random.default_rng(0)
    rows = {
        tensor.name: random.integers(0, 30, (8, 1)).astype(np.int32)
        if tensor.dtype == "int32"
        else random.normal(size=(8, *tensor.shape[1:])).astype(np.float32)
        for tensor in model.inputs
    }
    report = export.verify(model, data, rows)
    assert report.agreement == 1 and len(report.outputs) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0, 1]}, "`labels` must be one label for each of the 20 examples"),
        ({"data": IDS[:0]}, "`data` must be an array with at least one row"),
        ({"data": IDS[0]}, r"`data` must be an array \(examples, length\) with at least one ex"),
        ({"data": IDS + 30}, r"`ids` must lie in \[0, 30\)"),
        ({"flatbuffer": b"no file"}, "`flatbuffer` must be a TFLite model"),
    ],
)
def test_refuses_wrong_arguments(model, data, change, message):
    with pytest.raises(ValueError, match=message):
        export.verify(**{"model": model, "flatbuffer": data, "data": IDS, **change})


def test_refuses_a_truncated_file(model, data):
    with pytest.raises(ValueError, match="truncated or damaged"):
        export.verify(model, data[: len(data) // 2], IDS)


def test_a_loss_of_accuracy_past_the_bound(model, frozen, data):
    """Labels that the trained model has all right, of which a tampered file has some wrong."""
    labels = answers(model, IDS).argmax(-1)
    report = export.verify(frozen, data, IDS, labels, max_loss=0.0)
    assert report.trained_accuracy == 1.0 and report.file_accuracy == 1.0
    assert "file 1.0000 (loss allowed: 0)" in str(report)
    changed = tampered(data, negative)
    loose = dict(tolerance=10.0, min_agreement=0.0)
    with pytest.raises(ValueError, match=r"loses accuracy: .*trained 1\.0000.*Allowed: 0\.1\."):
        export.verify(frozen, changed, IDS, labels, max_loss=0.1, **loose)
    assert export.verify(frozen, changed, IDS, labels, max_loss=1.0, **loose).file_accuracy < 0.9
    with pytest.raises(ValueError, match="`max_loss` needs `labels`"):
        export.verify(model, data, IDS, max_loss=0.1)


def test_compare_raises_for_no_difference(frozen, data):
    report = verifier.compare(frozen, tampered(data, nan), IDS)
    assert np.isnan(report.largest_difference) and report.examples == 20


def reversed_codebook(layer):
    """A wrong `freeze`: every word gets the vector of another cluster."""
    form = RIGHT(layer)
    form.codebook.assign(form.codebook.numpy()[::-1])
    return form


RIGHT = ClusterEmbedding.to_form


@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", ["float32", "int8_tables"])
def test_fails_for_a_wrong_freeze_that_file_and_frozen_model_share(model, recipe, monkeypatch):
    labels = answers(model, IDS).argmax(-1)
    monkeypatch.setattr(ClusterEmbedding, "to_form", reversed_codebook)
    data, frozen = export.convert(model, recipe), export.freeze(model, recipe).model
    share = np.mean(answers(frozen, IDS).argmax(-1) == labels)
    assert share < 0.9
    message = "The frozen model does not predict what the trained model does: 20 examples"
    with pytest.raises(ValueError, match=message):
        export.verify(model, data, IDS)
    report = verifier.compare(model, data, IDS, labels)
    assert report.agreement == 1.0 and report.largest_difference < 1e-6  # file and frozen model
    assert report.trained_frozen.agreement == report.trained_file.agreement == share
    assert report.trained_accuracy == 1.0 and report.file_accuracy == share
    with pytest.raises(ValueError, match="The file loses accuracy: 20 examples, trained 1.0000"):
        report.held_to(tolerance=9.0, min_agreement=0.0, max_loss=0.1).check()
    # a frozen model has nothing to freeze any more
    assert export.verify(frozen, data, IDS, labels).trained_accuracy == share


def test_a_subclassed_model_is_asked_before_its_layers_are_lent(monkeypatch):
    other = Subclassed(cluster(seed=0, embeddings_initializer=keras.initializers.RandomNormal()))
    other(IDS)
    report = export.verify(other, export.convert(other), IDS)
    assert report.trained_frozen.largest < 1e-6 and report.agreement == 1
    monkeypatch.setattr(ClusterEmbedding, "to_form", reversed_codebook)
    with pytest.raises(ValueError, match="The frozen model does not predict what the trained"):
        export.verify(other, export.convert(other), IDS)


def test_layers_with_soft_inference_are_compared_hard(model, data):
    soft = soft_copy(model)
    report = export.verify(soft, data, IDS)
    assert report.trained_frozen.largest < 1e-6
    assert np.abs(answers(soft, IDS) - answers(model, IDS)).max() > 0.01
    assert soft.get_layer("embedding").inference == "soft"


def test_mixed_precision_is_compared_in_float32(model):
    """float16 alone would be past the tolerance, and hide an error of freezing of that size."""
    half = copy_with(model, lambda layer: None)
    for layer in half.layers[1:]:
        layer.dtype_policy = "mixed_float16"
    file = export.convert(half, "float32")
    assert export.verify(half, file, IDS).trained_file.largest < 1e-6
    rounding = np.abs(answers(half, IDS) - answers(model, IDS)).max()
    assert rounding > 1e-4
    assert {layer.dtype_policy.name for layer in half.layers[1:]} == {"mixed_float16"}


@pytest.mark.slow  # `test_batch` has one of three rows
@pytest.mark.parametrize("batch_size", [3, None])
def test_files_of_several_rows(model, frozen, data, batch_size):
    """Ten rows in batches of three, or alone and in batches of seven: as those of one row."""
    ids, labels = IDS[:10], LABELS[:10]
    several = export.convert(model, batch_size=batch_size)
    expected, found = (export.verify(frozen, file, ids, labels) for file in (data, several))
    # the same float32 products, added in another order
    np.testing.assert_allclose(found.outputs, expected.outputs, atol=1e-6)
    assert (found.examples, found.file_accuracy) == (10, expected.file_accuracy)
    with pytest.raises(ValueError, match="Worst example"):
        export.verify(frozen, tampered(several, negative), ids)


def test_an_input_of_one_number():
    item = keras.Input((), dtype="int32", name="item")
    model = keras.Model(item, keras.layers.Embedding(9, 2)(item))
    found = export.verify(model, export.convert(model, "int8"), np.array([8, 0, 3]))
    assert found.outputs.shape == (3, 2) and found.agreement == 1


@pytest.mark.parametrize("sum_axes", [-1, (-1, -2)])
def test_an_example_alone_overwrites_a_number_as_it_does_a_row(sum_axes):
    x = keras.Input((3, 2), name="x")
    model = keras.Model(x, keras.ops.sum(x, axis=sum_axes), name="sums")
    data = [np.full((3, 2), number, np.float32) for number in (1, 2)]
    (name,) = model.output_names
    outputs = {name: np.zeros((2, 3), np.float32) if sum_axes == -1 else np.zeros(2, np.float32)}
    predictions.predict_alone(model, data, outputs, np.array([False, True]))
    assert outputs[name].tolist() == ([[0] * 3, [4] * 3] if sum_axes == -1 else [0, 12])


class Mixes(keras.layers.Layer):
    """Rows that are alone stay as they are."""

    def call(self, rows):
        return rows * tf.cast(tf.shape(rows)[0], tf.float32)


class Fewer(keras.layers.Layer):
    def call(self, rows):
        return tf.reduce_sum(rows, axis=0, keepdims=True)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("layer", "message"), [(Mixes, "Worst example"), (Fewer, "must give 7 answers for 7 examples")]
)
def test_a_file_of_any_batch_is_wrong_if_it_is_so_for_seven_rows(layer, message):
    ids = keras.Input((9,), dtype="int32", name="ids")
    hidden = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(30, 4)(ids))
    wrong = keras.Model(ids, layer()(hidden))
    data = export.convert(wrong, "float32", batch_size=None)
    if layer is Mixes:  # a file of one row is right
        export.verify(wrong, export.convert(wrong, "float32"), IDS, batch_size=1)
    with pytest.raises(ValueError, match=message):
        export.verify(wrong, data, IDS, batch_size=1)


def test_one_number_for_each_word_of_texts_of_many_lengths():
    stacked = predictions._stacked([np.array([4, 2]), np.array([3])])
    np.testing.assert_array_equal(stacked, [[4, 2], [3, 0]])


def test_answers_of_several_sigmoids_are_sets_of_labels():
    """Two models with the same likeliest label, of which one has the second label too."""

    def sigmoids(second):
        head = keras.layers.Dense(3, "sigmoid", kernel_initializer="zeros")
        made = keras.Sequential([keras.Input((2,)), head])
        head.bias.assign([2.0, second, -1.0])
        return made

    model, file, rows = sigmoids(0.1), export.convert(sigmoids(-0.1)), np.zeros((4, 2), np.float32)
    own, sets = export.convert(model), np.tile([1, 1, 0], (4, 1))
    assert "same sets of labels 1.0" in str(export.verify(model, own, rows, sets))
    for labels in (None, sets):
        with pytest.raises(ValueError, match=r"same sets of labels 0\.0"):
            export.verify(model, file, rows, labels, tolerance=1.0)
    report = export.verify(model, file, rows, np.zeros(4, int), tolerance=1.0)
    assert report.agreement == report.file_accuracy == 1.0  # a class each: the likeliest
