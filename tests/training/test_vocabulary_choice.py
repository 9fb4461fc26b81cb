"""Which words a shorter vocabulary keeps, and what that saves in a file."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.core.storage import total_bits
from kerascompact.layers import TextToIds
from kerascompact.models import mean_classifier
from kerascompact.text import SlotVocabulary, Vocabulary
from kerascompact.training import choose_words

WORDS = [f"w{number}" for number in range(300)]


@pytest.fixture
def vocabulary():
    return Vocabulary(WORDS, "whitespace")


def table(rng):
    return rng.normal(size=(302, 5)) * rng.uniform(0.1, 3, (302, 1))


@pytest.mark.parametrize("counted", [False, True])
def test_keeps_the_words_of_the_highest_score(vocabulary, counted):
    rng = np.random.default_rng(0)
    vectors, counts = table(rng), rng.integers(0, 50, 302)
    vectors[:2] = 100  # padding and the unknown word are not chosen, nor left out
    chosen = choose_words(vocabulary, vectors, 42, counts=counts if counted else None)
    scores = {
        word: np.sqrt((vectors[i + 2] ** 2).sum() * (counts[i + 2] if counted else 1))
        for i, word in enumerate(WORDS)
    }
    assert len(chosen) == 42
    assert chosen.rules == "whitespace"
    bound = min(scores[word] for word in chosen.words)
    assert set(chosen.words) == {word for word, score in scores.items() if score >= bound}
    assert list(chosen.words) == [word for word in WORDS if word in chosen.words]


def test_all_words_may_stay(vocabulary):
    vectors = table(np.random.default_rng(1))
    assert choose_words(vocabulary, vectors, len(vocabulary)).words == vocabulary.words


@pytest.mark.parametrize("fingerprint_bits", [32, 40, 64])
def test_in_the_order_of_a_file_no_order_is_stored(vocabulary, fingerprint_bits):
    vectors = table(np.random.default_rng(2))
    kept = choose_words(vocabulary, vectors, 102)
    chosen = choose_words(vocabulary, vectors, 102, file_order=True)
    assert sorted(chosen.words) == sorted(kept.words)
    options = {"sequence_length": 8, "fingerprint_bits": fingerprint_bits}
    plain = TextToIds.from_vocabulary(kept, **options)
    layer = TextToIds.from_vocabulary(chosen, **options)
    assert (plain.in_order, layer.in_order) == (False, True)
    assert total_bits(plain.storage()) - total_bits(layer.storage()) == 100 * 7
    assert [weight.name for weight in layer.weights][1:] == ["second"] * (fingerprint_bits > 32)
    text = " ".join(["other", *chosen.words[:3], WORDS[-1], *chosen.words[-2:]])
    data = np.array([[*text.encode()]], np.int32)
    np.testing.assert_array_equal(layer(data)[0], chosen.encode(text, 8))
    again = TextToIds.from_config(layer.get_config())
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(again(data), layer(data))


@pytest.mark.parametrize(
    "orders", [(True,), pytest.param((False, True), marks=pytest.mark.slow)], ids=["one", "both"]
)
def test_a_file_of_it_is_smaller_and_answers_alike(vocabulary, orders):
    """By a byte a word, of which `test_in_the_order_of_a_file_no_order_is_stored` is, too."""
    vectors = table(np.random.default_rng(3))
    sizes, texts = [], [" ".join(WORDS[i : i + 7]) for i in range(0, 280, 7)]
    for file_order in orders:
        words = choose_words(vocabulary, vectors, 202, file_order=file_order)
        keras.utils.set_random_seed(0)
        embedding = keras.layers.Embedding(202, 4, mask_zero=True)
        model = mean_classifier(embedding, 3)
        file = export.convert(model, labels=["a", "b", "c"], text=words, max_bytes=64, max_words=9)
        if file_order:  # the other order is that of every file with text in
            some = texts[::4]
            report = export.verify(model, file, some, np.zeros(10, int), vocabulary=words)
            assert report.agreement == 1
        sizes.append(len(file))
    assert len(orders) == 1 or sizes[1] <= sizes[0] - 200  # a byte a word, and what reads it


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary": ["a"]}, "`vocabulary` must be a kerascompact.text.Vocabulary"),
        ({"vectors": np.ones((5, 2))}, r"`vectors` must be of the shape \(302, width\)"),
        ({"vectors": np.full((302, 1), np.nan)}, "`vectors` must hold finite numbers"),
        ({"size": 2}, r"`size` must be an integer in \[3, 302\]"),
        ({"size": 303}, r"`size` must be an integer in \[3, 302\]"),
        ({"counts": [1, 2]}, r"`counts` must be of the shape \(302,\)"),
        ({"counts": np.full(302, -1)}, "`counts` must be at least 0"),
    ],
)
def test_refuses(vocabulary, change, message):
    given = {"vocabulary": vocabulary, "vectors": np.ones((302, 2)), "size": 9, **change}
    size = given.pop("size")
    with pytest.raises(ValueError, match=message):
        choose_words(given.pop("vocabulary"), given.pop("vectors"), size, **given)


def test_slots_for_the_strongest_words(vocabulary):
    vectors = table(np.random.default_rng(4))
    kept = choose_words(vocabulary, vectors, 92)
    chosen = choose_words(vocabulary, vectors, 102, slots=True, seed=3)
    assert isinstance(chosen, SlotVocabulary) and chosen.seed == 3 and len(chosen) == 102
    assert chosen.rules == vocabulary.rules and not any("<slot" in word for word in chosen.words)
    assert len({*kept.words} & {*chosen.words}) >= 87  # of 90
    with pytest.raises(ValueError, match="`file_order` must be False with `slots`"):
        choose_words(vocabulary, vectors, 102, slots=True, file_order=True)


def test_empty_slots_are_no_words():
    """Chosen again from words in slots, their names took slots, or a file had one name twice."""
    rng = np.random.default_rng(5)
    words = Vocabulary([f"w{number}" for number in range(1000)])
    first = choose_words(words, rng.normal(size=(1002, 4)), 900, slots=True)
    vectors = rng.normal(size=(900, 4))
    held = set(first.words) & set(words.words)
    assert len(held) < 890  # some slots are empty
    for size in (600, 870, 1200):
        again = choose_words(first, vectors, size, slots=True)
        assert len(again) == size
        named = [f"<slot{slot}>" for slot in range(size - 2)]
        assert all(a in held or a == b for a, b in zip(again.words, named, strict=True))
    assert set(choose_words(first, vectors, 900).words) == held
    slots = SlotVocabulary.from_ranked(["<slot0>", "<slot1>", "<slot2>"], size=22)
    assert {"<slot0>", "<slot1>", "<slot2>"} < set(slots.words)
