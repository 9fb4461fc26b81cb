"""What code points become, against the tokenizer asked about each."""

import unicodedata

import numpy as np
import pytest

from kerascompact.core.characters import ALONE, SPACE
from kerascompact.text.character_map import (
    DROPPED,
    LETTER,
    MARK,
    WHITE,
    character_map,
    normal_forms,
)


def lower(text):
    found = unicodedata.normalize("NFD", text)
    return "".join(one.lower() for one in found if unicodedata.category(one) != "Mn")


def cut(text):
    """Words; `.` and `|` are words of their own."""
    return text.replace(".", " . ").replace("|", " | ").split()


@pytest.fixture(scope="module")
def forms():
    return normal_forms(lower, cut)


def test_kinds_of_code_points(forms):
    assert [int(forms.kinds[ord(one)]) for one in "a.| \u0301\u00e9"] == [
        LETTER, MARK, MARK, WHITE, DROPPED, LETTER,
    ]  # fmt: skip
    changed = {point: lower(chr(point)) for point in (ord("Q"), 0xE9, 0x130, 0xAC01, 0x9CB)}
    assert {point: forms.changed[point] for point in changed} == changed
    assert ord("q") not in forms.changed


def test_known_characters_are_exact_and_others_stay_unknown(forms):
    known = set("abcdez.\u03b1\u03b2\u03b3\u03b4\u03b5")
    found = character_map(forms, known)
    points = np.r_[1:0x3000, 0xAC00:0xAC40, 0x1F600:0x1F640, 0xE0100, 0x10FFFF]
    units = found.units(points)
    for point, unit in zip(points.tolist(), units.tolist(), strict=True):
        letters, kind = lower(chr(point)), int(forms.kinds[point])
        if kind in (DROPPED, WHITE):
            assert unit == (0 if kind == DROPPED else SPACE)
            continue
        assert bool(unit & ALONE) == (kind == MARK)
        if known.issuperset(letters) and len(letters) == 1:
            assert unit & ~ALONE == ord(letters)
        elif len(letters) == 1:
            assert chr(unit & ~ALONE) not in known  # some character that no piece has
    assert not found.hangul and len(found.seconds) == 1


def test_two_characters_and_syllables(forms):
    found = character_map(forms, {"\u09c7", "\u09be", "\u1100", "\u1161", "\u11a8"})
    assert found.hangul and found.seconds.tolist() == [0, 0x9BE]
    assert found.units(np.array([0x9CB])).tolist() == [0x9C7]


def test_capitals_in_one_distance_share_an_entry(forms):
    capitals = [chr(point) for point in range(0x410, 0x430)]
    small = [lower(one) for one in capitals]
    found = character_map(forms, {*small})
    points = np.array([ord(one) for one in capitals])
    assert found.units(points).tolist() == [ord(one) for one in small]
    assert len(found.entries) < 20  # of 32 capitals


def test_refuses_what_is_no_map_of_characters(forms):
    with pytest.raises(ValueError, match="keep a character in its word, drop it, or make it one"):
        normal_forms(lambda text: text.replace("b", "x y z w"), str.split)
    three = normal_forms(lambda text: text.replace("Q", "abc"), str.split)
    with pytest.raises(ValueError, match="at most two known ones. Received: one that turns 'Q'"):
        character_map(three, {"a", "b", "c"})
