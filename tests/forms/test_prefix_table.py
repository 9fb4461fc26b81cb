import keras
import numpy as np
import pytest

from form_examples import V, numbers, ragged, ragged_permuted
from kerascompact import export, tools
from kerascompact.core.storage import total_bits
from kerascompact.export.recipe import TABLE_RECIPES
from kerascompact.forms import PrefixTableForm

EVERY = np.arange(V)


def test_stores_no_zero():
    form, table = ragged()
    entries = np.count_nonzero(table)
    assert entries == 5 * 6 + 7 * 4 + 11 * 2
    assert total_bits(form.storage()) == 32 * entries + 3 * 96
    assert total_bits(form.stored_as("int8").storage()) == 8 * entries + 32 * 6 + 3 * 96
    assert total_bits(form.stored_as("int4").storage()) == 4 * entries + 32 * 6 + 3 * 96
    permuted, table = ragged_permuted()
    entries = np.count_nonzero(table)
    assert total_bits(permuted.storage()) == 32 * entries + 3 * 96 + 16 * V
    # blocks of one number: four bits would take a byte in the file
    small = permuted.stored_as("int4")
    assert small.precision == "int8" and small.stored_as("int4") is small


def test_rounds_every_column_by_its_own_scale():
    for make in (ragged, ragged_permuted):
        form, table = make()
        table = table * 10.0 ** np.arange(-2, 4)
        form = PrefixTableForm.from_table(
            table,
            form.ragged.sizes,
            form.ragged.widths,
            form.ranks.numpy() if form.permuted else None,
        )
        step = np.abs(table).max(axis=0) / 127
        small = form.stored_as("int8")
        # half a step, and a rounding of the product
        assert np.all(np.abs(small(EVERY) - table) <= 0.5001 * step)
        assert not np.any(np.asarray(small(EVERY))[table == 0])
        smaller = small.stored_as("int4")
        assert total_bits(smaller.storage()) <= total_bits(small.storage())


@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", TABLE_RECIPES)
def test_the_file_is_as_small_as_the_entries(recipe):
    """The sizes of the recipes' measurement: 10 bins of 30 columns, density 0.35, 10,000 words."""
    widths = np.arange(300, 0, -30)
    sizes = np.diff([0, 210, 470, 800, 1220, 1760, 2440, 3310, 4420, 6000, 10_000])
    form = PrefixTableForm.from_table(numbers(10_000, 300), sizes.tolist(), widths.tolist())
    entries = int(sizes @ widths)
    ids = keras.Input((None,), dtype="int32", name="ids")
    model = keras.Model(ids, form(ids))
    data = export.convert(model, recipe, names=False)
    bits = {"float32": 32, "int8_tables": 8, "int4_tables": 4}[recipe]
    theory = bits * entries + (0 if recipe == "float32" else 32 * 300)
    assert len(data) <= 1.01 * theory / 8 + 4 * 1024
    assert "READ_VARIABLE" not in tools.inspect(data).operators
    some = np.random.default_rng(1).integers(0, 10_000, (4, 32))
    some[0, :2] = 0, 9_999
    export.verify(model, data, some, tolerance=0.0)


@pytest.mark.parametrize(
    ("make", "recipes"),
    [
        (ragged_permuted, ("int4_tables",)),
        pytest.param(ragged, TABLE_RECIPES, marks=pytest.mark.slow),
        pytest.param(ragged_permuted, TABLE_RECIPES, marks=pytest.mark.slow),
    ],
)
def test_logits_need_no_table(make, recipes):
    """Words in, logits out: the file holds every array once."""
    sizes = ((300, 6), (700, 4), (2000, 2))
    ranks = np.random.default_rng(0).permutation(3000) if make is ragged_permuted else None
    form, table = ragged(3000, bins=sizes, ranks=ranks)
    ids = keras.Input((1,), dtype="int32", name="ids")
    model = keras.Model(ids, form(keras.layers.Activation("tanh")(form(ids)), reverse=True))
    for recipe in recipes:
        frozen = export.freeze(model, recipe)
        data = frozen.convert(names=False)
        stored = total_bits(frozen.model.layers[1].storage())
        assert len(data) <= 1.02 * stored / 8 + 9 * 1024  # most of it the graph
        copied = "SLICE" in tools.inspect(data).operators  # and not gathered, where it can be
        assert copied == (recipe != "int4_tables")
        # six float32 products of size 4
        frozen.verify(np.array([[0], [299], [300], [2999]]), tolerance=1e-5)


def test_rejects_what_does_not_fit():
    for sizes, widths, message in (
        ([1, 1], [2, 1], "`sizes` must be numbers of ids whose sum is 3"),
        ([1, 2], [3, 1], r"`widths` must be an integer in \[1, 2\]"),
        ([1, 2], [2, 0], "`widths` must be an integer >= 1"),
    ):
        with pytest.raises(ValueError, match=message):
            PrefixTableForm(3, 2, sizes, widths)
    with pytest.raises(ValueError, match="`precision` must be one of 'float32', 'int8', 'int4'"):
        PrefixTableForm(3, 2, [3], [2], precision="int2")
    with pytest.raises(ValueError, match="`permuted` must be True or False"):
        PrefixTableForm(3, 2, [3], [2], permuted=1)
