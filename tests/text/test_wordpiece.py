"""Ids against the package `tokenizers`, and what is refused."""

import numpy as np
import pytest

from bert_tokenizer import ENDS, tokenizer, tokenizers
from kerascompact.text import WordPiece
from kerascompact.text.wordpiece import is_tokenizer

TEXTS = ["Turn it! unaffable", "", "\u00dcn TURNS", "[MASK] it [CLS]", "turn " * 9]


@pytest.mark.parametrize("length", [None, 3, 8])
@pytest.mark.parametrize("ends", [True, False])
def test_ids_are_those_of_the_package(length, ends):
    made = tokenizer(ends)
    ours = WordPiece(made)
    made.encode_special_tokens = True
    if length is not None:
        made.enable_truncation(length)
        made.enable_padding(length=length)
    for text in TEXTS:
        assert ours.encode(text, length).tolist() == made.encode(text).ids
    if length is not None:
        rows = [made.encode(text).ids for text in TEXTS]
        np.testing.assert_array_equal(ours.encode_all(TEXTS, length), rows)
    assert len(ours) == made.get_vocab_size() and ours.tokens[:6] == tuple(ENDS)


def test_options_of_the_tokenizer_given_do_not_change(tmp_path):
    made = tokenizer()
    made.enable_padding(length=7)
    made.save(str(tmp_path / "tokenizer.json"))
    ours = WordPiece(tmp_path / "tokenizer.json")
    assert len(ours.encode("turn")) == 3 and len(made.encode("turn").ids) == 7
    assert ours.sha256 == WordPiece(tokenizer()).sha256 != WordPiece(tokenizer(False)).sha256


def test_tokenizers_that_hold_one():
    """Those of `transformers`, and the ready-made ones of `tokenizers`."""

    class BertTokenizerFast:
        backend_tokenizer = tokenizer()

    held = WordPiece(BertTokenizerFast())
    assert held.sha256 == WordPiece(tokenizer()).sha256 and is_tokenizer(BertTokenizerFast())
    made = tokenizers.BertWordPieceTokenizer({"[UNK]": 0, "[SEP]": 1, "[CLS]": 2, "up": 3})
    assert is_tokenizer(made) and WordPiece(made).encode("UP!").tolist() == [2, 3, 0, 1]


def test_pieces_that_words_can_contain():
    ours = WordPiece(tokenizer())
    stored = {ours.tokens[number] for number in ours.pieces.ids}
    left_out = {*ENDS, "##!", "##\u4e2d"}
    assert stored == {*ours.tokens} - left_out
    assert sorted(ours.order.tolist()) == list(range(len(ours))) and ours.order[0] == 0
    assert ours.pieces.longest == len("telecommunications")
    # a token that words begin with and go on with
    both = tokenizers.models.WordPiece(
        {"[UNK]": 0, "x": 1, "xy": 2}, unk_token="[UNK]", continuing_subword_prefix="x"
    )
    made = tokenizer()
    made.model = both
    made.post_processor = tokenizers.processors.Sequence([])
    twice = WordPiece(made)
    assert sorted(twice.pieces.ids.tolist()) == [1, 2, 2]
    with pytest.raises(ValueError, match="`tokenizer` must be one whose tokens are in one slot"):
        _ = twice.order


def test_refuses_other_tokenizers():
    made = tokenizer()
    made.normalizer = tokenizers.normalizers.Lowercase()
    with pytest.raises(ValueError, match="`tokenizer` must be one with a BertNormalizer"):
        WordPiece(made)
    other = tokenizers.Tokenizer(tokenizers.models.BPE())
    with pytest.raises(ValueError, match="`tokenizer` must be one with a"):
        WordPiece(other)
    made = tokenizer()
    made.add_tokens(["brandnew"])
    with pytest.raises(ValueError, match="whose added tokens are special ones"):
        WordPiece(made)
    with pytest.raises(ValueError, match="`tokenizer` must be a tokenizers.Tokenizer, the path"):
        WordPiece(7)
    with pytest.raises(ValueError, match="`tokenizer` must be one with ids 0, 1, 2, ... and an"):
        WordPiece(tokenizer(unknown="[NONE]"))
    with pytest.raises(ValueError, match="`text` must be a str"):
        WordPiece(tokenizer()).encode(b"turn")
    with pytest.raises(ValueError, match="`sequence_length` must be an integer >= 3"):
        WordPiece(tokenizer()).encode("turn", 2)


def test_padding_is_the_tokenizers_own():
    tokens = {"<s>": 0, "<pad>": 1, "[UNK]": 2, "a": 3}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(tokens, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.enable_padding(pad_id=1, pad_token="<pad>")
    assert WordPiece(made).encode("a", 3).tolist() == [3, 1, 1]
