"""Misspellings of words, in Python: a character inserted, two swapped, one typed twice."""

from collections.abc import Iterable, Sequence
from random import Random

from kerascompact.core import checks
from kerascompact.text import inputs

LETTERS = "abcdefghijklmnopqrstuvwxyz"
OPERATIONS = ("insert", "swap", "duplicate")
# Characters that a word must have: what lies between the first and the last may change.
SHORTEST = {"insert": 2, "swap": 4, "duplicate": 1}


def insert(word: str, random: Random, n: int = 1, letters: str = LETTERS) -> str:
    """Inserts `n` random letters into a word, each before any but its first character.

    >>> insert("sample", Random(1))
    'sasmple'

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.5.
    """
    for _ in range(n if len(word) >= SHORTEST["insert"] else 0):
        place = random.randrange(1, len(word))
        word = word[:place] + random.choice(letters) + word[place:]
    return word


def swap(word: str, random: Random, n: int = 1) -> str:
    """Swaps two neighbours `n` times, never the first or the last character.

    >>> swap("sample", Random(0))
    'sapmle'

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.5.
    Differs: "two characters" there; neighbours in its example and in
    [Gao et al., 2018](https://arxiv.org/abs/1801.04354), which it follows.
    """
    for _ in range(n if len(word) >= SHORTEST["swap"] else 0):
        place = random.randrange(1, len(word) - 2)
        word = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return word


def duplicate(word: str, random: Random, n: int = 1) -> str:
    """Repeats a random character of a word `n` times.

    >>> duplicate("sample", Random(3))
    'saample'

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.5.
    """
    if not word:
        return word
    place = random.randrange(len(word))
    return word[:place] + word[place] * n + word[place:]


def perturb(
    word: str,
    random: Random,
    probability: float = 1.0,
    n: int = 1,
    operations: Sequence[str] = OPERATIONS,
) -> str:
    """Misspells a word, or leaves it as it is.

    With the given probability, one of the operations that the word is long enough for is drawn and
    applied `n` times. The first and the last character do not change.

    Args:
        word: Any word; its characters are code points.
        random: Random generator of the draws.
        probability: Probability that a word is misspelt.
        n: Number of characters inserted, of swaps, or of copies.
        operations: Some of "insert", "swap", "duplicate".

    Raises: ValueError, if an argument is out of its range.

    >>> [perturb("sample", Random(seed)) for seed in range(4)]
    ['smaple', 'samdple', 'scample', 'saample']

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.5 and 3.1
    (probability 0.4).
    """
    check_options(probability, n, operations)
    if random.random() >= probability:
        return word
    return _misspelt(word, random, n, operations)


def misspellings(
    words: Iterable[str],
    number: int = 1,
    n: int = 1,
    operations: Sequence[str] = OPERATIONS,
    seed: int = 0,
) -> list[list[str]]:
    """Misspells every word, `number` times.

    Returns: `number` lists, each as long as `words`. A word that is too short for all of the
    operations stays.

    Raises: ValueError, if an argument is out of its range, or a word is no `str`.

    >>> misspellings(["king", "city"], 2, seed=1)
    [['kinzg', 'cidty'], ['knig', 'ctiy']]
    """
    checks.integer_in("number", number, 1)
    check_options(1.0, n, operations)
    random, words = Random(seed), inputs.strings("words", words)
    return [[_misspelt(word, random, n, operations) for word in words] for _ in range(number)]


def check_options(probability: float, n: int, operations: Sequence[str]) -> None:
    """Raises `ValueError`, if an argument of a perturbation is out of its range."""
    checks.number("probability", probability, at_least=0, up_to=1)
    checks.integer_in("n", n, 1)
    if isinstance(operations, str) or not len(operations):
        checks.fail("operations", f"some of {', '.join(OPERATIONS)}", operations)
    for operation in operations:
        checks.choice("operations", operation, OPERATIONS)


def _misspelt(word: str, random: Random, n: int, operations: Sequence[str]) -> str:
    possible = [name for name in operations if len(word) >= SHORTEST[name]]
    if not possible:
        return word
    return _FUNCTIONS[random.choice(possible)](word, random, n)


_FUNCTIONS = {"insert": insert, "swap": swap, "duplicate": duplicate}
