"""What the base class of embeddings keeps in `fit`, on one plain and one with a proximal step."""

import pytest

from contracts import (
    check_base,
    lives_in_every_kind_of_model,
    masks_zero_in_a_network,
    trains_in_fit,
)
from kerascompact.layers import AnchorTransformEmbedding, ClusterEmbedding


def test_trains_and_predicts_in_every_kind_of_model():
    # test_weights fits one that its first batch builds, and below is one with an `Input`
    lives_in_every_kind_of_model(ClusterEmbedding, subclassed_only=True)
    masks_zero_in_a_network(ClusterEmbedding)


def test_trains_in_fit():
    trains_in_fit(ClusterEmbedding)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [ClusterEmbedding, AnchorTransformEmbedding])
def test_keeps_the_contract_of_the_base(cls):
    check_base(cls)
