"""A classification set of made-up questions."""

import numpy as np

from kerascompact.datasets.base import Dataset, Split

QUESTIONS = {"who": ["wrote", "sang", "said"], "where": ["lies", "stands", "ends"]}


def questions(rows, seed):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, rows).astype(np.int32)
    texts = [
        f"{list(QUESTIONS)[label]} {random.choice(list(QUESTIONS.values())[label])} x{n % 7} ?"
        for n, label in enumerate(labels)
    ]
    return Split(texts, labels)


DATA = Dataset("made up", questions(160, 0), questions(40, 1), questions(40, 2), ("a", "b"), "")
