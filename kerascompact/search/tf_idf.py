"""Linear classifier over words weighted by TF-IDF: a start and a teacher where labels are few."""

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np

from kerascompact.core.extras import require
from kerascompact.search.corpus import Corpus
from kerascompact.search.pretrained import (
    MOST_COMPARED,
    MOST_FITTED,
    Probe,
    compared,
    means,
    of_all_classes,
    output_layer,
)

PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)  # their inverses, to choose from
TOGETHER = (0.3, *PENALTIES)  # of rows with axes, which are longer
AXES = 128  # principal axes
DRAWS = 4  # of them, whose classifiers are averaged: they are found by random projections
WEIGHT = 3.0  # of their numbers beside those of words; 6 and 12 had no better dev on IMDB
FEW = 4_000  # labelled texts; with more, a trained table of all words knows as much


def can_fit() -> bool:
    """Whether scikit-learn is installed."""
    return find_spec("sklearn") is not None


def probe(corpus: Corpus, rules: str, fold: int = 0, seed: int = 0) -> Probe:
    """Fits a logistic regression on the training rows of a fold, and asks it about every text.

    Where there are texts without a label, it may also read TF-IDF on the principal axes of all
    texts (latent semantic analysis): words that occur together share what a label says of one of
    them. A cross-validation decides whether. Axes are found by random projections, so that the
    classifiers of four draws are averaged.

    Its table is that of a classifier over the mean of a text's vectors, whose logits before the
    bias are those of the regression by least squares: `idf_w W_w`, times one number, since a mean
    divides by the number of words, and TF-IDF by the length of its row.

    Args:
        corpus: Texts of one label each.
        rules: Token rules.
        fold: Which rows are dev, see `Corpus.rows`; they have no part in it.
        seed: Seed of the rows that are drawn, if there are many.

    Returns: The classifier; outputs are those of the regression.

    Reference: [Deerwester et al., JASIS 1990](https://doi.org/10.1002/(SICI)1097-4571(199009)41:6%3C391::AID-ASI1%3E3.0.CO;2-9),
    the axes.
    """
    tokens = corpus.tokens(rules)
    ids, classes = tokens.ids, len(corpus.label_names)
    rows, dev = corpus.rows(fold)
    weighted, features = _features(ids, len(tokens.vocabulary), dev)
    rows = np.random.default_rng(seed).permutation(rows)
    few, many = (of_all_classes(rows, corpus.labels, most) for most in (MOST_COMPARED, MOST_FITTED))
    seen = np.flatnonzero(features[many].getnnz(axis=0))  # the weights of others stay 0
    read, labels = features[:, seen], corpus.labels
    outputs, bias = np.zeros((len(ids), classes)), np.zeros(classes)
    kernel = np.zeros((len(tokens.vocabulary), classes))
    with require("threadpoolctl", "vectors").threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fit that is nearly at its end: it is good enough
        loss, best = compared(read[few], labels[few], PENALTIES)
        drawn = [np.zeros((0, len(kernel)))]
        if len(ids) > len(labels):
            axes = _axes(features, dev, seed)
            with_axes = compared(_with_axes(read, features, axes)[few], labels[few], TOGETHER)
            if with_axes[0] < loss:
                others = [_axes(features, dev, seed + draw) for draw in range(1, DRAWS)]
                drawn, best = [axes, *others], with_axes[1]
        model = require("sklearn.linear_model", "vectors").LogisticRegression
        for axes in drawn:
            both = _with_axes(read, features, axes)
            fitted = model(C=best, max_iter=200, tol=1e-3).fit(both[many], labels[many])
            outputs[:, fitted.classes_] += fitted.predict_proba(both) / len(drawn)
            own, shift = output_layer(fitted, classes)
            of_seen, of_axes = np.split(own, [len(seen)])
            kernel += WEIGHT * axes.T @ of_axes / len(drawn)
            kernel[seen] += of_seen / len(drawn)
            bias += shift / len(drawn)
    table = weighted[:, None] * kernel
    wanted, given = features[many] @ kernel, means(ids[many], table)
    scale = np.sum(wanted * given) / max(float(np.sum(given * given)), 1e-12)
    return Probe((table * scale).astype(np.float32), bias.astype(np.float32), outputs)


def _features(ids: np.ndarray, known: int, dev: np.ndarray) -> tuple[np.ndarray, Any]:
    """`idf` of each id, and `(1 + log n) idf` of each known token of a text, in rows of length 1.

    Args:
        ids: Tokens of each text; 0 and 1 are none.
        known: Number of ids.
        dev: Rows whose tokens do not count for `idf`.

    Returns: `(known,)`, and sparse `(rows, known)`.
    """
    sparse = require("scipy.sparse", "vectors")
    text = require("sklearn.feature_extraction.text", "vectors")
    rows, places = np.nonzero(ids > 1)
    counts = sparse.csr_matrix(
        (np.ones(len(rows), np.float32), (rows, ids[rows, places])), (len(ids), known)
    )  # equal places are summed
    made = text.TfidfTransformer(sublinear_tf=True)
    made.fit(counts[np.setdiff1d(np.arange(len(ids)), dev)])
    return made.idf_, made.transform(counts)


def _axes(features: Any, dev: np.ndarray, seed: int) -> np.ndarray:
    """First principal axes of all rows but dev, `(axes, known)`, with unit length."""
    seen = features[np.setdiff1d(np.arange(features.shape[0]), dev)]
    most = min(AXES, min(seen.shape) - 1)
    if most < 1:  # one word, or one text
        return np.zeros((0, seen.shape[1]), np.float32)
    made = require("sklearn.decomposition", "vectors").TruncatedSVD(most, random_state=seed)
    return made.fit(seen).components_.astype(np.float32)


def _with_axes(read: Any, features: Any, axes: np.ndarray) -> Any:
    """Sparse rows, with `WEIGHT` times what their features are on axes beside them, if any."""
    if not len(axes):
        return read
    sparse = require("scipy.sparse", "vectors")
    return sparse.hstack([read, WEIGHT * (features @ axes.T)]).tocsr()
