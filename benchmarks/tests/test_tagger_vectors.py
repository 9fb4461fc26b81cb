"""The test vectors of a tagger, from the file that is committed."""

import json
import shutil

import pytest

from benchmarks.product import tagger_vectors
from benchmarks.product.vectors import given
from benchmarks.tests.test_vectors import FOLDER
from kerascompact.core import files
from kerascompact.runtime import TextTagger


@pytest.fixture(scope="module")
def written():
    return json.loads((FOLDER / tagger_vectors.VECTORS).read_text(encoding="utf-8"))


def test_the_file_gives_the_words_and_their_labels(written):
    data = (FOLDER / tagger_vectors.MODEL).read_bytes()
    assert files.sha256(data) == written["sha256"]
    reader, count = TextTagger(data), 0
    for vector in written["vectors"]:
        if "raw" in vector:
            continue
        found = reader.predict(given(vector)).words
        places = [[one.start, one.end, one.label] for one in found]
        assert places == [word[:3] for word in vector["words"]], vector
        expected = [word[3] for word in vector["words"]]
        # float32 sums of some ten terms, six digits written
        assert [one.probability for one in found] == pytest.approx(expected, abs=1e-5)
        count += len(found)
    assert count > 800


def test_another_processor_would_not_choose_otherwise(written):
    words = [word for vector in written["vectors"] for word in vector["words"]]
    assert min(word[3] for word in words) > 0.5
    assert {word[2] for word in words} == set(tagger_vectors.LABELS)


def test_vectors_are_written_again_for_the_file_that_is_there(tmp_path, written):
    shutil.copy(FOLDER / tagger_vectors.MODEL, tmp_path)
    assert tagger_vectors.main(["--out", str(tmp_path), "--keep"]) == 0
    again = json.loads((tmp_path / tagger_vectors.VECTORS).read_text(encoding="utf-8"))
    for vector in (*again["vectors"], *written["vectors"]):
        vector["words"] = [word[:3] for word in vector["words"]]
    assert again == written


@pytest.mark.slow
def test_a_tagger_is_trained_for_them():
    reader = TextTagger(tagger_vectors.model_file(epochs=3, rows=3000))
    found = [one.label for one in reader.predict("turn it up please!").words]
    assert found[0] == "first" and found[-1] == "mark"
