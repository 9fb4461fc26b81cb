"""The mean by NumPy, of what the mask keeps."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.forms import CodebookForm, PrefixTableForm, SparseForm
from kerascompact.layers import MaskedMax, MaskedMean
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.graph_edits import kind
from kerascompact.tflite.operators import OPERATORS

VECTORS = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
MASK = np.array([[True] * 5, [True, False, True, False, False], [False] * 4 + [True], [False] * 5])


def test_equals_numpy():
    found = MaskedMean()(VECTORS, mask=MASK).numpy()
    for row, (vectors, mask) in enumerate(zip(VECTORS, MASK, strict=True)):
        expected = vectors[mask].mean(axis=0) if mask.any() else np.zeros(3)
        np.testing.assert_allclose(found[row], expected, rtol=1e-5, atol=1e-7)


def test_without_a_mask_it_is_the_mean():
    np.testing.assert_allclose(MaskedMean()(VECTORS), VECTORS.mean(axis=1), rtol=1e-5, atol=1e-7)


def test_any_rank():
    vectors, mask = np.stack([VECTORS, -VECTORS]), np.stack([MASK, MASK])
    found = MaskedMean()(vectors, mask=mask).numpy()
    single = MaskedMean()(VECTORS, mask=MASK).numpy()
    np.testing.assert_array_equal(found, np.stack([single, -single]))
    assert MaskedMean().compute_output_shape((None, 2, 5, 3)) == (None, 2, 3)


def test_takes_the_embeddings_mask_and_passes_none_on():
    ids = keras.Input((None,), dtype="int32")
    mean = MaskedMean()(keras.layers.Embedding(9, 3, mask_zero=True)(ids))
    assert getattr(mean, "_keras_mask", None) is None
    model = keras.Model(ids, mean)
    table = model.layers[1].get_weights()[0]
    found = model(np.array([[3, 5, 0], [0, 0, 0]])).numpy()
    np.testing.assert_allclose(found[0], (table[3] + table[5]) / 2, rtol=1e-6)
    assert found[1].tolist() == [0, 0, 0]


@pytest.mark.few(1)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_an_empty_text_does_not_turn_training_into_nan(jit_compile):
    layers = [
        keras.Input((4,), dtype="int32"),
        keras.layers.Embedding(9, 3, mask_zero=True),
        MaskedMean(),
        keras.layers.Dense(1),
    ]
    model = keras.Sequential(layers)
    model.compile("sgd", "mse", jit_compile=jit_compile)
    model.fit(np.array([[0, 0, 0, 0], [1, 2, 0, 0]]), np.ones((2, 1)), verbose=0)
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_saves_and_loads(tmp_path):
    model = keras.Sequential([keras.Input((5, 3)), MaskedMean(name="mean")])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.layers[0]) is MaskedMean
    np.testing.assert_array_equal(loaded(VECTORS), model(VECTORS))


def anchors():
    """Row 0, padding, has entries: they are in no mean."""
    rng = np.random.default_rng(1)
    transform = rng.normal(size=(9, 12)) * (rng.random((9, 12)) < 0.5)
    assert transform[0].any()
    return SparseForm.from_matrix(transform, rng.normal(size=(12, 3)), mask_zero=True)


def codes(cardinality=16, shared=False, **config):
    rng = np.random.default_rng(1)
    books = rng.normal(size=(cardinality, 3) if shared else (86, cardinality, 3))
    return CodebookForm.from_codes(
        rng.integers(0, cardinality, (9, 86)), books, mask_zero=True, **config
    )


def prefixes():
    table = np.random.default_rng(1).normal(size=(9, 3))
    return PrefixTableForm.from_table(table, sizes=[4, 3, 2], widths=[3, 2, 1], mask_zero=True)


def no_entries():
    return SparseForm.from_matrix(np.zeros((9, 4)), np.ones((4, 3)), mask_zero=True)


FORMS = {
    "anchors": anchors,
    "no entries": no_entries,
    "prefixes": prefixes,
    "codes of 4 bits": codes,
    "codes of 3 bits": lambda: codes(5),
    "codes of 8 bits": lambda: codes(200),
    "codes that are concatenated": lambda: codes(combine="concat"),
    "codes of one codebook": lambda: codes(shared=True),
}
TEXTS = np.array([[3, 8, 1, 3, 0, 0], [0, 0, 0, 0, 0, 0], [5, 0, 0, 2, 0, 8], [1, 2, 3, 4, 5, 6]])


@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", ["float32", "int8", "int4"])
@pytest.mark.parametrize("length", [6, None])
@pytest.mark.parametrize("make", FORMS)
def test_a_file_sums_vectors_of_the_words_that_a_mask_keeps(recipe, length, make):
    """A text of padding is all zeros."""
    form = FORMS[make]()
    ids = keras.Input((length,), dtype="int32")
    frozen = export.freeze(keras.Model(ids, MaskedMean()(form(ids))), recipe)
    data = export.convert(frozen, sequence_length=6)
    assert ("WHERE" in kinds_of(data)) == (make != "prefixes")
    file = Interpreter(data)
    (name,) = file.inputs
    found = [[*file.run({name: text[None].astype(np.int32)}).values()] for text in TEXTS]
    table = np.asarray(frozen.model.layers[1](np.arange(9)))
    for text, mean in zip(TEXTS, found, strict=True):
        kept = table[text[text > 0]]
        expected = kept.mean(axis=0) if len(kept) else np.zeros(table.shape[1])
        np.testing.assert_allclose(np.ravel(mean), expected, rtol=2e-6, atol=5e-6)


@pytest.mark.slow
def test_a_file_of_few_codes_adds_vectors():
    """Where leaving out padding costs more than it saves, and where a length is open."""
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, MaskedMean()(codes()(ids)))
    adding = kinds_of(export.convert(model, sequence_length=6))
    assert "WHERE" in adding and "NOT_EQUAL" not in adding  # it asks the ids themselves
    assert "WHERE" not in kinds_of(export.convert(model, sequence_length=5))
    assert "WHERE" not in kinds_of(export.convert(model))


@pytest.mark.few(1)
@pytest.mark.parametrize("make", [anchors, codes, prefixes])
def test_a_file_takes_a_mask_that_is_not_of_its_ids(make):
    form, ids = make(), keras.Input((6,), dtype="int32", name="ids")
    mask = keras.Input((6,), dtype="bool", name="mask")
    model = keras.Model([ids, mask], MaskedMean()(form(ids), mask=mask))
    file = Interpreter(export.convert(model, "float32"))
    kept = np.array([[False, True, False, True, True, False]])
    (found,) = file.run({"ids": TEXTS[:1].astype(np.int32), "mask": kept}).values()
    expected = np.asarray(form(TEXTS[0]))[kept[0]].mean(axis=0)
    np.testing.assert_allclose(found[0], expected, rtol=2e-6, atol=5e-6)


def all_entries():
    rng = np.random.default_rng(1)
    return SparseForm.from_matrix(rng.normal(size=(9, 4)), rng.normal(size=(4, 3)), mask_zero=True)


def test_a_file_makes_vectors_once_where_more_than_a_mean_reads_them():
    ids = keras.Input((6,), dtype="int32")
    vectors = all_entries()(ids)
    of_both = kinds(keras.Model(ids, [MaskedMean()(vectors), MaskedMax()(vectors)]))
    assert of_both.count("WHERE") == 1 and "UNSORTED_SEGMENT_SUM" in of_both


@pytest.mark.slow
def test_a_file_makes_no_vectors_where_only_a_mean_reads_them():
    ids = keras.Input((6,), dtype="int32")
    of_mean = kinds(keras.Model(ids, MaskedMean()(all_entries()(ids))))
    assert of_mean.count("WHERE") == 1 and "UNSORTED_SEGMENT_SUM" not in of_mean


@pytest.mark.slow
def test_a_file_makes_vectors_once_where_they_are_an_output_too():
    ids = keras.Input((6,), dtype="int32")
    vectors = all_entries()(ids)
    found = kinds(keras.Model(ids, [MaskedMean()(vectors), vectors]))
    assert "UNSORTED_SEGMENT_SUM" in found


def kinds(model):
    return kinds_of(export.convert(model, "int8"))


def kinds_of(data):
    parsed = flatbuffer.parse(data)
    return [OPERATORS[kind(parsed, one)] for one in parsed.subgraphs[0].operators]
