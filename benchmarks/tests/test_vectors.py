"""The test vectors that apps in other languages share, from the file that is committed."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.product import vectors
from kerascompact.core import files
from kerascompact.runtime.classifier import TextClassifier
from kerascompact.runtime.interpreter import Interpreter

FOLDER = Path(__file__).parents[2] / vectors.OUT


@pytest.fixture(scope="module")
def written():
    return json.loads((FOLDER / vectors.VECTORS).read_text(encoding="utf-8"))


def utf8_by_hand(code_points):
    """RFC 3629's table, of code points, in arithmetic."""
    found = []
    for point in code_points:
        if point < 0x80:
            found.append(point)
            continue
        tail = []
        bound = 0x20  # the first byte has 5, 4 or 3 bits of its own
        while point >= bound:
            tail.append(0x80 | point & 0x3F)
            point >>= 6
            bound = bound if len(tail) == 1 else bound // 2
        lead = (0xC0, 0xE0, 0xF0)[len(tail) - 1]
        found += [lead | point, *reversed(tail)]
    return found


def code_points(units):
    """Of UTF-16; U+FFFD for half of a pair."""
    points = []
    for place, unit in enumerate(units):
        before = units[place - 1] if place else 0
        if 0xDC00 <= unit < 0xE000 and 0xD800 <= before < 0xDC00:
            points[-1] = 0x10000 + ((before - 0xD800) << 10) + unit - 0xDC00
        else:
            points.append(0xFFFD if 0xD800 <= unit < 0xE000 else unit)
    return points


def bytes_of(vector):
    if "raw" in vector:
        return list(bytes.fromhex(vector["raw"]))
    return utf8_by_hand(
        map(ord, vector["text"]) if "text" in vector else code_points(vector["utf16"])
    )


def test_the_numbers_are_the_bytes(written):
    size = written["max_bytes"]
    for vector in written["vectors"]:
        data, numbers = bytes_of(vector), vector["numbers"]
        if -1 in numbers:  # zeros at the end are the text's own
            shield = numbers.index(-1)
            assert numbers == [*data[:shield], -1] and data[shield - 1] == 0, vector
            assert shield in (len(data), size - 1)
        elif data[size - 1 : size] == [0]:  # no room for a -1 behind it
            assert numbers == data[: size - 1], vector
        else:
            assert numbers == data[:size], vector


def test_covers_what_goes_wrong(written):
    given = written["vectors"]
    texts = [vector["text"] for vector in given if "text" in vector]
    assert len(texts) >= 100 and "" in texts
    assert any(len(text.encode()) > written["max_bytes"] for text in texts)
    assert any(ord(letter) > 0xFFFF for text in texts for letter in text)
    assert any("utf16" in vector for vector in given) and any("raw" in vector for vector in given)
    assert any(-1 in vector["numbers"] for vector in given)
    assert len({vector["class"] for vector in given}) > 50


def test_the_file_gives_the_classes(written):
    data = (FOLDER / vectors.MODEL).read_bytes()
    assert files.sha256(data) == written["sha256"]
    file = Interpreter(data)
    for vector in written["vectors"]:
        (found,) = file.run_text(vectors.given(vector)).values()
        assert int(np.argmax(found)) == vector["class"], vector
        assert file.metadata["labels"][vector["class"]] == vector["label"]
        # float32 sums of some ten terms, six digits written
        assert found.max() == pytest.approx(vector["probability"], abs=1e-5)
        # no other class is so near that another processor's rounding would choose it
        assert np.diff(np.sort(found[0]))[-1] > 1e-4, vector


def test_the_file_is_a_classifier():
    assert TextClassifier(FOLDER / vectors.MODEL).predict("wake me up at seven").label == "alarm"


def test_vectors_are_written_again_for_the_file_that_is_there(tmp_path, written):
    shutil.copy(FOLDER / vectors.MODEL, tmp_path)
    assert vectors.main(["--out", str(tmp_path), "--keep"]) == 0
    again = json.loads((tmp_path / vectors.VECTORS).read_text(encoding="utf-8"))
    for vector in (*again["vectors"], *written["vectors"]):
        vector.pop("probability")
    assert again == written


def test_a_model_is_trained_for_them(tmp_path):
    file = vectors.model_file(epochs=1, rows=300)
    vectors.write(vectors.vectors(file), file, tmp_path / vectors.VECTORS)
    made = json.loads((tmp_path / vectors.VECTORS).read_text(encoding="utf-8"))
    assert made["file"] == vectors.MODEL and len(made["vectors"]) == len(vectors.texts())
    assert Interpreter(tmp_path / vectors.MODEL).text["max_bytes"] == vectors.MAX_BYTES
