"""A small tokenizer of BERT's kind, made by the package `tokenizers`."""

import pytest

tokenizers = pytest.importorskip("tokenizers", reason="pip install 'kerascompact[vectors]'")

ENDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]"]
WORDS = ["turn", "it", "un", "aff", "able", "naive", "strasse", "telecommunications", "a", "e", "i"]
PARTS = ["##aff", "##able", "##s", "##ns", "##turn", "##i", "##e", "##n", "##!", "##\u4e2d"]
LETTERS = [*"tunshrdlcfom.,!?'-[]|$", "\u03b1", "\u03c3", "\u0431", "\u4e2d", "\u6587", "\u3002"]
HANGUL = ["\u1112", "\u1100", "##\u1161", "##\u11ab", "##\u1100", "##\u1173", "##\u11af"]
TWO = ["\u09c7", "##\u09c7", "##\u09be"]  # what the vowel sign O of Bengali becomes


def tokenizer(ends=True, unknown="[UNK]", longest=100, **normalizer):
    """With special tokens around a text or without; arguments of `BertNormalizer`."""
    tokens = [*ENDS, *WORDS, *PARTS, *LETTERS, *HANGUL, *TWO]
    numbers = {token: number for number, token in enumerate(tokens)}
    model = tokenizers.models.WordPiece(
        numbers, unk_token=unknown, max_input_chars_per_word=longest
    )
    made = tokenizers.Tokenizer(model)
    made.normalizer = tokenizers.normalizers.BertNormalizer(**normalizer)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(ENDS[:5])
    if ends:
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            special_tokens=[(name, numbers[name]) for name in ("[CLS]", "[SEP]")],
        )
    return made
