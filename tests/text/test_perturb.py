"""Misspellings: what each operation may do to a word, in Python and in TensorFlow."""

from collections import Counter
from random import Random

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.text.perturb import (
    LETTERS,
    OPERATIONS,
    duplicate,
    insert,
    misspellings,
    perturb,
    swap,
)
from kerascompact.text.perturb_step import misspell_step, perturb_strings

WORDS = ["", "a", "of", "the", "sample", "caf\u00e9s", "\u4f60\u597d\u4e16\u754c\u554a", "naïveté"]


def inserted(word):
    """All that one insertion can make."""
    places = range(1, len(word)) if len(word) > 1 else ()
    return {word[:p] + letter + word[p:] for p in places for letter in LETTERS} or {word}


def swapped(word):
    places = range(1, len(word) - 2)
    return {word[:p] + word[p + 1] + word[p] + word[p + 2 :] for p in places} or {word}


def duplicated(word, n=1):
    return {word[:p] + word[p] * n + word[p:] for p in range(len(word))} or {word}


CASES = {
    "insert": (insert, inserted),
    "swap": (swap, swapped),
    "duplicate": (duplicate, duplicated),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_result_is_possible_and_every_possible_one_comes(name):
    function, possible = CASES[name]
    for word in WORDS:
        random = Random(0)
        found = {function(word, random) for _ in range(3000)}
        assert found == possible(word)
        draws = tf.constant([word] * 3000)
        in_graph = perturb_strings(draws, (1, 2), probability=1.0, operations=[name]).numpy()
        assert {w.decode() for w in in_graph} == possible(word)


def test_several_changes():
    assert all(len(insert("sample", Random(s), n=3)) == 9 for s in range(9))
    assert {duplicate("ab", Random(s), n=2) for s in range(20)} == duplicated("ab", 2)
    words = perturb_strings(["sample", "sample"], (3, 4), 1.0, n=3, operations=["insert"]).numpy()
    assert all(len(w) == 9 and w[:1] == b"s" and w[-1:] == b"e" for w in words)
    ab = perturb_strings(["ab"] * 50, (3, 4), 1.0, n=2, operations=["duplicate"]).numpy()
    assert {w.decode() for w in ab} == duplicated("ab", 2)
    for word in perturb_strings(["sample"] * 50, (5, 6), 1.0, n=4, operations=["swap"]).numpy():
        assert sorted(word) == sorted(b"sample") and word[:1] == b"s" and word[-1:] == b"e"


def test_first_and_last_character_stay():
    for seed in range(300):
        for word in WORDS[1:]:
            changed = perturb(word, Random(seed))
            assert (changed[0], changed[-1]) == (word[0], word[-1])


def test_probability_and_operations_are_drawn_as_they_should():
    random = Random(0)
    changed = sum(perturb("sample", random, 0.4) != "sample" for _ in range(5000))
    # five standard deviations; neither operation can give "sample" again
    assert changed / 5000 == pytest.approx(0.4, abs=5 * (0.24 / 5000) ** 0.5)
    found = perturb_strings(tf.fill((5000,), "sample"), (3, 1), 0.4).numpy().astype(str)
    assert (found != "sample").mean() == pytest.approx(0.4, abs=5 * (0.24 / 5000) ** 0.5)
    kinds = Counter(
        "swap" if len(w) == 6 else "duplicate" if w in duplicated("sample") else "insert"
        for w in found
        if w != "sample"
    )
    for name in OPERATIONS:  # some insertions are duplications, too
        assert kinds[name] / sum(kinds.values()) == pytest.approx(1 / 3, abs=0.06)


def test_misspellings_of_a_vocabulary():
    words = ["king", "city", "a", ""] * 5
    once, twice = misspellings(words, 2, seed=3)
    assert len(once) == len(twice) == 20 and once != twice
    assert misspellings(words, 2, seed=3) == [once, twice]
    assert all(w != "king" for w in once[::4]) and set(once[3::4]) == {""}


def test_ragged_and_the_same_seed():
    ragged = tf.ragged.constant([["turn", "it"], [], ["up"]])
    found = perturb_strings(ragged, (1, 1), 1.0)
    assert found.row_lengths().numpy().tolist() == [2, 0, 1]
    flat = perturb_strings(["turn", "it", "up"], (1, 1), 1.0)
    np.testing.assert_array_equal(found.flat_values, flat)


@tf.autograph.experimental.do_not_convert  # as the docstring's example is
def test_step_keeps_labels_and_draws_anew_in_each_epoch():
    texts = [f"please turn the music number {n} up" for n in range(8)]
    data = tf.data.Dataset.from_tensor_slices((texts, np.arange(8))).apply(misspell_step(0.5))
    epochs = [list(data.as_numpy_iterator()) for _ in range(2)]
    assert [label for _, label in epochs[0]] == list(range(8))
    assert [text for text, _ in epochs[0]] != [text for text, _ in epochs[1]]
    assert all(len(text.split()) == 7 for text, _ in epochs[0])
    batched = tf.data.Dataset.from_tensor_slices(texts).batch(4).apply(misspell_step(0.0))
    assert [t.decode() for batch in batched.as_numpy_iterator() for t in batch] == texts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(probability=1.1), r"`probability` must be a number in \[0, 1\]"),
        (dict(n=0), "`n` must be an integer >= 1"),
        (dict(operations="swap"), "`operations` must be some of insert, swap, duplicate"),
        (dict(operations=["delete"]), "`operations` must be one of 'insert', 'swap', 'duplicate'"),
        (dict(operations=[]), "`operations` must be some of"),
    ],
)
def test_rejects(change, message):
    with pytest.raises(ValueError, match=message):
        perturb("sample", Random(0), **change)
    with pytest.raises(ValueError, match=message):
        perturb_strings(["sample"], (0, 0), **change)
    with pytest.raises(ValueError, match=message):
        misspell_step(**change)
