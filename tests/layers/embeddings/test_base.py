"""What the base class of embeddings keeps in `fit`, on one plain and one with a proximal step."""

import pytest

from contracts import check_base
from kerascompact.layers import AnchorTransformEmbedding, ClusterEmbedding


@pytest.mark.few(1)
@pytest.mark.parametrize("cls", [ClusterEmbedding, AnchorTransformEmbedding])
def test_keeps_the_contract_of_the_base(cls):
    check_base(cls)
