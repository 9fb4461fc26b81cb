"""Augmentation steps: what may change, what never does, and how often, by counting in Python."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.autograph.core import ag_ctx

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


@pytest.mark.few(1)
@pytest.mark.parametrize("batch", [None, 4])
def test_words_are_left_out_in_order_and_new_ones_in_each_epoch(batch):
    many = dataset(TEXTS * 20, np.arange(120))
    step = (many.batch(batch) if batch else many).apply(word_dropout_step(0.3, seed=3))
    step = step.unbatch() if batch else step
    epochs = [[(text.decode(), n) for text, n in step.as_numpy_iterator()] for _ in range(2)]
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


@pytest.mark.few(1)
@pytest.mark.parametrize("batch", [None, 6])
def test_mixed_texts_begin_as_one_and_end_as_another_of_the_class(batch):
    data = dataset(TEXTS, LABELS, np.arange(6.0)).repeat(20)
    step = (data.batch(batch) if batch else data).apply(mix_step(1.0, seed=5))
    step = step.unbatch() if batch else step
    changed, count = 0, 0
    for text, label, number in step.as_numpy_iterator():
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
    alone = {TEXTS[5]}  # the only text of its class in a batch of six stays
    if batch:
        rows = data.batch(6).apply(mix_step(1.0)).unbatch().as_numpy_iterator()
        assert {text.decode() for text, label, _ in rows if label == 2} == alone


def test_the_share_that_is_mixed():
    texts = [f"x{n} y{n} z{n} w{n}" for n in range(800)]
    step = dataset(texts, np.zeros(800, int)).batch(200).apply(mix_step(0.25, seed=1)).unbatch()
    found = strings(text for text, _ in step.as_numpy_iterator())
    share = np.mean([one != text for one, text in zip(found, texts, strict=True)])
    # One cut in four is behind the fourth word, and leaves a text as it was; five deviations.
    assert abs(share - 0.25 * 3 / 4) < 5 * np.sqrt(0.19 * 0.81 / 800)


@pytest.mark.parametrize("step", [word_dropout_step, mix_step])
@pytest.mark.parametrize("probability", [-0.1, 1.1, "much"])
def test_rejects(step, probability):
    with pytest.raises(ValueError, match="`probability` must be a number in"):
        step(probability)
