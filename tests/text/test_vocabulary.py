"""Ids by hand, the file line by line, and every way to get either wrong."""

import hashlib
from collections import Counter

import numpy as np
import pytest

from kerascompact.text import NUM_RESERVED, RULES, Vocabulary
from kerascompact.text.inputs import PAD, UNK
from kerascompact.text.rules import tokenize

TEXTS = ["the cat sat.", "The cat ran!", "a dog ran ."]


def test_ids_are_by_frequency_then_alphabet():
    vocabulary = Vocabulary.build(TEXTS)
    counts = Counter(token for text in TEXTS for token in tokenize(text))
    words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    assert list(vocabulary.words) == words
    assert words[:4] == [".", "cat", "ran", "the"]
    assert len(vocabulary) == NUM_RESERVED + len(words)
    assert [vocabulary.word_of(i) for i in range(len(vocabulary))] == [PAD, UNK, *words]
    assert [vocabulary.id_of(word) for word in words] == list(range(2, 2 + len(words)))
    assert vocabulary.rules == "wordpunct"
    assert repr(vocabulary) == "<Vocabulary of 10 ids, rules='wordpunct'>"


def test_ties_do_not_depend_on_the_order_seen():
    assert Vocabulary.build(TEXTS).words == Vocabulary.build(TEXTS[::-1]).words


@pytest.mark.parametrize(("size", "words"), [(3, 1), (5, 3), (10, 8), (99, 8), (None, 8)])
def test_size_counts_the_reserved_ids(size, words):
    assert len(Vocabulary.build(TEXTS, size=size)) == NUM_RESERVED + words


def test_min_count():
    assert Vocabulary.build(TEXTS, min_count=2).words == (".", "cat", "ran", "the")


def test_from_counts_passes_over_reserved_words():
    counter = Counter({"a": np.int64(2), UNK: 9, PAD: 7, "b": 3, "never": 0})
    assert Vocabulary.from_counts(counter).words == ("b", "a")


@pytest.mark.parametrize(("rules", "known"), [("mediapipe_bert", 1), ("mediapipe", 3)])
def test_words_that_mediapipe_does_not_look_up_are_left_out(rules, known):
    texts = ["\u0e01" * 33 + "a", "\u0e01" * 33 + "bb", "c" * 101]  # 100, 101 and 101 bytes
    assert Vocabulary.build(texts, rules=rules).words == tuple(sorted(texts[:known]))


def test_encode():
    vocabulary = Vocabulary(["the", "cat"])
    ids = vocabulary.encode("The CAT the dog")
    assert ids.dtype == np.int32
    assert ids.tolist() == [2, 3, 2, 1]
    assert vocabulary.encode("The cat the dog", sequence_length=3).tolist() == [2, 3, 2]
    assert vocabulary.encode("cat", sequence_length=3).tolist() == [3, 0, 0]
    assert vocabulary.encode("").tolist() == []
    assert vocabulary.encode("", sequence_length=2).tolist() == [0, 0]


def test_encode_all():
    vocabulary = Vocabulary(["the", "cat"])
    ids = vocabulary.encode_all(["cat", "", "the the the the"], sequence_length=3)
    assert ids.dtype == np.int32
    assert ids.tolist() == [[3, 0, 0], [0, 0, 0], [2, 2, 2]]
    assert vocabulary.encode_all([], sequence_length=3).shape == (0, 3)


@pytest.mark.parametrize("rules", RULES)
def test_reserved_words_in_a_text_are_unknown_words(rules):
    vocabulary = Vocabulary.build(["<pad> <unk> x x"], rules=rules)
    assert PAD not in vocabulary.words and UNK not in vocabulary.words
    assert 0 not in vocabulary.encode("<pad> <unk> x")
    assert vocabulary.id_of(PAD) == vocabulary.id_of(UNK) == 1


def test_coverage():
    vocabulary = Vocabulary(["the", "cat"])
    assert vocabulary.coverage(["the cat sat", "the dog"]) == 3 / 5
    assert vocabulary.coverage([]) == vocabulary.coverage([""]) == 0.0


def test_the_file_line_by_line(tmp_path):
    vocabulary = Vocabulary(["the", "cat", "caf\u00e9"], rules="kim")
    path = vocabulary.save(tmp_path / "new" / "vocabulary.txt")
    data = path.read_bytes()
    assert data == "<pad>\tkim\t5\n<unk>\nthe\ncat\ncaf\u00e9\n".encode()
    for id_, line in enumerate(data.decode().split("\n")[:-1]):
        assert line.split("\t")[0] == vocabulary.word_of(id_)
    assert vocabulary.num_bytes == len(data)
    assert vocabulary.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("rules", RULES)
def test_save_and_load(tmp_path, rules):
    words = ["a", "\x1c", "a\x85b", "\u2028", "\x00", "no\u00a0break", "#", "\U0001f600", "\ufeff"]
    saved = Vocabulary(words, rules=rules)
    loaded = Vocabulary.load(saved.save(tmp_path / "v.txt"))
    assert loaded.words == saved.words
    assert loaded.rules == rules
    assert loaded.sha256 == saved.sha256


def test_pairs_are_words_of_their_own(tmp_path):
    vocabulary = Vocabulary.build(["how many ?", "how many", "how"], 6, rules="wordpunct_pairs")
    assert vocabulary.words == ("how", "how many", "many", "?")
    assert vocabulary.encode("how many are?", 6).tolist() == [2, 3, 4, 1, 1, 1]
    assert vocabulary.encode("many how").tolist() == [4, 1, 2]
    loaded = Vocabulary.load(vocabulary.save(tmp_path / "v.txt"))
    assert loaded.words == vocabulary.words and loaded.sha256 == vocabulary.sha256
    for wrong in ("a b c", "a  b", " a", "a ", " ", "a\tb", "a\nb", "a b\n"):
        with pytest.raises(ValueError, match=r"words\[1\]=.* has white space inside"):
            Vocabulary(["a b", wrong], "wordpunct_pairs")
    with pytest.raises(ValueError, match="has white space inside"):
        Vocabulary(["a b"])
    damaged = vocabulary.save(tmp_path / "v.txt").read_bytes().replace(b"how many", b"how  many")
    (tmp_path / "v.txt").write_bytes(damaged)
    with pytest.raises(ValueError, match="line 4: the word 'how  many' has white space inside"):
        Vocabulary.load(tmp_path / "v.txt")


def test_the_rules_are_used_after_loading(tmp_path):
    loaded = Vocabulary.load(Vocabulary(["n't"], rules="kim").save(tmp_path / "v.txt"))
    assert loaded.encode("don't").tolist() == [1, 2]


WHOLE = b"<pad>\twordpunct\t4\n<unk>\na\nb\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: not a vocabulary"),
        (b"the\nof\n", "line 1: not a vocabulary. It must read '<pad>'.*Received: 'the'"),
        (b"<pad>\n<unk>\na\n", "line 1: not a vocabulary"),
        (b"\xef\xbb\xbf" + WHOLE, "line 1: not a vocabulary"),
        (WHOLE.replace(b"\n", b"\r\n"), r"line 4: the file must end|line 1"),
        (b"TFL3\x00\x00\xff\xfe\n\xff", "line 1: not UTF-8 text"),
        (WHOLE + b"\xc3", "line 5: not UTF-8 text"),
        (WHOLE.replace(b"wordpunct", b"nltk"), "line 1: unknown token rules 'nltk'; there are 'wo"),
        (WHOLE.replace(b"4", b"four"), "line 4: the file must end after four complete lines"),
        (WHOLE[:-1], "line 3: the file must end after 4 complete lines.*Received: 3 lines"),
        (WHOLE[:-2], "line 3: the file must end after 4 complete lines"),
        (WHOLE + b"c\n", "line 5: the file must end after 4 complete lines"),
        (WHOLE.replace(b"<unk>", b"<oov>"), r"line 2: must read '<unk>'. Received: \['<oov>'\]"),
        (b"<pad>\twordpunct\t1\n", "line 2: must read '<unk>'"),
        (b"<pad>\twordpunct\t2\n<unk>\n", "line 2: no word follows"),
        (WHOLE.replace(b"b", b"a"), "line 4: the word 'a' is repeated"),
        (WHOLE.replace(b"\nb", b"\n"), "line 4: the word '' is empty"),
        (WHOLE.replace(b"b", b"b c"), "line 4: the word 'b c' has white space inside"),
        (WHOLE.replace(b"b", b"<pad>"), "line 4: the word '<pad>' is reserved"),
    ],
)
def test_load_rejects(tmp_path, data, message):
    path = tmp_path / "v.txt"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"v\.txt, {message}"):
        Vocabulary.load(path)


def test_load_of_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.txt"):
        Vocabulary.load(tmp_path / "no.txt")


def test_a_refused_vocabulary_leaves_the_old_file(tmp_path):
    path = Vocabulary(["a"]).save(tmp_path / "v.txt")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="lone surrogate"):
        Vocabulary(["\ud800"]).save(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "`words` must be a list of at least one word"),
        ("abc", "`words` must be a list of str"),
        (None, "`words` must be a list of str"),
        (["a", 3], r"`words\[1\]` must be a str"),
        (["a", "b", "a"], r"words\[2\]='a', which is repeated"),
        (["a", ""], r"words\[1\]='', which is empty"),
        (["a b"], r"words\[0\]='a b', which has white space inside"),
        (["a\v"], "which has white space inside"),
        (["a", UNK], "which is reserved"),
    ],
)
def test_rejects_words(words, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary(words)


@pytest.mark.parametrize("size", [2, 0, -1, 3.0, True, "9"])
def test_rejects_size(size):
    with pytest.raises(ValueError, match="`size` must be an integer >= 3. Received: size="):
        Vocabulary.build(TEXTS, size=size)


@pytest.mark.parametrize("min_count", [0, 1.5, None])
def test_rejects_min_count(min_count):
    with pytest.raises(ValueError, match="`min_count` must be an integer >= 1"):
        Vocabulary.build(TEXTS, min_count=min_count)


def test_rejects_too_little_text():
    with pytest.raises(ValueError, match="No text has a token under the rules 'mediapipe'"):
        Vocabulary.build(["?", "!"], rules="mediapipe")
    with pytest.raises(ValueError, match="a word seen at least 5 times"):
        Vocabulary.build(TEXTS, min_count=5)
    with pytest.raises(ValueError, match="No text has a token under the rules .wordpunct"):
        Vocabulary.build([])


@pytest.mark.parametrize("texts", ["one text", b"bytes", None, 3])
def test_rejects_texts(texts):
    vocabulary = Vocabulary(["a"])
    for call in (Vocabulary.build, vocabulary.coverage, lambda t: vocabulary.encode_all(t, 3)):
        with pytest.raises(ValueError, match="`texts` must be a list of str"):
            call(texts)


def test_rejects_a_text_that_is_no_str():
    vocabulary = Vocabulary(["a"])
    for call in (Vocabulary.build, vocabulary.coverage, lambda t: vocabulary.encode_all(t, 3)):
        with pytest.raises(ValueError, match=r"`texts\[1\]` must be a str"):
            call(["a", b"b"])
    with pytest.raises(ValueError, match="`text` must be a str"):
        vocabulary.encode(["a"])


@pytest.mark.parametrize("counter", [["a", "b"], {"a": -1}, {"a": 1.5}, {"a": True}, {3: 1}])
def test_rejects_counters(counter):
    with pytest.raises(ValueError, match=r"`counter|`words\[0\]` must be a str"):
        Vocabulary.from_counts(counter)


def test_rejects_rules():
    with pytest.raises(ValueError, match="`rules` must be one of"):
        Vocabulary(["a"], rules="nltk")
    with pytest.raises(ValueError, match="`rules` must be one of"):
        Vocabulary.build(TEXTS, rules="nltk")


@pytest.mark.parametrize("length", [0, -1, 2.5, "3"])
def test_rejects_length(length):
    with pytest.raises(ValueError, match="`sequence_length` must be an integer >= 1"):
        Vocabulary(["a"]).encode("a", sequence_length=length)
    with pytest.raises(ValueError, match="`sequence_length` must be an integer >= 1"):
        Vocabulary(["a"]).encode_all([], sequence_length=length)


@pytest.mark.parametrize("id_", [-1, 3, 1.0, None])
def test_rejects_id(id_):
    with pytest.raises(ValueError, match=r"`id` must be an integer in \[0, 2\]"):
        Vocabulary(["a"]).word_of(id_)
