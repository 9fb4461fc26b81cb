"""Start of a table: the vectors of the model of all words by which the words were chosen."""

import numpy as np

from kerascompact.search.setting import Setting
from kerascompact.search.tokens import Tokens
from kerascompact.text.vocabulary import UNKNOWN, Vocabulary


def start_table(
    setting: Setting, vocabulary: Vocabulary, tokens: Tokens, table: np.ndarray, seed: int = 0
) -> np.ndarray:
    """Vectors of a vocabulary's words, on the principal axes of all of them.

    Args:
        setting: Its width is that of the vectors, of a weighted mean with a last column of zeros:
            equal weights. Columns beyond those of the table are drawn, as large as the others.
        vocabulary: The words.
        tokens: All words of the corpus.
        table: Vectors of all words, `(ids of tokens, d)`.
        seed: Seed of the columns that are drawn.

    Returns: float32 `(ids, width)`.

    >>> words = Vocabulary(["up", "down"])
    >>> tokens = Tokens(words, np.zeros((0, 1), int), np.ones(4))
    >>> start_table(Setting(4, 1), words, tokens, np.eye(4)).shape
    (4, 1)
    """
    ids = [tokens.vocabulary.id_of(word) if word else UNKNOWN for word in vocabulary.words]
    rows = table[[0, UNKNOWN, *ids]].astype(np.float32)
    width = setting.width - (setting.model == "weighted")
    axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:width]
    rows = rows @ axes.T
    bound = np.sqrt(3) * rows.std()  # of a uniform distribution as wide
    size = len(rows), width - rows.shape[1]
    drawn = np.random.default_rng(seed).uniform(-bound, bound, size)
    weights = np.zeros((len(rows), setting.width - width))
    return np.concatenate([rows, drawn, weights], axis=1).astype(np.float32)


def can_start(setting: Setting) -> bool:
    """Whether a setting has words that a model of all words chose, and a table of its own.

    >>> can_start(Setting(90, 8)), can_start(Setting(90, 8, chosen="frequency"))
    (True, False)
    """
    by_norm = setting.chosen in ("norm", "norm_and_count")
    return by_norm and setting.method == "standard" and setting.stored != "buckets"
