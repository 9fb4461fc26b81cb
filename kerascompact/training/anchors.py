"""Inspection of anchors and their transform: the words that use them, and how sparsely."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.forms.entries import read_entries
from kerascompact.text.vocabulary import Vocabulary

DOTS = 200_000  # entries that a picture shows at most


def words_of_anchors(
    transform: Any,
    words: Vocabulary | Sequence[str],
    anchor_ids: Sequence[int] | None = None,
    top: int = 10,
) -> dict[str, list[str]]:
    """Lists the words that each anchor induces most, the largest entry first.

    Args:
        transform: Transform `T` `(V, |A|)`, a layer's `sparse_transform()` or an array.
        words: The vocabulary, or the word of every id.
        anchor_ids: Word id of each anchor; `None`: anchors are "anchor 0", "anchor 1", ...
        top: Largest number of words per anchor.

    Returns: Anchor -> words, in the order of the anchors. Neither the anchor's own word nor
    negative entries are listed.

    Raises: ValueError, if `words` or `anchor_ids` do not fit `transform`.

    >>> transform = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.7], [0.5, 0.0]])
    >>> words_of_anchors(transform, ["year", "stock", "bonds", "month"], anchor_ids=[0, 1])
    {'year': ['month', 'bonds'], 'stock': ['bonds']}

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), Table 4, left.
    """
    rows, columns, values, names, anchors = _read(transform, words, anchor_ids)
    checks.integer_in("top", top, 1)
    found: dict[str, list[str]] = {}
    order = np.lexsort((rows, -values, columns))
    starts = np.searchsorted(columns[order], np.arange(len(anchors) + 1))
    for anchor, name in enumerate(anchors):
        own = None if anchor_ids is None else anchor_ids[anchor]
        ids = [i for i in order[starts[anchor] : starts[anchor + 1]] if rows[i] != own]
        found[name] = [names[rows[i]] for i in ids[:top] if values[i] > 0]
    return found


def largest_pairs(
    transform: Any,
    words: Vocabulary | Sequence[str],
    anchor_ids: Sequence[int] | None = None,
    top: int = 10,
) -> list[tuple[str, str, float]]:
    """The largest entries of `T` as (word, anchor, entry).

    Args:
        transform: Transform `T` `(V, |A|)`, an array or a SciPy matrix; a row is a word.
        words: The vocabulary, or the word of every id.
        anchor_ids: Word id of each anchor; `None`: anchors are "anchor 0", "anchor 1", ...
        top: Largest number of pairs.

    Returns: The largest first, without pairs of a word and itself.

    Raises: ValueError, if `words` or `anchor_ids` do not fit `transform`.

    >>> transform = np.array([[1.0, 0.0], [0.0, 1.0], [0.25, 0.75]])
    >>> largest_pairs(transform, ["year", "stock", "junk"], anchor_ids=[0, 1], top=1)
    [('junk', 'stock', 0.75)]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), Table 4, right.
    """
    rows, columns, values, names, anchors = _read(transform, words, anchor_ids)
    checks.integer_in("top", top, 1)
    other = np.ones(len(rows), bool)
    if anchor_ids is not None:
        other = rows != np.asarray(anchor_ids)[columns]
    order = np.argsort(-values[other], kind="stable")[:top]
    entries = zip(rows[other][order], columns[other][order], values[other][order], strict=True)
    return [(names[row], anchors[column], float(value)) for row, column, value in entries]


def row_statistics(transform: Any) -> dict[str, float]:
    """Counts of the entries of `T`, which tell how sparse its rows are.

    Args:
        transform: Transform `T` `(V, |A|)`, an array or a SciPy matrix; a row is a word.

    Returns: `entries` that are not 0, `sparsity` (the share of those that are), the `mean`,
    `median` and `longest` of the entries in a row, and `empty`, the share of rows without any.

    >>> row_statistics(np.array([[0, 1, 0, 2], [0, 0, 0, 0]]))["sparsity"]
    0.75
    """
    lengths, _, values = read_entries(transform)
    return {
        "entries": len(values),
        "sparsity": 1 - len(values) / (transform.shape[0] * transform.shape[1]),
        "mean": float(lengths.mean()),
        "median": float(np.median(lengths)),
        "longest": int(lengths.max()),
        "empty": float(np.mean(lengths == 0)),
    }


def plot_pattern(transform: Any, anchors: Sequence[str] | None = None) -> Any:
    """Plots where the entries of `T` are, words from left to right, and entries per row.

    Args:
        transform: Transform `T` `(V, |A|)`, an array or a SciPy matrix; a row is a word.
        anchors: Names to write beside the anchors' rows.

    Returns: A matplotlib figure. Of more than 200,000 entries it shows a sample.

    Raises: ImportError, without matplotlib (`pip install 'kerascompact[plot]'`).

    >>> len(plot_pattern(np.eye(3), anchors=["year", "stock", "junk"]).axes)
    2
    """
    require("matplotlib", "plot")
    figures = require("matplotlib.figure", "plot")
    lengths, columns, values = read_entries(transform)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    shown = np.linspace(0, len(rows) - 1, min(len(rows), DOTS)).astype(int)
    figure = figures.Figure(figsize=(9, 6), layout="constrained")
    pattern, counts = figure.subplots(2, height_ratios=[3, 1])
    if len(shown):
        # The sign as a colour; the absolute value fades out towards 0.
        strength = np.abs(values[shown]) / np.abs(values).max()
        colours = np.where(values[shown] > 0, "#0072B2", "#D55E00")
        look = dict(c=colours, alpha=0.15 + 0.85 * strength, linewidths=0)
        pattern.scatter(rows[shown], columns[shown], np.clip(2e4 / len(shown), 0.2, 12), **look)
    pattern.set(xlim=(-0.5, len(lengths) - 0.5), ylim=(transform.shape[1] - 0.5, -0.5))
    pattern.set(xlabel="id of the word", ylabel="anchor")
    if anchors is not None:
        pattern.set_yticks(range(len(anchors)), anchors, fontsize=7)
    found, words = np.unique(lengths, return_counts=True)
    counts.bar(found, words, color="#888888")
    counts.set(xlabel="entries in a row", ylabel="words")
    return figure


def _read(transform: Any, words: Any, anchor_ids: Sequence[int] | None) -> tuple[Any, ...]:
    """Rows, columns and values of the entries, and the names of words and anchors."""
    lengths, columns, values = read_entries(transform)
    if isinstance(words, Vocabulary):
        words = [words.word_of(id) for id in range(len(words))]
    if len(words) != len(lengths):
        checks.fail("words", f"a list of {len(lengths)} words, one per row of T", words)
    anchors = [f"anchor {anchor}" for anchor in range(transform.shape[1])]
    if anchor_ids is not None:
        ids = checks.ids_below("anchor_ids", np.asarray(anchor_ids), len(lengths))
        if ids.shape != (transform.shape[1],):
            checks.fail("anchor_ids", f"{transform.shape[1]} ids, one per column of T", anchor_ids)
        anchors = [words[id] for id in ids]
    return np.repeat(np.arange(len(lengths)), lengths), columns, values, words, anchors
