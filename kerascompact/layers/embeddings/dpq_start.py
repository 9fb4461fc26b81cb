"""Start of DPQ from a trained table: queries, keys and codebooks that give its product codes."""

from typing import NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.ops.directions import most_directions, spread_directions
from kerascompact.ops.kmeans import kmeans
from kerascompact.ops.product_codes import product_codes


class Start(NamedTuple):
    """Weights of a `DPQEmbedding`; all `None`: its initializers draw them."""

    queries: np.ndarray | None
    codebooks: np.ndarray | None
    keys: np.ndarray | None


def start_of(
    table: np.ndarray, code_length: int, cardinality: int, dot_product: bool, shared: bool
) -> Start:
    """The weights whose codes and rows are those of product quantization of a table.

    With distances ("vq") a word's query is its own vector, and the nearest row of the codebook is
    its code. A dot product ("sx") would prefer the longest keys to the nearest. So keys are unit
    vectors in the directions of the rows, pushed apart, and the query of a word is the keys of its
    codes. A line has only two directions, so pieces of width 1 use two rows.

    Args:
        table: Table of vectors, `(V, d)` float32.
        code_length: Number of codebooks `D`.
        cardinality: Number of codes `K` of a codebook.
        dot_product: Whether codes are found by dot products.
        shared: Whether one codebook serves all pieces.

    >>> table = np.array([[0, 1], [0, 2], [5, 1]], "float32")
    >>> start = start_of(table, 2, 2, dot_product=True, shared=False)
    >>> start.queries.tolist()
    [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]]
    """
    width = table.shape[1] // code_length
    points = table.reshape(-1, width) if shared else table
    checks.integer_in("cardinality", cardinality, 2, len(points))  # as the compressor
    used = most_directions(width, cardinality) if dot_product else cardinality
    if shared:
        codes, codebooks = kmeans(points, used, iterations=25, max_points=65_536)
        codes, codebooks = codes.reshape(len(table), code_length), codebooks[None]
    else:
        codes, codebooks = product_codes(table, code_length, used)
    keys, queries = None, table
    if dot_product:
        keys = np.stack([spread_directions(book) for book in codebooks])
        books = 0 if shared else np.arange(code_length)
        queries = keys[books, codes].reshape(table.shape)
    # Unused rows: no query is nearest to a key of zeros.
    missing = [(0, 0), (0, cardinality - used), (0, 0)]
    filled = [None if one is None else np.pad(one, missing) for one in (codebooks, keys)]
    found = [one if one is None or not shared else one[0] for one in filled]
    return Start(queries, *found)
