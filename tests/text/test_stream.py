import numpy as np
import pytest

from kerascompact.text.stream import stateful_batches


def read(ids, batch_size, steps):
    batches = list(stateful_batches(ids, batch_size, steps))
    return [np.concatenate([b[i].numpy() for b in batches], axis=1) for i in (0, 1)]


def test_rows_go_on_where_they_ended_and_targets_are_the_next_tokens():
    ids = np.arange(100, 142, dtype=np.int64)
    inputs, targets = read(ids, 4, 3)
    for row, (x, y) in enumerate(zip(inputs, targets, strict=True)):
        start = 100 + 10 * row
        assert x.tolist() == list(range(start, start + 9))
        assert y.tolist() == list(range(start + 1, start + 10))


@pytest.mark.few(2)
@pytest.mark.parametrize("tokens", [2, 10, 11, 12, 13])
def test_one_stream_predicts_every_token_but_the_first(tokens):
    inputs, targets = read(np.arange(tokens), 1, 5)
    assert inputs[0].tolist() == list(range(tokens - 1))
    assert targets[0].tolist() == list(range(1, tokens))


def test_knows_its_length_and_type():
    dataset = stateful_batches(np.arange(42), 4, 3)
    assert int(dataset.cardinality()) == 3 == len(list(dataset))
    assert dataset.element_spec[0].shape == (4, 3) and dataset.element_spec[0].dtype == "int32"


@pytest.mark.parametrize("ids", [np.arange(15), np.arange(0)])
def test_refuses_a_text_that_fills_no_batch(ids):
    with pytest.raises(ValueError, match=r"`ids` must have at least 16 tokens, 4 streams of 4"):
        stateful_batches(ids, 4, 3)


@pytest.mark.parametrize("ids", [np.zeros((2, 3), int), np.zeros(30), ["a"]])
def test_refuses_what_is_no_text_of_ids(ids):
    with pytest.raises(ValueError, match="`ids` must be a vector of integers"):
        stateful_batches(ids, 1, 3)
