"""A table is the same wherever it is read from, and what is no table is named."""

import keras
import numpy as np
import pytest

from form_examples import codebook, split
from kerascompact.compress.tables import embeddings_of, read_table
from kerascompact.core.projection import Projection
from kerascompact.forms import DenseForm, LogitsForm, ProjectedForm

TABLE = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)


def embedding(name="words", table=TABLE):
    layer = keras.layers.Embedding(*table.shape, name=name)
    layer.build()
    layer.set_weights([table])
    return layer


def model(*layers):
    ids = keras.Input((3,), dtype="int32")
    return keras.Model(ids, [layer(ids) for layer in layers], name="mine")


def test_reads_arrays_and_leaves_them_alone():
    source = TABLE.astype(np.float64)
    table = read_table(source)
    np.testing.assert_array_equal(table.vectors, TABLE)
    assert table.vectors.dtype == np.float32 and table.words is None
    table.vectors[:] = 0
    np.testing.assert_array_equal(source, TABLE)
    assert read_table(TABLE.tolist(), limit=2).vectors.shape == (2, 4)


def test_reads_layers_models_and_their_files(tmp_path):
    nested = keras.Sequential([keras.Input((3,)), embedding("inside")])
    both = model(embedding("one"), embedding("two", TABLE * 2))
    for source, layer, name in (
        (embedding(), None, "words"),
        (model(embedding()), None, "words"),
        (model(embedding()), "words", "words"),
        (model(nested), None, "inside"),
        (both, "one", "one"),
    ):
        table = read_table(source, layer)
        np.testing.assert_array_equal(table.vectors, TABLE)
        assert (table.words, table.name) == (None, name)
    both.save(tmp_path / "both.keras")
    read = read_table(tmp_path / "both.keras", "two", limit=5)
    np.testing.assert_array_equal(read.vectors, TABLE[:5] * 2)


def test_reads_what_a_form_stands_for(tmp_path):
    for form, expected in (codebook(), split()):
        np.testing.assert_array_equal(read_table(form).vectors, expected)
        compressed = keras.Sequential([keras.Input((3,), dtype="int32"), form])
        compressed.save(tmp_path / "form.keras")
        np.testing.assert_array_equal(read_table(tmp_path / "form.keras").vectors, expected)


def test_reads_npy_files(tmp_path):
    np.save(tmp_path / "a.npy", TABLE.astype(">f8"))
    table = read_table(str(tmp_path / "a.npy"))
    np.testing.assert_array_equal(table.vectors, TABLE)
    assert table.name == "a.npy"


def test_reads_word_vectors(tmp_path):
    (tmp_path / "small.txt").write_text("the 1 2\nof 3 4\n")
    table = read_table(tmp_path / "small.txt", limit=1)
    assert table.vectors.tolist() == [[1, 2]]
    assert (table.words, table.name) == (["the"], "small.txt")


def test_never_unpickles(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([[{}]], object), allow_pickle=True)
    with pytest.raises(ValueError, match="objects.npy is not a .npy file of numbers"):
        read_table(tmp_path / "objects.npy")


@pytest.mark.parametrize(
    "source, message",
    [
        (np.zeros(3), r"table must be a matrix \(V, d\) of floats.*shape \(3,\)"),
        (np.zeros((0, 3)), "table must be a matrix"),
        (np.zeros((2, 3), int), "table must be a matrix.*int64"),
        (np.full((2, 3), np.inf), "`table` must hold finite numbers only.*6 of 6"),
        (np.full((2, 3), 1e300), "`table` must hold finite numbers only.*6 of 6"),
        (None, "table must be a matrix.*object"),
        (
            keras.layers.Dense(2),
            "must have an embedding.*Its embeddings: none; of layers",
        ),
        (keras.layers.Embedding(3, 2, name="new"), "Layer 'new' has no weights yet"),
        (model(embedding("one"), embedding("two")), "if there are several.*: 'one', 'two'"),
    ],
)
def test_rejects_sources(source, message):
    with pytest.raises(ValueError, match=message):
        read_table(source)


def test_rejects_layers_and_limits():
    with pytest.raises(ValueError, match="must have one embedding 'three'. .*: 'one', 'two'"):
        read_table(model(embedding("one"), embedding("two")), "three")
    with pytest.raises(ValueError, match="`layer` must be None: only Keras models have layers"):
        read_table(TABLE, "words")
    with pytest.raises(ValueError, match="`limit` must be an integer >= 1"):
        read_table(TABLE, limit=0)


def test_rejects_headers_that_lie(tmp_path):
    header = {"descr": "<f4", "fortran_order": False, "shape": (10**12, 300)}
    with open(tmp_path / "a.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    data = (tmp_path / "a.npy").read_bytes()
    for bad in (data, data.replace(b"}", b" ").replace(b")", b" ")):
        (tmp_path / "a.npy").write_bytes(bad)
        with pytest.raises(ValueError, match="a.npy is not a .npy file of numbers"):
            read_table(tmp_path / "a.npy")


def test_rejects_damaged_files(tmp_path):
    np.save(tmp_path / "a.npy", TABLE)
    model(embedding()).save(tmp_path / "a.keras")
    for name, kind in (("a.npy", "not a .npy file of numbers"), ("a.keras", "not a Keras model")):
        data = (tmp_path / name).read_bytes()
        for bad in (b"", b"hello, world", data[: len(data) // 2], data[:-1]):
            (tmp_path / name).write_bytes(bad)
            with pytest.raises(ValueError, match=f"{name} is {kind}"):
                read_table(tmp_path / name)
        (tmp_path / name).unlink()
        with pytest.raises(FileNotFoundError, match=name):
            read_table(tmp_path / name)


def test_only_the_first_rows_are_read():
    wrong = TABLE.copy()
    wrong[3] = np.nan
    np.testing.assert_array_equal(read_table(wrong, limit=2).vectors, TABLE[:2])


def test_heads_and_projections_are_no_tables():
    kernel = {"table": np.ones((3, 4), np.float32)}
    head = LogitsForm.over(DenseForm.from_arrays(kernel, input_dim=3, output_dim=4))
    words = embedding()
    both = model(words, head)
    assert embeddings_of(both) == [words] and read_table(both).name == "words"
    assert embeddings_of(ProjectedForm(Projection(4, 8), 3)) == []
