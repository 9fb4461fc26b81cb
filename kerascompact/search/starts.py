"""Start of a model: the vectors and the output layer of a model of all words."""

from typing import NamedTuple

import keras
import numpy as np

from kerascompact.core.keras_graph import maker_of
from kerascompact.search.setting import Setting
from kerascompact.search.tokens import Tokens
from kerascompact.text.vocabulary import UNKNOWN, Vocabulary

OF_MEANS = ("mean", "weighted")  # models whose output layer reads a mean of vectors


class Start(NamedTuple):
    """Where a training starts.

    Args:
        table: Vectors, `(ids, width)`.
        kernel: Kernel of the output layer, `(width, classes)`; `None`: drawn.
        bias: Its bias, `(classes,)`.
    """

    table: np.ndarray
    kernel: np.ndarray | None = None
    bias: np.ndarray | None = None

    def set_head(self, model: keras.Model, setting: Setting) -> None:
        """Sets the output layer of a model whose embedding has the table."""
        head = maker_of(model.outputs[0])
        if self.kernel is None or setting.model not in OF_MEANS or setting.head_rank:
            return
        head.kernel.assign(self.kernel[: head.kernel.shape[0]])
        head.bias.assign(self.bias)


def start_at(
    setting: Setting, vocabulary: Vocabulary, tokens: Tokens, whole: Start, seed: int = 0
) -> Start:
    """The part of a model of all words that fits a vocabulary and a width.

    Its vectors are put on their principal axes, of which the first ones stay; the output layer
    follows, so that the logits of a mean are those of the model but for the axes that are left out.

    Args:
        setting: Its width is that of the vectors, of a weighted mean with a last column of zeros:
            equal weights. Columns beyond those of the table are drawn, as large as the others.
        vocabulary: The words.
        tokens: All words of the corpus.
        whole: The model of all words.
        seed: Seed of the columns that are drawn.

    Returns: Table, float32 `(ids, width)`, and output layer.

    >>> words = Vocabulary(["up", "down"])
    >>> tokens = Tokens(words, np.zeros((0, 1), int), np.ones(4))
    >>> start_at(Setting(4, 1), words, tokens, Start(np.eye(4))).table.shape
    (4, 1)
    """
    ids = [tokens.vocabulary.id_of(word) if word else UNKNOWN for word in vocabulary.words]
    rows = whole.table[[0, UNKNOWN, *ids]].astype(np.float32)
    width = setting.width - (setting.model == "weighted")
    mean = rows.mean(axis=0)
    axes = np.linalg.svd(rows - mean, full_matrices=False)[2][:width]
    rows = rows @ axes.T
    bound = np.sqrt(3) * rows.std()  # of a uniform distribution as wide
    size = len(rows), width - rows.shape[1]
    drawn = np.random.default_rng(seed).uniform(-bound, bound, size)
    weights = np.zeros((len(rows), setting.width - width))
    table = np.concatenate([rows, drawn, weights], axis=1).astype(np.float32)
    if whole.kernel is None:
        return Start(table)
    kernel = np.zeros((setting.width, whole.kernel.shape[1]), np.float32)
    kernel[: len(axes)] = axes @ whole.kernel
    left_out = mean - axes.T @ (axes @ mean)  # the same for every word: the bias has it
    return Start(table, kernel, whole.bias + left_out @ whole.kernel)


def can_start(setting: Setting) -> bool:
    """Whether a setting has words that a model of all words chose, and a table of its own.

    >>> can_start(Setting(90, 8)), can_start(Setting(90, 8, chosen="frequency"))
    (True, False)
    """
    by_norm = setting.chosen in ("norm", "norm_and_count")
    return by_norm and setting.method == "standard" and setting.stored != "buckets"
