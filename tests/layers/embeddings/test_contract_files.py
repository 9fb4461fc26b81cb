"""What takes long of the contract of every embedding: XLA, `fit`, all recipes, other processes."""

import pytest

from contracts import check_files
from kerascompact import layers
from kerascompact.layers.embeddings.base import CompactEmbedding

EVERY = [getattr(layers, name) for name in layers.__all__]
EVERY = [
    one
    for one in EVERY
    if isinstance(one, type) and issubclass(one, CompactEmbedding) and hasattr(one, "EXAMPLE")
]


VARIANTS = (
    (layers.DPQEmbedding, {"method": "vq"}),
    (layers.AnchorTransformEmbedding, {"num_anchors": [3, 2], "mixture": "softmax"}),
)


@pytest.mark.slow
@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_keeps_the_contract_in_files(cls, tmp_path):
    check_files(cls, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("cls", "variant"), VARIANTS)
def test_variants_keep_it_as_well(cls, variant, tmp_path, monkeypatch):
    monkeypatch.setattr(cls, "EXAMPLE", {**cls.EXAMPLE, **variant})
    check_files(cls, tmp_path)
