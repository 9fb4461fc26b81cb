"""A data set that a small model learns in seconds: the label is which word appears."""

import numpy as np

from kerascompact.datasets.base import Dataset, Split


def dataset(count=240, seed=0):
    random = np.random.default_rng(seed)
    fillers = [f"word{i}" for i in range(30)]

    def split(rows):
        labels = random.integers(0, 3, rows).astype(np.int32)
        texts = []
        for label in labels:
            words = [str(w) for w in random.choice(fillers, random.integers(2, 8))]
            words.insert(int(random.integers(len(words))), ("good", "bad", "odd")[label])
            texts.append(" ".join(words))
        return Split(texts, labels)

    return Dataset("tiny", split(count), split(60), split(60), ("good", "bad", "odd"), "made up")
