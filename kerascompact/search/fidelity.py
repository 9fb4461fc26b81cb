"""How long trainings are, and how many rows they read, so that a search has enough of them."""

from collections.abc import Sequence

import numpy as np

from kerascompact.text.scripts import without_spaces

TOKENS = 6_000_000  # that a training of middle length reads
EPOCHS = (3, 20)  # of such a training
SPEED = 1_000_000  # tokens that one core trains on in a second, all told: 1.1 to 1.8 million here
TRIALS = 15  # of a budget that a search should have at least
FINAL = 0.25  # share of the time for the final trainings, where trials have fewer rows
FEWEST = 2_000  # rows of a trial


def usual_epochs(tokens: int) -> int:
    """Epochs of a training of middle length on so many tokens.

    >>> usual_epochs(10_000), usual_epochs(1_000_000), usual_epochs(10_000_000)
    (20, 6, 3)
    """
    low, high = EPOCHS
    return min(max(round(TOKENS / max(tokens, 1)), low), high)


def rows_in_time(texts: Sequence[str], seconds: float, budgets: int) -> tuple[int, int]:
    """Most rows that a trial trains on, and the final training, so that time is enough.

    Args:
        texts: Texts of train.
        seconds: Time of the search, of all processes together.
        budgets: Number of budgets.

    >>> rows_in_time(["turn it up"] * 5000, 600, 1)
    (5000, 5000)
    >>> rows_in_time(["one of very many texts " * 8] * 500_000, 240, 1)
    (121212, 454545)
    """
    some = texts[:: max(1, len(texts) // 1000)]
    words = [len(text) if without_spaces([text]) else len(text.split()) for text in some]
    tokens = max(float(np.mean(words)), 1.0) * 1.1  # with punctuation
    epochs = usual_epochs(round(tokens * len(texts)))
    a_row = tokens * epochs / SPEED  # seconds
    trial = round(seconds / (budgets * TRIALS) / a_row)
    final = round(FINAL * seconds / budgets / a_row)
    most = len(texts)
    return min(max(trial, FEWEST), most), min(max(final, FEWEST), most)
