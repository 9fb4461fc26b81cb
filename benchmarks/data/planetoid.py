"""Citation graphs: which field is a paper from? Not in the package: no licence is stated."""

import io
import os
import warnings
from typing import Any, NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.datasets.base import Known, data_dir, read_known

SOURCE = "github.com/tkipf/gcn at 39a4089, gcn/data/ind.*, as one .npz of plain arrays per graph"
ABOUT = (
    "{}, a citation graph in the Planetoid split. No licence stated; research use. Cite Sen et "
    "al., AI Magazine 2008, and Yang et al., ICML 2016."
)
FILES = {  # rows: nodes
    "cora": Known(
        "planetoid/cora.npz",
        "f3c3c3345dc66279e5ef753a72c9f3c6b4c8d7afd12f7f78c561386e73799eb9",
        2_708,
    ),
    "citeseer": Known(
        "planetoid/citeseer.npz",
        "772c61f33e994f5000647ba646a237e9cd1575903fa529333af8b69a1736a867",
        3_327,
    ),
    "pubmed": Known(
        "planetoid/pubmed_partial_features.npz",
        "bb17dd1ccc8040bfa834ce423dad1676c5d85679c2f886fbc10d6b8ccf861a94",
        19_717,
    ),
}


class CitationGraph(NamedTuple):
    """Nodes with sparse features, some of them labelled, and edges between them.

    Args:
        name: What `load` calls it.
        features: SciPy CSR matrix `(N, F)`, float32, as published: not normalized.
        edges: `(E, 2)` int32, each undirected edge once.
        labels: `(N,)` int32; -1 where none is known.
        num_classes: Number of different labels.
        train, dev, test: Node numbers of each split, int32.
        feature_known: `(N,)` booleans: whether the row of `features` is the published one. Where
            it is not, the row is empty.
        about: Source, terms and what to cite, in a line or two.
    """

    name: str
    features: Any
    edges: np.ndarray
    labels: np.ndarray
    num_classes: int
    train: np.ndarray
    dev: np.ndarray
    test: np.ndarray
    feature_known: np.ndarray
    about: str


def load(name: str, data: str | os.PathLike[str] | None = None) -> CitationGraph:
    """Loads a citation graph in its usual split: 20 labelled nodes per class to train on.

    | name | nodes | features | edges | classes | train | dev | test |
    |---|---|---|---|---|---|---|---|
    | "cora" | 2,708 | 1,433 | 5,278 | 7 | 140 | 500 | 1,000 |
    | "citeseer" | 3,327 | 3,703 | 4,676 | 6 | 120 | 500 | 1,000 |
    | "pubmed" | 19,717 | 500 | 44,327 | 3 | 60 | 500 | 1,000 |

    Citeseer has 124 self-loops among its edges, and 15 nodes without edges, features and label.
    PubMed's file has the features of its train and test nodes only; `load` warns, and a number
    measured on it is not PubMed's.

    Args:
        name: Which graph.
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
    Raises: ValueError, if a file is missing or not the known one; ImportError, without SciPy
        (`pip install 'kerascompact[compress]'`).
    Example:
    >>> load("cora").features.shape  # doctest: +SKIP
    (2708, 1433)

    Reference: [Yang et al., ICML 2016](https://arxiv.org/abs/1603.08861), sec. 5.2.
    """
    checks.choice("name", name, tuple(FILES))
    sparse = require("scipy.sparse", "compress")
    known = FILES[name]
    content = read_known(known, data_dir(data), SOURCE)
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    parts = tuple(arrays[f"features_{part}"] for part in ("data", "indices", "indptr"))
    features = sparse.csr_matrix(parts, shape=tuple(arrays["features_shape"]), dtype=np.float32)
    if features.shape[0] != known.rows:
        raise ValueError(
            f"{known.path} must have {known.rows} nodes. Received: {features.shape[0]} nodes."
        )
    feature_known = arrays.get("feature_known", np.ones(known.rows, bool))
    if not feature_known.all():
        warnings.warn(
            f"{name}: the features of {np.count_nonzero(~feature_known)} of {known.rows} nodes are "
            "missing from this file (see `feature_known`); results on it are not comparable.",
            stacklevel=2,
        )
    train, dev, test = (arrays[f"{part}_idx"].astype(np.int32) for part in ("train", "val", "test"))
    return CitationGraph(
        name,
        features,
        arrays["edges"].astype(np.int32),
        arrays["labels"].astype(np.int32),
        int(arrays["num_classes"]),
        train,
        dev,
        test,
        feature_known,
        ABOUT.format({"cora": "Cora", "citeseer": "Citeseer", "pubmed": "PubMed"}[name]),
    )
