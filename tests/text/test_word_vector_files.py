"""Files of word vectors as they are found: GloVe, word2vec and fastText, whole and damaged."""

import gzip
import lzma
import struct

import numpy as np
import pytest

from kerascompact.text.word_vector_files import lines_of, read_word_vectors, read_words

GLOVE = "the 0.5 -1e-3\nof 1 2\n. . . 3 4\nat name@domain.com 5 6\ncafé -7 +8.\n"
WORDS = ["the", "of", ". . .", "at name@domain.com", "café"]
VECTORS = [[0.5, -0.001], [1, 2], [3, 4], [5, 6], [-7, 8]]


def write(tmp_path, content, name="vectors.txt"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def binary(rows, header=None, end=b"\n"):
    width = len(rows[0][1])
    content = header or f"{len(rows)} {width}\n".encode()
    for word, vector in rows:
        content += word.encode() + b" " + struct.pack(f"<{width}f", *vector) + end
    return content


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        GLOVE.rstrip("\n"),
        "5 2\n" + GLOVE,
        "5 2\r\n" + GLOVE.replace("\n", " \r\n"),
        GLOVE.replace(" ", "\t", 1),
        "\ufeff" + GLOVE,
        "\ufeff5 2\n" + GLOVE,
    ],
    ids=[
        "glove",
        "without the last newline",
        "word2vec",
        "spaces at line ends",
        "tab",
        "mark",
        "mark, word2vec",
    ],
)
@pytest.mark.parametrize("packing", ["", ".gz", ".xz"])
def test_reads_text(tmp_path, content, packing):
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[packing]
    vectors, words = read_word_vectors(write(tmp_path, pack(content.encode()), "v.txt" + packing))
    assert words == WORDS
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, np.array(VECTORS, np.float32))


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_reads_binary(tmp_path, end):
    content = binary(list(zip(WORDS, VECTORS, strict=True)), end=end)
    content = content.replace(b". . .", b"._._.").replace(b"at name", b"at_name")  # no spaces here
    vectors, words = read_word_vectors(write(tmp_path, content, "v.bin"))
    assert words == ["the", "of", "._._.", "at_name@domain.com", "café"]
    np.testing.assert_array_equal(vectors, np.array(VECTORS, np.float32))
    packed = write(tmp_path, gzip.compress(content), "v.bin.gz")
    np.testing.assert_array_equal(read_word_vectors(packed, limit=2)[0], vectors[:2])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\n", ["a", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\nb", ["a", "b"]),
        (lines_of(["a\rb", "c\r", "d"]), ["a\rb", "c\r", "d"]),
        (lines_of(["a\r", "\r"]), ["a\r", "\r"]),
        (lines_of(["\ufeffa", "\ufeff"]), ["\ufeffa", "\ufeff"]),
    ],
)
def test_reads_a_word_on_each_line(tmp_path, content, words):
    assert read_words(write(tmp_path, content)) == words


def test_limit_reads_no_further(tmp_path):
    path = write(tmp_path, "9 2\nthe 1 2\nof 3 4\nbroken\n")
    vectors, words = read_word_vectors(path, limit=2)
    assert words == ["the", "of"] and vectors.shape == (2, 2)
    assert len(read_word_vectors(write(tmp_path, GLOVE + "\n \n"), limit=99)[1]) == 5
    with pytest.raises(ValueError, match="`limit` must be an integer >= 1"):
        read_word_vectors(path, limit=0)


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "vectors.txt has no word vectors"),
        ("3 2\n", "its header says 3 rows, and it has 0"),
        ("3 2\nthe 1 2\nof 1 2\n", "its header says 3 rows, and it has 2"),
        ("1 2\nthe 1 2\nof 1 2\n", "line 3: the header says 1 rows, but another row begins here"),
        ("0 2\n", "line 1: the header says 0 rows of 2 numbers"),
        ("2 0\na\nb\n", "line 1: the header says 2 rows of 0 numbers"),
        ("the 1 2\nof 1\n", "line 2: expected a word and 2 numbers here. Received: 'of 1'"),
        ("the 1 2\n 1 2\n", "line 2: expected a word and 2 numbers"),
        ("the 1 2\n\nof 1 2\n", "line 2: the line is empty, and rows go on below"),
        ("the 1 2\nof 1 2 3\n", "line 2: more than 2 numbers. Received: 'of 1 2 3'"),
        ("the 1 2\nof -1.5e-3 2 3\n", "line 2: more than 2 numbers"),
        ("3 2\nthe 1 2\nof 1.0 2 3\n", "line 3: more than 2 numbers"),
        ("the\n", "line 1: expected a word and its numbers here"),
        ("the 1 2\nof 1 x2\n", "line 2: 'x2' is not a number"),
        ("the 1 2\nof 1 2_0\n", "line 2: '2_0' is not a number"),
        ("the 1 2\nof nan 2\n", "line 2: 'nan' is not a finite number"),
        ("the 1 2\nof 1 1e39\n", "line 2: '1e39' is not a finite number"),
        ("the 1 -inf\n", "line 1: '-inf' is not a finite number"),
        (b"the 1 2\n\xff\xfe 1 2\n", "line 2: the word is not UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00", "line 1: expected a word and its numbers"),
    ],
)
def test_names_what_is_wrong_in_text(tmp_path, content, message):
    with pytest.raises(ValueError, match="vectors.txt.*") as error:
        read_word_vectors(write(tmp_path, content))
    assert message in str(error.value)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "line 1: expected the number of rows and their width here. Received: ''"),
        (b"the 1 2\n", "line 1: expected the number of rows and their width here"),
        (
            struct.pack("<ii", 793712314, 12) + b"x",
            "line 1: expected the number of rows",
        ),  # fastText's
        (binary([("a", [1.0, 2.0])], b"2 2\n"), "ends early or is damaged in row 2 of 2"),
        (binary([("a", [1.0, 2.0])])[:-3], "ends early: row 1 of 1 is incomplete"),
        (binary([("a", [1.0, 2.0])] * 2, b"1 2\n"), "goes on after the 1 rows"),
        (binary([("a", [1.0, np.nan])]), "row 1: a number is NaN or infinite"),
        (binary([("", [1.0, 2.0])]), "row 1: the word is empty"),
        (b"1 1\n\xff " + struct.pack("<f", 1), "row 1: the word is not UTF-8"),
        (b"1 1\n" + b"a" * 10_002, "ends early or is damaged in row 1 of 1"),
        (b"0 1\n", "the header says 0 rows"),
    ],
)
def test_names_what_is_wrong_in_binary(tmp_path, content, message):
    with pytest.raises(ValueError, match="v.bin.*") as error:
        read_word_vectors(write(tmp_path, content, "v.bin"))
    assert message in str(error.value)


def test_names_damaged_archives_folders_and_missing_files(tmp_path):
    for name, pack in (("v.txt.gz", gzip.compress), ("v.txt.xz", lzma.compress)):
        data = pack((GLOVE * 99).encode())
        for bad in (data[:-9], data[:20], b"hello"):
            with pytest.raises(ValueError, match=f"{name} cannot be unpacked: the file is damaged"):
                read_word_vectors(write(tmp_path, bad, name))
    with pytest.raises(ValueError, match="is a folder"):
        read_word_vectors(tmp_path)
    with pytest.raises(FileNotFoundError, match="none.txt"):
        read_word_vectors(tmp_path / "none.txt")
