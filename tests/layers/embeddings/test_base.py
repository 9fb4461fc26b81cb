"""What the base class of embeddings keeps in `fit`, on one plain and one with a proximal step."""

import pytest

from contracts import check_base, lives_in_every_kind_of_model
from kerascompact.layers import AnchorTransformEmbedding, ClusterEmbedding


def test_trains_and_predicts_in_every_kind_of_model():
    lives_in_every_kind_of_model(ClusterEmbedding)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [ClusterEmbedding, AnchorTransformEmbedding])
def test_keeps_the_contract_of_the_base(cls):
    check_base(cls)
