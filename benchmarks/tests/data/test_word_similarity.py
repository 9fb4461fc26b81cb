"""Word similarity from tiny files in their format, and the real ones where they are."""

import hashlib

import numpy as np
import pytest

from benchmarks.data import word_similarity
from kerascompact.datasets.base import Known


@pytest.fixture
def folder(tmp_path, monkeypatch):
    content = b"tiger\tcat\t7.35\nJerusalem  Israel 8.46\n"
    known = Known("word_sim/EN-RG-65.txt", hashlib.sha256(content).hexdigest(), 2)
    monkeypatch.setitem(word_similarity.FILES, "RG-65", known)
    (tmp_path / "word_sim").mkdir()
    (tmp_path / known.path).write_bytes(content)
    return tmp_path


def test_pairs_in_lower_case(folder):
    judged = word_similarity.load(folder, ["RG-65"])["RG-65"]
    assert judged.first == ["tiger", "jerusalem"] and judged.second == ["cat", "israel"]
    np.testing.assert_array_equal(judged.scores, [7.35, 8.46])


def test_rejects(folder, monkeypatch):
    with pytest.raises(ValueError, match="`names` must be one of 'MTurk-287'"):
        word_similarity.load(folder, ["RG"])
    with pytest.raises(ValueError, match="`names` must be a list of names"):
        word_similarity.load(folder, "RG-65")
    with pytest.raises(ValueError, match=r"There is no file .*EN-MC-30.txt. Get it from github"):
        word_similarity.load(folder, ["MC-30"])
    known = word_similarity.FILES["RG-65"]._replace(rows=3)
    monkeypatch.setitem(word_similarity.FILES, "RG-65", known)
    with pytest.raises(ValueError, match="must have 3 rows of two words and a score"):
        word_similarity.load(folder, ["RG-65"])


def test_the_real_ones(real_data):
    found = word_similarity.load(real_data)
    assert tuple(found) == word_similarity.NAMES and len(found) == 13
    assert word_similarity.PAPER[0] == "MTurk-287" and len(word_similarity.OTHERS) == 7
    assert sum(len(judged.scores) for judged in found.values()) == 11_768
    assert found["WS-353-ALL"].first[1] == "tiger" and found["WS-353-ALL"].scores[1] == 7.35
