"""Linear classifier over words and pairs weighted by TF-IDF: a teacher where labels are few."""

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np

from kerascompact.core.extras import require
from kerascompact.search.corpus import Corpus
from kerascompact.search.pretrained import MOST_COMPARED, MOST_FITTED, compared

PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)  # their inverses, to choose from


def can_fit() -> bool:
    """Whether scikit-learn is installed."""
    return find_spec("sklearn") is not None


def outputs_of(corpus: Corpus, fold: int = 0, seed: int = 0) -> np.ndarray:
    """Fits a logistic regression on the training rows of a fold, and asks it about every text.

    Args:
        corpus: Texts of one label each.
        fold: Which rows are dev, see `Corpus.rows`; they have no part in it.
        seed: Seed of the rows that are drawn, if there are many.

    Returns: Probabilities, `(rows, classes)`; 0 for a class without a text.
    """
    linear = require("sklearn.linear_model", "vectors")
    rows, dev = corpus.rows(fold)
    features = _features(corpus.tokens(f"{corpus.rules}_pairs").ids, dev)
    rows = np.random.default_rng(seed).permutation(rows)
    few, many = rows[:MOST_COMPARED], rows[:MOST_FITTED]
    with require("threadpoolctl", "vectors").threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fit that is nearly at its end: it is good enough
        _, best = compared(features[few], corpus.labels[few], PENALTIES)
        model = linear.LogisticRegression(C=best, max_iter=200, tol=1e-3)
        model.fit(features[many], corpus.labels[many])
    outputs = np.zeros((features.shape[0], len(corpus.label_names)))
    outputs[:, model.classes_] = model.predict_proba(features)
    return outputs


def _features(ids: np.ndarray, dev: np.ndarray) -> Any:
    """`(1 + log n) idf` of each known token of a text, in rows of length 1, sparse `(rows, ids)`.

    Args:
        ids: Tokens of each text; 0 and 1 are none.
        dev: Rows whose tokens do not count for `idf`.
    """
    sparse = require("scipy.sparse", "vectors")
    text = require("sklearn.feature_extraction.text", "vectors")
    rows, places = np.nonzero(ids > 1)
    counts = sparse.csr_matrix(
        (np.ones(len(rows), np.float32), (rows, ids[rows, places])), (len(ids), int(ids.max()) + 1)
    )  # equal places are summed
    made = text.TfidfTransformer(sublinear_tf=True)
    made.fit(counts[np.setdiff1d(np.arange(len(ids)), dev)])
    return made.transform(counts)
