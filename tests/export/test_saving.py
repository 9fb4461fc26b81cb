"""The file and the words beside it: both are written, or neither."""

import numpy as np
import pytest

from export_models import V, cluster, file_of, mean, standard
from kerascompact import export, tflite
from kerascompact.text import Vocabulary

LABELS = ["one", "two", "dr\u00e9i"]


def not_finite():
    """A model whose weights are not finite."""
    model = mean(cluster())
    model.get_layer("probabilities").bias.assign(np.full(3, np.nan))
    return model


def test_save_writes_the_file_and_its_vocabulary(tmp_path):
    vocabulary = Vocabulary([f"w{i}" for i in range(V - 2)])
    model, path = mean(cluster()), tmp_path / "new" / "model.tflite"
    assert export.save(model, path, vocabulary=vocabulary, labels=LABELS) == path
    data = path.read_bytes()
    facts = tflite.read_metadata(data)
    assert facts["labels"] == LABELS and facts["vocabulary"]["sha256"] == vocabulary.sha256
    assert Vocabulary.load(path.parent / "vocabulary.txt").sha256 == vocabulary.sha256
    again = export.save(data, tmp_path / "again.tflite")
    assert again.read_bytes() == data
    assert sorted(p.name for p in tmp_path.rglob("*.*")) == [
        "again.tflite",
        "model.tflite",
        "vocabulary.txt",
    ]
    other, folder = Vocabulary(vocabulary.words[::-1]), tmp_path / "other"
    folder.mkdir()
    with pytest.raises(ValueError, match="`vocabulary` must be the one that the file was"):
        export.save(data, folder / "a.tflite", vocabulary=other)
    assert not list(folder.iterdir())
    export.save(data, folder / "a.tflite", vocabulary=vocabulary)
    assert sorted(path.name for path in folder.iterdir()) == ["a.tflite", "vocabulary.txt"]


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        (not_finite, None),
        (lambda: mean(standard()), Vocabulary(["a"])),
        (lambda: b"no file", Vocabulary(["a"])),
        (lambda: file_of("mean")[:-400], Vocabulary(["a"])),
    ],
)
def test_a_failed_save_leaves_everything_as_it_was(tmp_path, model, vocabulary):
    (tmp_path / "model.tflite").write_bytes(b"old")
    (tmp_path / "vocabulary.txt").write_bytes(b"old too")
    with pytest.raises(ValueError, match="must"):
        export.save(model(), tmp_path / "model.tflite", vocabulary=vocabulary)
    with pytest.raises(
        ValueError, match=r"`options` must be absent.*Received: options=\['recipe'\]"
    ):
        export.save(file_of("mean"), tmp_path / "model.tflite", recipe="int4")
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert files == {"model.tflite": b"old", "vocabulary.txt": b"old too"}
