"""Whether texts are in a script without spaces between words, where a word is not a token."""

import re
from collections.abc import Sequence

# Runs of letters that stand without spaces between words, by their blocks in Unicode, and how long
# a word is on average at most: texts that were cut into words before have spaces, too.
_RUNS = (
    # Han, kana, bopomofo, and their marks: words of one to three characters
    (re.compile("[\u3001-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u9fff\uf900-\ufaff"
                "\uff66-\uff9f\U00020000-\U0003ffff]+"), 3),
    # Thai, Lao, Tibetan, Myanmar, Khmer, Javanese and their neighbours: letters and signs
    (re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u1aad\u1b00-\u1b7f"
                "\ua980-\ua9ff\uaa60-\uaa7f]+"), 7),
)  # fmt: skip


def without_spaces(texts: Sequence[str]) -> bool:
    """Whether most texts have no spaces between words, as in Chinese, Japanese or Thai.

    A text has none if more than a third of its characters are of such a script, and what stands
    without a space is longer than a word.

    >>> without_spaces(["\u6253\u5f00\u5ba2\u5385\u7684\u706f"]), without_spaces(["lights on"])
    (True, False)
    >>> without_spaces(["\u6253\u5f00 \u5ba2\u5385 \u7684 \u706f"])  # cut into words
    False
    """
    return sum(map(_without_spaces, texts)) > len(texts) / 2


def _without_spaces(text: str) -> bool:
    if text.isascii():
        return False
    length = sum(map(len, text.split()))
    for pattern, longest in _RUNS:
        runs = pattern.findall(text)
        if max(length / 3, longest * len(runs)) < sum(map(len, runs)):
            return True
    return False
