"""The graph tokenizer against the pure-Python one, token by token."""

import importlib.util
import sys

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.datasets import clinc150
from kerascompact.text import RULES
from kerascompact.text.rules import tokenize as expected
from kerascompact.text.tokenize import __file__ as source
from kerascompact.text.tokenize import tokenize

HOSTILE = [
    "",
    " ",
    "\t\n\v\f\r ",
    "\x00",
    "a\x00b \x00\x00 c\x00",
    "\x01\x1c\x1d\x1e\x1f\x7f\x80\x85",
    "tab\tnew\nline\vvt\fff\rcr",
    "no\u00a0break \u2003em\u3000ideographic \u200bzero \u2028line\u2029paragraph",
    "\ufeffbom",
    "I\u0130\u0131i \u00c9\u00df\u1e9e \u03a3\u03c2 \u212a",  # dotted I, sharp s, sigma, Kelvin
    "e\u0301 \u0301 n\u0303",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3002\u4e2d\u6587\uff0c",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u0939\u093f\u0928\u094d\u0926\u0940",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 ok\U0001f44d!",
    "\U0010ffff\ud7ff\ue000\ufffd\uffff",
    "' '' \" ` `` 's s' n't 'LL can't've",
    "\\ \\1 \\0 $1 \\\\ [a] (b) {c} ^ . * + ? |",
    "%s %d {} {0}",
    "<pad> <unk> <br /><br />",
    "x" * 100_000,
    "a " * 50_000,
    "!?" * 50_000,
    "\u00e9\u65e5" * 20_000,
]


def assert_equal(texts, rules):
    found = tokenize(tf.constant(texts), rules).to_list()
    for text, tokens in zip(texts, found, strict=True):
        decoded = [token.decode() for token in tokens]
        assert decoded == expected(text, rules), repr(text[:200])


@pytest.mark.few(1)
@pytest.mark.parametrize("rules", RULES)
def test_equals_pure_python_on_clinc(rules):
    data = clinc150.load(out_of_scope=True)
    assert_equal(data.train.texts + data.dev.texts + data.test.texts, rules)


@pytest.mark.few(2)
@pytest.mark.parametrize("rules", RULES)
def test_equals_pure_python_on_hostile_text(rules):
    assert_equal(HOSTILE, rules)
    for blank in ([""], [" ", "\t"]):
        assert_equal(blank, rules)
    assert tokenize(tf.constant([], tf.string), rules).to_list() == []


@pytest.mark.few(3)
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_equals_pure_python_on_random_text(rules, seed):
    generator = np.random.default_rng(seed)
    alphabet = list(map(chr, range(128))) * 3 + list("'''stndrevl,!()?") * 4
    points = generator.integers(0x80, 0x110000, size=400)
    alphabet += [chr(point) for point in points if not 0xD800 <= point <= 0xDFFF]
    texts = ["".join(generator.choice(alphabet, generator.integers(0, 60))) for _ in range(1000)]
    assert_equal(texts, rules)


@pytest.mark.few(4)
@pytest.mark.parametrize("rules", RULES)
def test_equals_pure_python_on_every_two_ascii_characters(rules):
    ascii_characters = list(map(chr, range(128)))
    assert_equal([a + b for a in ascii_characters for b in ascii_characters], rules)


def test_runs_in_tf_data():
    texts = ["Turn it up!", "", "don't\x00"]
    data = tf.data.Dataset.from_tensor_slices(texts).batch(3).map(tokenize)
    (tokens,) = data
    assert tokens.to_list() == [[t.encode() for t in expected(text)] for text in texts]


def test_a_single_text_gives_a_plain_tensor():
    tokens = tokenize("Turn it up")
    assert isinstance(tokens, tf.Tensor)
    assert tokens.numpy().tolist() == [b"turn", b"it", b"up"]


def test_more_axes_and_no_texts():
    assert tokenize([["a b"], ["c"]]).to_list() == [[[b"a", b"b"]], [[b"c"]]]
    assert tokenize([]).to_list() == []


def test_rejects_rules():
    with pytest.raises(ValueError, match="`rules` must be one of 'wordpunct'"):
        tokenize(["a"], rules="nltk")


def test_rejects_what_is_no_text():
    with pytest.raises(ValueError, match="`texts` must be strings. Received: a tensor of int32"):
        tokenize(tf.constant([1, 2]))


def test_a_missing_tensorflow_text_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    specification = importlib.util.spec_from_file_location("tokenize_again", source)
    module = importlib.util.module_from_spec(specification)
    with pytest.raises(ImportError, match=r"same minor version as tensorflow.*pip install"):
        specification.loader.exec_module(module)
