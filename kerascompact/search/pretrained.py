"""Pre-trained vectors in a search: those of its words, and a linear classifier over their mean."""

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerascompact.core.arrays import load_npz, save_npz
from kerascompact.core.extras import require
from kerascompact.search.corpus import Corpus
from kerascompact.text.word_vectors import WordVectors

FILE = "vectors.npz"
PRIORS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # variances of a kernel's numbers, to choose from
MOST_COMPARED, MOST_FITTED = 2_000, 20_000  # texts that choose the variance, and that are fitted
PARTS = 3  # of the cross-validation


class Probe(NamedTuple):
    """A linear classifier over the mean of a text's vectors, `softmax(mean W + b)`.

    Args:
        table: `v_w W` of every word, `(ids, classes)`.
        bias: `b`, `(classes,)`.
        outputs: Probabilities of every text of the corpus, `(rows, classes)`.
    """

    table: np.ndarray
    bias: np.ndarray
    outputs: np.ndarray


def write(folder: Path, corpus: Corpus, vectors: WordVectors) -> float:
    """Keeps the vectors of a corpus' words in the folder of its search.

    Returns: Share of the words, by their counts, that have a vector.

    Raises: ValueError, if no word has one.
    """
    tokens = corpus.tokens(corpus.rules)
    found = vectors.table(tokens.vocabulary, counts=tokens.counts)
    save_npz(folder / FILE, table=found.weights, known=found.known)
    return found.coverage


def exist(folder: Path) -> bool:
    """Whether a search has pre-trained vectors."""
    return (folder / FILE).exists()


def table_of(folder: Path) -> np.ndarray:
    """The vectors of the corpus' words, as `WordVectors.table` makes them, `(ids, d)`."""
    return load_npz(folder / FILE)["table"]


def probe(corpus: Corpus, table: np.ndarray, fold: int = 0, seed: int = 0) -> Probe:
    """Fits a classifier over vectors that stay as they are, on the training rows of a fold.

    The penalty `||W||^2 / (2 s)` is that of the variance `s` which has the smallest log loss in a
    cross-validation, for features of the mean variance 1.

    Args:
        corpus: Texts of one label each.
        table: Vectors of its words, `(ids, d)`.
        fold: Which rows are dev, see `Corpus.rows`.
        seed: Seed of the rows that are drawn, if there are many.

    Raises: ImportError, without scikit-learn.
    """
    linear = require("sklearn.linear_model", "vectors")
    features = means(corpus.tokens(corpus.rules).ids, table)
    rows, _ = corpus.rows(fold)
    rows = np.random.default_rng(seed).permutation(rows)
    few, many = rows[:MOST_COMPARED], rows[:MOST_FITTED]
    scale = float(features[many].std(axis=0).mean()) or 1.0
    features /= scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fit that is nearly at its end: it is good enough
        prior = _prior(features[few], corpus.labels[few])
        model = linear.LogisticRegression(C=prior, max_iter=500)
        model.fit(features[many], corpus.labels[many])
    kernel = np.zeros((table.shape[1], len(corpus.label_names)), np.float32)
    bias = np.full(len(corpus.label_names), -20.0, np.float32)  # of classes without a text
    if len(model.classes_) == 2:
        kernel[:, model.classes_] = np.concatenate([-model.coef_, model.coef_]).T / 2
        bias[model.classes_] = np.concatenate([-model.intercept_, model.intercept_]) / 2
    else:
        kernel[:, model.classes_], bias[model.classes_] = model.coef_.T, model.intercept_
    logits = features @ kernel + bias
    outputs = np.exp(logits - logits.max(axis=1, keepdims=True))
    outputs /= outputs.sum(axis=1, keepdims=True)
    return Probe(table @ kernel / scale, bias, outputs)


def means(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Mean vector of each row's known words, `(rows, d)`; zeros, if it has none.

    >>> means(np.array([[2, 3, 1], [1, 0, 0]]), np.array([[0.0], [0.0], [1.0], [2.0]])).tolist()
    [[1.5], [0.0]]
    """
    total = np.zeros((len(ids), table.shape[1]), np.float32)
    for column in ids.T:  # a slot after the other: no (rows, slots, d)
        total += np.where(column[:, None] > 1, table[column], 0)
    return total / np.maximum((ids > 1).sum(axis=1), 1)[:, None]


def _prior(features: np.ndarray, labels: np.ndarray) -> float:
    """The variance with the smallest log loss; 0.01, if a class has one text only."""
    parts = min(PARTS, int(np.unique(labels, return_counts=True)[1].min()))
    if parts == 1:
        return 0.01
    selection = require("sklearn.model_selection", "vectors")
    model = require("sklearn.linear_model", "vectors").LogisticRegression(max_iter=200)
    folds = selection.StratifiedKFold(parts, shuffle=True, random_state=0)
    search = selection.GridSearchCV(model, {"C": PRIORS}, scoring="neg_log_loss", cv=folds)
    return float(search.fit(features, labels).best_params_["C"])
