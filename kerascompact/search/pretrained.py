"""Pre-trained vectors in a search: those of its words, and a linear classifier over their mean."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kerascompact.core.arrays import load_npz, save_npz
from kerascompact.core.extras import require
from kerascompact.search.corpus import Corpus
from kerascompact.text.word_vectors import SIF, WordVectors

FILE = "vectors.npz"
PRIORS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)  # variances of a kernel's numbers, to choose from
MOST_COMPARED, MOST_FITTED = 2_000, 20_000  # texts that choose the variance, and that are fitted
PARTS = 3  # of the cross-validation
NEVER = -20.0  # logit of a class that has no text


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


def write(folder: Path, corpus: Corpus, vectors: Sequence[WordVectors]) -> float:
    """Keeps the vectors of a corpus' words in the folder of its search.

    Those of several files stand side by side, each with the variance 1.

    Returns: Share of the words, by their counts, that have a vector.

    Raises: ValueError, if no word has one in one of the files.
    """
    tokens = corpus.tokens(corpus.rules)
    found = [one.table(tokens.vocabulary) for one in vectors]
    tables = [one.weights / max(float(one.weights[one.known].std()), 1e-12) for one in found]
    shares = tokens.counts / tokens.counts.sum()
    known = np.any([one.known for one in found], axis=0)
    weights = (SIF / (SIF + shares)).astype(np.float32)
    save_npz(folder / FILE, table=np.concatenate(tables, axis=1), weights=weights)
    return float(shares[known].sum())


def exist(folder: Path) -> bool:
    """Whether a search has pre-trained vectors."""
    return (folder / FILE).exists()


def tables_of(folder: Path) -> list[np.ndarray]:
    """The vectors of the corpus' words, `(ids, d)`: as they are, and with the weights of
    `WordVectors.table`, by which frequent words count less."""
    found = load_npz(folder / FILE)
    return [found["table"], found["table"] * found["weights"][:, None]]


def probe(corpus: Corpus, tables: Sequence[np.ndarray], fold: int = 0, seed: int = 0) -> Probe:
    """Fits a classifier over vectors that stay as they are, on the training rows of a fold.

    Which table it reads, and the penalty `||W||^2 / (2 s)` with its variance `s`, are those with
    the smallest log loss in a cross-validation, for features of the mean variance 1.

    Args:
        corpus: Texts of one label each.
        tables: Vectors of its words to choose from, each `(ids, d)`.
        fold: Which rows are dev, see `Corpus.rows`.
        seed: Seed of the rows that are drawn, if there are many.

    Raises: ImportError, without scikit-learn.
    """
    linear, classes = require("sklearn.linear_model", "vectors"), len(corpus.label_names)
    ids, (rows, _) = corpus.tokens(corpus.rules).ids, corpus.rows(fold)
    rows = np.random.default_rng(seed).permutation(rows)
    few, many = (of_all_classes(rows, corpus.labels, most) for most in (MOST_COMPARED, MOST_FITTED))
    one_thread = require("threadpoolctl", "vectors").threadpool_limits(1)  # more are slower
    with one_thread, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fit that is nearly at its end: it is good enough
        tried = []
        for table in tables:
            features = means(ids, table)
            scale = float(features[many].std(axis=0).mean()) or 1.0
            loss, prior = compared(features[few] / scale, corpus.labels[few], PRIORS)
            tried.append((loss, prior, scale, table, features / scale))
        _, prior, scale, table, features = min(tried, key=lambda one: one[0])
        model = linear.LogisticRegression(C=prior, max_iter=200, tol=1e-3)
        model.fit(features[many], corpus.labels[many])
    kernel, bias = output_layer(model, classes)
    logits = features @ kernel + bias
    outputs = np.exp(logits - logits.max(axis=1, keepdims=True))
    outputs /= outputs.sum(axis=1, keepdims=True)
    return Probe(table @ kernel / scale, bias, outputs)


def output_layer(model: Any, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Kernel `(features, classes)` and bias of a fitted logistic regression, as a softmax has them.

    A class without a text has zeros, and a bias by which it is never the answer.
    """
    kernel = np.zeros((model.coef_.shape[1], classes), np.float32)
    bias = np.full(classes, NEVER, np.float32)
    if len(model.classes_) == 2:
        kernel[:, model.classes_] = np.concatenate([-model.coef_, model.coef_]).T / 2
        bias[model.classes_] = np.concatenate([-model.intercept_, model.intercept_]) / 2
    else:
        kernel[:, model.classes_], bias[model.classes_] = model.coef_.T, model.intercept_
    return kernel, bias


def means(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Mean vector of each row's known words, `(rows, d)`; zeros, if it has none.

    >>> means(np.array([[2, 3, 1], [1, 0, 0]]), np.array([[0.0], [0.0], [1.0], [2.0]])).tolist()
    [[1.5], [0.0]]
    """
    total = np.zeros((len(ids), table.shape[1]), np.float32)
    for column in ids.T:  # a slot after the other: no (rows, slots, d)
        total += np.where(column[:, None] > 1, table[column], 0)
    return total / np.maximum((ids > 1).sum(axis=1), 1)[:, None]


def of_all_classes(rows: np.ndarray, labels: np.ndarray, most: int) -> np.ndarray:
    """The first `most` rows, and all those of classes that have none among them.

    >>> of_all_classes(np.array([3, 1, 0, 2]), np.array([5, 5, 8, 5]), 2).tolist()
    [3, 1, 2]
    """
    kept, rest = rows[:most], rows[most:]
    return np.concatenate([kept, rest[~np.isin(labels[rest], labels[kept])]])


def compared(features: Any, labels: np.ndarray, priors: Sequence[float]) -> tuple[float, float]:
    """Compares penalties of a logistic regression by cross-validation.

    Args:
        features: Rows to fit, dense or sparse.
        labels: Their classes.
        priors: Inverses of the penalties.

    Returns: The smallest log loss, and its prior; 0 and a middle one, if a class has one text only.
    """
    parts = min(PARTS, int(np.unique(labels, return_counts=True)[1].min()))
    if parts == 1:
        return 0.0, priors[len(priors) // 2]
    selection = require("sklearn.model_selection", "vectors")
    model = require("sklearn.linear_model", "vectors").LogisticRegression(max_iter=200, tol=1e-3)
    folds = selection.StratifiedKFold(parts, shuffle=True, random_state=0)
    search = selection.GridSearchCV(model, {"C": [*priors]}, scoring="neg_log_loss", cv=folds)
    search.fit(features, labels)
    return -float(search.best_score_), float(search.best_params_["C"])
