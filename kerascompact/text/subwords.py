"""Subword tokenizers of keras-hub and of the package `tokenizers`, with fewer tokens."""

import json
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.extras import require

SP_BPE, SP_NORMAL = 2, 1  # of SentencePiece: its kind of model, and a piece that is no special one


def token_counts(tokenizer: Any, texts: Sequence[str], size: int) -> np.ndarray:
    """How often each token occurs in texts, special ones included, `(size,)`.

    Args:
        tokenizer: Tokenizer of keras-hub, or `tokenizers.Tokenizer`.
        texts: The texts.
        size: Number of tokens in the vocabulary.
    """
    counts = np.zeros(size, np.int64)
    if hasattr(tokenizer, "encode_batch"):  # entire texts, whatever it makes of them otherwise
        tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        tokenizer.no_truncation()
        tokenizer.no_padding()
    for start in range(0, len(texts), 1000):
        part = list(texts[start : start + 1000])
        if hasattr(tokenizer, "encode_batch"):
            rows = [one.ids for one in tokenizer.encode_batch(part)]
        else:
            found = tokenizer(part)
            rows = found.to_list() if hasattr(found, "to_list") else [list(row) for row in found]
        np.add.at(counts, np.concatenate([np.asarray(row, np.int64) for row in rows]), 1)
    return counts


def tokens_of(tokenizer: Any) -> list[str]:
    """The tokens of a tokenizer, by id.

    Raises: ValueError, if it is of another kind, or ids are left out or are of two tokens.

    >>> from tokenizers import Tokenizer, models
    >>> tokens_of(Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2})))
    ['[UNK]', 'a', '##b']
    """
    if hasattr(tokenizer, "encode_batch"):
        found = tokenizer.get_vocab(with_added_tokens=True)
    elif _is(tokenizer, "BytePairTokenizer"):
        found = dict(tokenizer.vocabulary)
    elif _is(tokenizer, "WordPieceTokenizer") or _is(tokenizer, "SentencePieceTokenizer"):
        return [tokenizer.id_to_token(i) for i in range(tokenizer.vocabulary_size())]
    else:
        expected = "a WordPiece, BPE or SentencePiece tokenizer of keras-hub, or of `tokenizers`"
        checks.fail("tokenizer", expected, type(tokenizer).__name__)
    tokens = sorted(found, key=found.__getitem__)
    for i, token in enumerate(tokens):
        if found[token] != i:
            checks.fail("tokenizer", f"one with ids 0, 1, 2, ...: none is {i}", found[token])
    return tokens


def with_tokens(tokenizer: Any, wanted: Iterable[int]) -> tuple[Any, np.ndarray]:
    """A tokenizer with some of the tokens; texts of these tokens alone have the same as before.

    Special tokens, the characters of the kept tokens and the bytes of a byte-level vocabulary stay,
    and those from which a kept token is merged. The order of tokens stays.

    Args:
        tokenizer: Tokenizer of keras-hub, or `tokenizers.Tokenizer`; it does not change.
        wanted: Ids of the tokens.

    Returns: The tokenizer, and the former ids of its tokens.

    >>> from tokenizers import Tokenizer, models
    >>> tokens = {"[UNK]": 0, "a": 1, "##b": 2, "ab": 3}
    >>> whole = Tokenizer(models.WordPiece(tokens, unk_token="[UNK]"))
    >>> small, ids = with_tokens(whole, [1])
    >>> small.token_to_id("a"), small.get_vocab_size(), ids.tolist()
    (1, 2, [0, 1])
    """
    if hasattr(tokenizer, "encode_batch"):
        return _of_json(tokenizer, set(wanted))
    config = tokenizer.get_config()
    tokens = tokens_of(tokenizer)
    special = {tokens.index(one) for one in tokenizer.special_tokens if one in tokens}
    if _is(tokenizer, "SentencePieceTokenizer"):
        # By name: XLM-RoBERTa and DeBERTa have other ids than pieces have places, and some tokens
        # that are no pieces.
        names = {tokens[i] for i in set(wanted) | special}
        proto = _of_sentencepiece(tokenizer.proto, names)
        made = type(tokenizer).from_config({**config, "proto": proto})
        old = {token: i for i, token in enumerate(tokens)}
        return made, np.array([old[token] for token in tokens_of(made)])
    if _is(tokenizer, "BytePairTokenizer"):
        merges = [tuple(one.split(" ")) for one in tokenizer.merges if "#version:" not in one]
        end = "</w>" if _is(tokenizer, "CLIPTokenizer") else ""
        kept, merges = _of_bpe(tokens, merges, set(wanted) | special, end=end)
        ids = np.array(sorted(kept))
        vocabulary = {tokens[old]: new for new, old in enumerate(ids)}
        own = {"vocabulary": vocabulary, "merges": [" ".join(one) for one in merges]}
        return type(tokenizer).from_config({**config, **own}), ids
    special.add(tokens.index(tokenizer.oov_token))
    ids = np.array(sorted(_of_wordpiece(tokens, set(wanted) | special, tokenizer.suffix_indicator)))
    left = [tokens[i] for i in ids]
    return type(tokenizer).from_config({**config, "vocabulary": left}), ids


def _is(tokenizer: Any, name: str) -> bool:
    """Whether a tokenizer is of a class of keras-hub, by name: it need not be installed."""
    return any(kind.__name__ == name for kind in type(tokenizer).__mro__)


def _of_wordpiece(tokens: list[str], wanted: set[int], prefix: str) -> set[int]:
    """Wanted tokens, with their characters, which spell words that have no token of their own."""
    ids = {token: i for i, token in enumerate(tokens)}
    letters = {letter for i in wanted for letter in tokens[i].removeprefix(prefix)}
    single = {ids.get(start + letter) for letter in letters for start in ("", prefix)}
    return wanted | {i for i in single if i is not None}


def _of_bpe(
    tokens: list[str],
    merges: list[tuple[str, ...]],
    wanted: set[int],
    prefix: str = "",
    end: str = "",
) -> tuple[set[int], list[tuple[str, ...]]]:
    """Wanted tokens with all of one character and those that they are merged from; the merges.

    Args:
        tokens: The tokens, by id.
        merges: Pairs of tokens, in the order in which they are merged.
        wanted: Ids of the wanted tokens.
        prefix: What a token starts with that is not the start of a word.
        end: What a token ends with that is the end of a word.
    """
    ids, ranks = ({one: i for i, one in enumerate(many)} for many in (tokens, merges))
    kept, used = {*wanted}, set()
    kept |= {i for i, token in enumerate(tokens) if len(_letters(token, prefix, end)[-1]) == 1}
    pending = [*kept]
    while pending:
        for letters in _letters(tokens[pending.pop()], prefix, end):
            for a, b in _merged(
                letters,
                lambda a, b: ranks.get((a, b)),
                lambda a, b: a + b.removeprefix(prefix),
            ):
                joined = ids.get(a + b.removeprefix(prefix))
                if joined is not None:
                    used.add((a, b))
                    pending += [joined] if joined not in kept else []
                    kept.add(joined)
    return kept, [pair for pair in merges if pair in used]


def _letters(token: str, prefix: str, end: str) -> list[list[str]]:
    """What a token is merged from: letters, marked as its parts are.

    A token that starts with `prefix` may also be the start of a word that does: it has two ways.

    >>> _letters("ing</w>", "", "</w>"), _letters("ab", "##", "")
    ([['i', 'n', 'g</w>']], [['a', '##b']])
    >>> _letters("##a", "##", "")
    [['#', '###', '##a'], ['##a']]
    """
    last = bool(end) and token.endswith(end)
    stem = token.removesuffix(end) if last else token
    ways = [[stem[:1], *(prefix + letter for letter in stem[1:])]]
    if prefix and token.startswith(prefix):
        ways.append([prefix + letter for letter in stem.removeprefix(prefix)])
    return [[*way[:-1], way[-1] + end] if last and way else way for way in ways]


def _merged(
    parts: list[str],
    rank: Callable[[str, str], float | None],
    join: Callable[[str, str], str] = operator.add,
) -> Iterable[tuple[str, str]]:
    """The pairs that are merged, the one of the smallest rank first, until none can be."""
    while True:
        pairs = [(rank(a, b), at) for at, (a, b) in enumerate(zip(parts, parts[1:], strict=False))]
        found = [(value, at) for value, at in pairs if value is not None]
        if not found:
            return
        at = min(found)[1]
        yield parts[at], parts[at + 1]
        parts = [*parts[:at], join(parts[at], parts[at + 1]), *parts[at + 2 :]]


def _of_sentencepiece(proto: bytes, names: set[str]) -> bytes:
    """A SentencePiece model with wanted pieces, all that are special, and what they consist of."""
    parsed = require("sentencepiece.sentencepiece_model_pb2", "hub").ModelProto()
    parsed.ParseFromString(proto)
    pieces = list(parsed.pieces)
    ids = {one.piece: i for i, one in enumerate(pieces)}
    wanted = {ids[name] for name in names if name in ids}
    kept = wanted | {i for i, one in enumerate(pieces) if one.type != SP_NORMAL}
    letters = {letter for i in wanted for letter in pieces[i].piece}
    kept |= {ids[letter] for letter in letters if letter in ids}
    if parsed.trainer_spec.model_type == SP_BPE:

        def rank(a: str, b: str) -> float | None:
            return -pieces[ids[a + b]].score if a + b in ids else None

        for i in wanted:
            kept |= {ids[a + b] for a, b in _merged(list(pieces[i].piece), rank)}
    else:
        scores = {i: one.score for i, one in enumerate(pieces) if one.type == SP_NORMAL}
        kept |= _least(scores)
    del parsed.pieces[:]
    parsed.pieces.extend(pieces[i] for i in sorted(kept))
    return parsed.SerializeToString()


def _least(scores: dict[int, float]) -> set[int]:
    """A piece with the smallest score: an unknown character has that score less 10.

    >>> _least({4: -1.5, 7: -3.0}), _least({})
    ({7}, set())
    """
    return {min(scores, key=scores.__getitem__)} if scores else set()


def _of_json(tokenizer: Any, wanted: set[int]) -> tuple[Any, np.ndarray]:
    """A `tokenizers.Tokenizer` with some of the tokens: another `tokenizer.json`."""
    facts, tokens = json.loads(tokenizer.to_str()), tokens_of(tokenizer)
    old = tokenizer.get_vocab(with_added_tokens=True)
    wanted |= {one["id"] for one in facts["added_tokens"]}
    model = facts["model"]
    kind = model.get("type")
    if model.get("unk_token") is not None:
        wanted.add(old[model["unk_token"]])
    if kind == "WordPiece":
        kept = _of_wordpiece(tokens, wanted, model["continuing_subword_prefix"])
    elif kind == "BPE":
        merges = [tuple(one.split(" ") if isinstance(one, str) else one) for one in model["merges"]]
        in_model = {i for i in wanted if tokens[i] in model["vocab"]}
        marks = model.get("continuing_subword_prefix"), model.get("end_of_word_suffix")
        kept, model["merges"] = _of_bpe(tokens, merges, in_model, *(one or "" for one in marks))
        kept |= wanted
    elif kind == "Unigram":
        letters = {letter for i in wanted for letter in tokens[i]}
        kept = wanted | {old[letter] for letter in letters if letter in old}
        if model["unk_id"] is not None:
            scores = {old[token]: score for token, score in model["vocab"]}
            kept |= {model["unk_id"]} | _least(scores)
    else:
        checks.fail("tokenizer", "one with a WordPiece, BPE or Unigram model", kind)
    if model.get("byte_fallback"):  # which spells any other character
        kept |= {i for i, token in enumerate(tokens) if re.fullmatch("<0x[0-9A-F]{2}>", token)}
    if facts.get("padding"):
        kept.add(facts["padding"]["pad_id"])
    places = sorted(kept)
    new = {tokens[place]: number for number, place in enumerate(places)}
    if kind == "Unigram":
        pairs = [pair for place, pair in enumerate(model["vocab"]) if place in kept]
        model["vocab"] = pairs
        if model["unk_id"] is not None:
            model["unk_id"] = new[tokens[model["unk_id"]]]
    else:
        model["vocab"] = {token: new[token] for token in model["vocab"] if token in new}
    for one in facts["added_tokens"]:
        one["id"] = new[one["content"]]
    if facts.get("padding"):
        facts["padding"]["pad_id"] = new[tokens[facts["padding"]["pad_id"]]]
    facts["post_processor"] = _renumbered(facts["post_processor"], tokens, new)
    return type(tokenizer).from_str(json.dumps(facts)), np.array(places)


def _renumbered(step: Any, tokens: list[str], new: dict[str, int]) -> Any:
    """A post-processor with the new ids of the special tokens that it adds."""
    if not isinstance(step, dict):
        return step
    made = dict(step)
    for one in made.get("special_tokens", {}).values() if "special_tokens" in made else ():
        one["ids"] = [new[tokens[i]] for i in one["ids"]]
    for name in ("sep", "cls"):
        if isinstance(made.get(name), list):
            made[name] = [made[name][0], new[made[name][0]]]
    if "processors" in made:
        made["processors"] = [_renumbered(one, tokens, new) for one in made["processors"]]
    return made
