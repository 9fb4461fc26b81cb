"""`kerascompact compress`: a table in any form becomes a small file."""

import keras
import numpy as np
import pytest

from kerascompact import compress, export, tools
from kerascompact.cli import main, parse_args
from kerascompact.commands.compress import _compressor
from kerascompact.runtime.interpreter import Interpreter

RANDOM = np.random.default_rng(0)
V, d = 40, 6
TABLE = RANDOM.normal(size=(V, d)).astype(np.float32)
WORDS = [f"word{i}" for i in range(V - 1)] + ["two words"]
METHODS = {
    "scalar": ["--bits", "5", "--scale", "table"],
    "product": ["--code-length", "3", "--cardinality", "8", "--norms"],
    "svd": ["--rank", "2"],
    "kmeans": ["--clusters", "5", "--seed", "3"],
    "codes": ["--code-length", "2", "--cardinality", "8"],
    "autoencoder": ["--code-length", "2", "--cardinality", "4", "--epochs", "2"],
    "nearest_anchors": ["--anchors", "9", "--neighbors", "3", "--weights", "kernel"],
    "k_svd": [
        "--anchors",
        "9",
        "--neighbors",
        "2",
        "--max-neighbors",
        "4",
        "--iterations",
        "2",
        "--seed",
        "1",
    ],
    "sparse_code": [
        "--base",
        "12",
        "--l1-weight",
        "0.01",
        "--sum-to-one-weight",
        "0",
        "--iterations",
        "9",
    ],
    "pruning": ["--sparsity", "0.5"],
    "product_codes": ["--bits", "3", "--group", "2", "--seed", "1"],
}
MAKES = {
    "product": compress.ProductQuantization(3, 8, norms=True),
    "nearest_anchors": compress.NearestAnchors(9, 3, "kernel"),
    "k_svd": compress.KSVD(9, 2, iterations=2, seed=1, max_neighbors=4),
    "sparse_code": compress.SparseCode(12, 0.01, 0.0, 9),
    "pruning": compress.Pruning(0.5),
    "product_codes": compress.ProductCodes(3, 2, seed=1),
}


@pytest.fixture
def glove(tmp_path):
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(WORDS, TABLE, strict=True)]
    path = tmp_path / "glove.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def classifier(tmp_path):
    ids = keras.Input((4,), dtype="int32", name="ids")
    embedding = keras.layers.Embedding(V, d, name="words", mask_zero=True)
    mean = keras.layers.GlobalAveragePooling1D()(embedding(ids))
    model = keras.Model(ids, keras.layers.Dense(2)(mean))
    embedding.set_weights([TABLE])
    model.save(tmp_path / "model.keras")
    return tmp_path / "model.keras"


def run(*arguments):
    return main(["compress", *map(str, arguments)])


def vectors_in(file, length=8):
    interpreter = Interpreter(file)
    (name,) = interpreter.inputs
    (output,) = interpreter.outputs
    ids = np.arange(V).reshape(-1, length)
    rows = [interpreter.run({name: row[None].astype(np.int32)})[output][0] for row in ids]
    return np.concatenate(rows)


@pytest.mark.parametrize("method", METHODS)
def test_options_make_the_compressor(method):
    command = ["compress", "glove.txt", "-o", "small.tflite", "--method", method]
    found = _compressor(parse_args([*command, *METHODS[method]]))
    if method not in MAKES:
        assert isinstance(found, compress.Compressor)
        return
    settings = {**vars(MAKES[method]), **{n: v for n, v in vars(found).items() if n == "verbose"}}
    assert type(found) is type(MAKES[method]) and vars(found) == settings


@pytest.mark.few(1)
@pytest.mark.parametrize("method", METHODS)
def test_word_vectors_become_a_file_and_a_list_of_words(method, glove, tmp_path, capsys):
    """Of what the function makes, where nothing is rounded or drawn."""
    out, length = tmp_path / "phone" / "small.tflite", 8
    options = ["-o", out, "--method", method, *METHODS[method]]
    if method in MAKES:
        length = 5
        options += ["--recipe", "float32", "--sequence-length", "5", "--limit", str(V)]
    assert run(glove, *options) == 0
    printed = capsys.readouterr().out
    assert "glove.txt: 40 vectors of 6" in printed
    assert "relative squared error" in printed and "KiB stored" in printed
    assert f"{out.stat().st_size:,} bytes" in printed
    assert out.with_suffix(".words.txt").read_text().splitlines() == WORDS
    found = vectors_in(out, length)
    assert found.shape == TABLE.shape
    assert np.sum((found - TABLE) ** 2) < np.sum(TABLE**2)
    assert not tools.inspect(out).custom
    if method in MAKES:
        np.testing.assert_allclose(found, MAKES[method].fit(TABLE)(np.arange(V)), atol=1e-6)


def test_counts_weigh_entries_and_a_pruned_table_keeps_its_zeros(tmp_path, capsys):
    table, counts = np.where(TABLE > 0, TABLE, 0), np.arange(V)
    np.save(tmp_path / "table.npy", table)
    np.save(tmp_path / "counts.npy", counts)
    out, options = tmp_path / "small.keras", ["--method", "pruning", "--recipe", "float32"]
    assert run(tmp_path / "table.npy", "-o", out, *options) == 0
    np.testing.assert_array_equal(compress.read_table(out).vectors, table)
    options += ["--counts", tmp_path / "counts.npy", "--sparsity", "0.9"]
    assert run(tmp_path / "table.npy", "-o", out, *options) == 0
    kept = compress.read_table(out).vectors != 0
    weighted = np.sqrt(counts)[:, None] * table
    assert kept.sum() == V * d // 10 and weighted[kept].min() >= weighted[~kept].max()


def test_arrays_limits_counts_and_keras_files(tmp_path, capsys):
    np.save(tmp_path / "table.npy", np.vstack([TABLE, TABLE]))
    np.save(tmp_path / "counts.npy", np.eye(V)[7])
    out = tmp_path / "small.keras"
    options = ["--limit", V, "--counts", tmp_path / "counts.npy", "--recipe", "float32"]
    arguments = [tmp_path / "table.npy", "-o", out, "--method", "kmeans", "--clusters", "2"]
    assert run(*arguments, *options) == 0
    table = compress.read_table(out).vectors
    np.testing.assert_allclose(table[7], TABLE[7], rtol=1e-5)  # the only word that counts
    assert "relative squared error" in capsys.readouterr().out
    assert not (tmp_path / "small.words.txt").exists()


def test_the_embedding_of_a_model_alone_and_in_its_model(classifier, tmp_path, capsys):
    alone, whole, file = (tmp_path / n for n in ("alone.keras", "whole.keras", "whole.tflite"))
    options = ["--method", "scalar", "--layer", "words"]
    assert run(classifier, "-o", alone, *options) == 0
    assert np.abs(compress.read_table(alone).vectors - TABLE).max() < 0.02
    assert run(classifier, "-o", whole, *options, "--keep-model") == 0
    assert run(classifier, "-o", file, *options, "--keep-model") == 0
    assert "DenseForm" in capsys.readouterr().out
    ids = RANDOM.integers(0, V, (6, 4))
    model, small = keras.models.load_model(classifier), keras.models.load_model(whole)
    np.testing.assert_allclose(small(ids), model(ids), rtol=0, atol=0.1)
    assert export.verify(small, file, ids, min_agreement=1.0).examples == 6


def test_wrong_arguments_are_named_before_any_work(glove, classifier, tmp_path, fails):
    out = tmp_path / "new.tflite"

    def line(*arguments, source=glove, to=out):
        return fails("compress", source, "-o", to, *arguments)

    scalar = ["--method", "scalar"]
    assert "must end in .tflite or .keras" in line(*scalar, to=tmp_path / "new.txt")
    assert "not the source" in line(*scalar, source=classifier, to=classifier)
    (tmp_path / "folder.keras").mkdir()
    assert "must be a file to write" in line(*scalar, to=tmp_path / "folder.keras")
    assert "is a file" in line(*scalar, to=glove / "new.tflite")
    assert "--rank is not an option of --method scalar" in line(*scalar, "--rank", 3)
    assert "--code-length is not an option" in line("--method", "svd", "--code-length", 3)
    assert "--seed is not an option of --method pruning" in line("--method", "pruning", "--seed", 3)
    assert "--sum-to-one-weight is not an option of" in line(
        "--method", "k_svd", "--sum-to-one-weight", 1
    )
    assert "`num_neighbors` must be an integer in [1, 3]" in line(
        "--method", "nearest_anchors", "--anchors", 3, "--neighbors", 4
    )
    assert "`num_anchors` must be an integer in [2, 40]" in line("--method", "k_svd")
    assert "`sparsity` must be a number in [0, 1)" in line("--method", "pruning", "--sparsity", 1)
    assert "`l1_weight` must be" in line("--method", "sparse_code", "--l1-weight", 0)
    assert "--method svd needs --rank" in line("--method", "svd")
    assert "--method kmeans needs --clusters" in line("--method", "kmeans")
    assert "`bits` must be an integer in [1, 8]" in line(*scalar, "--bits", 9)
    assert "`sequence_length` must be an integer >= 1" in line(*scalar, "--sequence-length", 0)
    assert "`limit` must be an integer >= 1" in line(*scalar, "--limit", 0)
    assert "--keep-model is for .keras files" in line(*scalar, "--keep-model")
    assert "cannot be used with --limit" in line(
        *scalar, "--keep-model", "--limit", 3, source=classifier
    )
    assert "only Keras models have layers" in line(*scalar, "--layer", "words")
    other = line(*scalar, "--layer", "other", source=classifier)
    assert "one embedding 'other'. Its embeddings: 'words'" in other
    np.save(tmp_path / "counts.npy", np.ones(3))
    wrong = line(*scalar, "--counts", tmp_path / "counts.npy")
    assert "counts.npy must hold a number for each of the 40 vectors" in wrong
    np.save(tmp_path / "counts.npy", np.full(40, "a"))
    assert "counts.npy must hold numbers" in line(*scalar, "--counts", tmp_path / "counts.npy")
    (tmp_path / "counts.npy").write_bytes(b"")
    assert "counts.npy is not a .npy file" in line(*scalar, "--counts", tmp_path / "counts.npy")
    assert "one of 1, 2, 3, 6" in line(
        "--method", "product", *METHODS["product"][2:], "--code-length", 4
    )
    assert "[2, 40]" in line("--method", "kmeans", "--clusters", 41)
    glove.write_text("a 1 2\nb 1\n")
    assert "glove.txt, line 2: expected a word and 2 numbers" in line(*scalar)
    assert "none.txt" in line(*scalar, source=tmp_path / "none.txt")
    assert "none.keras" in line(*scalar, source=tmp_path / "none.keras")
    classifier.write_bytes(b"hello")
    assert "cannot be loaded as a Keras model" in line(*scalar, source=classifier)
    assert not out.exists()


def test_words_never_overwrite_what_is_read(glove, tmp_path, fails):
    source = glove.rename(tmp_path / "glove.words.txt")
    before = source.read_bytes()
    line = ("compress", source, "-o", tmp_path / "glove.tflite", "--method", "scalar")
    assert "glove.words.txt must be a file to write, and not the source" in fails(*line)
    assert source.read_bytes() == before and not (tmp_path / "glove.tflite").exists()
