"""What a file has to know words by, and bytes of these arrays."""

import math
from collections.abc import Sequence

from kerascompact.core.storage import code_bits
from kerascompact.search.setting import Setting
from kerascompact.text import fingerprints
from kerascompact.text.buckets import Buckets
from kerascompact.text.slot_vocabulary import SlotVocabulary
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary


def word_bytes(setting: Setting) -> list[int]:
    """Bytes of each array that a file knows words by.

    >>> word_bytes(Setting(1002, 8)), word_bytes(Setting(1002, 8, stored="slots"))
    ([4000, 0], [1000])
    >>> word_bytes(Setting(1002, 8, stored="slots", tag_bits=24))
    [2000, 1000]
    """
    words = setting.words - NUM_RESERVED
    if setting.stored == "slots":
        return {8: [words], 16: [2 * words], 24: [2 * words, words]}[setting.tag_bits]
    if setting.stored == "buckets":
        return []
    parts = [4 * words, words * (setting.fingerprint_bits - 32) // 8]
    if setting.method != "standard":  # else ids are in the order of the fingerprints
        parts.append(math.ceil(words * order_bits(setting) / 8))
    return parts


def order_bits(setting: Setting) -> int:
    """Bits a word of the order of fingerprints, by which a file unpacks ids; 0, if it has none."""
    if setting.stored != "fingerprints" or setting.method == "standard":
        return 0
    return code_bits(max(setting.words - NUM_RESERVED, 1))


def some_words(setting: Setting, words: Sequence[str]) -> Vocabulary | Buckets:
    """A vocabulary of a setting, of any words."""
    if setting.stored == "buckets":
        return Buckets(setting.words - 1, setting.rules)
    if setting.stored == "slots":
        return SlotVocabulary.from_ranked(
            words, setting.words, setting.rules, tag_bits=setting.tag_bits
        )
    ordered = list(words)
    if setting.method == "standard":
        ordered = [ordered[place] for place in fingerprints.index(ordered).order]
    return Vocabulary(ordered, setting.rules)


def sample_words(count: int) -> list[str]:
    """Different words without a meaning.

    >>> sample_words(2)
    ['a0', 'a1']
    """
    return [f"a{number}" for number in range(count)]
