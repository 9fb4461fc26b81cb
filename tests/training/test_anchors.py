"""Reading a transformation: words of anchors, largest pairs, sparsity, a picture."""

import io

import numpy as np
import pytest
import scipy.sparse

from kerascompact.layers import AnchorTransformEmbedding
from kerascompact.training import anchors

WORDS = ["the", "year", "stock", "bonds", "month", "week", "notes"]
IDS = [1, 2]
TRANSFORM = np.zeros((7, 2), np.float32)
TRANSFORM[[1, 2], [0, 1]] = 1
TRANSFORM[[4, 5, 5], [0, 0, 1]] = 0.5, 0.75, 0.125
TRANSFORM[[3, 6], [1, 1]] = 0.5, -0.9


@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_words_of_anchors_are_sorted_by_entry(kind):
    found = anchors.words_of_anchors(kind(TRANSFORM), WORDS, IDS)
    assert found == {"year": ["week", "month"], "stock": ["bonds", "week"]}
    assert anchors.words_of_anchors(kind(TRANSFORM), WORDS, IDS, top=1)["stock"] == ["bonds"]
    unnamed = anchors.words_of_anchors(kind(TRANSFORM), WORDS)
    assert unnamed["anchor 0"] == ["year", "week", "month"]


def test_largest_pairs_leave_words_that_are_the_anchor_out():
    found = anchors.largest_pairs(TRANSFORM, WORDS, IDS, top=2)
    assert found == [("week", "year", 0.75), ("bonds", "stock", 0.5)]
    assert anchors.largest_pairs(TRANSFORM, WORDS)[0] == ("year", "anchor 0", 1.0)


def test_statistics_of_rows():
    assert anchors.row_statistics(TRANSFORM) == {
        "entries": 7,
        "sparsity": 0.5,
        "mean": 1.0,
        "median": 1.0,
        "longest": 2,
        "empty": 1 / 7,
    }


def test_reads_a_layer():
    layer = AnchorTransformEmbedding(7, 3, 2, anchor_ids=IDS)
    layer.build()
    layer.transform.assign(TRANSFORM)
    found = layer.sparse_transform()
    assert found.shape == (7, 2) and found.nnz == 6  # what is below 0 is 0
    assert anchors.words_of_anchors(found, WORDS, IDS)["year"] == ["week", "month"]


@pytest.mark.few(1)
@pytest.mark.parametrize("transform", [TRANSFORM, scipy.sparse.random(5000, 60, 0.8), [[0.0]]])
def test_draws_a_picture(transform):
    transform = np.array(transform) if isinstance(transform, list) else transform
    figure = anchors.plot_pattern(transform, WORDS[1:3] if transform is TRANSFORM else None)
    pattern, counts = figure.axes
    dots = pattern.collections[0].get_offsets() if pattern.collections else []
    entries = anchors.row_statistics(transform)["entries"]
    assert len(dots) == min(entries, anchors.DOTS)
    assert sum(bar.get_height() for bar in counts.patches) == transform.shape[0]
    figure.savefig(io.BytesIO(), format="png")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": WORDS[1:]}, "`words` must be a list of 7 words"),
        ({"anchor_ids": [1]}, "`anchor_ids` must be 2 ids"),
        ({"anchor_ids": [1, 7]}, r"`anchor_ids` must lie in \[0, 7\)"),
        ({"top": 0}, "`top` must be an integer >= 1"),
        ({"transform": np.ones(3)}, r"`transform` must be a matrix \(V, \|A\|\)"),
    ],
)
@pytest.mark.parametrize("read", [anchors.words_of_anchors, anchors.largest_pairs])
def test_refuses_what_does_not_fit(read, change, message):
    with pytest.raises(ValueError, match=message):
        read(**{"transform": TRANSFORM, "words": WORDS, "anchor_ids": IDS, **change})
