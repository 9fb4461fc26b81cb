"""Wikipedia's words from a tiny file in its format, and the real one where it is."""

import re

import numpy as np
import pytest

from benchmarks.data import wikipedia

ARTICLES = "Ann\nAnn (born 28 May 1990) isn't a caf\u00e9.\n\nB 2\nAnn is in B.\n"


@pytest.fixture
def folder(store):
    return store(wikipedia, "articles", ARTICLES.encode(), 2)


def mahoney(text):
    """The Perl script's steps, on characters."""
    text = re.sub("[A-Z]", lambda letter: letter.group().lower(), text)
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    for digit, name in enumerate(names):
        text = text.replace(str(digit), f" {name} ")
    return re.sub("[^a-z]+", " ", text).split()


def test_words_of_each_article(folder):
    corpus = wikipedia.load(folder, num_words=100)
    found = [[corpus.words[i] for i in corpus.ids[corpus.texts == n]] for n in range(2)]
    assert found == [mahoney(article) for article in ARTICLES.split("\n\n")]
    assert corpus.words[:4] == ("ann", "b", "nine", "two")
    assert corpus.counts[:4].tolist() == [3, 2, 2, 2]
    assert corpus.tokens == len(corpus.ids) == sum(map(len, found))
    assert np.bincount(corpus.ids).tolist() == corpus.counts.tolist()


def test_fewer_words_and_tokens(folder):
    corpus = wikipedia.load(folder, num_words=2)
    assert corpus.words == ("ann", "b") and corpus.ids.tolist() == [0, 0, 1, 0, 1]
    assert corpus.texts.tolist() == [0, 0, 1, 1, 1]
    cut = wikipedia.load(folder, num_words=100, tokens=3)
    assert cut.words == ("ann", "born") and cut.ids.tolist() == [0, 0, 1] and cut.tokens == 3


def test_rejects(folder, monkeypatch):
    with pytest.raises(ValueError, match="`num_words` must be an integer >= 2"):
        wikipedia.load(folder, num_words=1)
    with pytest.raises(ValueError, match="`tokens` must be an integer >= 2"):
        wikipedia.load(folder, tokens=0)
    known = wikipedia.FILES["articles"]._replace(rows=3)
    monkeypatch.setitem(wikipedia.FILES, "articles", known)
    with pytest.raises(ValueError, match="must have 3 articles. Received: 2"):
        wikipedia.load(folder)


@pytest.mark.slow
def test_the_real_one(real_data):
    corpus = wikipedia.load(real_data)
    assert len(corpus.words) == 100_000 and corpus.texts[-1] == 34_799
    # digits are spelt out
    assert corpus.words[:3] == ("the", "one", "of") and 9_000_000 < corpus.tokens < 11_500_000
