r"""Token rules, written down once, because a phone must repeat them byte for byte.

A text becomes tokens in three steps:

1. `A-Z` become `a-z`. No other letter changes: full case folding needs tables that a phone may
   have in another Unicode version, or in another language (the Turkish dotless i).
2. Rules of characters set off each character outside ASCII. Each `(pattern, replacement)` is
   applied to the whole text, in order.
3. The text is split at runs of ASCII white space, tab to carriage return and the space.

Rules with pairs then insert, after each token but the last, a pair: the token, a space, the next.

Patterns use only what Python's `re` and RE2 (`tf.strings.regex_replace`) read alike: literals,
ASCII classes and their negations, one group, `+`. But for the rules of MediaPipe, no class names a
character outside ASCII, so whether a pattern runs on characters (Python) or on UTF-8 bytes (C++,
Java, Swift) is the same: a byte >= 0x80 is in every negated class and in no plain one.

This file imports neither TensorFlow nor Keras; `kerascompact.text.tokenize` runs the same rules
inside `tf.data`.
"""

import functools
import itertools
import re
from dataclasses import dataclass, replace

from kerascompact.core import checks
from kerascompact.text import mediapipe_rules

WHITE_SPACE = "\t\n\v\f\r "
SPACES = r"[\t\n\v\f\r ]+"

# Words are runs of 0-9, A-Z, a-z, _ and of all that is not ASCII. Written as a negation, since
# `re` and RE2 spell a range that ends at U+10FFFF differently.
_WORD = r"[^\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]+"

_APART = r" \1 "  # the replacement that sets off a group
_WORDS_APART = ((f"({_WORD})", _APART),)
_LOWER = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_TOKEN = re.compile(r"[^\t\n\v\f\r ]+")
# A character outside ASCII, with the bytes of broken UTF-8 that would go on with it.
_CHARACTER = re.compile(r"[^\x00-\x7f][\udc80-\udcbf]*")


@dataclass(frozen=True)
class Rules:
    r"""A rule set that splits a text into tokens.

    Args:
        name: Name of the rules in a saved vocabulary.
        lower: Whether `A-Z` become `a-z` first.
        substitutions: Pairs `(pattern, replacement)` applied in order; `\1` is the group.
        pairs: Whether each two neighbours also form a token.
        characters: Whether each character outside ASCII is a token of its own, which comes before
            the substitutions.
        mediapipe: Which tokenizer of MediaPipe cuts in the same way, "regex" or "bert". A file with
            such rules takes ids, and MediaPipe cuts the text.

    Example:
    >>> Rules("commas", lower=True, substitutions=((",", " , "),)).tokens("One,Two")
    ['one', ',', 'two']
    """

    name: str
    lower: bool
    substitutions: tuple[tuple[str, str], ...]
    pairs: bool = False
    characters: bool = False
    mediapipe: str | None = None

    def tokens(self, text: str) -> list[str]:
        """Tokens of `text`, none of them empty.

        None has ASCII white space inside, but for the space in a pair.
        """
        plain = text.isascii()
        if self.lower:  # of ASCII alone `lower` gives the same, ten times as fast
            text = text.lower() if plain else text.translate(_LOWER)
        if plain and self._keeps_words and text.replace(" ", "").isalnum():
            words = text.split()  # without punctuation, in half the time
            return self._with_pairs(words) if self.pairs else words
        if self.characters:
            text = _CHARACTER.sub(r" \g<0> ", text)
        for pattern, replacement in () if self._one_pattern else self.substitutions:
            text = re.sub(pattern, replacement, text)
        # not str.split(), which also splits at U+00A0, U+3000 and U+001C
        words = (self._one_pattern or _TOKEN).findall(text)
        return self._with_pairs(words) if self.pairs else words

    @staticmethod
    def _with_pairs(words: list[str]) -> list[str]:
        both = [(word, f"{word} {after}") for word, after in itertools.pairwise(words)]
        return [token for two in both for token in two] + words[-1:]

    @functools.cached_property
    def _keeps_words(self) -> bool:
        """Whether runs of ASCII letters and digits stay whole, whatever is around them."""
        return self.substitutions in ((), _WORDS_APART)

    @functools.cached_property
    def _one_pattern(self) -> re.Pattern[str] | None:
        """What finds the same tokens at once, for the only substitution of our own rules."""
        if self.substitutions != _WORDS_APART:  # another may match white space, or have groups
            return None
        own = self.substitutions[0][0].removeprefix("(").removesuffix(")")
        return re.compile(f"{own}|(?:(?!{own}){_TOKEN.pattern[:-1]})+")


# Characters between two words form one token, like the second half of NLTK's pattern.
WORDPUNCT = Rules("wordpunct", lower=True, substitutions=_WORDS_APART)
WORDPUNCT_PAIRS = replace(WORDPUNCT, name="wordpunct_pairs", pairs=True)

# For scripts without spaces.
CHARACTERS = replace(WORDPUNCT, name="characters", characters=True)
CHARACTERS_PAIRS = replace(CHARACTERS, name="characters_pairs", pairs=True)

KIM = Rules(
    "kim",
    lower=True,
    substitutions=(
        (r"[^0-9A-Za-z(),!?'`]", " "),
        ("('s|'ve|n't|'re|'d|'ll)", r" \1"),
        ("([,!()?])", r" \1 "),
    ),
)

WHITESPACE = Rules("whitespace", lower=False, substitutions=())

MEDIAPIPE = Rules("mediapipe", lower=False, substitutions=mediapipe_rules.REGEX, mediapipe="regex")
MEDIAPIPE_BERT = Rules(
    "mediapipe_bert", lower=True, substitutions=mediapipe_rules.BERT, mediapipe="bert"
)

RULES = {
    rules.name: rules
    for rules in (
        WORDPUNCT,
        WORDPUNCT_PAIRS,
        CHARACTERS,
        CHARACTERS_PAIRS,
        KIM,
        WHITESPACE,
        MEDIAPIPE,
        MEDIAPIPE_BERT,
    )
}

# The names of those that a file can apply to the bytes of a text.
IN_FILES = tuple(name for name, rules in RULES.items() if rules.mediapipe is None)


def named(rules: str) -> Rules:
    """Returns the rules of a name.

    Raises: ValueError, if no rules have that name; the error lists the names.

    >>> named("whitespace").lower
    False
    """
    checks.choice("rules", rules, RULES)
    return RULES[rules]


def tokenize(text: str, rules: str = "wordpunct") -> list[str]:
    r"""Splits `text` into tokens, in pure Python.

    `"wordpunct"`: words (`0-9A-Za-z_` and every character outside ASCII) and runs of what is
    neither word nor white space, lower-cased: the preparation of IMDB in the cluster-embedding
    papers. `"kim"`: letters, digits and `` (),!?'` `` are kept and all else becomes a space, the
    endings `'s 've n't 're 'd 'll` and the marks `, ! ( ) ?` are set off, lower-cased.
    `"whitespace"`: split only, for tokenized texts. `"wordpunct_pairs"`: the words of
    `"wordpunct"` and each pair of neighbours, so that a mean of vectors sees order: fastText's
    bigrams, chosen by `training.choose_words` instead of hashed. `"characters"`: as `"wordpunct"`,
    but each character outside ASCII is a token, for scripts without spaces, such as Chinese,
    Japanese and Thai; `"characters_pairs"` with each pair of neighbours. `"mediapipe"` and
    `"mediapipe_bert"`: what MediaPipe Tasks does before it calls a file of
    `export.convert(..., mediapipe=True)`. The first drops all ASCII but letters, digits, `_` and
    `'`, and keeps capitals; the second lower-cases `A-Z` and sets off each mark and ideograph.

    Args:
        text: Text to split.
        rules: `"wordpunct"`, `"wordpunct_pairs"`, `"characters"`, `"characters_pairs"`, `"kim"`,
            `"whitespace"`, `"mediapipe"` or `"mediapipe_bert"`.

    Raises: ValueError, if `text` is not a `str` or no rules have that name.
    Example:
    >>> tokenize("Don't panic, it's 3.50!")
    ['don', "'", 't', 'panic', ',', 'it', "'", 's', '3', '.', '50', '!']
    >>> tokenize("Don't panic, it's 3.50!", rules="kim")
    ['do', "n't", 'panic', ',', 'it', "'s", '3', '50', '!']
    >>> tokenize("How many?", rules="wordpunct_pairs")
    ['how', 'how many', 'many', 'many ?', '?']
    >>> tokenize("\u6253\u5f00 the door", rules="characters") == ["\u6253", "\u5f00", "the", "door"]
    True
    >>> tokenize("Don't panic!", rules="mediapipe"), tokenize("It's", rules="mediapipe_bert")
    (["Don't", 'panic'], ['it', "'", 's'])

    Reference: [Bird et al., NLTK](https://www.nltk.org/api/nltk.tokenize.regexp.html),
    `WordPunctTokenizer`; [Kim, EMNLP 2014](https://aclanthology.org/D14-1181/).
    Differs: on ASCII text without the control characters U+001C to U+001F, "wordpunct" gives what
    NLTK gives for `text.lower()`. Outside ASCII every character is a word character here, so that
    bytes decide: an em dash, a curly quote, an emoji or a no-break space stays inside its word,
    where NLTK would cut, and `É` keeps its case. "kim" lower-cases first, so that `IT'S` is cut
    like `it's`, and writes no backslash before `(`, `)` and `?`. MediaPipe's BERT tokenizer cuts
    words into pieces; a file of ours has entire words, and any other is unknown.
    """
    if not isinstance(text, str):
        checks.fail("text", "a str", text)
    return named(rules).tokens(text)
