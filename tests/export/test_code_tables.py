"""Recipes of product codes: which tables become codes, in files, heads and training."""

import keras
import numpy as np
import pytest

from form_examples import KINDS, dense, factored, numbers, remapped
from kerascompact import export, layers, models
from kerascompact.core.storage import total_bits
from kerascompact.export.code_tables import codes_pay, form_of_table, in_codes
from kerascompact.forms import (
    CodebookForm,
    ConcatForm,
    DenseForm,
    LogitsForm,
    ProductCodesForm,
    ReversibleForm,
)
from kerascompact.tflite import read_metadata

V, WIDTH, LENGTH = 700, 12, 9
IDS = np.random.default_rng(0).integers(1, V, (20, LENGTH)).astype(np.int32)
NORMAL = keras.initializers.RandomNormal(seed=1)
RECIPES = ("codes4", "codes3", "codes2")


def plain(words=V):
    return keras.layers.Embedding(
        words, WIDTH, mask_zero=True, name="words", embeddings_initializer=NORMAL
    )


def low_rank():
    return layers.LowRankEmbedding(V, WIDTH, 7, mask_zero=True, name="words")


def mean(embedding):
    return models.mean_classifier(embedding, 3, sequence_length=LENGTH)


def agrees(frozen, data=IDS):
    report = frozen.verify(data)
    assert report.agreement == 1 and report.largest_difference < 1e-5
    return report


@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_plain_table(recipe):
    frozen = export.freeze(mean(plain()), recipe)
    form = frozen.model.get_layer("words")
    assert type(form) is ProductCodesForm and form.mask_zero
    assert form.paper_bits == 32 * V * WIDTH
    agrees(frozen)
    (facts,) = read_metadata(frozen.file)["embeddings"]
    assert (facts["form"], facts["stored_bits"]) == (
        "ProductCodesForm",
        total_bits(form.storage()),
    )
    assert read_metadata(frozen.file)["recipe"]["tables"] == recipe
    again = export.freeze(frozen.model, recipe).model.get_layer("words")
    for left, right in zip(again.get_weights(), form.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("words", [V, pytest.param(2000, marks=pytest.mark.slow)])
def test_fewer_bits_are_fewer_bytes_and_larger_errors(words):
    model = mean(plain(words))
    wanted = np.asarray(model.get_layer("words").embeddings)
    sizes, errors = [], []
    for recipe in ("int8", "codes4", "codes2") if words == V else ("int8", *RECIPES):
        frozen = export.freeze(model, recipe)
        form = frozen.model.get_layer("words")
        found = form(np.arange(words)).numpy()
        errors.append(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))
        # The long test measures the files.
        sizes.append(total_bits(form.storage()) if words == V else len(frozen.convert()))
    assert sizes == sorted(sizes, reverse=True) and errors == sorted(errors)


@pytest.mark.slow  # `test_forms_inside_others` and a plain table are short
@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", RECIPES)
def test_low_rank_factors(recipe):
    frozen = export.freeze(mean(low_rank()), recipe)
    form = frozen.model.get_layer("words")
    assert type(form.part) is ProductCodesForm and form.precision == "int8"
    assert not form.part.factors  # the matrix has them
    hidden = numbers(5, WIDTH)  # scored by the same vectors
    expected = hidden @ form(np.arange(V)).numpy().T
    np.testing.assert_allclose(form(hidden, reverse=True), expected, rtol=1e-4, atol=1e-5)
    agrees(frozen)


@pytest.mark.slow  # codes that score are tried as forms, a plain table here
@pytest.mark.parametrize("tied", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_table_that_scores_words(tied):
    given = keras.Input((LENGTH,), dtype="int32", name="ids")
    table = keras.layers.ReversibleEmbedding(
        V, WIDTH, tie_weights=tied, name="words", embeddings_initializer=NORMAL
    )
    hidden = keras.layers.GlobalAveragePooling1D()(table(given))
    model = keras.Model(given, table(5 * hidden, reverse=True))
    frozen = export.freeze(model, "codes4")
    form = frozen.model.get_layer("words")
    assert type(form) is (ProductCodesForm if tied else ReversibleForm)
    assert tied or type(form.head) is type(form.part) is ProductCodesForm
    agrees(frozen)


@pytest.mark.slow
def test_a_tied_head_over_a_low_rank_table():
    given = keras.Input((LENGTH,), dtype="int32", name="ids")
    table = low_rank()
    hidden = keras.layers.GlobalAveragePooling1D()(table(given))
    model = keras.Model(given, layers.tied_softmax(table, hidden))
    agrees(export.freeze(model, "codes4"))


def test_forms_inside_others():
    parts = [dense(V, 6)[0], dense(V, 6, seed=2)[0]]
    both = ConcatForm(V, 12, parts)
    both.build()
    for part in in_codes(both, 4).parts:
        assert type(part) is ProductCodesForm
    kept = remapped(tuple(range(0, 22, 2)), make=lambda rows: dense(rows, 300))[0]
    assert type(in_codes(kept, 2).part) is ProductCodesForm
    kernel = LogitsForm.over(dense(V, 6)[0], numbers(V))
    assert type(in_codes(kernel, 3).part) is ProductCodesForm
    coded = in_codes(factored()[0], 4)
    assert type(coded.part) is CodebookForm and coded.part.precision == "int4"


@pytest.mark.few(8)
@pytest.mark.parametrize("name", KINDS)
def test_small_forms_do_not_grow(name):
    form = KINDS[name]()[0]
    assert total_bits(in_codes(form, 4).storage()) <= total_bits(form.storage())


def test_a_table_smaller_than_its_codebook_has_eight_bits():
    small = in_codes(dense(30, 6)[0], 4)
    assert type(small) is DenseForm and small.precision == "int8"
    for rows, bits in ((30, 4), (30, 2), (1000, 3)):
        expected = in_codes(dense(rows, 6)[0], bits)
        assert expected.storage() == form_of_table(rows, 6, bits).storage()
        assert isinstance(expected, ProductCodesForm) == codes_pay(rows, 6, bits)


def test_training_moves_the_codebook():
    labels = (IDS.sum(axis=1) % 3).astype(np.int32)
    aware = export.quantization_aware(mean(plain()), "codes2")
    loss = "sparse_categorical_crossentropy"
    aware.compile(keras.optimizers.Adam(0.01), loss, run_eagerly=True)
    losses = [aware.train_on_batch(IDS, labels) for _ in range(3)]
    assert losses[-1] < losses[0]
    frozen = export.freeze(aware, "codes2")
    assert type(frozen.model.get_layer("words")) is ProductCodesForm  # whose files others verify
    np.testing.assert_allclose(frozen.model(IDS), aware(IDS), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kernels", ["float32", "dynamic"])
def test_with_other_kernels(kernels):
    recipe = export.Recipe("mine", "codes3", kernels)
    report = export.freeze(mean(plain()), recipe).verify(IDS)
    assert report.agreement == 1


def test_a_small_table_keeps_its_bits_when_it_is_frozen_again():
    model = mean(plain(20))  # less than a codebook
    once = export.freeze(model, "codes4").model
    again = export.freeze(once, "codes4").model
    forms = [one.get_layer("words") for one in (once, again)]
    assert [form.precision for form in forms] == ["int8", "int8"]
    np.testing.assert_array_equal(forms[0](IDS % 20), forms[1](IDS % 20))
