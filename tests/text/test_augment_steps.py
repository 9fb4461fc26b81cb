"""Augmentation steps: what may change, what never does, and how often, by counting in Python."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.autograph.core import ag_ctx

from kerascompact.text import augment_steps
from kerascompact.text.augment_steps import mix_step, word_dropout_step

TEXTS = ["a b c d e f g h", "i j k l", "m", "", "n o p q r s", "t u"]
LABELS = np.array([0, 0, 1, 1, 0, 2])


def dataset(*parts):
    return tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0])


@pytest.fixture(autouse=True)
def without_autograph():
    """Calls the steps' functions as they are; the examples in their docstrings convert them."""
    with ag_ctx.ControlStatusCtx(ag_ctx.Status.DISABLED):
        yield


def strings(found):
    return [text.decode() for text in found]


def is_part_of(words, whole):
    """Whether words stand in another list in this order."""
    rest = iter(whole)
    return all(word in rest for word in words)


@pytest.fixture
def of_one_batch(monkeypatch):
    """Calls the function of a step on one batch, as it is: its graph takes 3 s to make."""
    monkeypatch.setattr(
        augment_steps,
        "seeded_step",
        lambda change, seed: lambda parts: change(*parts, seed=[seed, 7]),
    )

    def found(step, *parts):
        parts = [tf.constant(part) for part in parts]
        if step.__name__ == "apply":  # of `mix_step`, which makes batches of single texts
            batch = SimpleNamespace(element_spec=parts, apply=lambda change: change(parts))
            return zip(*(part.numpy() for part in step(batch)), strict=True)
        return zip(*(part.numpy() for part in step(parts)), strict=True)

    return found


def test_words_are_left_out_in_order_and_others_by_another_seed(of_one_batch):
    given = TEXTS * 20, np.arange(120)
    epochs = [
        [(text.decode(), n) for text, n in of_one_batch(word_dropout_step(0.3, seed), *given)]
        for seed in (3, 4)
    ]
    check_shorter(epochs)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [None, 4])
def test_words_are_left_out_in_order_and_new_ones_in_each_epoch(batch):
    many = dataset(TEXTS * 20, np.arange(120))
    step = (many.batch(batch) if batch else many).apply(word_dropout_step(0.3, seed=3))
    step = step.unbatch() if batch else step
    check_shorter([[(text.decode(), n) for text, n in step.as_numpy_iterator()] for _ in range(2)])


def check_shorter(epochs):
    """Checks the texts that two epochs make of `TEXTS`, 20 times, and their numbers."""
    kept = 0
    for found in epochs:
        assert [n for _, n in found] == list(range(120))
        for text, number in found:
            whole = TEXTS[number % 6].split()
            assert is_part_of(text.split(), whole) and bool(text) == bool(whole)
            kept += len(text.split()) * (len(whole) > 3)
    # Of 18 words in 3 texts, 20 times in 2 epochs, 70 % stay: within five standard deviations.
    assert abs(kept / 720 - 0.7) < 5 * np.sqrt(0.3 * 0.7 / 720)
    assert epochs[0] != epochs[1]


@pytest.mark.slow
@pytest.mark.parametrize("batch", [None, 4])
def test_equal_seeds_leave_out_the_same_words(batch):
    many, found = dataset(TEXTS * 50, np.arange(300)), []
    for _ in range(2):
        step = (many.batch(batch) if batch else many).apply(word_dropout_step(0.3, seed=3))
        found.append(list((step.unbatch() if batch else step).as_numpy_iterator()))
    assert found[0] == found[1]


@pytest.mark.slow
def test_without_probability_nothing_changes():
    assert strings(dataset(TEXTS).apply(word_dropout_step(0.0)).as_numpy_iterator()) == TEXTS
    plain = dataset(TEXTS, LABELS).apply(mix_step(0.0)).as_numpy_iterator()
    assert strings(text for text, _ in plain) == TEXTS


def test_mixed_texts_of_a_batch_are_of_one_class(of_one_batch):
    given = TEXTS * 20, np.tile(LABELS, 20), np.tile(np.arange(6.0), 20)
    check_mixed(of_one_batch(mix_step(1.0, seed=5), *given))
    found = of_one_batch(mix_step(1.0), TEXTS, LABELS)
    assert list(found)[5] == (b"t u", 2)  # the only text of its class in a batch of six stays


@pytest.mark.slow
@pytest.mark.parametrize("batch", [None, 6])
def test_mixed_texts_begin_as_one_and_end_as_another_of_the_class(batch):
    data = dataset(TEXTS, LABELS, np.arange(6.0)).repeat(20)
    step = (data.batch(batch) if batch else data).apply(mix_step(1.0, seed=5))
    check_mixed((step.unbatch() if batch else step).as_numpy_iterator())
    alone = {TEXTS[5]}  # the only text of its class in a batch of six stays
    if batch:
        rows = data.batch(6).apply(mix_step(1.0)).unbatch().as_numpy_iterator()
        assert {text.decode() for text, label, _ in rows if label == 2} == alone


def check_mixed(rows):
    """Checks mixed texts of `TEXTS`, 20 times, with their labels and numbers."""
    changed, count = 0, 0
    for text, label, number in rows:
        own, words = TEXTS[int(number)].split(), text.decode().split()
        assert label == LABELS[int(number)] and count % 6 == number
        heads = [n for n in range(len(own) + 1) if words[:n] == own[:n]]
        others = [TEXTS[n].split() for n in np.flatnonzero(label == LABELS)]
        ends = [other[len(other) - (len(words) - n) :] for n in heads for other in others
                if len(words) >= n and len(other) >= len(words) - n]  # fmt: skip
        assert any(words[n:] == end for n in heads for end in ends)
        changed += words != own
        count += 1
    assert count == 120 and changed > 30


def test_the_share_that_is_mixed(of_one_batch):
    texts = [f"x{n} y{n} z{n} w{n}" for n in range(800)]
    found = strings(text for text, _ in of_one_batch(mix_step(0.25, seed=1), texts, [0] * 800))
    share = np.mean([one != text for one, text in zip(found, texts, strict=True)])
    # One cut in four is behind the fourth word, and leaves a text as it was; five deviations.
    assert abs(share - 0.25 * 3 / 4) < 5 * np.sqrt(0.19 * 0.81 / 800)


@pytest.mark.parametrize("step", [word_dropout_step, mix_step])
@pytest.mark.parametrize("probability", [-0.1, 1.1, "much"])
def test_rejects(step, probability):
    with pytest.raises(ValueError, match="`probability` must be a number in"):
        step(probability)
