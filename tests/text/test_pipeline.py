"""The `tf.data` steps against `Vocabulary.encode_all`."""

import gc

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.datasets import clinc150
from kerascompact.text import RULES, Vocabulary
from kerascompact.text.pipeline import batches, encode_step

TEXTS = [" ".join(["up"] * (n % 7) + ["down"] * (n % 3)) for n in range(40)]
LABELS = np.arange(40) % 2
WORDS = Vocabulary(["up", "down"])


def run(data):
    return [(ids.numpy(), labels.numpy()) for ids, labels in data]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("length", [1, 7, 40])
def test_encode_step_equals_encode_all(rules, length):
    data = clinc150.load(out_of_scope=True)
    vocabulary = Vocabulary.build(data.train.texts, size=500, rules=rules)
    texts = data.dev.texts[-300:] + ["", "<pad> <unk>", "\u00e9\x00 up", "x " * 500]
    ids = encode_step(vocabulary, length)(tf.constant(texts))
    assert ids.dtype == tf.int32
    np.testing.assert_array_equal(ids, vocabulary.encode_all(texts, length))


def test_without_length_pads_to_the_longest_of_the_batch():
    texts = ["up", "", "down up what"]
    ids = encode_step(WORDS)(tf.constant(texts))
    np.testing.assert_array_equal(ids, WORDS.encode_all(texts, 3))


def test_encode_step_in_tf_data_outlives_its_maker():
    data = tf.data.Dataset.from_tensor_slices(TEXTS).batch(16).map(encode_step(WORDS, 5))
    gc.collect()  # the dataset, not this frame, must keep the table
    ids = np.concatenate([batch.numpy() for batch in data])
    np.testing.assert_array_equal(ids, WORDS.encode_all(TEXTS, 5))
    assert data.element_spec.shape.as_list() == [None, 5]


def test_batches_in_order():
    found = run(batches(TEXTS, LABELS, WORDS, 6, batch_size=16, shuffle=False))
    assert [len(labels) for _, labels in found] == [16, 16, 8]
    np.testing.assert_array_equal(np.concatenate([i for i, _ in found]), WORDS.encode_all(TEXTS, 6))
    np.testing.assert_array_equal(np.concatenate([y for _, y in found]), LABELS)
    assert all(ids.dtype == labels.dtype == np.int32 for ids, labels in found)


def order(data):
    return np.concatenate([labels.numpy() for _, labels in data]).tolist()


def test_shuffles_anew_in_each_epoch_the_same_for_the_same_seed():
    def make(seed):
        return batches(TEXTS, np.arange(40), WORDS, 6, batch_size=16, seed=seed)

    one, two, other = make(0), make(0), make(1)
    first, second = order(one), order(one)
    assert first != second and sorted(first) == sorted(second) == list(range(40))
    assert [first, second] == [order(two), order(two)]
    assert order(other) != first


def test_a_shuffled_text_keeps_its_label():
    for ids, labels in run(batches(TEXTS, np.arange(40), WORDS, 9, batch_size=7)):
        np.testing.assert_array_equal(ids, WORDS.encode_all([TEXTS[i] for i in labels], 9))


@pytest.mark.parametrize("bucket_boundaries", [None, [3]])
def test_repeat_goes_on(bucket_boundaries):
    data = batches(TEXTS, LABELS, WORDS, 6, 16, repeat=True, bucket_boundaries=bucket_boundaries)
    assert len(run(data.take(50))) == 50


def test_buckets_pad_to_their_boundary():
    texts = [*TEXTS, "", "up " * 30]
    data = batches(texts, range(42), WORDS, 8, batch_size=5, bucket_boundaries=[2, 5])
    found = run(data)
    assert len(data) == len(found)
    assert {ids.shape[1] for ids, _ in found} == {2, 5, 8}
    assert sorted(label for _, labels in found for label in labels) == list(range(42))
    for ids, labels in found:
        whole = WORDS.encode_all([texts[label] for label in labels], 8)
        np.testing.assert_array_equal(ids, whole[:, : ids.shape[1]])
        assert not whole[:, ids.shape[1] :].any()
    assert sorted(len(labels) for _, labels in found) == [2] + [5] * 8


def test_buckets_are_shuffled_as_the_seed_says_or_not_at_all():
    def make(**options):
        return batches(TEXTS, np.arange(40), WORDS, 8, 5, bucket_boundaries=[2, 5], **options)

    one, two = make(seed=3), make(seed=3)
    first, second = order(one), order(one)
    assert first != second and [first, second] == [order(two), order(two)]
    assert order(make(seed=4)) != first
    plain = make(shuffle=False)
    assert order(plain) == order(plain)
    for ids, labels in run(plain):
        lengths = np.count_nonzero(ids, axis=1)
        inside = labels[lengths > {2: -1, 5: 2, 8: 5}[ids.shape[1]]]
        assert (np.diff(inside) > 0).all()  # those of the bucket itself, in their order


@pytest.mark.filterwarnings("error:.*ran out of data")
@pytest.mark.parametrize("bucket_boundaries", [None, [3]])
def test_model_fit(bucket_boundaries):
    model = keras.Sequential(
        [
            keras.layers.Embedding(len(WORDS), 4),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(2),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = batches(TEXTS, LABELS, WORDS, 6, 16, bucket_boundaries=bucket_boundaries)
    history = model.fit(data, epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    assert len(history.history["loss"]) == 2


def test_takes_bytes_and_arrays():
    (ids, labels), *_ = run(
        batches(np.array(["up", "caf\u00e9 down"]), [1, 0], WORDS, 3, 2, shuffle=False)
    )
    (same, _), *_ = run(batches([b"up", b"caf\xc3\xa9 down"], [1, 0], WORDS, 3, 2, shuffle=False))
    np.testing.assert_array_equal(ids, same)
    assert ids.tolist() == [[2, 0, 0], [1, 3, 0]] and labels.tolist() == [1, 0]


@pytest.mark.parametrize("bad", [b"\xff\xfe", b"caf\xc3", "\ud800"])
def test_rejects_invalid_utf8_with_its_index(bad):
    with pytest.raises(ValueError, match=r"`texts\[1\]` must be valid UTF-8"):
        batches(["up", bad], [0, 1], WORDS, 3, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": []}, "`texts` must be a list of at least one text"),
        ({"texts": "up"}, "`texts` must be a list of str"),
        ({"texts": ["up", 3]}, r"`texts\[1\]` must be a str or UTF-8 bytes"),
        ({"labels": [0]}, "`labels` must be as many as the texts, 2. Received: 1 labels"),
        ({"labels": [0.0, 1.0]}, "`labels` must be a list of integers"),
        ({"labels": [[0, 1]]}, "`labels` must be a list of integers"),
        ({"vocabulary": ["up"]}, "`vocabulary` must be a kerascompact.text.Vocabulary"),
        ({"sequence_length": 0}, "`sequence_length` must be an integer >= 1"),
        ({"batch_size": 0}, "`batch_size` must be an integer >= 1"),
        ({"seed": -1}, "`seed` must be an integer >= 0"),
        ({"shuffle": 1}, "`shuffle` must be True or False"),
        ({"repeat": None}, "`repeat` must be True or False"),
        ({"bucket_boundaries": [3]}, r"`bucket_boundaries` must be an integer in \[1, 2\]"),
        ({"bucket_boundaries": [2, 1]}, "`bucket_boundaries` must be rising"),
    ],
)
def test_rejects(change, message):
    good = {"texts": ["up", "down"], "labels": [0, 1], "vocabulary": WORDS}
    good |= {"sequence_length": 3, "batch_size": 2}
    with pytest.raises(ValueError, match=message):
        batches(**{**good, **change})


@pytest.mark.parametrize("length", [0, 2.5])
def test_encode_step_rejects_length(length):
    with pytest.raises(ValueError, match="`sequence_length` must be an integer >= 1"):
        encode_step(WORDS, length)
