"""`kerascompact neighbours`."""

import keras
import numpy as np
import pytest

from kerascompact import layers
from kerascompact.cli import main
from kerascompact.commands.neighbours import _words
from kerascompact.text import SlotVocabulary, Vocabulary

WORDS = ["king", "queen", "city", "town"]
VECTORS = np.array([[1.0, 0.1], [1.0, 0.2], [-0.2, 1.0], [-0.1, 1.0]], np.float32)


def lines(capsys):
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "small.vec"
    rows = [f"{w} {v[0]} {v[1]}" for w, v in zip(WORDS, VECTORS, strict=True)]
    path.write_text("\n".join(["4 2", *rows]) + "\n")
    return path


def test_word_vectors(table, capsys):
    assert main(["neighbours", "king", "town", "--model", str(table), "--top", "2"]) == 0
    first, second = lines(capsys)
    assert first[0] == "king" and first[1].startswith("queen 0.99") and len(first) == 3
    assert second[1].startswith("city 0.99")


def test_a_projection_knows_every_spelling(tmp_path, capsys):
    embedding = layers.ProjectionEmbedding(64, (256,), name="embedding")
    model = keras.Sequential([keras.Input((), dtype="string"), embedding])
    model.save(tmp_path / "model.keras")
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    files = ["--model", str(tmp_path / "model.keras"), "--words", str(tmp_path / "words.txt")]
    assert main(["neighbours", "king", "kiing", *files, "--limit", "3"]) == 0
    own, other = lines(capsys)
    assert len(own) == 3 and len(other) == 4  # "king" is no neighbour of itself
    # what is spelt alike is near, before any training
    assert other[1].startswith("king ")


@pytest.mark.parametrize("kind", ["stock", "compact"])
def test_a_table_of_a_model_with_its_vocabulary(kind, tmp_path, capsys):
    vocabulary = Vocabulary(WORDS)
    vocabulary.save(tmp_path / "vocabulary.txt")
    if kind == "stock":
        embedding = keras.layers.Embedding(6, 2, name="embedding")
    else:
        embedding = layers.LowRankEmbedding(6, 2, rank=2, name="embedding")
    model = keras.Sequential([keras.Input((3,), dtype="int32"), embedding])
    padded = np.concatenate([np.zeros((2, 2), np.float32), VECTORS])
    model.set_weights([padded] if kind == "stock" else [padded, np.eye(2)])
    model.save(tmp_path / "model.keras")
    files = ["--model", str(tmp_path / "model.keras"), "--words", str(tmp_path / "vocabulary.txt")]
    assert main(["neighbours", "city", *files, "--top", "1"]) == 0
    assert lines(capsys)[0][1].startswith("town 0.99")


def test_an_embedding_in_another_is_no_choice(tmp_path, capsys):
    embedding = layers.MixtureEmbedding(4, 2, num_unique=2, num_clusters=2)  # has `clusters`
    keras.Sequential([keras.Input((3,), dtype="int32"), embedding]).save(tmp_path / "m.keras")
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    files = ["--model", str(tmp_path / "m.keras"), "--words", str(tmp_path / "words.txt")]
    assert main(["neighbours", "city", *files]) == 0
    assert len(lines(capsys)[0]) == 4


def test_refusals(table, tmp_path, fails):
    assert "'prince' is not among the words of small.vec" in fails(
        "neighbours", "prince", "--model", table
    )
    assert "--words and --layer are for .keras files" in fails(
        "neighbours", "king", "--model", table, "--words", table
    )
    assert "--model must be a .keras file or word vectors. Received: small.tflite" in fails(
        "neighbours", "king", "--model", "small.tflite"
    )
    assert "A .keras file needs --words" in fails("neighbours", "king", "--model", "a.keras")
    assert "`top` must be an integer >= 1" in fails(
        "neighbours", "king", "--model", table, "--top", 0
    )
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.save(tmp_path / "none.keras")
    (tmp_path / "words.txt").write_text("king\n")
    assert "must have one embedding" in fails(
        "neighbours", "king", "--model", tmp_path / "none.keras", "--words", tmp_path / "words.txt"
    )


def test_words_of_an_editor_on_windows(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffking\r\nqueen\r\n".encode())
    assert _words(path, None) == ([0, 1], ["king", "queen"])


def test_empty_slots_are_no_words(tmp_path):
    words = SlotVocabulary.from_ranked(WORDS, size=40)
    ids, found = _words(words.save(tmp_path / "words.txt"), None)
    assert sorted(found) == sorted(WORDS) and ids == [words.id_of(word) for word in found]
