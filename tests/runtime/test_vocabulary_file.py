"""The words beside a file: shared by the files of a folder, and never taken from one of them."""

import keras
import pytest

from export_models import file_of, text_file
from kerascompact import export
from kerascompact.models import mean_classifier
from kerascompact.runtime import TextClassifier, vocabulary_file
from kerascompact.text import Vocabulary

OLD, NEW = Vocabulary(["one", "two"]), Vocabulary(["three", "four"])


@pytest.fixture(scope="module")
def model():
    return mean_classifier(keras.layers.Embedding(4, 2, mask_zero=True), 2)


@pytest.fixture(scope="module")
def files(model):
    """The bytes of a file for each vocabulary, by what the vocabulary is known by."""
    return {
        one.sha256: export.convert(model, vocabulary=one, labels=["no", "yes"])
        for one in (OLD, NEW)
    }


def save(files, path, vocabulary):
    return export.save(files[vocabulary.sha256], path, vocabulary=vocabulary)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_of_one_vocabulary_share_it_and_a_file_may_be_written_over(files, tmp_path):
    save(files, tmp_path / "a.tflite", OLD)
    save(files, tmp_path / "a.tflite", NEW)
    save(files, tmp_path / "b.tflite", NEW)
    assert sorted(content(tmp_path)) == ["a.tflite", "b.tflite", "vocabulary.txt"]
    for name in ("a", "b"):
        assert TextClassifier(tmp_path / f"{name}.tflite").predict("four").known == 1


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_another_vocabulary_is_refused_while_a_file_needs_the_first(files, tmp_path, name):
    for other in ("a", "b"):
        save(files, tmp_path / f"{other}.tflite", OLD)
    before = content(tmp_path)
    others = ", ".join(f"{other}.tflite" for other in "ab" if other != name)
    match = f"vocabulary.txt is the vocabulary of another file: {others}. Choose another folder"
    with pytest.raises(ValueError, match=match):
        save(files, tmp_path / f"{name}.tflite", NEW)
    with pytest.raises(ValueError, match=match):  # nor by work that goes on
        vocabulary_file.check(tmp_path / f"{name}.tflite", None, resume=True)
    assert content(tmp_path) == before
    assert TextClassifier(tmp_path / "a.tflite").predict("two").known == 1
    save(files, tmp_path / "new" / f"{name}.tflite", NEW)


def test_models_are_refused_as_bytes_are(model, files, tmp_path):
    data = files[NEW.sha256]
    save(files, tmp_path / "a.tflite", OLD)
    with pytest.raises(ValueError, match="is the vocabulary of another file: a.tflite"):
        export.save(data, tmp_path / "b.tflite", vocabulary=NEW)
    with pytest.raises(ValueError, match="is the vocabulary of another file: a.tflite"):
        export.save(model, tmp_path / "b.tflite", vocabulary=NEW)
    export.save(data, tmp_path / "b.tflite")  # its words lie elsewhere
    save(files, tmp_path / "a.tflite", OLD)


def test_a_vocabulary_that_no_file_names_is_kept(files, tmp_path):
    OLD.save(tmp_path / "vocabulary.txt")
    (tmp_path / "damaged.tflite").write_bytes(b"TFL3")
    export.save(file_of("mean"), tmp_path / "without.tflite")
    with pytest.raises(ValueError, match="another file: none that is in this folder"):
        save(files, tmp_path / "a.tflite", NEW)
    assert Vocabulary.load(tmp_path / "vocabulary.txt").sha256 == OLD.sha256
    vocabulary_file.check(tmp_path / "a.tflite", None, resume=True)  # may be its own
    save(files, tmp_path / "a.tflite", OLD)


def test_a_file_that_takes_text_needs_no_words_beside_it(files, tmp_path):
    export.save(text_file(), tmp_path / "inside.tflite")
    save(files, tmp_path / "a.tflite", OLD)
    save(files, tmp_path / "a.tflite", NEW)
    for path in tmp_path.glob("*.tflite"):
        assert TextClassifier(path).predict("one three").tokens == 2
