"""Ids by slots against ids by a dictionary, the saved file, and refusals."""

import numpy as np
import pytest

from hostile_texts import HOSTILE
from kerascompact.text import NUM_RESERVED, RULES, SlotVocabulary, Vocabulary, slots, word_hashes
from kerascompact.text.byte_rules import byte_rules
from kerascompact.text.rules import IN_FILES


def words_of_letters(count):
    """Distinct words of 6 random letters; numbered ones are alike, and so are their slots."""
    letters = np.random.default_rng(0).integers(97, 123, (count, 6)).astype(np.uint8)
    return [row.tobytes().decode() for row in letters]


WORDS = ["what", "is", "the", "a", "n't", "'s", "ca", "!", "?", "caf\u00e9", "x", "ok"]
WORDS += words_of_letters(200)
PAIRS = ["what is", "the ?", "x !?", "a a"]


def ranked(rules):
    return (PAIRS if RULES[rules].pairs else []) + WORDS


@pytest.mark.few(1)
@pytest.mark.parametrize("rules", IN_FILES)
def test_ids_are_those_of_a_dictionary_but_for_unknown_words(rules):
    words = SlotVocabulary.from_ranked(ranked(rules), 302, rules)
    assert len(words) == 302
    # There is room enough; 1 in 128 would be found in another's slot.
    assert len({*ranked(rules)} - {*words.words}) <= 5
    plain = Vocabulary(words.words, rules)
    texts = [*(text[:300] for text in HOSTILE), " ".join(WORDS), "what is the ? caf\u00e9 !?"]
    for text in texts:
        split = text.replace("\0", " ")  # NUL is white space here
        tokens = RULES[rules].tokens(split)
        found, wanted = words.encode(text), plain.encode(split)
        np.testing.assert_array_equal(found[wanted > 1], wanted[wanted > 1])
        for token, id in zip(tokens, found, strict=True):
            tables = byte_rules(rules).without_nul
            value = word_hashes.of_list([token.encode("utf-8", "surrogateescape")], tables, 1)
            place = slots.find(value, words.tags)[0]
            assert id == (1 if place < 0 else NUM_RESERVED + place) == words.id_of(token)
    rows = words.encode_all(texts, 9)
    for text, row in zip(texts, rows, strict=True):
        ids = words.encode(text)[:9].tolist()
        assert row.tolist() == ids + [0] * (9 - len(ids)) == words.encode(text, 9).tolist()


def test_the_best_words_first():
    every = words_of_letters(5000)
    words = SlotVocabulary.from_ranked(every, 502)
    assert len(words) == 502 and not any("slot" in word for word in words.words)
    numbers = np.array([every.index(word) for word in words.words])
    assert np.isin(np.arange(450), numbers).mean() > 0.98 and numbers.max() < 1000
    assert all(words.id_of(word) == id for id, word in enumerate(words.words, NUM_RESERVED))
    other = SlotVocabulary.from_ranked(every, 502, seed=2)
    assert other.words != words.words


def test_build_counts_words():
    texts = ["the cat sat.", "The cat ran!", "a dog ran ."]
    words = SlotVocabulary.build(texts)
    assert {*Vocabulary.build(texts).words} <= {*words.words}
    assert len(SlotVocabulary.build(texts, size=5)) == 5


@pytest.mark.parametrize("rules", ["wordpunct", "wordpunct_pairs"])
def test_file(rules, tmp_path):
    words = SlotVocabulary.from_ranked(ranked(rules), 202, rules, seed=7)
    path = words.save(tmp_path / "vocabulary.txt")
    assert path.read_text().splitlines()[0] == f"<pad>\t{rules}\t202\ttags\t7\t8"
    for again in (Vocabulary.load(path), SlotVocabulary.load(path)):
        assert type(again) is SlotVocabulary and again.sha256 == words.sha256
        np.testing.assert_array_equal(again.tags, words.tags)
        np.testing.assert_array_equal(again.encode(HOSTILE[-1]), words.encode(HOSTILE[-1]))
    plain = Vocabulary(words.words, rules)
    assert plain.sha256 != words.sha256 and words.num_bytes == path.stat().st_size
    with pytest.raises(ValueError, match="line 1: a vocabulary without slots"):
        SlotVocabulary.load(plain.save(path))


@pytest.mark.parametrize(
    "more", ["tags", "tags\t0\t8", "tags\tx\t8", "bins\t1\t8", "tags\t1", "tags\t1\t9"]
)
def test_files_that_are_none(more, tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text(f"<pad>\twordpunct\t3\t{more}\n<unk>\na\n")
    with pytest.raises(ValueError, match="line 1: not a vocabulary"):
        Vocabulary.load(path)


def test_slots_of_an_older_hash(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("<pad>\twordpunct\t3\tslots\t1\n<unk>\na\n")
    with pytest.raises(ValueError, match="vocabulary.txt, line 1: words in slots of an older hash"):
        SlotVocabulary.load(path)


@pytest.mark.few(1)
@pytest.mark.parametrize("bits", [16, 24])
def test_longer_tags(bits, tmp_path):
    """Fewer unknown words pass; of some seeds the one is taken with which none of the list does."""
    every = words_of_letters(4_000)
    words = SlotVocabulary.from_ranked(every, 1002, seed=None, tag_bits=bits)
    short = SlotVocabulary.from_ranked(every, 1002, seed=None)
    for one, most in ((words, 0), (short, 4_000 * 3 / 255)):
        left_out = [word for word in every if word not in {*one.words}]
        passing = one.encode_all(left_out, 1) > 1
        assert passing.sum() <= most
    assert passing.any()
    again = SlotVocabulary.load(words.save(tmp_path / "vocabulary.txt"))
    assert (again.tag_bits, again.seed, again.sha256) == (bits, words.seed, words.sha256)
    np.testing.assert_array_equal(again.tags, words.tags)


def test_a_word_that_is_white_space_has_no_slot():
    words = SlotVocabulary.from_ranked(["\x00", "a"], 12)
    assert "\x00" not in words.words and words.encode("\0 a\0").tolist() == [words.id_of("a")]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SlotVocabulary(["a"], seed=0), "`seed` must be an integer in"),
        (lambda: SlotVocabulary(["a"], tag_bits=4), "`tag_bits` must be one of"),
        (lambda: SlotVocabulary(["a", "a"]), "`words` must be distinct"),
        (lambda: SlotVocabulary.from_ranked(["a", "a"], 4), "`words` must be distinct"),
        (lambda: SlotVocabulary.from_ranked([], 4), "`words` must be a list of at least one word"),
        (lambda: SlotVocabulary.from_ranked(["a"], 2), "`size` must be an integer >= 3"),
        (lambda: SlotVocabulary(["a"]).encode(7), "`text` must be a str"),
        (lambda: SlotVocabulary(["a"]).encode_all(["a"], 0), "`sequence_length` must be"),
    ],
)
def test_refuses(make, message):
    with pytest.raises(ValueError, match=message):
        make()
